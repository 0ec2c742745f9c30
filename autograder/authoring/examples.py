"""Makes the public examples of a lesson: right results, and what known mistakes give.

The files lie in `coursework/examples`. They hold no code: of a mistake they keep its title, its hint
and the signature of its results, with which the student's own notebook recognises it.
"""

import hashlib
import inspect
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save

from autograder.judge.oracle import Oracle
from autograder.model import draw
from autograder.model.draw import PUBLIC_KEY, PublicDraw
from autograder.model.errors import CheckDefinitionError
from autograder.model.exercise import Exercise, Lesson, Mistake
from coursework import scope
from coursework.engine import compare, observe, operations, parts
from coursework.engine import examples as engine_examples
from coursework.engine.compare import is_right
from coursework.engine.examples import SEED, Signature, sign
from coursework.engine.observation import Observation
from coursework.engine.observe import try_answer
from coursework.engine.operation import Operation, packed
from coursework.engine.operations import ModuleOperation
from coursework.engine.parts import TRIALS, CallThrough
from coursework.engine.values import Encoder, pack

FOLDER = Path("coursework/examples")
MOST_PAIRS = 1500
Tensors = dict[str, torch.Tensor]


@dataclass
class MadeExamples:
    """The examples of one exercise: operations, right results, and the mistakes that show on them.

    `hidden` are the mistakes that show on none, `alike` groups of mistakes that no example tells
    apart, though some check does.
    """

    exercise: Exercise
    operations: Sequence[Operation]
    expected: Sequence[Observation]
    signatures: dict[tuple[str, ...], list[Signature]] = field(default_factory=dict)
    hidden: list[str] = field(default_factory=list)
    alike: list[list[str]] = field(default_factory=list)


def examples_files(lesson: Lesson) -> dict[Path, bytes]:
    """Return the two files of a lesson's examples by their place in the course; none without examples.

    Raises CheckDefinitionError for a model answer that is wrong on an example.
    """
    exercises = [exercise for exercise in lesson.exercises if exercise.examples]
    if not exercises:
        return {}
    oracle = Oracle(lesson, PUBLIC_KEY)
    tensors: Tensors = {}
    stored = [_stored(make_examples(oracle, exercise), tensors) for exercise in exercises]
    document = {"made_from": made_from(lesson), "exercises": stored}
    place = examples_place(lesson)
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"), indent=None)
    return {
        place: f"{text}\n".encode(),
        place.with_suffix(".safetensors"): save({name: each.clone() for name, each in tensors.items()}),
    }


def examples_place(lesson: Lesson) -> Path:
    """Return where the document of a lesson's examples lies in the course."""
    return FOLDER / f"{lesson.name}.json"


def examples_current(root: Path, lesson: Lesson) -> bool:
    """Return whether the examples on disk were made from what the lesson declares now."""
    place = root / examples_place(lesson)
    if not any(exercise.examples for exercise in lesson.exercises):
        return True
    if not place.is_file() or not place.with_suffix(".safetensors").is_file():
        return False
    stored = json.loads(place.read_text(encoding="utf-8"))
    return bool(stored["made_from"] == made_from(lesson))


def made_from(lesson: Lesson) -> str:
    """Return a digest of all that examples are made from: inputs, answers, references, mistakes, our code."""
    digest = hashlib.sha256()
    modules = (compare, draw, engine_examples, observe, operations, parts, *scope.HOMES)
    ours = [Path(each.__file__ or "") for each in modules]
    folders = sorted({each.module.parent for each in lesson.exercises if each.module})
    references = [folder / "reference.py" for folder in folders]
    for path in (Path(__file__), *ours, *filter(Path.is_file, references)):
        digest.update(path.read_bytes())
    for exercise in lesson.exercises:
        shown = [(each.picture, each.shown) for each in exercise.examples]
        mistakes = [(each.id, each.title, each.hint, each.edits, each.also) for each in exercise.mistakes]
        digest.update(repr((exercise.id, exercise.answer, shown, mistakes)).encode())
        for operation in _operations(lesson, exercise):
            digest.update(pack(packed(operation)))
    return digest.hexdigest()


def _operations(lesson: Lesson, exercise: Exercise) -> list[Operation]:
    """Return what the examples of an exercise do with an answer."""
    draws = [PublicDraw(lesson.name, exercise.id, str(n)) for n in range(len(exercise.examples))]
    return [each.ask(draw) for each, draw in zip(exercise.examples, draws, strict=True)]


def make_examples(oracle: Oracle, exercise: Exercise) -> MadeExamples:
    """Try the reference, the model answer, every mistake and many pairs of them on the examples."""
    operations = _operations(oracle.lesson, exercise)
    if exercise.reference is None:
        raise CheckDefinitionError(f"'{exercise.id}' has examples, but no reference to run on them")
    made = MadeExamples(exercise, operations, _tried(exercise, operations, exercise.reference))
    _require_right(oracle, made)
    _add_mistakes(oracle, made)
    _add_pairs(oracle, made)
    return made


def _tried(exercise: Exercise, operations: Sequence[Operation], answer: Any) -> list[Observation]:
    return [try_answer(operation, answer, exercise.name, SEED) for operation in operations]


def _require_right(oracle: Oracle, made: MadeExamples) -> None:
    """Raise CheckDefinitionError where the model answer is wrong, or an example raises by accident."""
    results = _results(oracle, made, [])
    for number, (got, expected) in enumerate(zip(results, made.expected, strict=True)):
        if not is_right(got, expected):
            raise CheckDefinitionError(
                f"example {number} of '{made.exercise.id}': the model answer gives {got}, "
                f"the reference {expected}"
            )
        if expected.raised and expected.raised.kind != "ValueError":
            raised = f"{expected.raised.kind}: {expected.raised.message}"
            raise CheckDefinitionError(f"example {number} of '{made.exercise.id}' raises {raised}")


def _results(oracle: Oracle, made: MadeExamples, mistakes: Sequence[Mistake]) -> list[Observation]:
    """Return what an edited model answer gives on each example; nothing if the edits exclude each other."""
    names = oracle.edited(made.exercise, mistakes)
    if names is None:
        return []
    return _tried(made.exercise, made.operations, names[made.exercise.name])


def _shows(results: Sequence[Observation], made: MadeExamples) -> bool:
    return not all(is_right(*pair) for pair in zip(results, made.expected, strict=True))


def _add_mistakes(oracle: Oracle, made: MadeExamples) -> None:
    """Keep every form of every mistake that shows, and note those that do not, or look alike."""
    for mistake in made.exercise.mistakes:
        shown = False
        for form in mistake.forms():
            results = _results(oracle, made, [form])
            if results and _shows(results, made):
                shown = True
                _keep(made, (mistake.id,), _signed(results, made))
        if not shown:
            made.hidden.append(mistake.id)


def _keep(made: MadeExamples, ids: tuple[str, ...], signatures: list[Signature]) -> None:
    """Keep the signature of a mistake, unless another one has it: then note that they look alike."""
    for known, other in made.signatures.items():
        if len(known) == len(ids) and _same(signatures, other):
            _note_alike(made, known[0], ids[0])
            return
    name = ids if ids not in made.signatures else (*ids, f"form {len(made.signatures)}")
    made.signatures[name] = signatures


def _note_alike(made: MadeExamples, known: str, mistake: str) -> None:
    declared = made.exercise.mistake(mistake).same_as | {mistake}
    declared |= {each.id for each in made.exercise.mistakes if mistake in each.same_as}
    if known not in declared and [known, mistake] not in made.alike:
        made.alike.append([known, mistake])


def _add_pairs(oracle: Oracle, made: MadeExamples) -> None:
    """Keep pairs that give neither a right result nor that of one mistake, as far as there is room."""
    known = list(made.signatures.values())
    pairs = list(combinations(made.exercise.mistakes, 2))
    step = max(1, len(pairs) // MOST_PAIRS)
    for pair in pairs[::step]:
        results = _results(oracle, made, pair)
        if not results or not _shows(results, made):
            continue
        signatures = _signed(results, made)
        if not any(_same(signatures, other) for other in known):
            made.signatures[tuple(f"+{mistake.id}" for mistake in pair)] = signatures


def _signed(results: Sequence[Observation], made: MadeExamples) -> list[Signature]:
    return [sign(*pair) for pair in zip(results, made.expected, strict=True)]


def _same(a: Sequence[Signature], b: Sequence[Signature]) -> bool:
    return all(one.matches(other) for one, other in zip(a, b, strict=True))


def _stored(made: MadeExamples, tensors: Tensors) -> dict[str, Any]:
    """Return what the JSON file holds of an exercise."""
    exercise = made.exercise
    forms = sorted({each.form for rows in made.signatures.values() for each in rows})
    order = {mistake.id: number for number, mistake in enumerate(exercise.mistakes)}
    if made.signatures:
        rows = [[each.numbers for each in row] for row in made.signatures.values()]
        tensors[f"{exercise.id} mistakes"] = torch.tensor(rows, dtype=torch.float32)
    return {
        "exercise": exercise.id,
        "name": exercise.name,
        "examples": [_example(made, n, tensors) for n in range(len(made.operations))],
        "texts": [[mistake.title, mistake.hint] for mistake in exercise.mistakes],
        "forms": forms,
        "mistakes": [
            [*_texts(ids, made, order), [forms.index(each.form) for each in signatures]]
            for ids, signatures in made.signatures.items()
        ],
    }


def _texts(ids: tuple[str, ...], made: MadeExamples, order: dict[str, int]) -> list[Any]:
    """Return the numbers of the titles that belong to a row, and whether any one of them may be meant."""
    if ids[0].startswith("+"):
        return [[order[each[1:]] for each in ids], False]
    others = [other for known, other in made.alike if known == ids[0]]
    return [[order[each] for each in (ids[0], *others)], bool(others)]


def _example(made: MadeExamples, number: int, tensors: Tensors) -> dict[str, Any]:
    operation, expected = made.operations[number], made.expected[number]
    declared = made.exercise.examples[number]
    names, call = _call(made.exercise, operation)
    raised = expected.raised
    seen = {
        "value": expected.value,
        "raised": raised and {"type": raised.kind, "bases": raised.bases, "message": raised.message},
        "changed": expected.changed,
    }
    return {
        "operation": Encoder(tensors).encode(packed(operation)),
        "shown": declared.shown or call,
        "names": names,
        "picture": declared.picture,
        "expected": Encoder(tensors).encode(seen),
    }


def _call(exercise: Exercise, operation: Any) -> tuple[list[str], str]:
    """Return the names of an example's inputs, and the call as a student would write it."""
    of_module = isinstance(operation, ModuleOperation)
    args, kwargs = (
        (operation.init, operation.init_kwargs) if of_module else (operation.args, operation.kwargs)
    )
    if isinstance(operation, CallThrough):
        names = list(inspect.signature(TRIALS[operation.through]).parameters)[1:]
    else:
        names = list(inspect.signature(exercise.reference).parameters)
    given = [*zip(names, args, strict=False), *kwargs.items()]
    call = f"{exercise.name}({', '.join(_arguments(given, len(args)))})"
    if not of_module:
        return [name for name, _ in given], call
    mode = ".train()" if operation.train else ""
    inner = [name for name in inspect.signature(exercise.reference.forward).parameters if name != "self"]
    calls = [f"({', '.join(_arguments(list(zip(inner, c, strict=False)), len(c)))})" for c in operation.calls]
    return inner * len(operation.calls), " then ".join(f"{call}{mode}{each}" for each in calls)


def _arguments(given: Sequence[tuple[str, Any]], positional: int) -> Iterator[str]:
    """Yield arguments as in a call: short ones themselves, tensors and lists by name."""
    for number, (name, value) in enumerate(given):
        short = value is None or isinstance(value, (bool, int, float, str))
        text = repr(value) if short else name
        yield text if number < positional else f"{name}={text}"
