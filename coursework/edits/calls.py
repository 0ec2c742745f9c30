"""Other calls: their siblings, other arguments, one call more or fewer, another shape on the way."""

import ast
from collections.abc import Iterator
from itertools import combinations, permutations
from typing import Final

from coursework.edits.cell import LOOSE, Cell, CodeEdit, callee

SIBLINGS: Final = tuple(
    tuple(line.split())
    for line in """argmax argmin max min amax amin
tril triu
sum mean prod max
std var
cumsum cumprod
exp log sqrt rsqrt square abs
log log2 log10 log1p
sin cos
zeros ones rand randn
zeros_like ones_like rand_like randn_like
softmax log_softmax sigmoid
view reshape
cat stack
relu gelu tanh sigmoid silu
any all
repeat repeat_interleave expand tile
squeeze unsqueeze
append extend
floor ceil round trunc
train eval
sorted reversed list set
ReLU GELU Tanh Sigmoid SiLU Identity
LayerNorm RMSNorm BatchNorm1d
xavier_uniform_ xavier_normal_ kaiming_uniform_ normal_ uniform_ zeros_ ones_
split chunk
matmul mul bmm
float long bool int
items keys values
lower upper
no_grad enable_grad inference_mode
register_buffer register_parameter
logical_and logical_or logical_xor
argsort sort
list tuple
masked_fill masked_fill_ masked_scatter
maximum minimum
index find
get setdefault
scatter scatter_add
scatter_ scatter_add_
add sub mul div
transpose swapaxes
float32 float64 long int64 bool int32 float16
len sum max min""".splitlines()
)
# Keywords that such a call may want, with values that code often gives them.
KEYWORDS: Final[dict[str, tuple[str, ...]]] = {
    "sum": ("dim=-1", "dim=-1, keepdim=True", "dim=0", "dim=1", "keepdim=True"),
    "mean": ("dim=-1", "dim=-1, keepdim=True", "dim=0", "dim=1", "keepdim=True"),
    "max": ("dim=-1", "keepdim=True"),
    "amax": ("dim=-1, keepdim=True", "keepdim=True", "dim=-1"),
    "amin": ("keepdim=True",),
    "norm": ("dim=-1", "dim=-1, keepdim=True", "keepdim=True"),
    "argmax": ("dim=-1", "dim=1", "keepdim=True"),
    "all": ("dim=-1", "dim=-1, keepdim=True"),
    "any": ("dim=-1", "dim=-1, keepdim=True", "keepdim=True"),
    "softmax": ("dim=-1",),
    "log_softmax": ("dim=-1",),
    "var": ("unbiased=False", "correction=0", "keepdim=True", "unbiased=False, keepdim=True"),
    "std": ("unbiased=False", "correction=0", "keepdim=True", "unbiased=False, keepdim=True"),
    "var_mean": ("unbiased=False", "correction=0", "keepdim=True"),
    "std_mean": ("unbiased=False", "correction=0", "keepdim=True"),
    "zeros": ("dtype=torch.long", "dtype=torch.bool"),
    "ones": ("dtype=torch.bool", "dtype=torch.long"),
    "full": ("dtype=torch.long",),
    "tensor": ("dtype=torch.long", "dtype=torch.float32"),
    "arange": ("dtype=torch.float32", "dtype=torch.float"),
    "Linear": ("bias=False",),
    "Embedding": ("padding_idx=pad_id", "padding_idx=0"),
    "tril": ("diagonal=1", "diagonal=-1"),
    "triu": ("diagonal=1", "diagonal=-1"),
    "sorted": ("reverse=True",),
    "sort": ("reverse=True", "descending=True"),
    "topk": ("largest=False",),
    "argsort": ("descending=True",),
    "cat": ("dim=1", "dim=-1"),
    "stack": ("dim=1", "dim=-1"),
    "register_buffer": ("persistent=False",),
    "dropout": ("training=self.training",),
    "cross_entropy": ("ignore_index=pad_id", "reduction='sum'"),
    "enumerate": ("start=1",),
    "repeat_interleave": ("dim=-1", "dim=0"),
    "squeeze": ("dim=-1", "dim=1", "dim=0"),
}
# What an expression is given, or given to; {} is the expression.
METHODS: Final = (
    ("{}.transpose(-2, -1)", "a transpose"), ("{}.transpose(1, 2)", "a transpose"),
    ("{}.transpose(0, 1)", "a transpose"), ("{}.unsqueeze(1)", "one more dimension of size 1"),
    ("{}.unsqueeze(-1)", "one more dimension of size 1"), ("{}.unsqueeze(0)", "one more dimension of size 1"),
    ("{}.unsqueeze(-2)", "one more dimension of size 1"), ("{}.squeeze(-1)", "one dimension fewer"),
    ("{}.squeeze(0)", "one dimension fewer"), ("{}.squeeze(1)", "one dimension fewer"),
    ("{}.contiguous()", "one call more"), ("{}.clone()", "a copy"), ("{}.detach()", "one call more"),
    ("{}.float()", "another dtype"), ("{}.long()", "another dtype"), ("{}.bool()", "another dtype"),
    ("{}.item()", "another type"), ("{}.tolist()", "another type"), ("{}.exp()", "one call more"),
    ("{}.log()", "one call more"), ("{}.sum()", "one call more"), ("{}.mean()", "one call more"),
    ("{}.eval()", "one call more"), ("{}.size(-1)", "one call more"), ("{}.size(0)", "one call more"),
    ("{}.size(1)", "one call more"),
)  # fmt: skip
FUNCTIONS: Final = (
    ("math.sqrt({})", "one call more"), ("torch.sqrt({})", "one call more"), ("-{}", "another sign"),
    ("{} + 1", "one operand more"), ("{} - 1", "one operand more"), ("{} ** 2", "one power more"),
    ("{} ** 0.5", "one power more"), ("1 / {}", "the inverse"), ("2 * {}", "one factor more"),
    ("{} / 2", "one factor more"), ("~{}", "the opposite of a value"),
    ("not {}", "the opposite of a value"),
    ("torch.exp({})", "one call more"), ("torch.log({})", "one call more"), ("len({})", "one call more"),
    ("int({})", "another type"), ("list({})", "another type"), ("set({})", "another type"),
    ("sorted({})", "another order"), ("{} is not None", "another condition"),
    ("{} is None", "another condition"),
    ("torch.relu({})", "one call more"), ("nn.ModuleList({})", "another type"),
    ("nn.Parameter({})", "another type"), ("{}[0]", "one index more"), ("{}[1]", "one index more"),
    ("{}[-1]", "one index more"), ("{}[:, -1]", "one index more"), ("{}[:, None]", "one index more"),
    ("{}[..., None]", "one index more"), ("{}[None]", "one index more"), ("{}[:-1]", "one slice more"),
    ("{}[1:]", "one slice more"), ("{}[:, :-1]", "one slice more"), ("{}[:, 1:]", "one slice more"),
    ("{}[::-1]", "another order"),
)  # fmt: skip
LOOSE_FORMS: Final = frozenset(
    form for form, _ in FUNCTIONS if isinstance(ast.parse(form.format("x"), mode="eval").body, LOOSE)
)
SHAPES: Final = frozenset({"view", "reshape", "permute", "expand", "repeat"})
MOST_ARGUMENTS: Final = 4
MOST_COMBINED: Final = 5  # variables that an expression is combined with
WRAPPED: Final = (
    ast.Name, ast.Call, ast.BinOp, ast.Attribute, ast.Subscript, ast.List, ast.ListComp, ast.Compare,
)  # fmt: skip


def call_edits(cell: Cell) -> Iterator[CodeEdit]:
    """Yield the edits of calls, and those that put a call around an expression."""
    for node in cell.nodes:
        if isinstance(node, ast.Call):
            yield from _siblings(cell, node)
            yield from _arguments(cell, node)
            yield from _keywords(cell, node)
            yield from _left_out(cell, node)
            yield from _around(cell, node)
            yield from _shapes(cell, node)
        elif isinstance(node, ast.Attribute) and not _is_called(cell, node):
            yield from _named(cell, node)
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
            yield cell.edit(node, node.value, "without the index", 2.3)
        if isinstance(node, ast.expr):
            yield from _wrapped(cell, node)
            yield from _lists(cell, node)


def _is_called(cell: Cell, node: ast.expr) -> bool:
    parent = cell.parents.get(node)
    return isinstance(parent, ast.Call) and parent.func is node


def _siblings(cell: Cell, node: ast.Call) -> Iterator[CodeEdit]:
    name = callee(node)
    own = [each for each in cell.tree.body if isinstance(each, (ast.FunctionDef, ast.ClassDef))]
    if not name or any(each.name == name for each in own):
        return
    others = dict.fromkeys(other for group in SIBLINGS if name in group for other in group if other != name)
    for rank, other in enumerate(others):
        yield cell.edit(
            node, _renamed(node, other), f"another call than `{name}`", 1.1 + 0.05 * rank, node.func
        )
    if name.endswith("_") and not name.endswith("__"):
        yield cell.edit(node, _renamed(node, name[:-1]), f"another call than `{name}`", 1.5, node.func)


def _renamed(node: ast.Call, name: str) -> ast.Call:
    if isinstance(node.func, ast.Attribute):
        function: ast.expr = ast.Attribute(node.func.value, name, ast.Load())
    else:
        function = ast.Name(name, ast.Load())
    return ast.Call(function, node.args, node.keywords)


def _named(cell: Cell, node: ast.Attribute) -> Iterator[CodeEdit]:
    """Yield siblings of a name that is not called, such as a dtype."""
    for group in SIBLINGS:
        if node.attr in group:
            for other in group:
                if other != node.attr:
                    new = ast.Attribute(node.value, other, node.ctx)
                    yield cell.edit(node, new, f"another value than `{node.attr}`", 1.6)


def _arguments(cell: Cell, node: ast.Call) -> Iterator[CodeEdit]:
    given = node.args
    if any(isinstance(each, ast.Starred) for each in given):
        return
    at = _place(node)
    for first, second in combinations(range(len(given)), 2):
        order = [*given]
        order[first], order[second] = order[second], order[first]
        cost = 1.2 if len(given) <= MOST_ARGUMENTS else 1.8
        yield cell.edit(node, _with(node, order), "the arguments in another order", cost, at)
    for index in range(len(given)):
        rest = given[:index] + given[index + 1 :]
        yield cell.edit(node, _with(node, rest), "one argument fewer", 2.4, given[index])
    scope = cell.names_in_scope(node)
    used = {ast.unparse(each) for each in given} | {ast.unparse(each.value) for each in node.keywords}
    for rank, name in enumerate(each for each in scope if each not in used):
        more = ast.Name(name, ast.Load())
        yield cell.edit(node, _with(node, [*given, more]), "one argument more", 2.5 + 0.08 * rank, at)
        named = [*node.keywords, ast.keyword(name, more)]
        new = ast.Call(node.func, given, named)
        yield cell.edit(node, new, "one argument more", 2.7 + 0.08 * rank, at)
    for rank, name in enumerate(each for each in cell.attributes_of_self(node) if f"self.{each}" not in used):
        named = [*node.keywords, ast.keyword(name, ast.Name(f"self.{name}"))]
        yield cell.edit(node, ast.Call(node.func, given, named), "one argument more", 2.6 + 0.08 * rank, at)
    if callee(node) in ("transpose", "swapaxes") and len(given) == 2:
        for pair in ("-2, -1", "1, 2", "0, 1", "2, 3"):
            numbers = ast.parse(f"f({pair})", mode="eval").body
            assert isinstance(numbers, ast.Call)
            yield cell.edit(node, _with(node, numbers.args), "other dimensions", 1.15, at)
    if callee(node) == "permute" and 2 < len(given) <= MOST_ARGUMENTS:
        for other in permutations(given):
            yield cell.edit(node, _with(node, [*other]), "the dimensions in another order", 1.1, at)


def _with(node: ast.Call, args: list[ast.expr]) -> ast.Call:
    return ast.Call(node.func, args, node.keywords)


def _place(node: ast.Call) -> ast.AST:
    """Return the part of a call that tells its line: in a chain over several lines, the last one."""
    ends = [*node.args, *(each.value for each in node.keywords)]
    return ends[0] if ends and node.lineno != ends[0].lineno else node


def _keywords(cell: Cell, node: ast.Call) -> Iterator[CodeEdit]:
    present = {each.arg for each in node.keywords}
    for index, each in enumerate(node.keywords):
        rest = node.keywords[:index] + node.keywords[index + 1 :]
        new = ast.Call(node.func, node.args, rest)
        yield cell.edit(node, new, f"without `{each.arg}`" if each.arg else "one argument fewer", 2.0, each)
    for rank, more in enumerate(KEYWORDS.get(callee(node), ())):
        made = ast.parse(f"f({more})", mode="eval").body
        assert isinstance(made, ast.Call)
        if present.isdisjoint(each.arg for each in made.keywords):
            new = ast.Call(node.func, node.args, [*node.keywords, *made.keywords])
            yield cell.edit(node, new, "one argument more", 1.9 + 0.1 * rank, _place(node))


def _left_out(cell: Cell, node: ast.Call) -> Iterator[CodeEdit]:
    """Yield what is left where a call is left out: what it was called on, or one of its arguments."""
    name = callee(node)
    what = f"without the call of `{name}`" if name else "one call fewer"
    if isinstance(node.func, ast.Attribute) and not isinstance(cell.parents.get(node), ast.Expr):
        yield cell.edit(node, node.func.value, what, 2.1, node.func)
    for rank, each in enumerate(node.args[:2]):
        if not isinstance(each, ast.Starred):
            yield cell.edit(node, each, what, 2.2 + rank, node.func)


def _around(cell: Cell, node: ast.Call) -> Iterator[CodeEdit]:
    """Yield a call around more or less of a sum or a product: `f(a) + b` for `f(a + b)`, and the reverse."""
    if not node.args or not callee(node):
        return
    first, *rest = node.args

    def call(of: ast.expr) -> ast.Call:
        return _with(node, [of, *rest])

    parent = cell.parents.get(node)
    if isinstance(parent, ast.BinOp):
        left, right = (first if each is node else each for each in (parent.left, parent.right))
        whole = call(ast.BinOp(left, parent.op, right))
        yield cell.edit(parent, whole, f"something more inside `{callee(node)}`", 1.6, node.func)
    if isinstance(first, ast.BinOp):
        what = f"something less inside `{callee(node)}`"
        yield cell.edit(node, ast.BinOp(call(first.left), first.op, first.right), what, 1.6, node.func)
        yield cell.edit(node, ast.BinOp(first.left, first.op, call(first.right)), what, 1.6, node.func)


def _shapes(cell: Cell, node: ast.Call) -> Iterator[CodeEdit]:
    """Yield the ways to bring the parts of a shape into another order: sizes, then a transpose."""
    if callee(node) not in SHAPES or not isinstance(node.func, ast.Attribute):
        return
    given = node.args
    if callee(node) in ("view", "reshape", "expand"):
        for index, each in enumerate(given):
            any_size = [*given[:index], ast.Constant(-1), *given[index + 1 :]]
            yield cell.edit(node, _with(node, any_size), "another size", 1.7, each)
    if callee(node) == "repeat" and len(times := [each for each in given if ast.unparse(each) != "1"]) == 1:
        each_time = ast.Attribute(node.func.value, "repeat_interleave", ast.Load())
        numbers: list[ast.expr] = [times[0], ast.Constant(given.index(times[0]))]
        yield cell.edit(node, ast.Call(each_time, numbers, []), "another call than `repeat`", 1.4)
    for first, second in combinations(range(len(given)), 2):
        order = [*given]
        order[first], order[second] = order[second], order[first]
        turned = _method(_with(node, order), "transpose", first, second)
        yield cell.edit(node, turned, "a transpose", 1.9, _place(node))
    for first, second in ((1, 2), (-2, -1), (0, 1), (2, 3)):
        before = ast.Attribute(_method(node.func.value, "transpose", first, second), callee(node), ast.Load())
        yield cell.edit(node, ast.Call(before, given, []), "a transpose", 2.0, _place(node))
        if callee(node) == "view":
            again = ast.Attribute(before.value, "reshape", ast.Load())
            yield cell.edit(node, ast.Call(again, given, []), "a transpose", 2.0, _place(node))
        yield cell.edit(node, _method(node, "transpose", first, second), "a transpose", 2.05, _place(node))


def _method(on: ast.expr, name: str, *numbers: int) -> ast.Call:
    given = [ast.parse(str(number), mode="eval").body for number in numbers]
    return ast.Call(ast.Attribute(on, name, ast.Load()), given, [])


def _wrapped(cell: Cell, node: ast.expr) -> Iterator[CodeEdit]:
    """Yield an expression with something around it."""
    parent = cell.parents.get(node)
    if _is_called(cell, node) or isinstance(parent, (ast.Starred, ast.Slice, ast.Attribute, ast.Delete)):
        return
    if not isinstance(node, WRAPPED):
        return
    if not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
        return
    text = f"({ast.unparse(node)})" if isinstance(node, (ast.BinOp, ast.Compare)) else ast.unparse(node)
    near = 3.0 if isinstance(node, (ast.BinOp, ast.Call)) else 3.2
    value = isinstance(parent, (ast.Assign, ast.Return, ast.BinOp, ast.Call, ast.keyword, ast.Compare))
    bare = cell.may_be_bare(node)
    for rank, (form, what) in enumerate(METHODS):
        yield cell.edit(node, form.format(text), what, near + 0.04 * rank + (0 if value else 1.0))
    if value and isinstance(node, (ast.Name, ast.Call, ast.Attribute)):
        yield from _combined(cell, node, text, bare)
    for rank, (form, what) in enumerate(FUNCTIONS):
        new = form.format(text)
        new = f"({new})" if form in LOOSE_FORMS and not bare else new
        yield cell.edit(node, new, what, near + 0.1 + 0.04 * rank + (0 if value else 1.0))


def _combined(cell: Cell, node: ast.expr, text: str, bare: bool) -> Iterator[CodeEdit]:
    """Yield an expression with another variable added, subtracted, multiplied or divided by."""
    for rank, name in enumerate(cell.names_in_scope(node)[:MOST_COMBINED]):
        if name != text:
            for place, sign in enumerate("-+*/&"):
                new = f"{text} {sign} {name}"
                new = new if bare else f"({new})"
                yield cell.edit(node, new, "one operand more", 2.7 + 0.1 * rank + 0.05 * place)


def _lists(cell: Cell, node: ast.expr) -> Iterator[CodeEdit]:
    """Yield containers of another kind, and copies that are made one by one."""
    match node:
        case ast.BinOp(left=ast.List(elts=[one]), op=ast.Mult(), right=number):
            made = ast.ListComp(
                one,
                [
                    ast.comprehension(
                        ast.Name("_", ast.Store()),
                        ast.Call(ast.Name("range", ast.Load()), [number], []),
                        [],
                        0,
                    )
                ],
            )
            yield cell.edit(node, made, "another list", 1.5)
        case ast.ListComp() | ast.List() if not isinstance(cell.parents.get(node), ast.Call):
            container = ast.Attribute(ast.Name("nn", ast.Load()), "ModuleList", ast.Load())
            yield cell.edit(node, ast.Call(container, [node], []), "another container", 1.9)
        case ast.Call(func=ast.Name(id="range"), args=[*given]) if given:
            step = ast.BinOp(given[-1], ast.Add(), ast.Constant(1))
            back = ast.BinOp(given[-1], ast.Sub(), ast.Constant(1))
            for other in (step, back):
                yield cell.edit(node, _with(node, [*given[:-1], other]), "another range", 1.7)
                if len(given) == 1:
                    yield cell.edit(node, _with(node, [ast.Constant(1), *given]), "another range", 1.8)
        case ast.GeneratorExp(generators=[made]) | ast.ListComp(generators=[made]) if made.ifs:
            fewer = ast.comprehension(made.target, made.iter, made.ifs[:-1], made.is_async)
            new = type(node)(node.elt, [fewer])
            yield cell.edit(node, new, "without the condition", 2.2)
