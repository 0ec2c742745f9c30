"""What to do about exceptions that beginners in PyTorch meet often."""

from autograder.judge.observation import Raised

ADVICE: tuple[tuple[str, str], ...] = (
    ("Boolean value of Tensor", "`if mask:` asks a whole tensor for one truth value; ask `is not None`."),
    ("before Module.__init__() call", "`super().__init__()` comes first in `__init__`."),
    ("view size is not compatible", "After a transpose use `reshape`, or `contiguous()` before `view`."),
    ("mat1 and mat2 shapes", "Print the shapes of both factors just before this line."),
    ("must match the size of tensor", "Print the shapes of both tensors just before this line."),
    ("Expected size for first two dimensions", "Print the shapes of both factors just before this line."),
    ("does not match the number of dimensions", "Each letter of an einsum is one dimension."),
    ("is invalid for input of size", "The sizes of a reshape have to multiply to the number of entries."),
    ("Dimension out of range", "Count dimensions from the end: there may be fewer than you think."),
    ("expected scalar type", "Two dtypes meet: make new tensors with the dtype of those you were given."),
    ("same dtype", "Two dtypes meet: make new tensors with the dtype of those you were given."),
    ("leaf Variable that requires grad", "A parameter was changed in place; make a new tensor instead."),
    ("requires grad. Use tensor.detach()", "Stay with torch operations: numpy cannot follow gradients."),
    ("index out of range", "Some index is not below the size of the table it looks into."),
    ("positional arguments but", "Compare the arguments of your function with those of the skeleton."),
    ("unexpected keyword argument", "Compare the arguments' names with those of the skeleton."),
    ("missing 1 required positional", "Compare the arguments and their defaults with those of the skeleton."),
    ("is not defined", "Is the name spelt right, and is the cell that defines it still there?"),
)  # fmt: skip


def advice(raised: Raised) -> str:
    """Return a sentence on what to do about an exception, or an empty string."""
    found = (sentence for fragment, sentence in ADVICE if fragment in raised.message)
    return next(found, "")
