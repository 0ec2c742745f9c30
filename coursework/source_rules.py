"""Reads the text of an answer, before it runs, where the exercise excludes functions of torch.

`coursework.exclusions` refuses the excluded functions on every path that ends in their kernels. An
ordinary answer has no use for ways around the kernels: torch's internals and reference implementations,
Python's frames and code objects, text that is run as code. So an answer is checked against an allow-list, in
`data/allowed.toml`: the ordinary language, torch's ordinary modules, the usual libraries of a notebook.
"""

import ast
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from types import ModuleType
from typing import Final

from coursework.allowed import (
    BUILTINS,
    CODE_MAGICS,
    DERIVATIVES,
    DOORS,
    GIVE_TENSORS,
    LINE_MAGICS,
    ONLY,
    SETTINGS,
    SHOW,
    SPECIAL,
    STAR,
    TEXT_MAGICS,
    is_allowed,
    is_door,
    is_module,
    may_be_left_unused,
    real_name,
    resolved,
)

GIVEN: Final = {"torch": "torch", "nn": "torch.nn", "F": "torch.nn.functional", "math": "math"}
REGISTERS: Final = frozenset({"register_buffer", "register_parameter", "register_module", "add_module"})
BY_NAME: Final = frozenset({"getattr", "setattr", "delattr", "hasattr"})
TIMERS: Final = ("timeit.", "torch.utils.benchmark.")  # their first arguments may be text to run
SAFE: Final = {"allow_pickle": False, "eval_str": False, "weights_only": True}  # others run code
OPTIONS: Final = re.compile(r"(\s*-[a-zA-Z]+(\s*\d+)?)*\s*")  # of a magic
OF_THE_SHELL: Final = {"run_line_magic", "run_cell_magic", "system", "getoutput", "__class__", "config"}
COMPUTED: Final = (ast.Name, ast.Attribute, ast.Subscript, ast.JoinedStr, ast.BinOp)
SHELL_CLASS: Final = "InteractiveShell"
TRIES: Final = ("test", "check")
LONGEST: Final = 100_000  # characters; nobody writes a longer cell by hand
LONGEST_NAME: Final = 40  # characters; a longer text with underscores is prose


@dataclass(frozen=True)
class Refusal:
    """The reason why an answer is not run.

    Args:
        line: the line of the cell, from 1.
        what: what the line does, such as "uses `torch.ops`".
        derivative: whether torch is asked for a derivative, which only some exercises exclude.
        cell: the text of the cell.
        own: whether that is the last of the cells, which holds the answer itself.
    """

    line: int
    what: str
    derivative: bool = False
    cell: str = ""
    own: bool = True

    @property
    def reflection(self) -> bool:
        """Whether it reaches into Python or torch by names that no lesson teaches."""
        return re.search(r"[`.]_\w|`(exec|eval|compile)`|as code", self.what) is not None

    @property
    def place(self) -> str:
        """Where it is, as the beginning of a sentence."""
        if self.own:
            return f"Line {self.line}"
        first = next((line.strip() for line in self.cell.splitlines() if line.strip()), "")
        return f"Line {self.line} of the cell that begins with `{first[:60]}`"


def first_refusal(cells: Sequence[str], *, derivatives: bool = False) -> Refusal | None:
    """Return the first thing in some cells that is not on the allow-list, None if there is none.

    The cells are read together: what one defines is known in all. With `derivatives`, asking torch for a
    derivative is refused too, except at the top level of a cell, where an answer is tried out. A cell
    that is not Python is left to the interpreter, which will not run it either.
    """
    return _first_refusal(tuple(cells), derivatives)


@lru_cache(maxsize=2048)
def _first_refusal(cells: tuple[str, ...], derivatives: bool) -> Refusal | None:
    known = _Known()
    for source in cells:
        known.learn(_tree(source))
    for source in cells:
        for found in _refusals(source, known, derivatives):
            # IPython drops the empty lines at the start.
            skipped = next((n for n, line in enumerate(source.split("\n")) if line.strip()), 0)
            return replace(found, line=found.line + skipped, cell=source, own=source == cells[-1])
    return None


def odd_names(source: str) -> list[str]:
    """Return the strings in a cell that are private or special names, as reflection pieces them together.

    They change no score: an instructor may want to look at them.
    """
    found = (node.value for node in ast.walk(_tree(source)) if isinstance(node, ast.Constant))
    texts = {text for text in found if isinstance(text, str)}
    return sorted(text for text in texts - SPECIAL if re.fullmatch(r"__\w+__|_C|_\w*softmax", text))


@lru_cache(maxsize=2048)  # a cell is read for several exercises, and for odd names
def _tree(source: str) -> ast.Module:
    """Parse a cell as the Python that IPython makes of it; one that is not Python is empty."""
    from IPython.core.inputtransformer2 import TransformerManager  # slow to import

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an invalid escape is the student's to see
            return ast.parse(str(TransformerManager().transform_cell(source[:LONGEST])))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module([], [])


def _refusals(source: str, known: "_Known", derivatives: bool) -> Iterator[Refusal]:
    """Yield what is not on the allow-list, in the order of the lines."""
    if len(source) > LONGEST:
        yield Refusal(1, f"is in a cell of more than {LONGEST:,} characters")
    else:
        yield from _Reader(known, derivatives).read(_tree(source))


@dataclass
class _Known:
    """What the cells themselves define."""

    modules: dict[str, str] = field(default_factory=lambda: dict(GIVEN))  # the path of each by its name
    doubled: set[str] = field(default_factory=set)  # names that stand for two modules
    own: set[str] = field(default_factory=set)  # attributes of objects of the answer's own
    bound: set[str] = field(default_factory=set)  # names of such objects
    functions: set[str] = field(default_factory=set)  # defined with `def`
    timers: set[str] = field(default_factory=set)  # functions that measure time
    fragments: bool = False  # whether some text looks like a part of a special name

    def learn(self, tree: ast.AST) -> None:
        """Take in what a cell defines."""
        for node in ast.walk(tree):
            match node:
                case ast.Import() | ast.ImportFrom():
                    self._import(node)
                case ast.ClassDef(name=name, body=body):
                    self.bound.add(name)
                    for each in body:
                        one = [getattr(each, "target", each)]
                        targets = each.targets if isinstance(each, ast.Assign) else one
                        self.own.update(target.id for target in targets if isinstance(target, ast.Name))
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                    self.own.add(name)
                    self.functions.add(name)
                case ast.Assign(targets=[ast.Name(id=name)], value=value) if is_module(self.path(value)):
                    self._learn_module(name, self.path(value))
                case ast.Attribute(attr=name, ctx=ast.Store()):
                    self.own.add(name)
                case ast.Call(func=ast.Attribute(attr=method), args=[ast.Constant(value=str(name)), *_]) if (
                    method in REGISTERS
                ):
                    self.own.add(name)
                case ast.Call(func=ast.Name(id="namedtuple"), args=[_, ast.Constant(value=str(names))]):
                    self.own.update(names.replace(",", " ").split())
                case ast.Constant(value=str(text)) if text in DOORS or ("__" in text and text not in SPECIAL):
                    self.fragments |= len(text) < LONGEST_NAME
                case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                    self.bound.add(name)
        self.bound -= self.modules.keys()

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        for each in node.names:
            if isinstance(node, ast.Import):
                path = each.name if each.asname else each.name.partition(".")[0]
                self._learn_module(each.asname or path.rpartition(".")[2], path)
                continue
            path, name = f"{node.module}.{each.name}", each.asname or each.name
            if node.module in ("timeit", "torch.utils.benchmark"):
                self.timers.add(name)
            if each.name == "*":
                for found, value in vars(resolved(str(node.module)) or ast).items():
                    if isinstance(value, ModuleType) and not found.startswith("_"):
                        self._learn_module(found, value.__name__)
            if is_module(path):
                self._learn_module(name, path)

    def _learn_module(self, name: str, path: str) -> None:
        """Take in that a name stands for a module, under whatever name that was reached."""
        path = real_name(path)
        if self.modules.setdefault(name, path) != path:
            self.doubled.add(name)

    def path(self, node: ast.AST) -> str:
        """Return the dotted path of an expression that begins with a module, '' for any other."""
        match node:
            case ast.Name(id=name):
                return self.modules.get(name, "")
            case (
                ast.Attribute(value=value, attr=name)
                | ast.Call(func=ast.Name(id="getattr"), args=[value, ast.Constant(value=str(name)), *_])
            ) if base := self.path(value):
                return real_name(f"{base}.{name}")
        return ""

    def is_own(self, node: ast.Attribute) -> bool:
        """Return whether an attribute is one that the cells give to objects of their own."""
        root = _root_of(node)
        named = not isinstance(root, ast.Name) or root.id in self.bound | self.functions
        named &= not node.attr.startswith("__")  # special names belong to every object
        return node.attr in self.own and (named or _is_self(node.value))


class _Reader:
    """Walks through the syntax tree of one cell."""

    def __init__(self, known: _Known, derivatives: bool) -> None:
        self._known, self._derivatives = known, derivatives
        self._imported: set[str] = set()  # names under which a derivative was imported
        self._rebound: set[str] = set()  # of `self`, where it is no longer the object
        # Calls of `globals()` that hand names to `timeit`, or are searched.
        self._timed: set[ast.AST] = set()

    def read(self, tree: ast.Module) -> Iterator[Refusal]:
        """Yield the refusals of a tree in the order of its lines."""
        names = (each for each in ast.walk(tree) if isinstance(each, ast.Name))
        self._rebound = {each.id for each in names if isinstance(each.ctx, ast.Store)}
        stack: list[tuple[ast.AST, ast.AST, bool]] = [(tree, tree, False)]
        while stack:
            node, parent, inside = stack.pop()
            line = getattr(node, "lineno", 1)
            yield from (Refusal(line, what) for what in self._judged(node, parent, inside))
            yield from self._run_as_code(node, line)
            if self._derivatives and (name := self._derivative(node, parent, inside)):
                yield Refusal(line, f"asks torch for a derivative (`{name}`)", derivative=True)
            below = inside or isinstance(node, ast.GeneratorExp)
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
                # A function that only tries the answer out goes by its name.
                below |= not getattr(node, "name", "").lower().startswith(TRIES)
            stack += [(child, node, below) for child in reversed([*ast.iter_child_nodes(node)])]

    def _judged(self, node: ast.AST, parent: ast.AST, inside: bool) -> Iterator[str]:
        """Yield what is refused of one node, whatever its children are."""
        match node:
            case ast.Import() | ast.ImportFrom():
                yield from _imported(node)
            case ast.Name(ctx=ast.Load()):
                yield from self._name(node, parent, inside)
            case ast.Attribute():
                path = self._known.path(node)
                of_a_module = self._of_a_module(node, path, parent)
                yield from of_a_module if path else self._attribute(node, parent)
            case ast.MatchClass(kwd_attrs=attributes):
                yield from (f"reads `{name}`" for name in attributes if is_door(name))
            case ast.keyword(arg=str(name), value=value) if name in SAFE:
                if not isinstance(value, ast.Constant) or value.value is not SAFE[name]:
                    yield f"passes `{name}={ast.unparse(value)[:40]}`"
            case ast.Constant(value=str(text)) if text in SETTINGS:
                yield f"uses `{text}`"
            case ast.FunctionDef(name=name) if name.startswith("__torch_"):
                yield f"defines `{name}`"
            case ast.Call():
                yield from self._by_name(node)
                if _called(node) == "get_ipython" and not _may_be_a_value(node, parent):
                    yield "uses `get_ipython()` as a value"
            case ast.Compare(comparators=values):
                self._timed.update(values)  # a name may be looked for

    def _run_as_code(self, node: ast.AST, line: int) -> Iterator[Refusal]:
        """Yield what is refused in text that is run as code: by magics, timers, and for annotations."""
        if isinstance(node, ast.Call):
            yield from self._magic(node) if _is_shell(node.func) else self._timer(node)
        for annotation in filter(None, (getattr(node, "annotation", None), getattr(node, "returns", None))):
            for part in ast.walk(annotation):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    yield from self._text(part.value, line)

    def _name(self, node: ast.Name, parent: ast.AST, inside: bool) -> Iterator[str]:
        name, known = node.id, self._known
        if name in known.doubled:
            yield f"uses `{name}`, which is the name of two modules"
        elif name in known.modules and not _may_be_a_value(node, parent):
            yield f"uses the module `{name}` as a value"
        # Names may be looked up, or handed to `timeit`.
        looks_up = name in ("globals", "locals") and parent in self._timed
        looks_up |= name == "locals" and inside
        if name == "vars":
            arguments = parent.args if isinstance(parent, ast.Call) else []
            looks_up = name in known.bound or [type(each) for each in arguments] == [ast.Name]
        if name in BUILTINS and not looks_up:
            yield f"uses `{name}`"
        setting = name == SHELL_CLASS and isinstance(parent, ast.Attribute)
        only_called = (BY_NAME | {"get_ipython", SHELL_CLASS}) - known.functions
        if name in only_called and not _is_called(node, parent) and not setting:
            yield f"uses `{name}` as a value"
        if name == "breakpoint" and isinstance(parent, ast.Call) and parent.args:
            yield "uses `breakpoint` with arguments"

    def _attribute(self, node: ast.Attribute, parent: ast.AST) -> Iterator[str]:
        """Judge an attribute of anything but a module."""
        name = node.attr
        if _is_shell(node):
            if name not in OF_THE_SHELL:
                yield f"uses `get_ipython().{name}`"
        elif isinstance(node.value, ast.Name) and node.value.id == SHELL_CLASS:
            if name != "ast_node_interactivity":
                yield f"uses `{SHELL_CLASS}.{name}`"
        elif not self._known.is_own(node):
            # A pandas table evaluates text.
            of_a_table = name in ("eval", "query") and _is_called(node, parent)
            of_a_table &= bool(getattr(parent, "args", ()))
            own_table = _called(node.value) == "super" or (name == "__dict__" and _is_self(node.value))
            if (is_door(name) and not own_table) or of_a_table:
                yield f"uses `.{name}`"

    def _of_a_module(self, node: ast.Attribute, path: str, parent: ast.AST) -> Iterator[str]:
        """Judge an attribute that is reached from a module by names alone."""
        module, name = self._known.path(node.value), node.attr
        shown = ast.unparse(node)[:80]
        setting = isinstance(parent, ast.Assign) and isinstance(parent.value, ast.Constant)
        setting &= path.startswith("torch.backends.") or not path.startswith("torch")
        wrong = isinstance(node.value, ast.Name) and not is_allowed(module)
        wrong |= name not in ONLY.get(module, {name})
        wrong |= is_door(name) and not is_module(path)
        wrong |= module == "transformers" and "Tokenizer" not in name and name not in SPECIAL
        wrong |= is_module(path) and not is_allowed(path)
        if not isinstance(node.ctx, ast.Load) and not setting and path not in ("sys.stdout", "sys.stderr"):
            yield f"replaces `{shown}`"
        elif (path == "sys.modules" and isinstance(parent, ast.Compare)) or name == "__version__":
            return
        elif module != self._known.path(_root_of(node)) and is_module(module) and not is_allowed(module):
            return  # that is refused itself, whether or not what lies in it is loaded here
        elif wrong:
            yield f"uses `{shown}`"
        elif is_module(path) and not _may_be_a_value(node, parent):
            yield f"uses the module `{shown}` as a value"

    def _by_name(self, call: ast.Call) -> Iterator[str]:
        """Judge `getattr` and its kind: the name has to be plain to see, unless it is one of `self`."""
        function = _called(call)
        if function not in BY_NAME or len(call.args) < 2:
            return
        base, key = call.args[:2]
        path = self._known.path(base)
        if path and function in ("setattr", "delattr"):
            yield f"replaces something in `{ast.unparse(base)[:80]}`"
        if isinstance(key, ast.Constant):
            name = key.value if isinstance(key.value, str) else ""
            attribute = ast.Attribute(base, name, ast.Load())
            of_a_module = self._of_a_module(attribute, f"{path}.{name}", ast.Expr(attribute))
            yield from of_a_module if path else self._attribute(attribute, call)
            return
        plain = _is_self(_root_of(base)) or function in ("setattr", "hasattr")
        plain |= isinstance(key, COMPUTED) and not self._known.fragments
        if path or not plain:
            yield f"calls `{function}` with a computed name"

    def _derivative(self, node: ast.AST, parent: ast.AST, inside: bool) -> str:
        """Return the name by which torch is asked for a derivative, '' if it is not."""
        match node:
            case ast.ImportFrom(module=str(module), names=names):
                found = {each.asname or each.name for each in names if each.name in DERIVATIVES}
                self._imported |= found
                return min(found, default="") if module.startswith("torch.func") else ""
            case ast.Attribute(attr=name) if name in DERIVATIVES:
                if self._known.path(node).startswith("torch.func."):
                    return name  # gives a function, which could be called anywhere
                if self._known.is_own(node) and _is_self(_root_of(node)) and "self" not in self._rebound:
                    return ""
            case ast.Name(id=name) if name in self._imported:
                pass
            case ast.Name(id=name, ctx=ast.Load()) if name.lower().startswith(TRIES) and (
                name in self._known.functions
            ):
                return "" if _is_called(node, parent) and not inside else name
            case _:
                return ""
        if _is_called(node, parent):
            allowed = not inside and (name in GIVE_TENSORS or name in self._imported)
        else:
            read = name == "grad" and not inside and not self._known.path(node)
            read &= isinstance(node, ast.Attribute)
            allowed = read or _is_shown(node, parent)
        return "" if allowed else name

    def _timer(self, call: ast.Call) -> Iterator[Refusal]:
        """Read the text that `timeit` runs."""
        path = self._known.path(call.func)
        name = path.rpartition(".")[2] or getattr(call.func, "id", "")
        if name not in self._known.timers and not path.startswith(TIMERS):
            return
        for each in [*call.args[:2], *(k.value for k in call.keywords if k.arg in ("stmt", "setup"))]:
            if isinstance(each, ast.Constant) and isinstance(each.value, str):
                yield from self._text(each.value, call.lineno)
            elif isinstance(each, ast.Name) and each.id in self._known.functions:
                continue
            elif not isinstance(each, (ast.Lambda, ast.Constant)):
                yield Refusal(call.lineno, f"runs text as code with `{name}`")
        self._timed.update(each.value for each in call.keywords if each.arg == "globals")

    def _magic(self, call: ast.Call) -> Iterator[Refusal]:
        """Read what a magic runs. Shell commands are not run at all."""
        method = getattr(call.func, "attr", "")
        texts = [each.value for each in call.args if isinstance(each, ast.Constant)]
        name, line, body = (*map(str, texts), "", "", "")[:3]
        if method not in ("run_line_magic", "run_cell_magic"):
            return
        if len(texts) != len(call.args) or not texts:
            yield Refusal(call.lineno, f"uses `get_ipython().{method}`")
        elif method == "run_cell_magic":
            if name not in TEXT_MAGICS:  # what IPython does not know is run as it is
                yield from self._text(body, call.lineno + 1)
        elif name in CODE_MAGICS:
            yield from self._text(OPTIONS.sub("", line, count=1), call.lineno)
        elif name in LINE_MAGICS and ("{" in line or "$" in line):  # IPython puts values there
            yield Refusal(call.lineno, f"runs text as code with `%{name}`")

    def _text(self, source: str, line: int) -> Iterator[Refusal]:
        for found in _refusals(source, self._known, self._derivatives):
            yield replace(found, line=found.line + line - 1)


def _imported(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    """Yield what is refused of an import."""
    names = [each.name for each in node.names]
    if isinstance(node, ast.Import):
        for name in names:
            if not is_allowed(name) and not may_be_left_unused(name):
                yield f"imports `{name}`"
        return
    module = node.module or "."
    if ast.unparse(node) == f"from IPython.core.interactiveshell import {SHELL_CLASS}":
        return
    if not is_allowed(module):
        yield f"imports from `{module}`"
    for name in names:
        path = f"{module}.{name}"
        wrong = name == "*" and module not in STAR
        wrong |= name not in ONLY.get(module, {name})
        wrong |= is_door(name) and module != "__future__"
        wrong |= is_module(path) and not is_allowed(path)
        wrong |= module == "transformers" and "Tokenizer" not in name  # a finished model
        if wrong:
            yield f"imports `{path}`"


def _may_be_a_value(node: ast.expr, parent: ast.AST) -> bool:
    """Return whether a module stands where nothing can be done with it but by its name."""
    match parent:
        case ast.Assign(targets=[ast.Name()]):
            return not isinstance(node, ast.Call)
        case ast.Attribute() | ast.FormattedValue() | ast.Expr() | ast.Compare() | ast.If():
            return True
        case ast.Call(func=ast.Name(id=name), args=args):
            return node in args and name in SHOW | {"getattr", "hasattr"}
    return False


def _is_shown(node: ast.AST, parent: ast.AST) -> bool:
    """Return whether a value is only shown or compared."""
    if isinstance(parent, ast.Call):
        return node in parent.args and _called(parent) in SHOW
    return isinstance(parent, (ast.FormattedValue, ast.Compare, ast.Expr, ast.If, ast.Assert))


def _is_called(node: ast.AST, parent: ast.AST) -> bool:
    return isinstance(parent, ast.Call) and parent.func is node


def _called(node: ast.AST) -> str:
    """Return the plain name that a node calls, '' for none."""
    return node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""


def _is_shell(node: ast.AST) -> bool:
    """Return whether something is asked of IPython itself, as magics are."""
    return isinstance(node, ast.Attribute) and _called(node.value) == "get_ipython"


def _root_of(node: ast.AST) -> ast.AST:
    """Return what a chain of attributes and items begins with."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node


def _is_self(node: ast.AST) -> bool:
    """Return whether a node is the object or the class that a method belongs to, going by its name."""
    return isinstance(node, ast.Name) and node.id in ("self", "cls")
