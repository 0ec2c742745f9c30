"""Lessons, exercises, checks and mistakes as the grader knows them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

from autograder.model.errors import CheckDefinitionError, StaleEditError

if TYPE_CHECKING:  # reports read mistakes without torch
    from autograder.model.draw import Draw
    from coursework.engine.describe import Comparison
    from coursework.engine.operation import Operation

ANSWERS = "answers"  # what every dictionary of answers is called, in any lesson


@dataclass(frozen=True, eq=False)
class TestInput:
    """What is asked of an answer: an operation, and the random state to ask it in."""

    __test__: ClassVar[bool] = False  # not a test, whatever pytest thinks of the name

    operation: "Operation"
    seed: int
    check: str
    attempt: int = 0


@dataclass(frozen=True)
class Verdict:
    """Whether a check passed, and what to tell the student if it did not."""

    passed: bool
    message: str = ""


Judge = Callable[["Comparison"], Verdict]

CHECK_SECONDS: Final = 10.0  # of processor time that the operation of a check may take


@dataclass(frozen=True)
class Check:
    """One check of an exercise, a row of its table.

    Args:
        id: lower-case words with hyphens, unique in the exercise.
        title: the sentence the student reads, what should hold.
        test: draws the inputs and returns the operation that uses them.
        judge: decides about the result; the exercise's own judge if none is given.
        weight: the share of the exercise's points, relative to its other checks.
        raises: the exception that is expected, such as "ValueError"; empty if none is.
        separates: ids of mistakes that some inputs do not show; inputs are drawn until all show.
        around: makes the check's judge from the one above, where a result has more than one part.

    Example:
        Check("rows", "each row becomes a distribution", lambda d: call(d.normal(3, 7)), weight=2)
    """

    id: str
    title: str
    test: "Callable[[Draw], Operation]"
    judge: Judge | None = None
    weight: float = 1.0
    raises: str = ""
    separates: Sequence[str] = ()
    around: Callable[[Judge], Judge] | None = None

    @property
    def decide(self) -> Judge:
        """The judge; CheckDefinitionError before an exercise has given it one."""
        if self.judge is None:
            raise CheckDefinitionError(f"check '{self.id}' has no judge")
        return self.judge


@dataclass(frozen=True)
class Edit:
    """A replacement in the model answer: `old` occurs once, or `everywhere` it occurs.

    Further lines of `new` are indented relative to the line in which `old` begins.
    """

    old: str
    new: str
    everywhere: bool = False

    def apply(self, source: str) -> str:
        """Return the source with the replacement made; a line that it leaves blank becomes `pass`."""
        done, *rest = source.split(self.old)
        for after in rest:
            line = done.rpartition("\n")[2]
            indent = line[: len(line) - len(line.lstrip())]
            remains = (line + after.partition("\n")[0]).strip()
            deleted = not self.new and (not remains or remains.startswith("#"))
            done += ("pass" if deleted else self.new.replace("\n", f"\n{indent}")) + after
        return done


@dataclass(frozen=True)
class Mistake:
    """A known mistake, as edits of the model answer.

    `also` are further edits that make the same mistake with other side effects. `same_as` names
    mistakes that no input tells apart from this one. `place` is the file and line it comes from.
    """

    id: str
    title: str
    hint: str
    edits: tuple[Edit, ...]
    also: tuple[tuple[Edit, ...], ...] = ()
    same_as: frozenset[str] = frozenset()
    place: str = ""

    def forms(self) -> list["Mistake"]:
        """Return the mistake in each of its forms, the main one first."""
        return [self, *(replace(self, edits=edits, also=()) for edits in self.also)]

    def apply(self, answer: str) -> str:
        """Return the model answer with the mistake in it; StaleEditError if an edit has no place."""
        for edit in self.edits:
            if edit.old not in answer:
                raise StaleEditError(
                    f"{self.place}: mistake '{self.id}': {edit.old!r} is not in the model answer; "
                    "the answer was changed, so change the edit"
                )
            answer = edit.apply(answer)
        return answer


@dataclass(frozen=True)
class PublicExample:
    """A small input that everyone may see, apart from everything that is graded.

    `ask` draws it, from a key that is no secret, and returns what is done with an answer: a call as in a
    table of checks, or one `through` a function of `parts`. `picture`
    says how its result is drawn: "mask", "heat", "source" (entries are 10 · token + feature),
    "curves", or "" for none. `shown` is how the call reads, "" for what follows from the operation.
    """

    ask: "Callable[[Draw], Operation]"
    picture: str = ""
    shown: str = ""


@dataclass(frozen=True)
class Excludes:
    """Functions that an answer may not use, because they would do the exercise's work.

    Args:
        names: exclusions of `coursework.exclusions`, such as "softmax" or "finished_attention". Loading a
            lesson raises CheckDefinitionError for a name that no exclusion has.
        instead: a sentence that says what to build the answer from.

    Example:
        Excludes(["softmax"], instead="Build it from `exp` and `sum`.")
    """

    names: Sequence[str]
    instead: str

    @property
    def derivatives(self) -> bool:
        """Whether asking torch for a derivative is excluded."""
        return "derivatives" in self.names

    def called(self, function: str) -> str:
        """Return what to tell a student whose answer called an excluded function."""
        return f"`{function}` is excluded in this exercise. {self.instead}"


FINISHED_ATTENTION: Final = Excludes(
    ["finished_attention"], instead="Build it from the parts that you wrote."
)


@dataclass(frozen=True)
class ExerciseChecks:
    """What a module in lessons/ declares about one exercise; the lesson's text declares the rest.

    Args:
        checks: the table of checks, in the order in which they are tried and reported.
        reference: an independent implementation, on torch's own operations. Its source also stands
            in for the student's answer when later exercises are graded, so it must stand alone
            (torch, nn, F and math are in scope), and the student's cell defines the same name. None
            for a dictionary of answers, which is called "answers".
        judge: decides where a check names no judge of its own; by default `matches_reference()`.
        excludes: what the answer is to be written without, None for nothing.
        examples: one to four small public inputs, the smallest first.

    Example:
        exercise = ExerciseChecks(reference=reference.causal_mask, checks=[
            Check("six", "each position sees itself and the positions before it", lambda _: call(6)),
        ])
    """

    checks: Sequence[Check]
    reference: Any = None
    judge: Judge | None = None
    excludes: Excludes | None = None
    examples: Sequence[PublicExample] = ()


@dataclass(frozen=True, eq=False)
class Exercise:
    """One cell that a student fills: what the text says of it, how it is checked and got wrong.

    `line` is that of the text; `module` is the file that declares the checks.
    """

    id: str
    points: float
    name: str = ""
    written: bool = False
    answer: str = ""
    reference: Any = None
    stand_in: Any = None
    excludes: Excludes | None = None
    checks: tuple[Check, ...] = ()
    mistakes: tuple[Mistake, ...] = ()
    examples: tuple[PublicExample, ...] = ()
    line: int = 0
    module: Path | None = None

    def mistake(self, mistake_id: str) -> Mistake:
        """Return a known mistake by its id. Raises CheckDefinitionError if there is none."""
        for mistake in self.mistakes:
            if mistake.id == mistake_id:
                return mistake
        raise CheckDefinitionError(f"'{self.id}' has no mistake '{mistake_id}'")


@dataclass(frozen=True, eq=False)
class Lesson:
    """The exercises of one lesson, in the order of its text.

    `given` holds what is in scope at its start besides torch, nn, F and math. `imports` are modules
    to import before the first submission, because torch is slow to import them later.
    """

    name: str
    path: Path
    exercises: tuple[Exercise, ...]
    given: Mapping[str, Any] = field(default_factory=dict)
    imports: Sequence[str] = ()

    def __getitem__(self, exercise_id: str) -> Exercise:
        for exercise in self.exercises:
            if exercise.id == exercise_id:
                return exercise
        raise KeyError(exercise_id)

    @property
    def names(self) -> dict[str, str]:
        """What each exercise has to define, by exercise id; written ones define nothing."""
        return {exercise.id: exercise.name for exercise in self.exercises}

    def upstream(self, exercise: Exercise) -> list[Exercise]:
        """Return the earlier exercises that define something a later one may call."""
        earlier = self.exercises[: self.exercises.index(exercise)]
        return [other for other in earlier if other.reference is not None]
