"""Reads known mistakes from YAML, one file an exercise, and fills in what their families share.

An entry begins with `id: title`; `hint` and `edit` follow. `CONTRIBUTING.md` describes every field.
"""

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from functools import cache, lru_cache
from itertools import pairwise, product, starmap
from pathlib import Path
from string import Formatter
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from autograder.model.errors import CheckDefinitionError
from autograder.model.exercise import Edit, Mistake

TOKENS = re.compile(r"\w+|[^\S\n]+|.", re.DOTALL)

Change = tuple[int, int, tuple[str, ...]]  # from one token to another, and what is put there
FAMILIES = Path(__file__).with_name("families.yaml")
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml is ten times as fast, where it is built in


class Entry(BaseModel):
    """One mistake, or one family, as it is written.

    Attributes:
        id: lower-case words with hyphens, unique in the file.
        title: the sentence that names the mistake; without one, the entry belongs to a family.
        family: the entry of families.yaml that it belongs to; by default the one of the same id.
        fill: what to put in place of the {words} of the family's title and hint.
        hint: what to look at or try; by default the family's.
        edit: what of the model answer is replaced, and by what; each key occurs exactly once. A list
            of replacements makes as many forms of the mistake, the main one first.
        everywhere: as `edit`, for keys that occur several times; applied after `edit`.
        also: further edits that make the same mistake with other side effects.
        same_as: ids of mistakes that no input tells apart from this one.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    id: str = Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")
    title: str = ""
    family: str = ""
    fill: dict[str, str | int | float] = {}
    hint: str = ""
    edit: dict[str, str | list[str]] = {}
    everywhere: dict[str, str | list[str]] = {}
    also: list[dict[str, str]] = []
    same_as: list[str] = []


def load_mistakes(path: Path, families: Path = FAMILIES) -> tuple[Mistake, ...]:
    """Return the mistakes in a file, in its order; none if there is no such file.

    Raises CheckDefinitionError, naming file and line, for an entry that cannot be read, an id that
    is taken, an unknown family, a family's {word} that is not filled in, or a mistake without a
    hint or an edit.
    """
    seen: dict[str, int] = {}
    found = []
    for entry, line in _entries(path) if path.is_file() else ():
        place = f"{path.name}:{line}"
        if entry.id in seen:
            raise CheckDefinitionError(f"{place}: '{entry.id}' is on line {seen[entry.id]} already")
        seen[entry.id] = line
        found.append(_mistake(entry, families, place))
    return tuple(found)


def _mistake(entry: Entry, families: Path, place: str) -> Mistake:
    shared = entry if entry.title else _family(entry, families, place)
    forms = _forms(entry) or _forms(shared)
    hint = entry.hint or shared.hint
    if not (forms and hint):
        missing = "edit" if hint else "hint"
        raise CheckDefinitionError(f"{place}: mistake '{entry.id}' has no {missing}")
    also = (*forms[1:], *(tuple(starmap(Edit, other.items())) for other in entry.also))
    return Mistake(entry.id, shared.title, hint, forms[0], also, frozenset(entry.same_as), place)


def _family(entry: Entry, families: Path, place: str) -> Entry:
    """Return the family of an entry, with the {words} of its title and hint filled in."""
    name = entry.family or entry.id
    family = _families(families).get(name)
    if family is None:
        raise CheckDefinitionError(
            f"{place}: mistake '{entry.id}' has no title, and there is no family '{name}'"
        )
    texts = [family.title, "" if entry.hint else family.hint]
    words = {word for text in texts for _, word, _, _ in Formatter().parse(text) if word}
    if words != entry.fill.keys():
        expected, given = (", ".join(sorted(each)) or "nothing" for each in (words, entry.fill))
        raise CheckDefinitionError(
            f"{place}: family '{name}' has to be given {expected}, and '{entry.id}' gives {given}"
        )
    title, hint = (text.format(**entry.fill) for text in texts)
    return family.model_copy(update={"title": title, "hint": hint})


def _forms(entry: Entry) -> list[tuple[Edit, ...]]:
    """Return the edits of an entry, once for each replacement where a key has a list of them."""
    written = [(old, new, False) for old, new in entry.edit.items()]
    written += [(old, new, True) for old, new in entry.everywhere.items()]
    choices = (
        [Edit(old, each, everywhere) for each in ([new] if isinstance(new, str) else new)]
        for old, new, everywhere in written
    )
    return [form for form in product(*choices) if form]


@cache
def _families(path: Path) -> dict[str, Entry]:
    return {entry.id: entry for entry, _ in _entries(path)}


def _entries(path: Path) -> Iterator[tuple[Entry, int]]:
    try:
        root = yaml.compose(path.read_text(encoding="utf-8"), Loader=LOADER)
    except UnicodeDecodeError as problem:
        raise CheckDefinitionError(f"{path.name}:1: expected UTF-8: {problem}") from problem
    except yaml.MarkedYAMLError as problem:
        line = problem.problem_mark.line + 1 if problem.problem_mark else 1
        raise CheckDefinitionError(f"{path.name}:{line}: {problem.problem}") from problem
    if root is not None and not isinstance(root, yaml.SequenceNode):
        raise CheckDefinitionError(f"{path.name}:1: expected a list of entries, '- id: title'")
    for node in root.value if root else ():
        line = node.start_mark.line + 1
        _require_distinct_keys(node, path)
        data = yaml.constructor.SafeConstructor().construct_document(node)
        yield _entry(data, f"{path.name}:{line}"), line


def _require_distinct_keys(node: yaml.Node, path: Path) -> None:
    """Raise CheckDefinitionError for a key that occurs twice: YAML itself would drop the first."""
    seen = set()
    for key, value in node.value if isinstance(node, yaml.MappingNode) else ():
        if key.value in seen:
            line = key.start_mark.line + 1
            raise CheckDefinitionError(f"{path.name}:{line}: the key {key.value!r} is there twice")
        seen.add(key.value)
        _require_distinct_keys(value, path)


def _entry(data: Any, place: str) -> Entry:
    """Return an entry whose first key is its id, with its title, or its family and {words}."""
    fields = dict(data) if isinstance(data, dict) else {}
    name = str(next(iter(fields), ""))
    title = fields.pop(name, None) or ""
    fill = dict(title) if isinstance(title, dict) else {}
    try:
        return Entry(id=name, title="" if fill else title, family=fill.pop("family", ""), fill=fill, **fields)
    except (ValidationError, TypeError) as problem:
        errors = problem.errors() if isinstance(problem, ValidationError) else []
        said = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in errors)
        raise CheckDefinitionError(
            f"{place}: expected '- id: title' with hint and edit, got {said or data!r}"
        ) from problem


def merged(source: str, *changed: str) -> str | None:
    """Return a source with all changes made to it; None where two of them meet."""
    changes = sorted(change for other in changed for change in _changes(source, other))
    for (start, end, _), (following, _, _) in pairwise(changes):
        if following < end or (following == start and start < end):
            return None
    tokens = _tokens(source)
    for start, end, new in reversed(changes):
        tokens[start:end] = new
    return "".join(tokens)


@lru_cache(maxsize=500)
def _changes(source: str, other: str) -> tuple[Change, ...]:
    before, after = _tokens(source), _tokens(other)
    codes = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    return tuple((a, b, tuple(after[c:d])) for kind, a, b, c, d in codes if kind != "equal")


def _tokens(source: str) -> list[str]:
    return TOKENS.findall(source)
