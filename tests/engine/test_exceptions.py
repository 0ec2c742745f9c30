"""An exception is told by its type, the line of the submitted cell, and advice that fits it."""

import linecache
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

from autograder.judge.judges import matches_reference
from coursework.engine.compare import EXCEPTIONS
from coursework.engine.describe import Comparison
from coursework.engine.exceptions import StudentCell, advice, say_raised, sentences
from coursework.engine.observation import Observation, Raised
from coursework.engine.observe import describe
from coursework.engine.operation import Fault
from coursework.engine.operations import CallFunction

CELL = StudentCell("import torch\n\ndef f(x):\n    return scroes @ x\n", frozenset(["w_q.weight", "f"]))
LAYER = nn.Linear(3, 2)
SCOPE = {"torch": torch, "nn": nn, "F": functional, "layer": LAYER, "x": torch.ones(2, 3)}


def raised(code: str, scope: Mapping[str, Any] = SCOPE) -> Raised:
    """Return the exception that an expression raises, as a probe describes it."""
    try:
        eval(code, {**scope})
    except Exception as problem:
        found = Observation.of({"raised": describe(problem)}).raised
        assert found is not None
        return found
    raise AssertionError(f"{code} raises nothing")


def leak(name: str, *bases: type[Exception]) -> Raised:
    """Return an exception of a class with this name."""
    found = Observation.of({"raised": describe(type(name, bases, {})("secret"))}).raised
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("x @ x", "sizes of the two matrices don't match"),
        ("torch.bmm(x[None], x[None])", "sizes of the two matrices don't match"),
        ("layer(torch.ones(4))", "sizes of the two matrices don't match"),
        ("x + torch.ones(4)", "can't be broadcast"),
        ("x.expand(5, 5)", "Only dimensions of size 1"),
        ("x.view(4, 4)", "does not hold as many entries"),
        ("x.T.view(6)", "`.contiguous()`"),
        ("x @ x.T.double()", "different dtypes"),
        ("F.embedding(x, x)", "Whole numbers (torch.long)"),
        ("F.cross_entropy(x, torch.ones(2, dtype=torch.int32))", "Whole numbers (torch.long)"),
        ("torch.tensor([1, 2]).mean()", "needs floats"),
        ("layer.weight.add_(1)", "that collects gradients is changed in place"),
        ("x.sum().backward()", "No gradient reaches this tensor"),
        ("layer.weight.numpy()", "NumPy cannot follow gradients"),
        ("torch.cat([x, torch.ones(2, 4)])", "agree in every other dimension"),
        ("torch.stack([x, torch.ones(2, 4)])", "agree in every other dimension"),
        ("torch.cat([x, torch.ones(2)])", "different numbers of dimensions"),
        ("torch.cat([])", "The list is empty"),
        ("torch.stack([])", "The list of tensors is empty"),
        ("max([])", "The list is empty"),
        ("x.topk(9)", "more entries than the tensor has"),
        ("torch.multinomial(x / 0, 1)", "cannot be sampled from"),
        ("torch.multinomial(0 * x, 1)", "cannot be sampled from"),
        ("x[0].unfold(0, 9, 1)", "longer than the tensor"),
        ("torch.zeros(2, 0).amax(1)", "an empty tensor"),
        ("layer(x[:, :1].expand(2, 3)).backward()", "starts from a single number"),
        ("F.cross_entropy(x[None], torch.zeros(1, 2, dtype=torch.long))", "classes have to be in dimension 1"),
        ("F.cross_entropy(x, torch.zeros(3, dtype=torch.long))", "have different numbers of tokens"),
        ("torch.tensor([1, 'a'])", "text among the numbers"),
        ("torch.tensor(['a', 1])", "text among the numbers"),
        ("torch.tensor([[1], [1, 2]])", "rows have different lengths"),
        ("[1, 2].index(3)", "isn't there"),
        ("'a' + 1", "types of the two values don't go together"),
        ("bool(x)", "single number or a truth value"),
        ("x.item()", "single number or a truth value"),
        ("x.permute(0, 1, 2)", "are not those of the tensor"),
        ("-(x > 0)", "Booleans and numbers"),
        ("torch.einsum('ij,jk->ik', x, x)", "einsum"),
        ("F.layer_norm(x, (4,))", "different number of features"),
        ("x.softmax(dim=2)", "fewer dimensions"),
        ("x[0, 0, 0]", "fewer dimensions"),
        ("x[7]", "An index is too large"),
        ("F.embedding(torch.tensor([9]), x)", "not a row of the table"),
        ("x[torch.ones(2)]", "can be an index"),
        ("(lambda a: a)()", "too few arguments"),
        ("(lambda a: a)(1, 2)", "more arguments than it takes"),
        ("(lambda a: a)(b=1)", "no parameter of this name"),
        ("x(1)", "isn't a function"),
        ("None + x", "Your code gives None"),
        ("~x", "`~` takes booleans"),
        ("torch.zeros(2.5)", "A whole number is needed"),
        ("torch.matmul(x, 2)", "got arguments of types"),
        ("range(2.5)", "A whole number is needed"),
        ("(x, x).shape", "This is a tuple"),
        ("x - x.max(-1, keepdim=True)", "`max` returns a pair, the values and their indices"),
        ("torch.exp(x.max(-1))", "`max` returns a pair, the values and their indices"),
        ("x.max(-1).exp()", "`max` returns a pair, the values and their indices"),
        ("torch.where(x > 0, x, x.sort())", "`max` returns a pair, the values and their indices"),
        ("x * x.max(-1)", "the pair of values and indices"),
        ("torch.LongTensor([1, '<unk>'])", "There is text where a whole number is needed"),
        ("torch.softmx(x)", "The module has nothing of this name"),
        ("x.sofmax(-1)", "A tensor has nothing of this name"),
        ("'a b'.splt()", "no attribute of this name. Is the name spelt right?"),
        ("F.dropout((x, x))", "a pair, such as output and weights"),
        ("(x, x) + x", "a pair, such as output and weights"),
        ("(1, 2) + [3]", "`+` joins two lists or two tuples"),
        ("[1] + (2, 3)", "`+` joins two lists or two tuples"),
        ("x + (x, x)", "a pair, such as output and weights"),
        ("setattr(nn.Linear(2, 2), 'weight', x)", "Only an nn.Parameter"),
        ("x & x", "`&` and `|` take booleans"),
        ("None.shape", "Your code gives None"),
        ("undefined", "A name is not defined"),
        ("{}['missing']", "no entry for this key"),
        ("__import__('einops_missing')", "The import fails"),
        ("1 / 0", "divided by 0"),
        ("[y for y, z in [(1, 2, 3)]]", "more or fewer values than names"),
    ],
)
def test_advice_fits_what_torch_and_python_say(code: str, said: str) -> None:
    """The messages of the torch that is installed are recognised; nothing of them is repeated."""
    found = raised(code)
    assert said in say_raised(found, CELL)
    assert found.message not in say_raised(found, CELL)


def test_none_in_a_line_of_the_cell_is_not_what_the_code_gives() -> None:
    """There it may as well be an argument that was not given."""
    found = replace(raised("None @ x"), line=4, text="return scroes @ x")
    assert "in line 4 of your cell (`return scroes @ x`). Something is None here" in say_raised(found, CELL)


@pytest.mark.parametrize("kind", sorted(EXCEPTIONS))
def test_undefined_names_are_spoken_of_after_name_errors_only(kind: str) -> None:
    """Whatever a message says, the advice is that of the type."""
    said = advice([kind], "name 'scroes' is not defined", lambda _: True)
    assert ("not defined" in said) == (kind == "NameError")


def test_the_line_comes_from_the_cell_that_was_handed_in() -> None:
    """What the process says of a line only decides whether it is quoted."""
    found = Raised("ZeroDivisionError", "", line=4, text="return scroes @ x")
    assert say_raised(found, CELL).startswith(
        "Your code raised a ZeroDivisionError in line 4 of your cell (`return scroes @ x`)."
    )
    for line, text in ((4, "secret"), (3, "return scroes @ x"), (987654, "x"), (2, "")):
        said = say_raised(Raised("ZeroDivisionError", "", line=line, text=text), CELL)
        assert said == "Your code raised a ZeroDivisionError in another of your cells. " + (
            "Something is divided by 0."
        )


def test_lines_are_counted_from_the_top_of_the_cell() -> None:
    """IPython leaves blank lines at the top out of its count."""
    cell = StudentCell(f"\n  \n{CELL.source}")
    said = say_raised(Raised("ZeroDivisionError", "", line=4, text="return scroes @ x"), cell)
    assert "in line 6 of your cell" in said


def test_a_long_line_is_cut() -> None:
    """A quotation is there to find the line."""
    cell = StudentCell("x = " + "1 + " * 200)
    found = Raised("KeyError", "", line=1, text=cell.source.strip()[:200])
    assert len(say_raised(found, cell)) < 300


def test_a_raise_of_the_students_own_has_no_tensors_to_print() -> None:
    """In the cell itself its condition counts, in another cell what is passed on."""
    cell = StudentCell("if d_model % num_heads:\n    raise RuntimeError(d_model)\n")
    for text, advised in {
        "raise RuntimeError(d_model)": "Check its condition, and whether it should be there.",
        "raise RuntimeError(num_heads)": "Check what is passed to that cell from here.",
    }.items():
        said = say_raised(Raised("RuntimeError", "", ("RuntimeError",), line=2, text=text), cell)
        assert said.endswith(advised)


def test_a_name_is_repeated_if_the_cell_has_it() -> None:
    """A misspelt name is told; one that only the process knows is not."""
    message = "name '{}' is not defined"
    known = Raised("NameError", message.format("scroes"), ("NameError",))
    other = Raised("NameError", message.format("n123456"), ("NameError",))
    assert "`scroes` is not defined" in say_raised(known, CELL)
    assert "A name is not defined" in say_raised(other, CELL)


def test_a_misspelt_function_of_a_module_is_told() -> None:
    """It is set in no `__init__`."""
    cell = StudentCell("tokens = re.splt(text)")
    said = say_raised(raised("__import__('re').splt"), cell)
    assert said == "Your code raised an AttributeError. The module has no `splt`. Is the name spelt right?"


def test_a_layer_without_self_is_told() -> None:
    """The name is undefined, or it means a tensor of the lesson, which is not called."""
    line = "return w_q(x)"
    cell = StudentCell(f"self.w_q = nn.Linear(2, 2)\n{line}\n")
    for kind, message in (
        ("NameError", "name 'w_q' is not defined"),
        ("TypeError", "'Tensor' object is not callable"),
    ):
        seen = Raised(kind, message, (kind, "Exception"), line=2, text=line)
        assert say_raised(seen, cell).endswith("Is `self.` missing before `w_q`?")
        assert "self" not in say_raised(seen, StudentCell(f"self.w = 1\n{line}\n"))


@pytest.mark.parametrize(
    ("method", "call"),
    [
        ("forward(x, y=None):\n        return self.w(x)", "Layer(1).forward(2)"),
        ("forward(x, y=None):\n        return self.w(x)", "Layer(1).forward(2, 3)"),
        ("forward(x):\n        return x", "Layer(1).forward(2)"),
        ("__init__(size):\n        super().__init__()", "Layer(1)"),
        ("__init__(size, rate=0):\n        self.size = size % 2", "Layer(1)"),
    ],
)
def test_a_method_without_the_parameter_self_is_told(
    method: str, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It fails where it uses `self`, or is called with one argument more than it takes."""
    source = f"class Layer:\n    def {method}\n"
    init = "" if "__init__" in method else "    def __init__(self, size):\n        self.size = size\n"
    scope: dict[str, Any] = {}
    exec(compile(source + init, "<student cell>", "exec"), scope)
    lines = (source + init).splitlines(keepends=True)
    monkeypatch.setitem(linecache.cache, "<student cell>", (1, None, lines, "<student cell>"))
    seen = raised(call, scope)
    name = method.partition("(")[0]
    assert say_raised(seen, StudentCell(source + init)).endswith(
        f"`{name}` lacks `self` as its first parameter."
    )
    whole = (source + init).replace(f"{name}(", f"{name}(self, ").replace("self, self", "self")
    assert "lacks" not in say_raised(seen, StudentCell(whole))


def test_an_argument_of_init_that_another_method_names_is_told() -> None:
    """It was kept as an attribute, or it was not kept at all."""
    line = "return x / (variance + eps).sqrt()"
    message = "name 'eps' is not defined"
    seen = Raised("NameError", message, ("NameError", "Exception"), line=3, text=line)
    start = "def __init__(self, d_model: int, eps: float = 1e-5):\n"
    kept = StudentCell(f"{start}    self.eps = eps\n{line}\n")
    assert say_raised(seen, kept).endswith("Is `self.` missing before `eps`?")
    lost = StudentCell(f"{start}    pass\n{line}\n")
    assert say_raised(seen, lost).endswith("Keep it there as `self.eps`, and use that here.")
    other = StudentCell(f"def __init__(self, epsilon):\n    pass\n{line}\n")
    assert "`eps` is not defined at this point" in say_raised(seen, other)


def test_a_module_without_forward_left_no_blank() -> None:
    """It is torch that raises NotImplementedError."""
    assert "The module has no `forward`." in say_raised(raised("nn.Module()(x)"), CELL)


def test_a_class_of_exceptions_is_told_by_its_nearest_known_base() -> None:
    """A class can be named after a secret."""
    assert say_raised(leak("Leak42", KeyError), CELL).startswith("Your code raised a KeyError.")
    assert say_raised(leak("Leak42", Exception), CELL) == "Your code raised an Exception."
    assert say_raised(Raised("Leak42", "", ("Leak41",)), CELL) == "Your code raised an Exception."


def test_a_syntax_error_is_that_of_the_submitted_text() -> None:
    """The grader reads the cell itself."""
    cell = StudentCell("def f(x):\n    return (x\n")
    found = Raised("SyntaxError", "secret", ("SyntaxError",), line=2, text="return (x")
    assert say_raised(found, cell) == (
        "Your code raised a SyntaxError in line 2 of your cell (`return (x`). "
        "Python says: '(' was never closed."
    )
    elsewhere = Raised("SyntaxError", "secret", ("SyntaxError",), line=1, text="secret")
    assert "Python cannot read the cell" in say_raised(elsewhere, CELL)


@pytest.mark.parametrize(
    ("fault", "path", "detail", "said"),
    [
        (Fault.UNBOUND, "f", "", "There is no `f`"),
        (Fault.UNBOUND, "leak", "", "What the exercise asks for is not defined"),
        (Fault.NO_ATTRIBUTE, "w_q", "", "Your module has no attribute `w_q`"),
        (Fault.NO_ATTRIBUTE, "w_q.weight", "", "`w_q` has no attribute `weight`"),
        (Fault.NO_ATTRIBUTE, "w_q.leak", "", "An attribute that the exercise asks for is missing"),
        (Fault.NOT_A_PARAMETER, "w_q.weight", "Linear", "should be a parameter, not a Linear"),
        (Fault.NOT_A_PARAMETER, "w_q.weight", "leak", "not a value of a class of your own"),
        (Fault.EXCHANGED, "w_q.weight", "(9, 8)", "`w_q.weight` has its two dimensions swapped"),
        (Fault.NOT_A_TENSOR, "leak", "tuple", "should return a tensor, not a tuple"),
        ("leak", "leak", "leak", "A part that the exercise asks for is missing"),
    ],
)
def test_a_missing_part_is_told_from_what_the_table_declares(
    fault: str, path: str, detail: str, said: str
) -> None:
    """The process says which fault it is, and which of the declared parts; nothing else is used."""
    found = Raised("Structure", "leak", fault=fault, path=path, detail=detail)
    assert said in say_raised(found, CELL)
    assert "leak" not in say_raised(found, CELL)


def test_every_fault_has_its_sentence() -> None:
    """None falls back on the general one."""
    for fault in Fault:
        said = say_raised(Raised("Structure", "", fault=fault, path="w_q.weight"), CELL)
        assert said != say_raised(Raised("Structure", "", fault="unknown"), CELL)


def test_another_exception_than_the_expected_one_reads_as_a_sentence() -> None:
    """It says what should be raised, what was, where, and what to do."""
    wrong = Raised("RuntimeError", "leak", ("RuntimeError",), line=4, text="return scroes @ x")
    right = Observation(raised=Raised("ValueError", "", ("ValueError",)))
    seen = Comparison(CallFunction([]), Observation(raised=wrong), right, source=CELL.source)
    assert matches_reference()(seen).message == (
        "A ValueError should be raised here, but your code raised a RuntimeError in line 4 of your "
        "cell (`return scroes @ x`). Look at the argument before you use it, and raise the ValueError "
        "yourself."
    )


def test_advice_is_for_known_types() -> None:
    """A key that is no exception would never be looked up."""
    assert set(sentences("advice")) <= EXCEPTIONS


def test_an_exception_that_cannot_be_printed_is_described() -> None:
    """Its class may break whatever asks for the message."""

    class MuteError(ValueError):
        def __str__(self) -> Any:
            raise RuntimeError

    assert describe(MuteError())["message"] == ""
