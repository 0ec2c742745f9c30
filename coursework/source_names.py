"""What the names in an answer's text stand for, and the lists that they are held against.

`coursework.source_rules` reads the text.
"""

import ast
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import torch  # noqa: F401 - so that its modules are known

GIVEN: Final[Mapping[str, str]] = {
    "torch": "torch",
    "nn": "torch.nn",
    "F": "torch.nn.functional",
    "math": "math",
}
_LISTS: Final = tomllib.loads((Path(__file__).parent / "data/allowed.toml").read_text("utf-8"))


def _words(name: str) -> frozenset[str]:
    return frozenset(_LISTS[name].split())


MODULES, INSIDE, DOORS = _words("modules"), _words("inside"), _words("doors")
BUILTINS, STAR, SHOW = _words("builtins"), _words("star"), _words("show")
SPECIAL: Final = frozenset(f"__{name}__" for name in _words("special"))
DERIVATIVES, GIVE_TENSORS = _words("derivatives"), _words("give_tensors")
CODE_MAGICS, TEXT_MAGICS, SETTINGS = (_words("code_magics"), _words("text_magics"), _words("settings"))
LINE_MAGICS: Final = CODE_MAGICS | _words("other_magics")  # which the sandbox runs at all
PRIVATE: Final = _words("private")
ONLY: Final = {module: frozenset(names.split()) for module, names in _LISTS["only"].items()}
REGISTERS: Final = frozenset({"register_buffer", "register_parameter", "register_module", "add_module"})
LONGEST_NAME: Final = 40  # characters; a longer text with underscores is prose


@dataclass
class Known:
    """What the cells themselves define.

    `modules` has the path of each name that stands for a module, `own` the attributes of objects of the
    answer's own, `bound` the names of such objects, `functions` those that are defined with `def`, and
    `timers` those that measure time. `fragments` says that some text looks like a part of a special name,
    and `doubled` names that stand for two modules.
    """

    modules: dict[str, str] = field(default_factory=lambda: dict(GIVEN))
    own: set[str] = field(default_factory=set)
    bound: set[str] = field(default_factory=set)
    functions: set[str] = field(default_factory=set)
    timers: set[str] = field(default_factory=set)
    fragments: bool = False
    doubled: set[str] = field(default_factory=set)

    def learn(self, tree: ast.AST) -> None:
        """Take in what a cell defines."""
        for node in ast.walk(tree):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                self._import(node)
            elif isinstance(node, ast.ClassDef):
                self.bound.add(node.name)
                for each in node.body:
                    targets = (
                        each.targets if isinstance(each, ast.Assign) else [getattr(each, "target", each)]
                    )
                    self.own.update(target.id for target in targets if isinstance(target, ast.Name))
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self.own.add(node.name)
                self.functions.add(node.name)
            else:
                self._bind(node)
        self.bound -= self.modules.keys()

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        for each in node.names:
            if isinstance(node, ast.ImportFrom):
                path = f"{node.module}.{each.name}"
                named = is_module(path)
                if node.module == "timeit":
                    self.timers.add(each.asname or each.name)
            else:
                path = each.name if each.asname else each.name.partition(".")[0]
                named = True
            if each.name == "*" and isinstance(node, ast.ImportFrom):
                for name, value in vars(resolved(str(node.module)) or ast).items():
                    if isinstance(value, ModuleType) and not name.startswith("_"):
                        self._learn_module(name, value.__name__)
            if named:
                self._learn_module(each.asname or path.rpartition(".")[2], path)

    def _learn_module(self, name: str, path: str) -> None:
        """Take in that a name stands for a module, under whatever name that was reached."""
        found = resolved(path)
        path = found.__name__ if isinstance(found, ModuleType) else path
        if self.modules.setdefault(name, path) != path:
            self.doubled.add(name)

    def _bind(self, node: ast.AST) -> None:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if is_module(self.path(value)):
                self._learn_module(name, self.path(value))
            case ast.Attribute(attr=name, ctx=ast.Store()):
                self.own.add(name)
            case ast.Call(func=ast.Attribute(attr=method), args=[ast.Constant(value=str(name)), *_]) if (
                method in REGISTERS
            ):
                self.own.add(name)
            case ast.Constant(value=str(text)) if text in DOORS or ("__" in text and text not in SPECIAL):
                self.fragments |= len(text) < LONGEST_NAME
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                self.bound.add(name)

    def path(self, node: ast.AST) -> str:
        """Return the dotted path of an expression that begins with a module, '' for any other."""
        match node:
            case ast.Name(id=name):
                return self.modules.get(name, "")
            case (
                ast.Attribute(value=value, attr=name)
                | ast.Call(func=ast.Name(id="getattr"), args=[value, ast.Constant(value=str(name)), *_])
            ) if base := self.path(value):
                found = resolved(f"{base}.{name}")
                return found.__name__ if isinstance(found, ModuleType) else f"{base}.{name}"
        return ""

    def is_own(self, node: ast.Attribute) -> bool:
        """Return whether an attribute is one that the cells give to objects of their own."""
        root = root_of(node)
        named = not isinstance(root, ast.Name) or root.id in self.bound | self.functions
        named &= not node.attr.startswith("__")  # special names belong to every object
        return node.attr in self.own and (named or is_self(node.value))


def is_module(path: str) -> bool:
    """Return whether a dotted path is one of a module, as far as modules are loaded here."""
    return isinstance(resolved(path), ModuleType)


def resolved(path: str) -> Any:
    """Return what a dotted path leads to, None if that is not loaded."""
    base, _, name = path.rpartition(".")
    holder = resolved(base) if base else None
    if isinstance(holder, ModuleType):
        # Only torch is asked for what it may load late; another module could run code of its own.
        late = holder.__name__.partition(".")[0] == "torch"
        found = getattr(holder, name, None) if late else vars(holder).get(name)
        return sys.modules.get(path) if found is None else found
    return sys.modules.get(path)


def allowed(path: str) -> bool:
    """Return whether a module may be used."""
    found = resolved(path)
    name = found.__name__ if isinstance(found, ModuleType) else path
    top, _, rest = name.partition(".")
    if top not in MODULES or DOORS & set(rest.split(".")):
        return False
    one_by_one = top in ("torch", "IPython", "transformers", "coursework")
    return not (rest and one_by_one) or any(fnmatchcase(name, each) for each in INSIDE)


def is_door(name: str) -> bool:
    """Return whether a name leads out of the ordinary language."""
    special = name.startswith("__") and name.endswith("__")
    private = name.startswith("_") and name.strip("_") != "" and name not in PRIVATE
    return name in DOORS or (name not in SPECIAL if special else private)


def root_of(node: ast.AST) -> ast.AST:
    """Return what a chain of attributes and items begins with."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node


def is_self(node: ast.AST) -> bool:
    """Return whether a node is the object or the class that a method belongs to, going by its name."""
    return isinstance(node, ast.Name) and node.id in ("self", "cls")
