"""The time that a lesson claims is the time that its words, demos and exercises take, within a fifth."""

from pathlib import Path

import pytest
from lesson_texts import NAME, changed, make_course, read_text

from autograder.authoring.build import times
from autograder.authoring.minutes import Sitting, check_minutes, sittings
from autograder.authoring.rules import check_rules
from autograder.model.errors import LessonTextError

TITLE = "# # A small lesson\n"


def with_text(folder: Path, added: str, *edits: tuple[str, str]) -> list[Sitting]:
    """Return the sittings of the small lesson with lines below its title, and other edits."""
    text = changed(TITLE, TITLE + added)
    for old, new in edits:
        text = changed(old, new, text)
    return sittings(read_text(folder, text))


def test_words_demos_and_exercises_are_added_up(tmp_path: Path) -> None:
    """A minute for 200 words, half a minute for a demo; exercises take what they state."""
    (before,) = with_text(tmp_path, "")
    stated = (
        "# ### Exercise 1: doubling (12.5 points)\n",
        "# ### Exercise 1: doubling (12.5 points)\n#\n# 10 minutes, easy.\n",
    )
    (after,) = with_text(tmp_path, "#\n# " + "word " * 400 + "\n", stated)
    assert (after.words - before.words, after.exercises) == (403, 10)
    assert after.minutes == pytest.approx(before.minutes + 403 / 200 + 10)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("two words", 2),
        ("![a picture of a square](images/square.svg)", 0),
        ("a [link of words](https://example.org/a/b)", 4),
        ("$a + b = c$ holds", 2),
        ("| a | – |", 1),
        ("<details><summary>More: an aside</summary>folded away</details>", 0),
        ("<details><summary>Hint 3: think</summary>folded away</details>", 0),
        ("<details><summary>Answer</summary>read by all</details>", 4),
    ],
)
def test_what_is_read_counts(tmp_path: Path, line: str, words: int) -> None:
    """Alt texts, addresses, folded hints and folded asides don't; a formula is one word."""
    (before,), (after,) = with_text(tmp_path, ""), with_text(tmp_path, f"#\n# {line}\n")
    assert after.words - before.words == words


@pytest.mark.parametrize(
    ("code", "demos"),
    [
        ("print(1)", 1),
        ("%time print(1)", 1),
        ("import os\n\nfrom coursework import plots\n\nplots.use_style()", 0),
        ('check("double")', 0),
    ],
)
def test_a_demo_has_something_to_look_at(tmp_path: Path, code: str, demos: int) -> None:
    """Imports and the cards of an exercise take no time of their own."""
    (found,) = with_text(tmp_path, "", ("print(double(math.pi) > 6)", code))
    assert found.demos == 1 + demos  # with the function that is given


def claim(folder: Path, line: str) -> None:
    """Check the small lesson, which takes 45 minutes, with a claim."""
    text = changed(TITLE, f"{TITLE}#\n# {line}\n")
    text = changed("doubling (12.5 points)\n", "doubling (12.5 points)\n#\n# 45 minutes, hard.\n", text)
    check_minutes(read_text(folder, text))


@pytest.mark.parametrize(
    "line", ["**Time** about 45 minutes", "**Time** about 40 minutes · **Difficulty** easy", ""]
)
def test_an_honest_claim_passes(tmp_path: Path, line: str) -> None:
    """A fifth more or less is close enough, and no claim is none that is wrong."""
    claim(tmp_path, line)


@pytest.mark.parametrize("minutes", [20, 60])
def test_a_claim_that_is_off_says_what_to_write(tmp_path: Path, minutes: int) -> None:
    """The message has what is claimed, what it takes, the sum and the line to write."""
    with pytest.raises(LessonTextError) as caught:
        claim(tmp_path, f"**Time** about {minutes} minutes")
    said = str(caught.value)
    assert (
        f"01_small.py:9: cell 'prose-1': the lesson claims {minutes} minutes but takes about 45 minutes: 0 for "
        in said
    )
    assert "1 for 2 demos, 45 for exercises; write 'about 45 minutes', or shorten the text" in said


def test_each_sitting_has_a_claim(tmp_path: Path) -> None:
    """A heading begins a sitting; as many numbers are expected as there are sittings."""
    with pytest.raises(LessonTextError, match=r"expected the minutes of 1 sitting\(s\).* got 2"):
        claim(tmp_path, "**Time** two sittings, about 20 minutes and 25 minutes")
    second = ("# ### Exercise 2: choices", "# # Sitting 2: choose\n#\n# ### Exercise 2: choices")
    (before,) = with_text(tmp_path, "#\n# # Sitting 1: double\n")
    parts = with_text(tmp_path, "#\n# # Sitting 1: double\n", second)
    assert len(parts) == 2
    assert sum(part.words for part in parts) == before.words + 3
    assert [part.demos for part in parts] == [1, 1]


def test_the_build_checks_the_time(tmp_path: Path) -> None:
    """The rule is one of those that each text has to keep."""
    with pytest.raises(LessonTextError, match="claims 600 minutes"):
        check_rules(read_text(tmp_path, changed(TITLE, f"{TITLE}#\n# **Time** about 600 minutes\n")))


def test_the_build_says_how_long_a_lesson_takes(tmp_path: Path) -> None:
    """An author sees the sum for each lesson that was built, and for no other."""
    course = make_course(tmp_path)
    (line,) = times(course, [course.source_notebook(NAME)])
    assert line.startswith("01_small: about 0 minutes: 0 for ")
    assert not list(times(course, []))


def test_a_sitting_takes_two_hours_at_most(tmp_path: Path) -> None:
    """An honest claim does not help: the message says to shorten or to split."""
    text = changed(TITLE, f"{TITLE}#\n# **Time** about 125 minutes\n")
    text = changed("doubling (12.5 points)\n", "doubling (12.5 points)\n#\n# 125 minutes, hard.\n", text)
    with pytest.raises(LessonTextError, match=r"takes about 125 minutes.* at most 120 minutes: shorten it"):
        check_minutes(read_text(tmp_path, text))
