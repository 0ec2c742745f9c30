"""Noun phrases for synthetic paragraphs: people, things, times and places, drawn at random."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

from coursework import synthetic_qa_words as w

PRONOUN: Final = "it"


@dataclass(frozen=True)
class Slot:
    """What fills a slot: the answer itself, and what stands before it (`in ` before `1871`)."""

    core: str
    before: str = ""

    def __str__(self) -> str:
        return self.before + self.core


def invented_name(random: Random) -> str:
    """Return a name made of syllables."""
    return "".join(random.sample(w.SYLLABLES, random.choice((2, 2, 3)))).capitalize()


def person(random: Random) -> Slot:
    """Return a person, with or without a role, or a group."""
    drawn = random.random()
    full = f"{random.choice(w.FIRST)} {invented_name(random)}"
    if drawn < 0.45:
        return Slot(full)
    if drawn < 0.65:
        return Slot(full, f"the {random.choice(w.ROLES)} ")
    if drawn < 0.8:
        return Slot(random.choice(w.GROUPS))
    return Slot(f"{random.choice(('a', 'the', 'the young', 'a local'))} {random.choice(w.ROLES)}")


def thing(random: Random, pool: Sequence[str]) -> str:
    """Return a thing from a pool, some with an adjective or a place."""
    adjective = f"{random.choice(w.ADJECTIVES)} " if random.random() < 0.5 else ""
    after = random.random()
    place = (
        f" of {invented_name(random)}"
        if after < 0.12
        else f" on the {random.choice(w.SPOTS)}"
        if after < 0.2
        else ""
    )
    return f"the {adjective}{random.choice(pool)}{place}"


def time(random: Random) -> Slot:
    """Return a point in time."""
    year = str(random.randint(1200, 2020))
    month = random.choice(w.MONTHS)
    return random.choice((
        Slot(year, "in "), Slot(year, "in "), Slot(year, "in "), Slot(f"{month} {year}", "in "),
        Slot(f"{random.randint(1, 28)} {month} {year}", "on "),
        Slot(f"the {random.choice(('spring', 'summer', 'autumn', 'winter'))} of {year}", "in "),
        Slot(f"the {random.choice(('twelfth', 'fifteenth', 'eighteenth', 'nineteenth'))} century", "in "),
        Slot(f"{random.choice(w.NUMBERS)} years later"), Slot(f"after {random.choice(w.EVENTS)}"),
        Slot(f"last {random.choice(('week', 'summer', 'year', 'night'))}"), Slot("today"), Slot("now"),
    ))  # fmt: skip


def place(random: Random) -> Slot:
    """Return a place."""
    spot = random.choice(w.SPOTS)
    room = f"{random.choice(('a', 'the'))} {random.choice(w.ADJECTIVES)} {random.choice(w.ROOMS)}"
    beyond = random.choice(("near", "behind", "below", "above", "next to", "beside"))
    tail = f" {beyond} the {random.choice(w.SPOTS)}" if random.random() < 0.4 else ""
    return random.choice((
        Slot(random.choice(w.CITIES), "in "), Slot(invented_name(random), "in "), Slot(room + tail, "in "),
        Slot(f"{beyond} the {spot}"), Slot(f"the {random.choice(w.SIDES)} bank of the {spot}", "on "),
        Slot(f"the foot of the {spot}", "at "), Slot(f"the {spot}", "at "),
        Slot(f"{random.choice(w.NUMBERS)} kilometres from {invented_name(random)}"),
    ))  # fmt: skip
