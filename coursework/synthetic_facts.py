"""Kinds of facts for synthetic paragraphs: each draws a sentence with slots, and questions for them."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

from coursework import synthetic_phrases as phrase
from coursework import synthetic_qa_words as w
from coursework.synthetic_phrases import PRONOUN, Slot

Asked = dict[str, Sequence[str]]  # questions by the slot that answers them


@dataclass(frozen=True)
class Fact:
    """A sentence with named slots, and questions for some of them."""

    template: str
    slots: dict[str, Slot]
    questions: Asked
    asked: dict[str, str]  # how a slot is named in a question, where that differs


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
        return Slot(phrase.thing(random, pool)), ""
    return (Slot(PRONOUN), topic) if random.random() < 0.6 else (Slot(topic), "")


def _deed(random: Random, topic: str) -> Fact:
    """Say who did what to a thing, when and where."""
    pool, verbs = random.choice(((w.BUILDINGS, w.MAKE), (w.WORKS, w.CREATE), (w.DEVICES, w.INVENT)))
    base, past, part = random.choice(verbs)
    thing, called = _object(random, topic, pool)
    slots = {"s": phrase.person(random), "o": thing}
    tail = ""
    for name, draw, share in (("t", phrase.time, 0.6), ("p", phrase.place, 0.45)):
        if random.random() < share:
            slots[name] = draw(random)
            tail += f" {{{name}}}"
    fronted = "t" in slots and random.random() < 0.3
    rest = tail.replace(" {t}", "") if fronted else tail
    forms = [f"{{s}} {past} {{o}}{rest}", f"{{o}} was {part} by {{s}}{rest}",
             f"{{o}} was {part}{rest} by {{s}}",
             f"it was {{s}} who {past} {{o}}{rest}"]  # fmt: skip
    template = ("{t}, " if fronted else "") + random.choice(forms)
    if random.random() < 0.15 and rest and not fronted:
        template = f"{{o}} was {part}{rest}"
        del slots["s"]
    asked: Asked = {
        "s": (f"who {past} {{o}}?", f"who {past} {{o}}?", f"who was {{o}} {part} by?",
              f"by whom was {{o}} {part}?",
              f"who {past} {{o}} {{t}}?"),
        "t": (f"when was {{o}} {part}?", f"in which year was {{o}} {part}?", f"when did {{s}} {base} {{o}}?"),
        "p": (f"where was {{o}} {part}?", f"where did {{s}} {base} {{o}}?"),
    }  # fmt: skip
    if thing.core != PRONOUN:
        asked["o"] = (
            f"what was {part} by {{s}}?",
            f"what did {{s}} {base}?",
            f"what did {{s}} {base} {{t}}?",
        )
        if "s" not in slots:
            del asked["o"]
    return Fact(template, slots, asked, _asked_by(random, slots, called))


def _dwelling(random: Random, _topic: str) -> Fact:
    """Say who lived or worked where, when or how long."""
    base, past, _ = random.choice(w.DWELL)
    slots = {"s": phrase.person(random), "p": phrase.place(random)}
    if random.random() < 0.3:
        slots["s"] = Slot(
            f"the {random.choice(w.ROLES)}'s {random.choice(('family', 'brother', 'wife', 'children'))}"
        )
    length = Slot(f"{random.choice(w.NUMBERS)} {random.choice(('years', 'months', 'weeks'))}", "for ")
    tail = ""
    if random.random() < 0.3:
        slots["d"] = length
        tail = " {d}"
    elif random.random() < 0.5:
        slots["t"] = phrase.time(random)
        tail = " {t}"
    extra = random.choice(
        ("", "", f", and kept {random.choice(w.ANIMALS)}", f" and sold {random.choice(w.STUFFS)}")
    )
    born = random.random() < 0.2
    verb = "was born" if born else past
    template = random.choice((f"{{s}} {verb} {{p}}{tail}{extra}", f"{{s}} {verb}{tail} {{p}}{extra}"))
    if tail and random.random() < 0.3:
        template = f"{tail.strip()} {{s}} {verb} {{p}}{extra}"
    did = "was {s} born" if born else f"did {{s}} {base}"
    asked: Asked = {
        "p": (f"where {did}?",),
        "s": (f"who {verb} {{p}}?",),
        "t": (f"when {did}?",),
        "d": (f"how long {did} {{p}}?",),
    }
    if slots["s"].core.count("'s "):
        owner, kin = slots["s"].core.split("'s ")
        named = {"s": f"the {kin} of {owner}"} if random.random() < 0.5 else {}
        return Fact(template, slots, asked, named)
    return Fact(template, slots, asked, _asked_by(random, slots, ""))


def _using(random: Random, topic: str) -> Fact:
    """Say what a machine uses, or what people make or sell."""
    machine = random.random() < 0.5
    base, past, _ = random.choice(w.CONSUME if machine else w.TRADE)
    thing, called = _object(random, topic, w.DEVICES) if machine else (phrase.person(random), "")
    slots = {"o": thing, "x": Slot(random.choice(w.STUFFS))}
    change = ""
    if random.random() < 0.5:
        event = random.choice(w.EVENTS)
        change = random.choice(
            (f" until {event}", f" before {event}", " until {t}", f" until {event} in {{t}}")
        )
        if "{t}" in change:
            slots["t"] = Slot(str(random.randint(1700, 2020)))
    template = f"{{o}} {past} {{x}}{change}"
    until = change.replace(" until ", " before ").split(" in {t}")[0] if "until {t}" not in change else ""
    asked: Asked = {"x": (f"what did {{o}} {base}?", f"what did {{o}} {base}{until}?"),
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
        slots["p"] = phrase.place(random)
    where = " {p}" if "p" in slots else ""
    since = random.choice(("", "", f"since {random.randint(1900, 2020)} ", "today "))
    been = "has been" if since.startswith("since") else "is"
    template = random.choice((f"{since}{{o}} {been} {part} by {{a}}{where}", f"{{a}}{where} {present} {{o}}"))
    if "switches on" in present:
        asked: Asked = {
            "a": ("what switches on {o}?", "what switches {o} on?", "what switches {o} on today?")
        }
    else:
        asked = {"a": (f"what {present} {{o}}?", f"what is {{o}} {part} by?", f"what {present} {{o}} today?")}
    return Fact(template, slots, asked, _asked_by(random, slots, called))


def _opening(random: Random, topic: str) -> Fact:
    """Say when a place is open."""
    thing, called = _object(random, topic, w.BUILDINGS)
    opens, closes = (random.choice(("nine", "ten", "noon", "eight")), random.choice(("four", "five", "six")))
    first, last = random.sample(w.MONTHS, 2)
    when = Slot(random.choice((f"from {first} to {last}", f"from {opens} to {closes}", "every day",
                               f"on {random.choice(w.DAYS)}",
                               f"in {first}", "all year", "at weekends")))  # fmt: skip
    slots = {"o": thing, "t": when}
    extra = random.choice(("", " and closed {c}", ", but closed {c}"))
    if extra:
        slots["c"] = Slot(random.choice(w.DAYS), "on ")
    kind = random.choice(w.BUILDINGS)
    template = random.choice((f"{{o}} is open {{t}}{extra}",
                              f"today {{o}} is a {kind}, which is open {{t}}{extra}",
                              "visitors may enter {o} {t}"))  # fmt: skip
    if "{c}" not in template:
        slots.pop("c", None)
    asked: Asked = {"t": ("when is {o} open?",), "c": ("when is {o} closed?", "on which day is {o} closed?")}
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
        ("has", random.choice(("rooms", "floors", "windows", "steps", "seats", "wheels")),
         "how many {u} does {o} have?"),
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
        slots, template = ({"o": thing, "s": phrase.person(random)}, f"the {first} {role} of {{o}} was {{s}}")
        asked: Asked = {"s": (f"who was the {first} {role} of {{o}}?",)}
    elif kind == 1:
        slots, template = ({"o": thing, "x": Slot(random.choice(w.STUFFS), "for its ")}, "{o} is famous {x}")
        asked = {"x": ("what is {o} famous for?", "what is {o} known for?")}
    elif kind == 2:
        slots = {"o": thing, "x": Slot(f"the {random.choice(w.ADJECTIVES)} {random.choice(w.WORKS)}")}
        template, asked = ("people call {o} {x}", {"x": ("what do people call {o}?", "what is {o} called?")})
    else:
        slots, template = {"o": thing, "x": Slot(random.choice(w.STUFFS), "of ")}, "{o} is made {x}"
        asked = {"x": ("what is {o} made of?",)}
    return Fact(template, slots, asked, _asked_by(random, slots, called))


def _reason(random: Random, topic: str) -> Fact:
    """Say why something happened."""
    thing, called = _object(random, topic, w.BUILDINGS)
    slots = {"o": thing, "r": Slot(random.choice(w.REASONS), "because ")}
    verb, past = random.choice(
        (("close", "closed"), ("move", "moved"), ("fall", "fell"), ("stop", "stopped"))
    )
    time = ""
    if random.random() < 0.5:
        slots["t"], time = phrase.time(random), " {t}"
    asked: Asked = {"r": (f"why did {{o}} {verb}?",), "t": (f"when did {{o}} {verb}?",)}
    return Fact(f"{{o}} {past}{time} {{r}}", slots, asked, _asked_by(random, slots, called))


def _counting(random: Random, _topic: str) -> Fact:
    """Say how many animals or goods somebody has."""
    what = random.choice((*w.ANIMALS, "boats", "books", "workers", "children"))
    base, past = random.choice((("keep", "kept"), ("own", "owned"), ("have", "had"), ("buy", "bought")))
    slots = {"s": phrase.person(random), "n": Slot(random.choice(w.NUMBERS)), "x": Slot(what)}
    asked: Asked = {"n": (f"how many {what} did {{s}} {base}?",), "s": (f"who {past} {{n}} {what}?",)}
    return Fact(f"{{s}} {past} {{n}} {{x}}", slots, asked, _asked_by(random, slots, ""))


FRAMES: Final = (
    _deed, _deed, _deed, _dwelling, _dwelling, _using, _using, _driven, _opening, _measure, _naming,
    _reason, _counting,
)  # fmt: skip
