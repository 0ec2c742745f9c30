"""Nothing that a submission says can move a terminal's cursor, reorder a page, or flood a log."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.model import text as texts
from autograder.model.report import CheckReport, Incident, Report, State
from autograder.model.text import (
    LONGEST,
    MOST_LINES,
    clean,
    clean_name,
    is_student_name,
    look_alikes,
    spelt_name,
    visible,
)

FORBIDDEN = {"Cc", "Cs", "Zl", "Zp"}
HIDDEN = "\u061c\u200b\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068\u2069\ufeff\U000e0041"


@given(st.text(st.characters(codec=None), max_size=60) | st.text(HIDDEN + "\x1b\x9b[]0;m\x07ab\n"))
def test_what_is_cleaned_holds_no_control_character(text: str) -> None:
    """Of whatever kind; cleaning again changes nothing."""
    for made in (clean(text), visible(text)):
        made.encode()
        wrong = [each for each in made if unicodedata.category(each) in FORBIDDEN]
        assert set(wrong) <= {"\n", "\t"}
        assert not set(made) & set(HIDDEN)
    assert clean(clean(text)) == clean(text)


@pytest.mark.parametrize(
    "text",
    [
        "a\x1b[2Jb",
        "a\x1b]0;a title\x07b",
        "a\x1b]8;;http://x\x1b\\b",
        "a\x1bPdevice\x1b\\b",
        "a\x9b31mb",
        "a\x1b(0b",
        "a\x1b[38;5;1mb",
        "a\x1bcb",
        "a\u202eb",
    ],
)
def test_a_terminal_sees_no_escape_sequence(text: str) -> None:
    """Sequences are removed as a whole: colours, titles, links, character sets, resets."""
    assert clean(text) == "ab"


@given(st.text(max_size=30), st.integers(0, 4000))
def test_a_cut_text_is_never_longer_than_it_may_be(text: str, times: int) -> None:
    """A text that was cut is not cut again when it is shown."""
    made = clean(text * times)
    assert len(made) <= LONGEST
    assert clean(made) == made


def test_a_report_holds_only_printable_text_of_bounded_length() -> None:
    """Whoever makes it: a check's message, an incident's detail, a repair, a reason."""
    wild = "\x1b[31m\u202e" + "x" * 10_000_000
    report = Report(
        lesson="l",
        score=0,
        max_score=0,
        exercises=[],
        repairs=[wild] * 500,
        incidents=[Incident(exercise=None, kind="k", message=wild, detail=wild)],
    ).with_file(State.UNREADABLE, wild, [wild] * 500)
    check = CheckReport(id="c", title=wild, passed=False, message=wild)
    whole = report.model_dump_json() + check.model_dump_json()
    assert "\\u001b" not in whole
    assert "\u202e" not in whole
    assert len(report.repairs) == MOST_LINES
    assert len(whole) < 100_000


@pytest.mark.parametrize(
    "name", ["s123", "O'Brien", "müller, jörg", "李雷", "a.b@c.d", "x_1-2 (3)"]
)
def test_names_that_people_have_are_accepted(name: str) -> None:
    """Letters of any script, and the signs of names and addresses."""
    assert is_student_name(name)


@pytest.mark.parametrize(
    "name",
    [
        *("<img src=x onerror=alert(1)>", 'a"b', "a&b", "*", "[ab]", "a?", "a\\b", "`id`"),
        *("=1+1", "+1", "-rf", "@x", "＝1", ".hidden", " x", "x ", ""),
        *("a\x1b[31m", "a\nb", "a\tb", "a\u202eb", "a\udc80b", "a\u2028b", "a" * 101, "a\u200bb"),
    ],
)
def test_names_that_a_page_a_table_or_a_path_might_act_on_are_not(name: str) -> None:
    """Markup, patterns, formulas, options, control characters, and names of no length or too much."""
    assert not is_student_name(name)
    assert "\x1b" not in clean_name(name)
    assert "\n" not in clean_name(name)


def test_no_printable_character_is_cleaned_away() -> None:
    """ASCII that Python calls printable is left as it is, so it need not be searched."""
    for number in range(128):
        character = chr(number)
        if character.isprintable():
            assert not texts._UNPRINTABLE.search(character), hex(number)
            assert not texts._ESCAPES.search(character), hex(number)
            assert not texts._SURROGATES.search(character), hex(number)


INVISIBLE = "\u3164\u115f\u1160\uffa0\u034f\u2800\u17b4\u180b\ufe0f\U000e0100\U0001d173\xad\u200b\u200d\ufeff"


@pytest.mark.parametrize("character", INVISIBLE, ids=ascii)
def test_what_has_no_shape_is_removed_and_makes_no_name(character: str) -> None:
    """By Unicode's property, not by a list of ours; a name with it would look like another student's."""
    assert clean(f"an{character}na{character}") == "anna"
    assert visible(f"anna{character}") == "anna\ufffd"
    assert not is_student_name(f"anna{character}")


@pytest.mark.parametrize("text", ["\u2764\ufe0f\u200d\U0001f525", "\u0645\u06cc\u200c\u0631\u0648\u0645", "\u845b\U000e0100\u57ce", "\u0915\u094d\u200d\u0937"])
def test_what_scripts_and_emoji_need_is_kept(text: str) -> None:
    """An emoji of two, a Persian verb, a Japanese surname, a Hindi half letter."""
    assert clean(text) == visible(text) == text
    assert is_student_name(text)


def test_nothing_can_be_hidden_behind_a_letter() -> None:
    """Of a chain of selectors and joiners, one of each stays."""
    hidden = "".join(chr(0xE0100 + byte) for byte in b"a message that nobody sees")
    assert clean(f"\u00e9{hidden}\u200d{hidden}") == "\u00e9\U000e0161"


def test_names_that_look_alike_are_found() -> None:
    """Case, full width, ligatures, compositions and joiners make no difference; another letter does."""
    alike = {"anna", "Anna", "\uff41nna", "ste\ufb00i", "steffi", "ren\u00e9", "rene\u0301", "\u06cc\u200c\u0631", "\u06cc\u0631"}
    assert set(look_alikes([*alike, "ann", "bob", "\u0430nna"])) == alike


@pytest.mark.parametrize(
    ("name", "spelt"),
    [("ada\u3164", "ada\\u3164"), ("ada ", "ada "), ("a\tb\x7f", "a\\tb\\x7f"), ("\ud800q\x1b[1m", "\\ud800q\\x1b[1m"),
     ("Zoë 👩\u200d🚀", "Zoë 👩\u200d🚀"), ("x" * 200, "x" * 100 + " … (cut)")],
)  # fmt: skip
def test_a_name_is_told_from_another_that_looks_the_same(name: str, spelt: str) -> None:
    """What nobody can see is spelt out, so that nobody takes the one for the other."""
    assert spelt_name(name) == spelt
    assert spelt.isprintable() or "\u200d" in spelt
