"""Makes paragraphs with questions and answers, to train a span head on.

A paragraph is four to seven facts, some of them about one thing, mostly of the same few kinds: the
kind of answer (a person, a year) is rarely enough to find it. A fact is a sentence whose slots are
known, so that every answer has a known place.
"""

from dataclasses import dataclass
from random import Random
from string import Formatter

from coursework import synthetic_qa_words as w
from coursework.synthetic_facts import FRAMES, Fact
from coursework.synthetic_phrases import PRONOUN, Slot, thing


@dataclass(frozen=True)
class Example:
    """A question, a paragraph, and where in the paragraph the answer stands: [start, end)."""

    question: str
    paragraph: str
    start: int
    end: int


def example(random: Random) -> Example:
    """Draw a paragraph and one question about it."""
    topic = thing(random, random.choice((w.BUILDINGS, w.BUILDINGS, w.DEVICES, w.WORKS)))
    kinds = random.choices(FRAMES, k=random.choice((2, 3, 4)))
    drawn = [
        random.choice(kinds)(random, topic if random.random() < 0.45 else "")
        for _ in range(random.randint(3, 6))
    ]
    facts = list({fact.template: fact for fact in drawn if fact.questions}.values())
    for fact in facts:
        if PRONOUN in map(str, fact.slots.values()):  # a pronoun needs a name before it
            fact.slots["o"] = Slot(topic)
            break
    return _asked(random, facts, random.randrange(len(facts)))


def _asked(random: Random, facts: list[Fact], number: int) -> Example:
    """Write the paragraph, and ask for a slot of one of its facts."""
    fact = facts[number]
    wanted = random.choice([name for name in fact.questions if name in fact.slots])
    text, spans = "", {}
    for place, each in enumerate(facts):
        written, found = _written(each)
        joined = random.random() < 0.2 and place > 0
        text, gap = (text[:-1], random.choice((", and ", "; ", ", while "))) if joined else (text, " ")
        gap = gap if text else ""
        if not joined:
            written = written[0].upper() + written[1:]
        if place == number:
            spans = {name: (len(text + gap) + a, len(text + gap) + b) for name, (a, b) in found.items()}
        text += gap + written
    said = {name: str(slot) for name, slot in fact.slots.items()} | fact.asked
    template = random.choice(fact.questions[wanted])
    fields = {name for _, name, _, _ in Formatter().parse(template) if name}
    if not fields <= set(said):
        template = fact.questions[wanted][0]
    question = template.format(**said)
    return Example(question[0].upper() + question[1:], text, *spans[wanted])


def _written(fact: Fact) -> tuple[str, dict[str, tuple[int, int]]]:
    """Fill the slots of a sentence; return it and where each answer stands."""
    text, spans = "", {}
    for literal, name, _, _ in Formatter().parse(fact.template):
        text += literal
        if name:
            slot = fact.slots[name]
            spans[name] = (len(text) + len(slot.before), len(text) + len(str(slot)))
            text += str(slot)
    return text + ".", spans
