"""Makes paragraphs with questions and answers, to train a span head on.

A paragraph is four to seven facts, some of them about one thing, mostly of the same few kinds: the
kind of answer (a person, a year) is rarely enough to find it. A fact is a sentence whose slots are
known, so that every answer has a known place.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from string import Formatter
from typing import Final

from coursework import synthetic_qa_words as w

PRONOUN: Final = "it"


@dataclass(frozen=True)
class Example:
    """A question, a paragraph, and where in the paragraph the answer stands: [start, end)."""

    question: str
    paragraph: str
    start: int
    end: int


@dataclass(frozen=True)
class Slot:
    """What fills a slot: the answer itself, and what stands before it (`in ` before `1871`)."""

    core: str
    before: str = ""

    def __str__(self) -> str:
        return self.before + self.core


@dataclass(frozen=True)
class Fact:
    """A sentence with named slots, and questions for some of them."""

    template: str
    slots: dict[str, Slot]
    questions: dict[str, Sequence[str]]
    asked: dict[str, str]  # how a slot is named in a question, where that differs


def example(random: Random) -> Example:
    """Draw a paragraph and one question about it."""
    topic = _thing(random, random.choice((w.BUILDINGS, w.BUILDINGS, w.DEVICES, w.WORKS)))
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
        written, found = _written(random, each)
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


def _written(random: Random, fact: Fact) -> tuple[str, dict[str, tuple[int, int]]]:
    """Fill the slots of a sentence; return it and where each answer stands."""
    text, spans = "", {}
    for literal, name, _, _ in Formatter().parse(fact.template):
        text += literal
        if name:
            slot = fact.slots[name]
            spans[name] = (len(text) + len(slot.before), len(text) + len(str(slot)))
            text += str(slot)
    return text + ".", spans


# Noun phrases


def _name(random: Random) -> str:
    return "".join(random.sample(w.SYLLABLES, random.choice((2, 2, 3)))).capitalize()


def _person(random: Random) -> Slot:
    drawn = random.random()
    full = f"{random.choice(w.FIRST)} {_name(random)}"
    if drawn < 0.45:
        return Slot(full)
    if drawn < 0.65:
        return Slot(full, f"the {random.choice(w.ROLES)} ")
    if drawn < 0.8:
        return Slot(random.choice(w.GROUPS))
    return Slot(f"{random.choice(('a', 'the', 'the young', 'a local'))} {random.choice(w.ROLES)}")


def _thing(random: Random, pool: Sequence[str]) -> str:
    adjective = f"{random.choice(w.ADJECTIVES)} " if random.random() < 0.5 else ""
    after = random.random()
    place = f" of {_name(random)}" if after < 0.12 else f" on the {random.choice(w.SPOTS)}" if after < 0.2 else ""
    return f"the {adjective}{random.choice(pool)}{place}"


def _time(random: Random) -> Slot:
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


def _place(random: Random) -> Slot:
    spot = random.choice(w.SPOTS)
    room = f"{random.choice(('a', 'the'))} {random.choice(w.ADJECTIVES)} {random.choice(w.ROOMS)}"
    beyond = random.choice(("near", "behind", "below", "above", "next to", "beside"))
    tail = f" {beyond} the {random.choice(w.SPOTS)}" if random.random() < 0.4 else ""
    return random.choice((
        Slot(random.choice(w.CITIES), "in "), Slot(_name(random), "in "), Slot(room + tail, "in "),
        Slot(f"{beyond} the {spot}"), Slot(f"the {random.choice(w.SIDES)} bank of the {spot}", "on "),
        Slot(f"the foot of the {spot}", "at "), Slot(f"the {spot}", "at "),
        Slot(f"{random.choice(w.NUMBERS)} kilometres from {_name(random)}"),
    ))  # fmt: skip


def _asked_by(random: Random, names: dict[str, Slot], topic: str) -> dict[str, str]:
    """Say how questions name what a sentence names: the topic in full, a person without a role."""
    asked = {"o": topic} if topic else {}
    if "s" in names and random.random() < 0.5:
        asked["s"] = names["s"].core
    core = asked.get("o") or (names["o"].core if "o" in names else "")
    if core.startswith("the ") and len(core.split()) > 2 and random.random() < 0.3:
        asked["o"] = f"the {core.split(' of ')[0].split(' on ')[0].split()[-1]}"
    return asked


def _object(random: Random, topic: str, pool: Sequence[str]) -> tuple[Slot, str]:
    """Return the thing a sentence is about, and its name in questions where that is a pronoun."""
    if not topic:
        return Slot(_thing(random, pool)), ""
    return (Slot(PRONOUN), topic) if random.random() < 0.6 else (Slot(topic), "")


# Kinds of facts


def _deed(random: Random, topic: str) -> Fact:
    """Say who did what to a thing, when and where."""
    pool, verbs = random.choice(((w.BUILDINGS, w.MAKE), (w.WORKS, w.CREATE), (w.DEVICES, w.INVENT)))
    base, past, part = random.choice(verbs)
    thing, called = _object(random, topic, pool)
    slots = {"s": _person(random), "o": thing}
    tail = ""
    for name, draw, share in (("t", _time, 0.6), ("p", _place, 0.45)):
        if random.random() < share:
            slots[name] = draw(random)
            tail += f" {{{name}}}"
    fronted = "t" in slots and random.random() < 0.3
    rest = tail.replace(" {t}", "") if fronted else tail
    forms = [f"{{s}} {past} {{o}}{rest}", f"{{o}} was {part} by {{s}}{rest}", f"{{o}} was {part}{rest} by {{s}}",
             f"it was {{s}} who {past} {{o}}{rest}"]  # fmt: skip
    template = ("{t}, " if fronted else "") + random.choice(forms)
    if random.random() < 0.15 and rest and not fronted:
        template = f"{{o}} was {part}{rest}"
        del slots["s"]
    asked = {
        "s": (f"who {past} {{o}}?", f"who {past} {{o}}?", f"who was {{o}} {part} by?", f"by whom was {{o}} {part}?",
              f"who {past} {{o}} {{t}}?"),
        "t": (f"when was {{o}} {part}?", f"in which year was {{o}} {part}?", f"when did {{s}} {base} {{o}}?"),
        "p": (f"where was {{o}} {part}?", f"where did {{s}} {base} {{o}}?"),
    }  # fmt: skip
    if thing.core != PRONOUN:
        asked["o"] = (f"what was {part} by {{s}}?", f"what did {{s}} {base}?", f"what did {{s}} {base} {{t}}?")
        if "s" not in slots:
            del asked["o"]
    return Fact(template, slots, asked, _asked_by(random, slots, called))


def _dwelling(random: Random, topic: str) -> Fact:
    """Say who lived or worked where, when or how long."""
    base, past, _ = random.choice(w.DWELL)
    slots = {"s": _person(random), "p": _place(random)}
    if random.random() < 0.3:
        slots["s"] = Slot(f"the {random.choice(w.ROLES)}'s {random.choice(('family', 'brother', 'wife', 'children'))}")
    length = Slot(f"{random.choice(w.NUMBERS)} {random.choice(('years', 'months', 'weeks'))}", "for ")
    tail = ""
    if random.random() < 0.3:
        slots["d"] = length
        tail = " {d}"
    elif random.random() < 0.5:
        slots["t"] = _time(random)
        tail = " {t}"
    extra = random.choice(("", "", f", and kept {random.choice(w.ANIMALS)}", f" and sold {random.choice(w.STUFFS)}"))
    born = random.random() < 0.2
    verb = "was born" if born else past
    template = random.choice((f"{{s}} {verb} {{p}}{tail}{extra}", f"{{s}} {verb}{tail} {{p}}{extra}"))
    if tail and random.random() < 0.3:
        template = f"{tail.strip()} {{s}} {verb} {{p}}{extra}"
    did = "was {s} born" if born else f"did {{s}} {base}"
    asked = {"p": (f"where {did}?",), "s": (f"who {verb} {{p}}?",), "t": (f"when {did}?",), "d": (f"how long {did} {{p}}?",)}
    if slots["s"].core.count("'s "):
        owner, kin = slots["s"].core.split("'s ")
        named = {"s": f"the {kin} of {owner}"} if random.random() < 0.5 else {}
        return Fact(template, slots, asked, named)
    return Fact(template, slots, asked, _asked_by(random, slots, ""))


def _using(random: Random, topic: str) -> Fact:
    """Say what a machine uses, or what people make or sell."""
    machine = random.random() < 0.5
    base, past, _ = random.choice(w.CONSUME if machine else w.TRADE)
    thing, called = _object(random, topic, w.DEVICES) if machine else (_person(random), "")
    slots = {"o": thing, "x": Slot(random.choice(w.STUFFS))}
    change = ""
    if random.random() < 0.5:
        event = random.choice(w.EVENTS)
        change = random.choice((f" until {event}", f" before {event}", " until {t}", f" until {event} in {{t}}"))
        if "{t}" in change:
            slots["t"] = Slot(str(random.randint(1700, 2020)))
    template = f"{{o}} {past} {{x}}{change}"
    until = change.replace(" until ", " before ").split(" in {t}")[0] if "until {t}" not in change else ""
    asked = {"x": (f"what did {{o}} {base}?", f"what did {{o}} {base}{until}?"),
             "o": (f"{'what' if machine else 'who'} {past} {{x}}?",),
             "t": (f"until when did {{o}} {base} {{x}}?",)}  # fmt: skip
    if thing.core == PRONOUN:
        del asked["o"]
    return Fact(template, slots, asked, {"o": called} if called else {})


def _driven(random: Random, topic: str) -> Fact:
    """Say what works a thing nowadays."""
    present, _, part = random.choice(w.DRIVE)
    thing, called = _object(random, topic, (*w.DEVICES, *w.BUILDINGS))
    slots = {"o": thing, "a": Slot(random.choice(w.AGENTS))}
    if random.random() < 0.4:
        slots["p"] = _place(random)
    where = " {p}" if "p" in slots else ""
    since = random.choice(("", "", f"since {random.randint(1900, 2020)} ", "today "))
    been = "has been" if since.startswith("since") else "is"
    template = random.choice((f"{since}{{o}} {been} {part} by {{a}}{where}", f"{{a}}{where} {present} {{o}}"))
    if "switches on" in present:
        asked = {"a": ("what switches on {o}?", "what switches {o} on?", "what switches {o} on today?")}
    else:
        asked = {"a": (f"what {present} {{o}}?", f"what is {{o}} {part} by?", f"what {present} {{o}} today?")}
    return Fact(template, slots, asked, _asked_by(random, slots, called))


def _opening(random: Random, topic: str) -> Fact:
    """Say when a place is open."""
    thing, called = _object(random, topic, w.BUILDINGS)
    hours = f"from {random.choice(('nine', 'ten', 'noon', 'eight'))} to {random.choice(('four', 'five', 'six'))}"
    first, last = random.sample(w.MONTHS, 2)
    when = Slot(random.choice((f"from {first} to {last}", hours, "every day", f"on {random.choice(w.DAYS)}",
                               f"in {first}", "all year", "at weekends")))  # fmt: skip
    slots = {"o": thing, "t": when}
    extra = random.choice(("", " and closed {c}", ", but closed {c}"))
    if extra:
        slots["c"] = Slot(random.choice(w.DAYS), "on ")
    kind = random.choice(w.BUILDINGS)
    template = random.choice((f"{{o}} is open {{t}}{extra}", f"today {{o}} is a {kind}, which is open {{t}}{extra}",
                              f"visitors may enter {{o}} {{t}}"))  # fmt: skip
    if "{c}" not in template:
        slots.pop("c", None)
    asked = {"t": ("when is {o} open?",), "c": ("when is {o} closed?", "on which day is {o} closed?")}
    if template.startswith("visitors"):
        asked["t"] = ("when may visitors enter {o}?", "when can visitors see {o}?")
    named = {"o": f"the {kind}"} if f"a {kind}," in template else {}
    return Fact(template, slots, asked, _asked_by(random, slots, called) | named)


def _measure(random: Random, topic: str) -> Fact:
    """Give a number: a length, a weight, a price, or how many."""
    thing, called = _object(random, topic, w.BUILDINGS)
    number = random.choice((*w.NUMBERS, str(random.randint(2, 900))))
    verb, unit, question = random.choice((
        ("is", "metres long", "how long is {o}?"), ("is", "metres high", "how high is {o}?"),
        ("is", "metres tall", "how tall is {o}?"), ("weighs", "tonnes", "how much does {o} weigh?"),
        ("cost", "pounds", "how much did {o} cost?"), ("is", "years old", "how old is {o}?"),
        ("has", random.choice(("rooms", "floors", "windows", "steps", "seats", "wheels")), "how many {u} does {o} have?"),
    ))  # fmt: skip
    core = f"{number} {unit.split()[0]}" if verb != "has" else number
    rest = unit.removeprefix(unit.split()[0]) if verb != "has" else f" {unit}"
    slots = {"o": thing, "n": Slot(core)}
    return Fact(f"{{o}} {verb} {{n}}{rest}", slots, {"n": (question,)},
                {"u": unit} | _asked_by(random, slots, called))  # fmt: skip


def _naming(random: Random, topic: str) -> Fact:
    """Say what a thing is called, is famous for or made of, or who was its first keeper."""
    thing, called = _object(random, topic, w.BUILDINGS)
    kind = random.randrange(4)
    if kind == 0:
        role = random.choice(w.ROLES)
        first = random.choice(("first", "last", "best known", "next"))
        slots, template = {"o": thing, "s": _person(random)}, f"the {first} {role} of {{o}} was {{s}}"
        asked = {"s": (f"who was the {first} {role} of {{o}}?",)}
    elif kind == 1:
        slots, template = {"o": thing, "x": Slot(random.choice(w.STUFFS), "for its ")}, "{o} is famous {x}"
        asked = {"x": ("what is {o} famous for?", "what is {o} known for?")}
    elif kind == 2:
        slots = {"o": thing, "x": Slot(f"the {random.choice(w.ADJECTIVES)} {random.choice(w.WORKS)}")}
        template, asked = "people call {o} {x}", {"x": ("what do people call {o}?", "what is {o} called?")}
    else:
        slots, template = {"o": thing, "x": Slot(random.choice(w.STUFFS), "of ")}, "{o} is made {x}"
        asked = {"x": ("what is {o} made of?",)}
    return Fact(template, slots, asked, _asked_by(random, slots, called))


def _reason(random: Random, topic: str) -> Fact:
    """Say why something happened."""
    thing, called = _object(random, topic, w.BUILDINGS)
    slots = {"o": thing, "r": Slot(random.choice(w.REASONS), "because ")}
    verb, past = random.choice((("close", "closed"), ("move", "moved"), ("fall", "fell"), ("stop", "stopped")))
    time = ""
    if random.random() < 0.5:
        slots["t"], time = _time(random), " {t}"
    asked = {"r": (f"why did {{o}} {verb}?",), "t": (f"when did {{o}} {verb}?",)}
    return Fact(f"{{o}} {past}{time} {{r}}", slots, asked, _asked_by(random, slots, called))


def _counting(random: Random, topic: str) -> Fact:
    """Say how many animals or goods somebody has."""
    what = random.choice((*w.ANIMALS, *w.BUILDINGS[:0], "boats", "books", "workers", "children"))
    base, past = random.choice((("keep", "kept"), ("own", "owned"), ("have", "had"), ("buy", "bought")))
    slots = {"s": _person(random), "n": Slot(random.choice(w.NUMBERS)), "x": Slot(what)}
    asked = {"n": (f"how many {what} did {{s}} {base}?",), "s": (f"who {past} {{n}} {what}?",)}
    return Fact(f"{{s}} {past} {{n}} {{x}}", slots, asked, _asked_by(random, slots, ""))


FRAMES: Final = (
    _deed, _deed, _deed, _dwelling, _dwelling, _using, _using, _driven, _opening, _measure, _naming,
    _reason, _counting,
)  # fmt: skip
