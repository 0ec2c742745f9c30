"""The allow-list that `source_rules` reads answers by, from `data/allowed.toml`: modules and names."""

import contextlib
import sys
import tomllib
from fnmatch import fnmatchcase
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import torch  # noqa: F401 - so that its modules are known

_LISTS: Final = tomllib.loads((Path(__file__).parent / "data/allowed.toml").read_text("utf-8"))


def _words(name: str) -> frozenset[str]:
    return frozenset(_LISTS[name].split())


MODULES, INSIDE, DOORS = _words("modules"), _words("inside"), _words("doors")
BUILTINS, STAR, SHOW = _words("builtins"), _words("star"), _words("show")
DERIVATIVES, GIVE_TENSORS = _words("derivatives"), _words("give_tensors")
CODE_MAGICS, TEXT_MAGICS, SETTINGS = _words("code_magics"), _words("text_magics"), _words("settings")
LINE_MAGICS: Final = CODE_MAGICS | _words("other_magics")  # which the sandbox runs at all
SPECIAL: Final = frozenset(f"__{name}__" for name in _words("special"))
PRIVATE: Final = _words("private")
ONLY: Final = {module: frozenset(names.split()) for module, names in _LISTS["only"].items()}


def may_be_left_unused(name: str) -> bool:
    """Return whether an import alone does nothing: the module is Python's, or installed."""
    top = name.partition(".")[0]
    if top in sys.stdlib_module_names:
        return top not in ("importlib", "ctypes", "runpy")
    with contextlib.suppress(ImportError, ValueError):
        found = find_spec(name) if name == top else None
        return found is not None and "site-packages" in str(found.origin)
    return False


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


def is_module(path: str) -> bool:
    """Return whether a dotted path leads to a module that is loaded."""
    return isinstance(resolved(path), ModuleType)


def real_name(path: str) -> str:
    """Return the name of the module that a dotted path leads to, or the path where it leads to none."""
    found = resolved(path)
    return found.__name__ if isinstance(found, ModuleType) else path


def is_allowed(path: str) -> bool:
    """Return whether a module may be used."""
    name = real_name(path)
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
