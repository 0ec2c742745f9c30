"""Where a lesson's prose is divided, what of it a slide shows, and what goes to the speaker notes.

A slide keeps headings, figures, tables, questions with their answers, and of each paragraph the key
sentences. The notes hold the paragraphs in full.
"""

import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from autograder.model.lesson_text import IMAGE

LONG: Final = 150  # characters; shorter paragraphs stay whole
KEY_SENTENCES: Final = 2
SENTENCE: Final = re.compile(r"(?:(?<=[.!?:])|(?<=[.!?][)*”])|(?<=[.!?]\*\*))\s+(?=[A-Z*`$(“\[])", re.DOTALL)
RUN_IN: Final = re.compile(r"\*\*[^*]+[.!?]\*\*")  # a heading on the paragraph's first line
KEPT_WHOLE: Final = ("#", "![", "<", "```", "|", ">")
ITEM: Final = re.compile(r"\n(?=(?:- |\d+\. ))")
MARKER: Final = re.compile(r"(?:- |\d+\. )?")
# What a slide has to say: a term in bold, a formula, or a sentence that announces what follows.
KEY: Final = re.compile(r"\*\*|\$[^$]*(?:=|\\frac|\\sqrt|\\le)[^$]*\$|:$")

# Sentences about controls and cells that an exported slide does not have.
STALE: Final = re.compile(
    r"running kernel|\bsliders?\b|\bdrag\b|press Enter|click on any cell|edit the query"
    r"|pip install|recorded texts|run the checks"
    r"|stop button|run all cells|save the notebook|raise `STEPS`|`checkpoint=`|run `skip\("
    r"|next cell (?:shows|tells|draws)",
    re.IGNORECASE,
)
# Sentences that say how to write an answer and hand it in, and what it takes.
TASK: Final = re.compile(
    r"\baccepted\b|\bin scope\b|\byou may use\b|\bvisible tests?\b|\btest cell\b|\bSome tests\b|`ValueError`"
    r"|weights are loaded by|delete the `raise`|in the documentation"
    r"|^(?:- )?(?:Don't |Keep the |Fill in |Write shapes|Return only )",
    re.IGNORECASE,
)
MINUTES: Final = re.compile(r"\s*\*[^*]*\bminutes\b[^*]*\*\s*")

REWORDED: Final[tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...]] = (
    (re.compile(r"\*\*Predict, then (?:click|run|measure)\.\*\*"), "**Predict, then reveal.**"),
    (re.compile(r"\*\*Try it\.\*\* (?=Before you drag)"), "**Predict.** "),
    (
        re.compile(r"Before you (?:drag the slider|run the (?:next )?cell): (\w)"),
        lambda found: found[1].upper(),
    ),
    (re.compile(r"(?<=\d) %"), "\u00a0%"),
    (re.compile(r"before you run the (?:next )?cell"), "before you look on"),
    (re.compile(r"\bThe next cell\b(?! (?:shows|tells|draws))"), "The code"),
    (re.compile(r"\bthe next cell\b(?! (?:shows|tells|draws))"), "the code"),
)


def blocks(text: str) -> list[str]:
    """Split prose where a slide may end: between paragraphs, but never inside folded text.

    A heading stays with what follows it, a list, a table or code with what announces it, and a question
    with its folded answer.
    """
    found: list[str] = []
    for block in paragraphs(text):
        if found and _introduces(found[-1], block):
            found[-1] += "\n\n" + block
        else:
            found.append(block)
    return found


def paragraphs(text: str) -> Iterator[str]:
    """Yield what blank lines separate; folded text and code in fences count as one."""
    held: list[str] = []
    for paragraph in re.split(r"\n\s*\n", text.strip()):
        held.append(paragraph)
        whole = "\n\n".join(held)
        unfolded = whole.count("<details") == whole.count("</details>")
        if unfolded and whole.count("```") % 2 == 0:
            yield whole
            held = []
    if held:
        yield "\n\n".join(held)


def _introduces(before: str, block: str) -> bool:
    last = before.rsplit("\n\n", 1)[-1]
    folded = block.startswith("<details") and not last.startswith("<details")
    kinds = ("- ", "1. ", "| ", "```")
    announced = block.startswith(kinds) and not last.startswith(kinds)
    return last.startswith("#") or folded or announced


class Split(NamedTuple):
    """A block of prose: what its slide shows, and what the lecturer says."""

    shown: str
    notes: str


def split(block: str) -> Split:
    """Divide a block between its slide and the notes; what is out of date on a slide is in neither.

    The notes have all of it: paragraphs in full, answers open, and of a figure what is to be seen in it.
    """
    shown, notes = [], []
    for paragraph in paragraphs(block):
        if paragraph.startswith(KEPT_WHOLE):
            shown.append(_reworded(paragraph))
            notes.append(IMAGE.sub(r"*\1*", shown[-1]).replace("<details>", "<details open>"))
        else:
            notes.append(without_stale(paragraph))
            shown.append(shorten(notes[-1]))
    return Split(_joined(shown), _joined(notes))


def without_task(text: str) -> str:
    """Return an exercise's text without the sentences that say how to write an answer and hand it in."""
    kept = []
    for paragraph in paragraphs(MINUTES.sub("\n\n", text)):
        items = ITEM.split(paragraph) if not paragraph.startswith(KEPT_WHOLE) else []
        left = [" ".join(one for one in sentences(item) if not TASK.search(one)) for item in items]
        kept.append("\n".join(filter(None, left)) if items else paragraph)
    return _joined(kept)


def without_stale(paragraph: str) -> str:
    """Return a paragraph without the sentences that speak about controls and cells.

    A paragraph that begins with such a sentence, or consists of a heading and such sentences, is about the
    control, and is dropped.
    """
    paragraph = _reworded(paragraph)
    if not STALE.search(paragraph):
        return paragraph
    parts = sentences(paragraph)
    left = [part for part in parts if not STALE.search(part)]
    about_it = STALE.search(parts[0]) or all(map(RUN_IN.fullmatch, left))
    return "" if about_it else " ".join(left)


def _reworded(paragraph: str) -> str:
    for pattern, words in REWORDED:
        paragraph = pattern.sub(words, paragraph)
    return paragraph


def shorten(paragraph: str) -> str:
    """Return the key sentences of a paragraph, or of each item of a list."""
    if paragraph.startswith(("- ", "1. ")):
        return "\n".join(map(_shorten_item, ITEM.split(paragraph)))
    if "**Predict" in paragraph or paragraph.startswith("**And**"):
        return paragraph  # a question is read out in full
    return _key_sentences(paragraph, KEY_SENTENCES)


def _shorten_item(item: str) -> str:
    marker = MARKER.match(item)
    end = marker.end() if marker else 0
    return item[:end] + _key_sentences(item[end:], 1)


def sentences(paragraph: str) -> list[str]:
    """Split a paragraph into sentences; brackets, formulas and bold text are never cut."""
    found: list[str] = []
    for part in SENTENCE.split(paragraph):
        if found and (_is_open(found[-1]) or _announces(found)):
            found[-1] += f" {part}"
        else:
            found.append(part)
    return found


def _announces(found: list[str]) -> bool:
    """Return whether the last part found is none without the next: a heading in mid-paragraph."""
    run_in = len(found) > 1 and RUN_IN.fullmatch(found[-1]) is not None
    return run_in or found[-1].endswith((":", "al.", "e.g.", "i.e."))


def _is_open(text: str) -> bool:
    pairs = text.count("(") > text.count(")")
    return pairs or any(text.count(mark) % 2 for mark in ("$", "`", "**"))


def _key_sentences(paragraph: str, least: int) -> str:
    """Return a paragraph up to the last sentence that a slide has to say.

    Nothing before it is left out, since a sentence is not understood without what it builds on. `least`
    sentences are kept in any case.
    """
    parts = sentences(paragraph)
    if len(paragraph) <= LONG:
        return paragraph
    last = max((place for place, part in enumerate(parts) if KEY.search(part)), default=0)
    return " ".join(parts[: max(last + 1, least + bool(RUN_IN.fullmatch(parts[0])))])


def _joined(parts: list[str]) -> str:
    return "\n\n".join(part for part in parts if part)
