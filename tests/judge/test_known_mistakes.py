"""Mistakes are read from YAML: titles, families, forms, edits, and what is wrong with a file."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from conftest import ROOT

from autograder.judge.mistakes import FAMILIES, load_mistakes, merged
from autograder.model.errors import CheckDefinitionError, StaleEditError
from autograder.model.exercise import Edit, Mistake

FILES = sorted((ROOT / "autograder/lessons").glob("*/*.yaml"))
ENTRIES = [entry for path in FILES for entry in yaml.safe_load(path.read_text(encoding="utf-8"))]
ANSWER = """\
def twice(x, times):
    for _ in range(times):
        x = x * 2  # each time
    return x
"""
SHARED = """\
- in-place: "`{what}` is changed in place"
  hint: Does `{what}` change?
- nothing-returned: Nothing is returned
  hint: Return it.
  edit: {"return x": ""}
"""
Load = Callable[[str], tuple[Mistake, ...]]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Give a function that reads mistakes, with a few families of its own."""
    path, families = tmp_path / "twice.yaml", tmp_path / "families.yaml"
    families.write_text(SHARED, encoding="utf-8")

    def read(text: str) -> tuple[Mistake, ...]:
        path.write_text(text, encoding="utf-8")
        return load_mistakes(path, families)

    return read


def test_entries_are_read_in_their_order_with_their_places(load: Load) -> None:
    """Id, title, hint, edits and line; what is equal to another mistake."""
    first, second = load(
        "- b: It is b\n  hint: Look.\n  edit: {x: y}\n\n"
        "- a: It is a\n  hint: Try.\n  edit: {u: v}\n  everywhere: {w: z}\n  same_as: [b]\n"
    )
    assert first == Mistake("b", "It is b", "Look.", (Edit("x", "y"),), place="twice.yaml:1")
    assert second.edits == (Edit("u", "v"), Edit("w", "z", everywhere=True))
    assert (second.same_as, second.place) == (frozenset({"b"}), "twice.yaml:5")


def test_there_need_not_be_a_file(tmp_path: Path) -> None:
    """An exercise may have no known mistakes."""
    assert load_mistakes(tmp_path / "none.yaml") == ()


def test_each_replacement_in_a_list_is_a_form(load: Load) -> None:
    """The main form comes first, those under `also` last."""
    (mistake,) = load(
        "- a: A\n  hint: H\n  edit: {x: [u, v]}\n  everywhere: {y: z}\n  also: [{x: w}]\n"
    )
    everywhere = Edit("y", "z", everywhere=True)
    assert mistake.edits == (Edit("x", "u"), everywhere)
    assert mistake.also == ((Edit("x", "v"), everywhere), (Edit("x", "w"),))
    assert len(mistake.forms()) == 3


def test_an_id_without_a_title_names_the_family(load: Load) -> None:
    """The family gives title, hint and edit; what the entry has of its own comes first."""
    plain, own = load("- nothing-returned:\n- other: {family: nothing-returned}\n  hint: My own.\n")
    assert (plain.title, plain.hint) == ("Nothing is returned", "Return it.")
    assert plain.edits == own.edits == (Edit("return x", ""),)
    assert (own.id, own.title, own.hint) == ("other", "Nothing is returned", "My own.")


def test_the_words_of_a_family_are_filled_in(load: Load) -> None:
    """Numbers may stand in as they are; braces in a text of one's own mean nothing."""
    mistakes = load(
        "- in-place: {what: x}\n  edit: {x: y}\n- b: {family: in-place, what: 0}\n  edit: {x: y}\n"
        "- c: '{what} is it?'\n  hint: '{x}'\n  edit: {x: y}\n"
    )
    assert [each.title for each in mistakes] == [
        "`x` is changed in place",
        "`0` is changed in place",
        "{what} is it?",
    ]
    assert [each.hint for each in mistakes] == ["Does `x` change?", "Does `0` change?", "{x}"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- a: [\n", r"twice\.yaml:2: "),
        ("a: A\nhint: H\n", r"twice\.yaml:1: expected a list"),
        ("- a: A\n  hint: H\n  edit: {x: y}\n  colour: red\n", r"twice\.yaml:1: .*colour"),
        ("- Not an id: A\n  hint: H\n  edit: {x: y}\n", r"twice\.yaml:1: .*id: .*pattern"),
        ("- just a sentence\n", r"twice\.yaml:1: expected '- id: title' with hint and edit"),
        ("- a: A\n  hint: H\n  edit: {x: 3}\n", r"twice\.yaml:1: .*edit\.x"),
        ("- a: A\n  hint: H\n", r"twice\.yaml:1: mistake 'a' has no edit"),
        ("- a: A\n  edit: {x: y}\n", r"twice\.yaml:1: mistake 'a' has no hint"),
        ("- a: A\n  hint: H\n  edit: {x: []}\n", r"twice\.yaml:1: mistake 'a' has no edit"),
        (
            "- nothing-returned:\n- nothing-returned:\n",
            r"twice\.yaml:2: 'nothing-returned' is on line 1 already",
        ),
        ("- a:\n  hint: H\n", r"twice\.yaml:1: mistake 'a' has no title, .* no family 'a'"),
        ("- a: {family: b}\n", r"twice\.yaml:1: mistake 'a' has no title, .* no family 'b'"),
        (
            "- in-place:\n  edit: {x: y}\n",
            r"twice\.yaml:1: .*given what, and 'in-place' gives nothing",
        ),
        ("- nothing-returned: {what: x}\n", r"twice\.yaml:1: .*given nothing, and .* gives what"),
    ],
)
def test_an_error_names_file_and_line(load: Load, text: str, message: str) -> None:
    """Whatever is wrong with an entry is told with its place."""
    with pytest.raises(CheckDefinitionError, match=message):
        load(text)


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (Edit("x * 2", "x"), "        x = x  # each time\n"),
        (Edit("x = x * 2", "y = x\nx = y"), "        y = x\n        x = y  # each time\n"),
        (
            Edit("x = x * 2  # each time", "if x:\n    x = 2"),
            "        if x:\n            x = 2\n",
        ),
        (Edit("x * 2", "(\n    x\n)"), "        x = (\n            x\n        )  # each time\n"),
        (Edit("x = x * 2  # each time", ""), "        pass\n"),
        (Edit("x = x * 2", ""), "        pass  # each time\n"),
        (Edit("        x = x * 2  # each time\n", ""), ""),
        (Edit(" * 2", ""), "        x = x  # each time\n"),
    ],
)
def test_an_edit_keeps_the_indentation(edit: Edit, expected: str) -> None:
    """Further lines go below the first one, and a deleted statement leaves `pass`."""
    head, _, tail = ANSWER.partition("        x = x * 2  # each time\n")
    assert edit.apply(ANSWER) == head + expected + tail


def test_each_place_has_its_own_indentation() -> None:
    """An edit that applies everywhere looks at each line."""
    source = "a()\nif b:\n    a()\n"
    assert Edit("a()", "").apply(source) == "pass\nif b:\n    pass\n"
    assert Edit("a()", "c()\nd()").apply(source) == "c()\nd()\nif b:\n    c()\n    d()\n"


def test_an_edit_without_a_place_is_refused() -> None:
    """The message names the mistake and says what to do."""
    mistake = Mistake("a", "A", "H", (Edit("x * 3", "x"),), place="twice.yaml:7")
    with pytest.raises(StaleEditError, match=r"twice\.yaml:7: mistake 'a': 'x \* 3' is not in"):
        mistake.apply(ANSWER)


def test_every_family_has_members() -> None:
    """A family that unites nothing is no use, and two of one name would hide one another."""
    names = [next(iter(family)) for family in yaml.safe_load(FAMILIES.read_text(encoding="utf-8"))]
    uses = Counter(map(_family, ENTRIES))
    assert [name for name, number in Counter(names).items() if number > 1] == []
    assert [name for name in names if uses[name] < 2] == []


def _family(entry: dict[str, object]) -> object:
    name, title = next(iter(entry.items()))
    if isinstance(title, dict):
        return title.get("family", name)
    return None if title else name


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_no_two_mistakes_have_the_same_title(path: Path) -> None:
    """A student who is told a title knows which mistake of the exercise is meant."""
    titles = Counter(mistake.title for mistake in load_mistakes(path))
    assert [title for title, number in titles.items() if number > 1] == []


SOURCE = "is_real = ids != pad_id\nreturn is_real.unsqueeze(1)"


def test_changes_of_different_tokens_are_merged() -> None:
    """Two mistakes in one expression make an answer with both."""
    inverted, fixed = SOURCE.replace("!=", "=="), SOURCE.replace("pad_id", "0")
    assert merged(SOURCE, inverted, fixed) == SOURCE.replace("!= pad_id", "== 0")


def test_changes_of_the_same_token_are_not() -> None:
    """Two mistakes that put different things in one place exclude each other."""
    assert merged(SOURCE, SOURCE.replace("!=", "=="), SOURCE.replace("!=", ">")) is None
