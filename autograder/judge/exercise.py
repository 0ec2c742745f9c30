"""What an exercise declares: cases, misconceptions, and a reference to compare with."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from autograder.errors import CheckDefinitionError
from autograder.judge.draw import Draw
from autograder.judge.judgement import Judge, agrees, firm


@dataclass(frozen=True)
class Stimulus:
    """What is asked of the student's names: a probe's scenario and its inputs.

    Stimuli with the same `key` are the same: it names the case and the seed that drew the inputs.
    """

    scenario: str
    inputs: Mapping[str, Any]
    key: tuple[str, int] = ("", 0)


def call(*args: Any, **kwargs: Any) -> Stimulus:
    """Call the exercise's function with these arguments."""
    return Stimulus("call", {"args": list(args), "kwargs": kwargs})


def gradient(*args: Any, cotangent: Any, **kwargs: Any) -> Stimulus:
    """Call the exercise's function and pull a cotangent back to its arguments."""
    return Stimulus("gradient", {"args": list(args), "kwargs": kwargs, "cotangent": cotangent})


def module(
    init: Sequence[Any],
    weights: Mapping[str, Any],
    *calls: Sequence[Any],
    train: bool = False,
    **init_kwargs: Any,
) -> Stimulus:
    """Build the exercise's class, load weights by attribute, and call it once per entry of calls."""
    inputs = {"init": list(init), "init_kwargs": init_kwargs, "weights": dict(weights)}
    return Stimulus("module", {**inputs, "train": train, "calls": [list(args) for args in calls]})


@dataclass(frozen=True)
class Case:
    """One check: inputs drawn from a seed, the call, and what must hold.

    The title is the sentence the student reads.
    """

    id: str
    title: str
    prepare: Callable[[Draw], Stimulus]
    judge: Judge
    weight: float = 1.0
    seconds: float = 10.0


@dataclass(frozen=True)
class Misconception:
    """A known mistake, as an edit of the model answer's text: what is replaced, and by what.

    `also` are further edits that make the same mistake with other side effects. `same_as` names
    mistakes that no input tells apart from this one.
    """

    id: str
    edits: Mapping[str, str]
    title: str
    hint: str = ""
    same_as: frozenset[str] = frozenset()
    also: tuple[Mapping[str, str], ...] = ()

    def forms(self) -> list["Misconception"]:
        """Return the mistake in each of its forms, the main one first."""
        return [self, *(replace(self, edits=edits, also=()) for edits in self.also)]

    def apply(self, answer: str) -> str:
        """Return the model answer with the mistake in it; CheckDefinitionError if it has no place."""
        for old, new in self.edits.items():
            if old not in answer:
                raise CheckDefinitionError(
                    f"misconception '{self.id}': {old!r} is not in the model answer; "
                    "the answer was changed, so the edit must follow"
                )
            answer = answer.replace(old, new)
        return answer


@dataclass
class Exercise:
    """One cell that a student fills: how it is called, judged, and got wrong.

    `reference` names what the cell has to define and gives an independent implementation, built on
    torch's own operations; its source stands in for the student's cell when later ones are marked.
    """

    id: str
    points: float
    name: str
    reference: Any = None
    forbidden: Mapping[str, str] = field(default_factory=dict)
    written: bool = False
    cases: list[Case] = field(default_factory=list)
    misconceptions: list[Misconception] = field(default_factory=list)

    def case(
        self, title: str, *, weight: float = 1.0, judge: Judge | None = None, seconds: float = 10.0
    ) -> Callable[[Callable[[Draw], Stimulus]], Callable[[Draw], Stimulus]]:
        """Declare a case; the decorated function draws its inputs and its name becomes the id."""

        def add(prepare: Callable[[Draw], Stimulus]) -> Callable[[Draw], Stimulus]:
            case_id = prepare.__name__.strip("_").replace("_", "-")
            self._add(Case(case_id, title, prepare, firm(judge or agrees()), weight, seconds))
            return prepare

        return add

    def entry(self, key: str, title: str, judge: Judge, *, weight: float = 1.0) -> None:
        """Declare a case for one entry of an `answers` dictionary."""

        def prepare(_draw: Draw) -> Stimulus:
            return Stimulus("variable", {"key": key})

        self._add(Case(key.replace("_", "-"), title, prepare, firm(judge), weight))

    def _add(self, case: Case) -> None:
        if any(other.id == case.id for other in self.cases):
            raise CheckDefinitionError(f"exercise '{self.id}' has two cases '{case.id}'")
        self.cases.append(case)

    def misconception(
        self,
        misconception_id: str,
        title: str,
        hint: str = "",
        *,
        edits: Mapping[str, str],
        same_as: Sequence[str] = (),
        also: Sequence[Mapping[str, str]] = (),
    ) -> None:
        """Declare a known mistake."""
        mistake = Misconception(
            misconception_id, edits, title, hint, frozenset(same_as), tuple(also)
        )
        if any(other.id == mistake.id for other in self.misconceptions):
            raise CheckDefinitionError(
                f"exercise '{self.id}' has two misconceptions '{mistake.id}'"
            )
        self.misconceptions.append(mistake)

    def stimulus(self, case: Case, seed: int) -> Stimulus:
        """Return a case's inputs for a seed, with the name to call and a seed for the probe."""
        draw = Draw(seed, self.id, case.id)
        asked = case.prepare(draw)
        inputs = {"name": self.name, "seed": draw.seed, **asked.inputs}
        return Stimulus(asked.scenario, inputs, key=(case.id, seed))


@dataclass
class Lesson:
    """The exercises of one lesson, in the order of its notebook.

    `given` holds what is in scope at its start besides torch, nn, F and math. `imports` are modules
    that torch brings in late when the lesson's answers run, and which had better be there before.
    """

    name: str
    given: Mapping[str, Any] = field(default_factory=dict)
    imports: Sequence[str] = ()
    exercises: list[Exercise] = field(default_factory=list)

    def exercise(
        self,
        exercise_id: str,
        points: float,
        name: str,
        *,
        reference: Any = None,
        forbidden: Mapping[str, str] | None = None,
        written: bool = False,
    ) -> Exercise:
        """Declare an exercise and return it, for its cases to be added."""
        if any(other.id == exercise_id for other in self.exercises):
            raise CheckDefinitionError(f"lesson '{self.name}' has two exercises '{exercise_id}'")
        made = Exercise(exercise_id, points, name, reference, forbidden or {}, written)
        self.exercises.append(made)
        return made

    def __getitem__(self, exercise_id: str) -> Exercise:
        for exercise in self.exercises:
            if exercise.id == exercise_id:
                return exercise
        raise KeyError(exercise_id)

    def upstream(self, exercise: Exercise) -> list[Exercise]:
        """Return the earlier exercises that define something a later one may call."""
        earlier = self.exercises[: self.exercises.index(exercise)]
        return [other for other in earlier if other.reference is not None]
