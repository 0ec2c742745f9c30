"""Texts with which a submission might break a page, and a parser that shows whether they did."""

from html.parser import HTMLParser

from autograder.model.report import CheckReport, ExerciseReport, Incident, NamedMistake, Outcome, Report

from .sample_class import report

SCRIPT = "</code></style></script><script>alert(1)</script>"
HANDLER = "\"'><img src=x onerror=alert(1)>"
NASTY = f"`{SCRIPT}` {HANDLER} {{{{ 7*7 }}}} \x1b[31mred\x1b[0m \u202egnp \udc80 $x$"


def hostile_exercise() -> ExerciseReport:
    """Return an exercise with only hostile texts."""
    return ExerciseReport(
        id="softmax",
        points=2,
        score=0,
        outcome=Outcome.FAILED,
        checks=[
            CheckReport(id="a", title=NASTY, passed=False, message=NASTY),
            CheckReport(id="b", title=NASTY, passed=True),
        ],
        misconceptions=[NamedMistake.model_construct(id="m", title=NASTY, hint=NASTY)],
    )


def hostile_report() -> Report:
    """Return a report with hostile repairs and incidents too."""
    incident = Incident.model_construct(exercise=HANDLER, kind=NASTY, message=NASTY)
    made = report([hostile_exercise()])
    return made.model_copy(update={"repairs": [NASTY], "incidents": [incident]})


class Tags(HTMLParser):
    """Collects the names of a page's elements and of their attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.attributes: set[str] = set()
        self.links: list[str] = []
        self.words: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note one element."""
        self.names.append(tag)
        self.attributes.update(name for name, _ in attrs)
        self.links += [value or "" for name, value in attrs if name in ("href", "src")]

    def handle_data(self, data: str) -> None:
        """Note one piece of text."""
        self.words.append(data)

    @property
    def text(self) -> str:
        """All text, including style and script."""
        return "".join(self.words)
