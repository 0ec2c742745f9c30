"""What to try after an exception, by its type and by what its message is about.

Patterns are looked for in the message, of which nothing is repeated but a `name` that may be named.
Each row: the types it is for, the pattern, the advice. The first row that fits is taken.
"""

import re
from collections.abc import Callable

DIMENSIONS = "Print both shapes just before this line."
ROWS: tuple[tuple[str, str, str], ...] = (
    ("NameError", r"(name|variable) '(?P<name>\w+)'",
     "`{name}` is not defined at this point. Is it spelt as where you define it, and is its cell above "
     "this one?"),
    ("NameError", "", "A name is not defined at this point. Is it spelt as where you define it?"),
    ("UnboundLocalError", r"variable '(?P<name>\w+)'", "`{name}` is read before the function gives it a value."),
    ("UnboundLocalError", "", "A name is read before the function gives it a value."),
    ("AttributeError", "before Module.__init__", "Call `super().__init__()` before you give the module its parts."),
    ("AttributeError", "'NoneType' object", "Something is None here. Does a function that you call lack a `return`?"),
    ("AttributeError", "'tuple' object", "This is a tuple, not a tensor. Take the entry that you need."),
    ("AttributeError", "'(list|dict|str|int|float)' object", "This is a plain Python value, not a tensor."),
    ("AttributeError", r"has no attribute '(?P<name>\w+)'",
     "There is no attribute `{name}`. Is the name spelt right, and is it set in `__init__`?"),
    ("AttributeError", "", "An attribute does not exist. Is the name spelt right, and is it set in `__init__`?"),
    ("TypeError", r"missing \d+ required",
     "Something is called with too few arguments. Compare the call with the parameters of what is called."),
    ("TypeError", r"positional arguments? but",
     "Something is called with more arguments than it takes. Compare its parameters with those in the exercise."),
    ("TypeError", r"unexpected keyword argument '(?P<name>\w+)'",
     "What is called has no parameter `{name}`. Compare its parameters with those in the exercise."),
    ("TypeError", "unexpected keyword argument",
     "What is called has no parameter of this name. Compare its parameters with those in the exercise."),
    ("TypeError", "NoneType", "Something is None here. Does a function that you call lack a `return`, or is a "
     "mask of None used like a tensor?"),
    ("TypeError", "not callable", "Something is called here that is not a function. Is its name used twice?"),
    ("TypeError", "not subscriptable", "Something is indexed with [ ] here that has no entries."),
    ("TypeError", "not iterable|non-iterable", "A single value is unpacked or looped over here."),
    ("TypeError", "bad operand type for unary ~", "`~` takes booleans. Make the mask boolean first."),
    ("TypeError", "whole number|as an integer|be integers|must be (an )?int|only integer",
     "A whole number is needed here. `//` divides and gives one."),
    ("TypeError", "unhashable", "A list or dictionary cannot be the key of a dictionary."),
    ("TypeError", "must be Tensor|invalid combination of arguments",
     "The torch function was given arguments of types that it does not take. Print the type of each."),
    ("TypeError", "", "Print the type of each value in this line."),
    ("RuntimeError TypeError ValueError IndexError", "view size is not compatible|not contiguous",
     "`view` needs a tensor that is contiguous in memory, and a transposed one is not. Use `reshape`, or call "
     "`.contiguous()` first."),
    ("RuntimeError", "invalid for input of size|sizes provided|cannot reshape",
     "The new shape does not hold as many entries as the tensor has. Print the tensor's shape just before."),
    ("RuntimeError", "scalar type (Long|Int)|argument #1 'indices'|Long, Int",
     "Whole numbers (torch.long) are needed here, and the tensor holds something else."),
    ("RuntimeError", "same dtype|expected scalar type|dtypes? .* (same|match)|dtype mismatch|must have the same d",
     "Tensors of different dtypes meet here. Make new tensors in the dtype of the input."),
    ("RuntimeError", "can't be cast", "An in-place operation cannot change the dtype. `x = x + y` makes a new tensor."),
    ("RuntimeError", r"mean\(\)|infer output dtype|floating point",
     "This operation needs floats, and the tensor holds whole numbers or booleans."),
    ("RuntimeError", "Mismatch in shape: grad_output",
     "The result has another shape than it should, so no gradient can be sent back through it."),
    ("RuntimeError", "einsum", "The letters of the einsum do not fit the shapes. Print the shapes just before this line."),
    ("RuntimeError", "be multiplied|size mismatch|matrix|batch[12]|must match, got|expected size for first two",
     "The sizes of the two factors do not fit: the last dimension of the first has to be as large as the "
     f"second-to-last of the second. {DIMENSIONS}"),
    ("RuntimeError", "normalized_shape|weight of size|running_mean",
     "The layer was built for another number of features than the tensor has in its last dimension."),
    ("RuntimeError", "expanded size", f"Only dimensions of size 1 can be expanded. {DIMENSIONS}"),
    ("RuntimeError", "size of tensor|not broadcastable|shape mismatch|broadcast",
     f"The two shapes cannot be broadcast to one. {DIMENSIONS}"),
    ("RuntimeError", "except in dimension|stack expects|equal size",
     "Tensors that are put together have to agree in every other dimension. Print their shapes."),
    ("RuntimeError", "permute|number of dim", "The dimensions named here are not those of the tensor. Print its shape."),
    ("RuntimeError", "leaf [Vv]ariable", "A parameter is changed in place while gradients are on. Make a new tensor "
     "instead, or use `torch.no_grad()` if it is not part of the computation."),
    ("RuntimeError", "inplace operation", "A tensor that the gradient needs was changed in place. Make a new one instead."),
    ("RuntimeError", "does not require grad|not have been used",
     "No gradient leads here. Was something detached, or made anew from numbers?"),
    ("RuntimeError", "backward through the graph", "The same result is differentiated twice. Compute it again first."),
    ("RuntimeError", r"numpy\(\)|detach", "NumPy cannot follow gradients. Use the functions of torch instead."),
    ("RuntimeError", "same device|different devices|on device",
     "Tensors on different devices meet here. Make new tensors on the device of the input."),
    ("RuntimeError", "bool", "Booleans and numbers are mixed here. A mask is inverted with `~`, and `masked_fill` "
     "takes a boolean mask."),
    ("RuntimeError ValueError", "only one element|one value is ambiguous|converted to Scalar",
     "A tensor of several entries is used like a single number or a truth value. Use `&`, `|` and `~` for "
     "masks, and `.any()` or `.all()` in an `if`."),
    ("RuntimeError", "can't allocate|out of memory", "The tensors made here are too large for the memory."),
    ("RuntimeError", "", "Print the shape and the dtype of every tensor in this line."),
    ("IndexError", "Dimension out of range|too many indices|Dimension specified",
     "The tensor has fewer dimensions than this line expects. Print its shape just before."),
    ("IndexError", "tensors used as ind|used as index", "Only whole numbers (torch.long) and booleans can be an index."),
    ("IndexError", "mask", "The mask has another shape than the tensor that it indexes. Print both shapes."),
    ("IndexError", "", "An index is too large. Print the index and the size of what is indexed; the last index is "
     "the size minus 1."),
    ("ValueError", "values to unpack", "There are more or fewer values than names to unpack them into. Print what is "
     "unpacked. If it is a shape, the tensor may have another number of dimensions."),
    ("ValueError", "", "A value is not accepted here. Where the `raise` is your own, check its condition."),
    ("KeyError", r"^'(?P<name>\w+)'$", "The dictionary has no entry '{name}'."),
    ("KeyError", "", "The dictionary has no entry for this key. `.get(key, other)` gives `other` instead."),
    ("ModuleNotFoundError", r"No module named '(?P<name>\w+)",
     "There is no module `{name}` here. Use torch, and what the lesson imports."),
    ("ImportError", "", "The import fails here. Use torch, and what the lesson imports."),
    ("SyntaxError", "", "Python cannot read the cell. Is a bracket open, a colon missing, or a line indented wrongly?"),
    ("RecursionError", "", "A function calls itself without an end."),
    ("MemoryError", "", "It needs more memory than there is."),
    ("ZeroDivisionError", "", "Something is divided by 0."),
    ("AssertionError", "", "An `assert` in your code fails."),
    ("OSError", "", "Files, the network and other programs cannot be used when your answer is graded."),
)  # fmt: skip


def advice(kinds: tuple[str, ...], message: str, may_name: Callable[[str], bool]) -> str:
    """Return the advice for an exception of these types, the nearest first, "" if there is none."""
    for kind in kinds:
        for types, about, said in ROWS:
            found = re.search(about, message) if kind in types.split() else None
            name = found.groupdict().get("name") if found else None
            if found and ("{name}" not in said or (name and may_name(name))):
                return said.replace("{name}", name or "")
    return ""
