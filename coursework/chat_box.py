"""A box to talk to a model: type, press Enter, and watch the answer come.

Without a running kernel, on a page or a slide, a recorded conversation takes its place.
"""

import time
from collections.abc import Callable, Sequence
from html import escape
from itertools import zip_longest
from threading import Thread
from traceback import walk_tb
from typing import Any, Final

from ipywidgets import HTML, Button, FloatSlider, HBox, Layout, Text, VBox, Widget

from coursework import smollm
from coursework.engine.trial import ALONE
from coursework.own_llama import END

Show = Callable[[int], None]
Reply = Callable[[list[str], Show, float, float], object]
LONGEST: Final = 80  # tokens of an answer
TURN: Final = 0.002  # seconds in which a check that waits begins
NAMES: Final = ("you", "model")
RECORDED: Final = ("What is the capital of France?", "And of Italy?")
NOT_RUN: Final = (
    "{name} is not defined yet: a cell above this one has not run since the kernel started. Run them with "
    "Run > Run All Above Selected Cell."
)
STILL: Final = "<p><i>A recorded conversation: in a running notebook, this is a box to type in.</i></p>"
IN_BOX: Final = "<div style='overflow-wrap:anywhere'>{rows}</div>"  # a very long word is broken, not cut off
ROW: Final = "<p style='margin:4px 0'><b>{name}</b> &nbsp;{text}</p>"


def finished_reply(turns: list[str], show: Show, temperature: float, top_p: float) -> None:  # noqa: ARG001
    """Answer the last turn with the course's own SmolLM2, the likeliest token each time."""
    model, asked = smollm.load(), [smollm.QUESTION.format(question=turn) for turn in turns[::2]]
    answers = [f"{turn}<|im_end|>\n" for turn in turns[1::2]]
    text = "".join(question + said for question, said in zip_longest(asked, answers, fillvalue=""))
    written = 0
    for written, token in enumerate(model.generate(model.encode(text), LONGEST), start=1):  # noqa: B007
        show(token)
    if written < LONGEST:
        show(END)


class StartedAgainError(Exception):
    """The conversation was ended while an answer to it was being written."""


class ChatBox:
    """A line to type in, a button, and the conversation so far.

    `reply(turns, show, temperature, top_p)` answers the last of the turns, which alternate between the
    student and the model, and calls `show` with the id of each token. What it shows becomes the next turn;
    it is shown with an ellipsis if it doesn't end with `<|im_end|>`. It runs in a thread of its own, because
    JupyterLab handles one click of a notebook at a time: `show` raises `StartedAgainError` once the student
    has started again. Between two tokens a `check` may run, which excludes functions for the whole process.
    """

    def __init__(self, reply: Reply, *, sampling: bool = True) -> None:
        """Without `sampling`, there are no sliders, and the temperature is 0."""
        self._reply, self.turns = reply, list[str]()
        self._cut = set[int]()  # the turns that ended before the model had finished
        self.answering: Thread | None = None
        self.question = Text(placeholder="Ask something", layout=Layout(flex="1 1 12em"))
        self.send = Button(description="Send", button_style="primary", layout=_rigid("90px"))
        self.again = Button(description="Start again", layout=_rigid("110px"))
        self.temperature = _slider("temperature", value=0.0, low=0.0, high=1.5, step=0.1)
        self.top_p = _slider("top-p", value=0.9, low=0.1, high=1.0, step=0.05)
        self.shown = HTML()
        self._sliders = [_row(self.temperature, self.top_p)] if sampling else []
        self.send.on_click(self._sent)
        self.question.on_msg(self._pressed)
        self.again.on_click(self._begin)

    def widget(self) -> VBox:
        """Return the whole box."""
        row = _row(self.question, self.send, self.again)
        return VBox([*self._sliders, row, self.shown], layout=Layout(max_width="900px"))

    def _pressed(self, _line: Any, content: dict[str, Any], _buffers: Any) -> None:
        """Send when Enter is pressed; `Text.on_submit`, which did this, is deprecated."""
        if content.get("event") == "submit" and not self.send.disabled:
            self._sent(self.send)

    def _sent(self, _button: Any) -> None:
        """Begin to answer what was typed."""
        if question := self.question.value.strip():
            self.question.value, self.send.disabled = "", True
            self.turns.append(question)
            self.answering = Thread(target=self._answer, args=(self.turns, self._cut), daemon=True)
            self.answering.start()

    def _answer(self, turns: list[str], cut: set[int]) -> None:
        """Let the model answer the last of the turns; errors of the student's code stay in the box.

        The box has other turns once the student starts again. `cut` gets the place of an answer cut off.
        """
        ALONE.acquire()
        try:
            stream, ended = smollm.TextStream(smollm.load()), False

            def show(token: int) -> None:
                nonlocal ended
                if turns is not self.turns:
                    raise StartedAgainError  # noqa: TRY301 - the student's code comes in between
                ended = token == END
                if token >= len(smollm.SPECIAL):
                    stream.add(token)
                self._draw(stream.text)
                ALONE.release()
                time.sleep(TURN)
                ALONE.acquire()

            self._draw("…")
            self._reply(list(turns), show, self.temperature.value, self.top_p.value)
            if not ended:
                cut.add(len(turns))
            turns.append(stream.text)
            self._draw()
        except StartedAgainError:
            self._draw()
        except Exception as problem:  # whatever the student's code raises
            question = turns.pop()
            self._draw(*((f"({_said(problem, self._reply)})", question) if turns is self.turns else ()))
        finally:
            ALONE.release()
            if turns is self.turns:
                self.send.disabled = False

    def _begin(self, _button: Any) -> None:
        self.turns, self._cut = [], set()
        self.send.disabled = False
        self._draw()

    def _draw(self, coming: str | None = None, failed: str | None = None) -> None:
        """Show all turns; `coming` is an answer that isn't complete, `failed` a question without one."""
        turns = (f"{text} …" if place in self._cut else text for place, text in enumerate(self.turns))
        said = [*turns, *(text for text in (failed, coming) if text is not None)]
        self.shown.value = IN_BOX.format(rows=_rows(said)) if said else ""


def _rows(said: Sequence[str]) -> str:
    """Return the turns of a conversation as HTML."""
    names = (NAMES[place % 2] for place in range(len(said)))
    return "".join(
        ROW.format(name=name, text=escape(text).replace("\n", "<br>"))
        for name, text in zip(names, said, strict=True)
    )


def recorded_conversation() -> list[str]:
    """Return the turns of a conversation that was recorded when the lessons were built."""
    first, second = RECORDED
    text = smollm.QUESTION.format(question=first)
    one = smollm.recorded(text, "your Llama")
    text += f"{one}<|im_end|>\n" + smollm.QUESTION.format(question=second)
    return [first, one, second, smollm.recorded(text, "second turn")]


def _said(problem: Exception, reply: Reply) -> str:
    """Return what to show of an exception, in one line. What the box's own `reply` lacks has not run."""
    frames = [frame.f_code for frame, _ in walk_tb(problem.__traceback__)]
    if isinstance(problem, NameError) and frames[-1] is getattr(reply, "__code__", None):
        return NOT_RUN.format(name=problem.name)
    if isinstance(problem, NotImplementedError):
        return "An exercise that this box needs is not written yet."
    return f"{type(problem).__name__}: {problem}".removesuffix(": ")


def _row(*parts: Widget) -> HBox:
    """Return a row of controls that breaks in a narrow window."""
    return HBox(parts, layout=Layout(flex_flow="row wrap"))


def _rigid(width: str) -> Layout:
    """Return the layout of a control that is not squeezed."""
    return Layout(width=width, max_width="98%", flex="0 0 auto")


def _slider(name: str, *, value: float, low: float, high: float, step: float) -> FloatSlider:
    style, layout = {"description_width": "90px"}, _rigid("320px")
    return FloatSlider(
        value=value, min=low, max=high, step=step, description=name, style=style, layout=layout
    )


def chat_box(reply: Reply = finished_reply, *, sampling: bool = True) -> None:
    """Display a box to talk to a model; without a kernel or the weights, a recorded conversation."""
    from IPython import display

    still = _rows(recorded_conversation())
    if not smollm.installed():
        display.display(
            display.HTML(
                f"<p><i>The box to talk in needs the weights. A recorded conversation:</i></p>{still}"
            )
        )
        return
    shown = ChatBox(reply, sampling=sampling).widget()._repr_mimebundle_()
    display.display({**shown, "text/html": f"{STILL}{still}"}, raw=True)
