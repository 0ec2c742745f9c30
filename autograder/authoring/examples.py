"""Makes the public examples of a lesson: right results, and what known mistakes give.

The files lie in `coursework/examples`. Of a mistake they keep its title, its hint and the signature of its
results, with which the student's own notebook recognises it. They also list all exercises of the lesson, with
what each excludes and the stand-in that `skip` puts in its place, which is written another way than the
model answer.
"""

import ast
import hashlib
import inspect
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, zip_longest
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save
from torch.utils._pytree import tree_leaves

from autograder.judge.oracle import Oracle, stand_in_source
from autograder.model import draw
from autograder.model.draw import PUBLIC_KEY, PublicDraw
from autograder.model.errors import CheckDefinitionError
from autograder.model.exercise import Exercise, Lesson, Mistake
from autograder.model.lesson_text import read_lesson
from coursework import scope
from coursework.cells import digest_of
from coursework.engine import modern_parts, products
from coursework.engine.compare import is_right
from coursework.engine.examples import SEED, Signature, matching, sign
from coursework.engine.observation import Observation
from coursework.engine.observe import try_answer
from coursework.engine.operation import Operation, packed
from coursework.engine.operations import (
    FLOAT64,
    GRADIENTS,
    AskEach,
    FunctionGradients,
    ModuleGradients,
    ModuleOperation,
)
from coursework.engine.parts import TRIALS, CallThrough
from coursework.engine.values import Encoder, pack

FOLDER = Path("coursework/examples")
MOST_PAIRS = 1500
Tensors = dict[str, torch.Tensor]


@dataclass
class MadeExamples:
    """The examples of one exercise: operations, right results, and the mistakes that show on them.

    `alike` are pairs of mistakes that no example tells apart, though some check does.
    """

    exercise: Exercise
    operations: Sequence[Operation]
    expected: Sequence[Observation]
    signatures: dict[tuple[str, ...], list[Signature]] = field(default_factory=dict)
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
    document = {"made_from": made_from(lesson), "lesson": listed(lesson), "exercises": stored}
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
    ours = [__file__, *(str(each.__file__) for each in (draw, modern_parts, products, scope))]
    folders = sorted({each.module.parent for each in lesson.exercises if each.module})
    references = [folder / "reference.py" for folder in folders]
    for path in _with_imports([*map(Path, ours), *filter(Path.is_file, references)]):
        digest.update(path.read_bytes())
    digest.update(repr(listed(lesson)).encode())
    for exercise in lesson.exercises:
        shown = [(each.picture, each.shown) for each in exercise.examples]
        mistakes = [(each.id, each.title, each.hint, each.edits, each.also) for each in exercise.mistakes]
        digest.update(repr((exercise.id, exercise.answer, shown, mistakes)).encode())
        for asked in _operations(lesson, exercise):
            digest.update(pack(packed(asked)))
    return digest.hexdigest()


def _with_imports(modules: Sequence[Path]) -> list[Path]:
    """Return some modules, and those of this program that they import, however indirectly."""
    found, root = [*modules], Path(str(scope.__file__)).parent.parent
    for module in found:  # which grows
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
            package = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
            names = (
                [each.name for each in node.names] if isinstance(node, (ast.Import, ast.ImportFrom)) else []
            )
            imported = [package[:-1], *(package + name for name in names)]
            paths = (root / f"{each.replace('.', '/')}.py" for each in imported)
            found += [path for path in paths if path.is_file() and path not in found]
    return found


def listed(lesson: Lesson) -> list[dict[str, Any]]:
    """Return what a student's notebook knows of each exercise: its name, points, minutes, what it excludes.

    Its cells are known by digests of their texts as released.
    """
    text = read_lesson(lesson.path)
    return [
        {
            "id": exercise.id,
            "name": exercise.name,
            "title": text.title(exercise.id),
            "points": exercise.points,
            "minutes": text.minutes(exercise.id),
            "written": exercise.written,
            "skeleton": digest_of(text.skeleton(exercise.id)),
            "test": "" if exercise.written else digest_of(text.test(exercise.id)),
            "excludes": list(exercise.excludes.names) if exercise.excludes else [],
            "instead": exercise.excludes.instead if exercise.excludes else "",
            "stand_in": stand_in_source(exercise.stand_in, exercise.name) if exercise.stand_in else "",
            "asks": asks(lesson, exercise),
        }
        for exercise in lesson.exercises
    ]


def asks(lesson: Lesson, exercise: Exercise) -> list[str]:
    """Return what the checks of an exercise ask besides results: float64, gradients."""
    asked = [each.test(PublicDraw(lesson.name, exercise.id, each.id)) for each in exercise.checks]
    parts = [part for each in asked for part in (each.operations if isinstance(each, AskEach) else [each])]
    in_float64 = (getattr(part, "double", False) or _has_float64(part) for part in parts)
    for_gradients = (isinstance(part, FunctionGradients | ModuleGradients) for part in parts)
    return [name for name, found in ((FLOAT64, in_float64), (GRADIENTS, for_gradients)) if any(found)]


def _has_float64(operation: Operation) -> bool:
    leaves = tree_leaves(list(operation.arguments))
    return any(isinstance(leaf, torch.Tensor) and leaf.dtype is torch.float64 for leaf in leaves)


def _operations(lesson: Lesson, exercise: Exercise) -> list[Operation]:
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
    """Keep every form of every mistake that shows; where another one looks like it, note that instead."""
    for mistake in made.exercise.mistakes:
        for form in mistake.forms():
            results = _results(oracle, made, [form])
            if not results or not _shows(results, made):
                continue
            signatures = _signed(results, made)
            alike = (
                ids[0]
                for ids, other in made.signatures.items()
                if len(ids) == 1 and matching(signatures, other)
            )
            if known := next(alike, None):
                _note_alike(made, known, mistake)
            else:
                taken = (mistake.id,) in made.signatures
                name = (mistake.id, f"form {len(made.signatures)}") if taken else (mistake.id,)
                made.signatures[name] = signatures


def _note_alike(made: MadeExamples, known: str, mistake: Mistake) -> None:
    declared = mistake.same_as | {mistake.id}
    declared |= {each.id for each in made.exercise.mistakes if mistake.id in each.same_as}
    if known not in declared and [known, mistake.id] not in made.alike:
        made.alike.append([known, mistake.id])


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
        if not any(matching(signatures, other) for other in known):
            made.signatures[tuple(f"+{mistake.id}" for mistake in pair)] = signatures


def _signed(results: Sequence[Observation], made: MadeExamples) -> list[Signature]:
    return [sign(*pair) for pair in zip(results, made.expected, strict=True)]


def _stored(made: MadeExamples, tensors: Tensors) -> dict[str, Any]:
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
    args = operation.init if of_module else operation.args
    kwargs = operation.init_kwargs if of_module else operation.kwargs
    if isinstance(operation, CallThrough):
        names = _names(TRIALS[operation.through])[1:]
    else:
        names = _names(exercise.reference)
    call = f"{exercise.name}({', '.join(_arguments(names, args, kwargs))})"
    if not of_module:
        return [*names[: len(args)], *kwargs], call
    mode = ".train()" if operation.train else ""
    inner = [name for name in _names(exercise.reference.forward) if name != "self"]
    calls = [f"({', '.join(_arguments(inner, each, {}))})" for each in operation.calls]
    return inner * len(operation.calls), " then ".join(f"{call}{mode}{each}" for each in calls)


def _names(function: Any) -> list[str]:
    """Return the parameters of a function or class; `*sizes` and `**options` name none."""
    parameters = inspect.signature(function).parameters.values()
    return [each.name for each in parameters if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)]


def _arguments(names: Sequence[str], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Iterator[str]:
    """Yield arguments as in a call: short ones themselves, tensors and lists by name."""
    for name, value in zip_longest(names[: len(args)], args, fillvalue="…"):
        yield _shown(name, value)
    for name, value in kwargs.items():
        yield f"{name}={_shown(name, value)}"


def _shown(name: str, value: Any) -> str:
    return repr(value) if value is None or isinstance(value, (bool, int, float, str)) else name
