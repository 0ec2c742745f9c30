"""Train the span head of lesson 08: `python -m tools.train_span_head`, about half an hour on two cores.

The weights that are shipped come from two runs: one of 1300 steps, on facts without scores, weather, purposes
and unanswered questions, then 72 steps on all that is here (`main` with `start`).

The examples are synthetic; no paragraph written by a person is seen in training. A paragraph is four to
seven facts, some of them about one thing, mostly of the same few kinds: the kind of answer (a person, a year)
is rarely enough to find it. A fact is a sentence whose slots are known, so that every answer has a known
place. The words are in `synthetic_qa.toml`.
"""

import re
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from string import Formatter
from types import SimpleNamespace
from typing import Any, Final

import torch
import torch.nn.functional as F
from torch import Tensor

from coursework.extractive_qa import WEIGHTS, SpanModel
from coursework.pretrained_bert import load_shipped

STEPS: Final = 1300
MORE: Final = 72  # steps of a run that goes on from other weights
BATCH: Final = 8
RATE: Final = 1.5e-3
PRONOUN: Final = "it"
UNANSWERED: Final = 0.25  # some of them turn out to be answered
Questions = dict[str, Sequence[str]]  # by the slot that answers them
_FILE: Final = Path(__file__).with_name("synthetic_qa.toml")
w: Final = SimpleNamespace(**tomllib.loads(_FILE.read_text("utf-8")))  # the words


@dataclass(frozen=True)
class Example:
    """A question, a paragraph, and where the answer stands in it: [start, end), or [0, 0) for none."""

    question: str
    paragraph: str
    start: int
    end: int


def example(random: Random) -> Example:
    """Draw a paragraph and one question about it, which in one case of five it does not answer."""
    topic = _thing(random, random.choice((w.buildings, w.buildings, w.devices, w.works)))
    kinds = random.choices(KINDS, k=random.choice((2, 3, 4)))
    drawn = [
        random.choice(kinds)(random, topic if random.random() < 0.45 else "")
        for _ in range(random.randint(3, 6))
    ]
    facts = list({fact.template: fact for fact in drawn if fact.questions}.values())
    fact = random.choice(facts)
    wanted = random.choice([name for name in fact.questions if name in fact.slots])
    is_answered = random.random() > UNANSWERED or len(facts) == 1
    if not is_answered and random.random() < 0.5:  # the fact is missing, others about its thing stay
        facts.remove(fact)
    elif not is_answered:  # another thing is asked about
        fact = _about_another(random, fact, wanted)
        is_answered = fact in facts
    for each in facts:
        if PRONOUN in map(str, each.slots.values()):  # a pronoun needs a name before it
            each.slots["o"] = Slot(topic)
            break
    text, start, end = "", 0, 0
    for place, each in enumerate(facts):
        written, spans = _written(each)
        joined = random.random() < 0.2 and place > 0
        text, gap = (text[:-1], random.choice((", and ", "; ", ", while "))) if joined else (text, " ")
        text += gap if text else ""
        if is_answered and each is fact:
            start, end = (len(text) + edge for edge in spans[wanted])
        text += written if joined else _capital(written)
    return Example(_question(random, fact, wanted), text, start, end)


def _about_another(random: Random, fact: "Fact", wanted: str) -> "Fact":
    """Return a fact whose question is about a thing that no paragraph names, or the same one if it can't."""
    questions = [each for each in fact.questions[wanted] if "{o}" in each]
    if not questions or not fact.slots.get("o", Slot("")).core.startswith(("the ", PRONOUN)):
        return fact
    thing = f"the {random.choice(w.adjectives)} {random.choice(w.absent)}"
    return replace(fact, questions={wanted: questions}, called={**fact.called, "o": thing})


def _question(random: Random, fact: "Fact", wanted: str) -> str:
    """Ask for a slot of a fact, in words that name only what the fact says."""
    said = {name: slot.before + slot.core for name, slot in fact.slots.items()} | fact.called
    template = random.choice(fact.questions[wanted])
    if not {name for _, name, _, _ in Formatter().parse(template) if name} <= set(said):
        template = fact.questions[wanted][0]
    return _capital(template.format(**said))


def _written(fact: "Fact") -> tuple[str, dict[str, tuple[int, int]]]:
    """Fill the slots of a sentence; return it and where each answer stands."""
    text, spans = "", {}
    for literal, name, _, _ in Formatter().parse(fact.template):
        text += literal
        if name:
            slot = fact.slots[name]
            start = len(text) + len(slot.before)
            spans[name] = (start, start + len(slot.core))
            text += str(slot)
    return text.rstrip(",").replace(",,", ",").replace(",;", ";") + ".", spans


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


# Noun phrases.


@dataclass(frozen=True)
class Slot:
    """What fills a slot: the answer itself, and what stands around it (`in ` before `1871`)."""

    core: str
    before: str = ""
    after: str = ""

    def __str__(self) -> str:
        return self.before + self.core + self.after


def _invented_name(random: Random) -> str:
    return "".join(random.sample(w.syllables, random.choice((2, 2, 3)))).capitalize()


def _person(random: Random) -> Slot:
    """Return a person, with or without a role or an apposition, or a group."""
    drawn = random.random()
    names = random.sample(w.first, random.choice((1, 1, 1, 2)))
    full = " ".join((*names, _invented_name(random)))
    band = f"{random.choice(w.adjectives)} {random.choice(w.devices)}".title()
    chosen: Slot = next(
        slot
        for limit, slot in (
            (0.35, Slot(full)),
            (0.45, Slot(full, after=f", the {random.choice(w.roles)} from {random.choice(w.cities)},")),
            (0.5, Slot(f"{full} and {random.choice(w.first)} {_invented_name(random)}")),
            (0.65, Slot(full, f"the {random.choice(w.roles)} ")),
            (0.75, Slot(random.choice(w.groups))),
            (0.85, Slot(f"the {random.choice(w.bands)} {band}")),
            (1.0, Slot(f"{random.choice(('a', 'the', 'the young', 'a local'))} {random.choice(w.roles)}")),
        )
        if drawn < limit
    )
    return chosen


def _thing(random: Random, pool: Sequence[str]) -> str:
    """Return a thing from a pool, some with an adjective or a place."""
    adjective = f"{random.choice(w.adjectives)} " if random.random() < 0.5 else ""
    drawn, place = random.random(), ""
    if drawn < 0.12:
        place = f" of {_invented_name(random)}"
    elif drawn < 0.2:
        place = f" on the {random.choice(w.spots)}"
    return f"the {adjective}{random.choice(pool)}{place}"


def _time(random: Random) -> Slot:
    year = str(random.randint(1200, 2020))
    month = random.choice(w.months)
    return random.choice((
        Slot(year, "in "), Slot(year, "in "), Slot(year, "in "), Slot(f"{month} {year}", "in "),
        Slot(f"{random.randint(1, 28)} {month} {year}", "on "),
        Slot(f"the {random.choice(('spring', 'summer', 'autumn', 'winter'))} of {year}", "in "),
        Slot(f"the {random.choice(('twelfth', 'fifteenth', 'eighteenth', 'nineteenth'))} century", "in "),
        Slot(f"{random.choice(w.numbers)} years later"), Slot(f"after {random.choice(w.events)}"),
        Slot(f"last {random.choice(('week', 'summer', 'year', 'night'))}"), Slot("today"), Slot("now"),
        Slot(f"every {random.choice(('morning at six', 'evening', 'Sunday', 'evening at seven'))}"),
        Slot("at night"), Slot(f"early in {year}"),
    ))  # fmt: skip


def _place(random: Random) -> Slot:
    spot = random.choice(w.spots)
    room = f"{random.choice(('a', 'the'))} {random.choice(w.adjectives)} {random.choice(w.rooms)}"
    beyond = random.choice(("near", "behind", "below", "above", "next to", "beside"))
    tail = f" {beyond} the {random.choice(w.spots)}" if random.random() < 0.4 else ""
    return random.choice((
        Slot(random.choice(w.cities), "in "), Slot(_invented_name(random), "in "), Slot(room + tail, "in "),
        Slot(f"{beyond} the {spot}"), Slot(f"the {random.choice(w.sides)} bank of the {spot}", "on "),
        Slot(f"the foot of the {spot}", "at "), Slot(f"the {spot}", "at "),
        Slot(f"{random.choice(w.numbers)} kilometres from {_invented_name(random)}"),
    ))  # fmt: skip


# Kinds of facts. Each draws a sentence with slots, and questions for them.


@dataclass(frozen=True)
class Fact:
    """A sentence with named slots, and questions for some of them.

    `called` says how a question names a slot, where it does so in other words than the sentence.
    """

    template: str
    slots: dict[str, Slot]
    questions: Questions
    called: dict[str, str]


def _fact(random: Random, template: str, slots: dict[str, Slot], questions: Questions, topic: str) -> Fact:
    """Make a fact whose questions name the topic in full, and a person without a role."""
    called = {"o": topic} if topic else {}
    if "s" in slots and random.random() < 0.5:
        called["s"] = slots["s"].core
    core = called.get("o") or (slots["o"].core if "o" in slots else "")
    if core.startswith("the ") and len(core.split()) > 2 and random.random() < 0.3:
        called["o"] = f"the {core.split(' of ')[0].split(' on ')[0].split()[-1]}"
    return Fact(template, slots, questions, called)


def _texts(fact: str, **words: str) -> tuple[list[str], Questions]:
    """Return the sentences and the questions of a kind of fact, with these words in their places."""

    def filled(texts: Sequence[str]) -> list[str]:
        return [re.sub(r"<(\w+)>", lambda found: words[found[1]], text) for text in texts]

    stored = w.facts[fact]
    questions: Questions = {slot: filled(texts) for slot, texts in stored["questions"].items()}
    return filled(stored["sentences"]), questions


def _object(random: Random, topic: str, pool: Sequence[str]) -> tuple[Slot, str]:
    """Return the thing a sentence is about, and its name in questions where that is a pronoun."""
    if not topic:
        return Slot(_thing(random, pool)), ""
    return (Slot(PRONOUN), topic) if random.random() < 0.6 else (Slot(topic), "")


def _deed(random: Random, topic: str) -> Fact:
    """Say who did what to a thing, when and where."""
    pool, verbs = random.choice(((w.buildings, w.make), (w.works, w.create), (w.devices, w.invent)))
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
    sentences, questions = _texts(
        "deed", base=base, past=past, part=part, rest=rest, often=random.choice(w.often)
    )
    template = ("{t}, " if fronted else "") + random.choice(sentences)
    if random.random() < 0.15 and rest and not fronted:
        template = f"{{o}} was {part}{rest}"
        del slots["s"]
    if thing.core == PRONOUN or "s" not in slots:
        del questions["o"]
    return _fact(random, template, slots, questions, called)


def _dwelling(random: Random, _topic: str) -> Fact:
    """Say who lived or worked where, when or how long."""
    base, past, _ = random.choice(w.dwell)
    slots = {"s": _person(random), "p": _place(random)}
    owner = kin = ""
    if random.random() < 0.3:
        owner, kin = random.choice(w.roles), random.choice(("family", "brother", "wife", "children"))
        slots["s"] = Slot(f"the {owner}'s {kin}")
    length = Slot(f"{random.choice(w.numbers)} {random.choice(('years', 'months', 'weeks'))}", "for ")
    tail = ""
    if random.random() < 0.3:
        slots["d"], tail = length, " {d}"
    elif random.random() < 0.5:
        slots["t"], tail = _time(random), " {t}"
    extra = random.choice(
        ("", "", f", and kept {random.choice(w.animals)}", f" and sold {random.choice(w.stuffs)}")
    )
    born = random.random() < 0.2
    verb, did = ("was born", "was {s} born") if born else (past, f"did {{s}} {base}")
    sentences, questions = _texts("dwelling", verb=verb, did=did, tail=tail, extra=extra)
    template = random.choice(sentences)
    if tail and random.random() < 0.3:
        template = f"{tail.strip()} {{s}} {verb} {{p}}{extra}"
    if kin:
        called = {"s": f"the {kin} of the {owner}"} if random.random() < 0.5 else {}
        return Fact(template, slots, questions, called)
    return _fact(random, template, slots, questions, "")


def _using(random: Random, topic: str) -> Fact:
    """Say what a machine uses, or what people make or sell."""
    machine = random.random() < 0.5
    base, past, _ = random.choice(w.consume if machine else w.trade)
    thing, called = _object(random, topic, w.devices) if machine else (_person(random), "")
    slots = {"o": thing, "x": Slot(random.choice(w.stuffs))}
    change = ""
    if random.random() < 0.5:
        event = random.choice(w.events)
        change = random.choice(
            (f" until {event}", f" before {event}", " until {t}", f" until {event} in {{t}}")
        )
        if "{t}" in change:
            slots["t"] = Slot(str(random.randint(1700, 2020)))
    before = change.replace(" until ", " before ").split(" in {t}")[0] if "until {t}" not in change else ""
    what = "what" if machine else "who"
    (template,), questions = _texts("using", base=base, past=past, what=what, change=change, before=before)
    if thing.core == PRONOUN:
        del questions["o"]
    return Fact(template, slots, questions, {"o": called} if called else {})


def _driven(random: Random, topic: str) -> Fact:
    """Say what works a thing nowadays."""
    present, _, part = random.choice(w.drive)
    thing, called = _object(random, topic, (*w.devices, *w.buildings))
    slots = {"o": thing, "a": Slot(random.choice(w.agents))}
    where = ""
    if random.random() < 0.4:
        slots["p"], where = _place(random), " {p}"
    since = random.choice(("", "", f"since {random.randint(1900, 2020)} ", "today "))
    been = "has been" if since.startswith("since") else "is"
    sentences, questions = _texts("driven", since=since, been=been, part=part, where=where, present=present)
    template = random.choice(sentences)
    if present == "switches on":
        questions["a"] = ("what switches on {o}?", "what switches {o} on?", "what switches {o} on today?")
    return _fact(random, template, slots, questions, called)


def _opening(random: Random, topic: str) -> Fact:
    """Say when a place is open."""
    thing, called = _object(random, topic, w.buildings)
    opens, closes = (random.choice(("nine", "ten", "noon", "eight")), random.choice(("four", "five", "six")))
    first, last = random.sample(w.months, 2)
    when = random.choice((
        f"from {first} to {last}", f"from {opens} to {closes}", "every day", f"on {random.choice(w.days)}",
        f"in {first}", "all year", "at weekends",
    ))  # fmt: skip
    slots = {"o": thing, "t": Slot(when)}
    extra = random.choice(("", " and closed {c}", ", but closed {c}"))
    if extra:
        slots["c"] = Slot(random.choice(w.days), "on ")
    kind = random.choice(w.buildings)
    sentences, questions = _texts("opening", extra=extra, kind=kind)
    template = random.choice(sentences)
    if template.startswith("visitors"):
        slots.pop("c", None)
        questions["t"] = ("when may visitors enter {o}?", "when can visitors see {o}?")
    fact = _fact(random, template, slots, questions, called)
    if template.startswith("today"):
        fact.called["o"] = f"the {kind}"
    return fact


def _measure(random: Random, topic: str) -> Fact:
    """Give a number: a length, a weight, a price, or how many."""
    thing, called = _object(random, topic, w.buildings)
    number = random.choice((*w.numbers, str(random.randint(2, 900))))
    number = random.choice(("", "", "", "about ", "nearly ", "more than ")) + number
    verb, unit, question = random.choice((
        ("is", "metres long", "how long is {o}?"), ("is", "metres high", "how high is {o}?"),
        ("is", "metres tall", "how tall is {o}?"), ("weighs", "tonnes", "how much does {o} weigh?"),
        ("cost", "pounds", "how much did {o} cost?"), ("is", "years old", "how old is {o}?"),
        ("has", random.choice(("rooms", "floors", "windows", "steps", "seats", "wheels")),
         "how many {u} does {o} have?"),
    ))  # fmt: skip
    counted, space, rest = unit.partition(" ")
    if verb == "has":
        answer, rest = number, f" {unit}"
    else:
        answer, rest = f"{number} {counted}", space + rest
    slots = {"o": thing, "n": Slot(answer)}
    fact = _fact(random, f"{{o}} {verb} {{n}}{rest}", slots, {"n": (question,)}, called)
    fact.called.setdefault("u", unit)
    return fact


def _naming(random: Random, topic: str) -> Fact:
    """Say what a thing is called, is famous for or made of, or who was its first keeper."""
    thing, called = _object(random, topic, w.buildings)
    kind = random.choice(("first", "fame", "name", "matter"))
    words: dict[str, str] = {}
    if kind == "first":
        role, first = random.choice(w.roles), random.choice(("first", "last", "best known", "next"))
        slot, words = _person(random), {"role": role, "first": first}
    elif kind == "name":
        slot = Slot(f"the {random.choice(w.adjectives)} {random.choice(w.works)}")
    else:
        slot = Slot(random.choice(w.stuffs), "for its " if kind == "fame" else "of ")
    (template,), questions = _texts(kind, **words)
    return _fact(random, template, {"o": thing, min(questions): slot}, questions, called)


def _reason(random: Random, topic: str) -> Fact:
    """Say why something happened, or what somebody did it for."""
    kind, reasons = random.choice((
        ("reason", w.reasons), ("reason", w.reasons), ("cause", w.causes), ("purpose", w.purposes),
    ))  # fmt: skip
    called, verb, past = "", *random.choice(w.moves)
    actor = _person(random)
    if kind != "purpose" and random.random() < 0.5:
        actor, called = _object(random, topic, w.buildings)
        verb, past = random.choice(w.ends)
    slots = {"o": actor, "r": Slot(random.choice(reasons))}
    when = ""
    if random.random() < 0.4:
        slots["t"], when = _time(random), " {t}"
    sentences, questions = _texts(kind, verb=verb, past=past, when=when)
    return _fact(random, random.choice(sentences), slots, questions, called)


def _happening(random: Random, _topic: str) -> Fact:
    """Say how a game ended, or what the weather was like."""
    kind = random.choice(("score", "weather"))
    slots = {"n": Slot(random.choice(w.results)), "w": Slot(random.choice(w.weathers)), "s": _person(random)}
    sentences, questions = _texts(kind, game=random.choice(w.games))
    template = random.choice(sentences)
    kept = {name: slot for name, slot in slots.items() if f"{{{name}}}" in template}
    return Fact(template, kept, questions, {})


def _counting(random: Random, _topic: str) -> Fact:
    """Say how many animals or goods somebody has."""
    what = random.choice((*w.animals, "boats", "books", "workers", "children"))
    base, past = random.choice((("keep", "kept"), ("own", "owned"), ("have", "had"), ("buy", "bought")))
    slots = {"s": _person(random), "n": Slot(random.choice(w.numbers)), "x": Slot(what)}
    sentences, questions = _texts("count", what=what, base=base, past=past)
    return _fact(random, random.choice(sentences), slots, questions, "")


KINDS: Final = (
    _deed, _deed, _deed, _dwelling, _dwelling, _using, _using, _driven, _opening, _measure, _naming,
    _reason, _reason, _counting, _happening,
)  # fmt: skip


# Training.


def main(path: Path = WEIGHTS, start: Path | None = None) -> None:
    """Train on synthetic paragraphs, and write the weights; with `start`, go on from those for a while."""
    torch.manual_seed(0)
    random = Random(0)  # noqa: S311 - examples, no secrets
    bert, tokeniser = load_shipped()
    bert.set_attn_implementation("sdpa")
    model = SpanModel(bert).train()
    steps, rate, warmup = STEPS, RATE, 60
    if start is not None:
        model.load(start)
        steps, rate, warmup = MORE, 1e-3, 10
    weights = list(model.trained().values())
    adam = torch.optim.AdamW(weights, lr=rate, weight_decay=0.0)
    seen: list[float] = []
    for step in range(steps):
        for group in adam.param_groups:
            group["lr"] = rate * min((step + 1) / warmup, 1 - step / steps)
        loss = _loss(model, tokeniser, [example(random) for _ in range(BATCH)])
        adam.zero_grad()
        torch.autograd.backward(loss)
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        adam.step()
        seen.append(loss.item())
        if step % 50 == 49:
            print(f"step {step + 1:5}  loss {sum(seen[-50:]) / 50:.3f}", flush=True)
            model.save(path)
    model.save(path)


def _loss(model: SpanModel, tokeniser: Any, examples: list[Example]) -> Tensor:
    """Return the mean cross-entropy of starts and ends, over [CLS] and the paragraph's tokens."""
    pairs = ([e.question for e in examples], [e.paragraph for e in examples])
    encoding = tokeniser(*pairs, padding=True, return_tensors="pt", return_offsets_mapping=True)
    places = encoding.pop("offset_mapping")  # (B, S, 2)
    second = encoding["token_type_ids"].bool()
    start = torch.tensor([e.start for e in examples])[:, None]
    end = torch.tensor([e.end for e in examples])[:, None]
    allowed = second.clone()
    allowed[:, 0] = True  # [CLS] stands for no answer
    inside = second & (places[..., 0] >= start) & (places[..., 1] <= end) & (places[..., 1] > 0)
    first = inside.int().argmax(dim=-1)
    last = (first + inside.sum(dim=-1) - 1).clamp(min=0)
    logits = model(**encoding).float().masked_fill(~allowed[..., None], -1e4)
    starts, ends = logits.unbind(dim=-1)  # (B, S) each
    return (F.cross_entropy(starts, first) + F.cross_entropy(ends, last)) / 2


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
