"""The box to talk in shows what a model says, also when the student's code fails."""

import threading
from typing import Any

import pytest
import torch
from IPython import display

from autograder.lecture.pages import CONTROLS
from coursework import chat_box, check, smollm
from coursework.chat_box import ChatBox, Show
from coursework.own_llama import END


class Letters:
    """A model whose token 97 is the letter a."""

    def decode(self, tokens: list[int]) -> str:
        """Return the letters."""
        return "".join(map(chr, tokens))


@pytest.fixture(autouse=True)
def letters(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing here needs the weights."""
    monkeypatch.setattr(smollm, "load", Letters)


def ask(box: ChatBox, question: str) -> None:
    """Type a question, press the button, and wait for the answer."""
    box.question.value = question
    box.send.click()
    if box.answering:
        box.answering.join(10)


def press(box: ChatBox, event: str) -> None:
    """Let the line get a message as the browser sends it."""
    data = {"method": "custom", "content": {"event": event}}
    box.question._handle_msg({"content": {"data": data}, "buffers": []})


def test_a_conversation_grows_by_two_turns_at_a_time() -> None:
    """The model is given all turns so far, and the settings of the sliders."""
    given = []

    def reply(turns: list[str], show: Show, temperature: float, top_p: float) -> None:
        given.append((turns, temperature, top_p))
        for token in (*b"<ok>", END):
            show(token)

    box = ChatBox(reply)
    box.temperature.value = 0.7
    ask(box, "first")
    ask(box, " second ")
    assert box.turns == ["first", "<ok>", "second", "<ok>"]
    assert given == [(["first"], 0.7, 0.9), (["first", "<ok>", "second"], 0.7, 0.9)]
    assert box.shown.value.count("&lt;ok&gt;") == 2
    assert not box.question.value
    box.again.click()
    assert (box.turns, box.shown.value) == ([], "")


def test_a_very_long_word_is_broken_not_cut_off() -> None:
    """Otherwise it makes the whole conversation too wide for the box."""
    box = ChatBox(lambda *_: None)
    ask(box, "Supercalifragilistic" * 40)
    assert "overflow-wrap:anywhere" in box.shown.value


@pytest.mark.parametrize("own_error", [False, True])
def test_starting_again_stops_an_answer(*, own_error: bool) -> None:
    """Nothing of it is left, whatever the student's code makes of being stopped, and the next one is whole."""
    shown = []

    def reply(turns: list[str], show: Show, temperature: float, top_p: float) -> None:
        try:
            for place in range(5):
                if turns == ["first"] and place == 2:
                    box.again.click()
                show(ord("a"))
                shown.append(turns[-1])
        except Exception:
            if own_error:
                raise ValueError from None
            raise

    box = ChatBox(reply)
    ask(box, "first")
    assert (box.turns, box.shown.value, box.send.disabled) == ([], "", False)
    ask(box, "second")
    assert box.turns == ["second", "aaaaa"]
    assert shown == ["first"] * 2 + ["second"] * 5


def test_a_click_is_handled_while_an_answer_is_written() -> None:
    """JupyterLab handles one click after the other, so the first must not wait for the answer."""
    goes_on = threading.Event()

    def reply(turns: list[str], show: Show, temperature: float, top_p: float) -> None:
        show(ord("a"))
        goes_on.wait(10)
        show(ord("b"))

    box = ChatBox(reply)
    box.question.value = "first"
    box.send.click()
    assert (box.turns, box.send.disabled) == (["first"], True)
    box.again.click()
    goes_on.set()
    assert box.answering is not None
    box.answering.join(10)
    assert (box.turns, box.shown.value, box.send.disabled) == ([], "", False)


def test_a_check_and_an_answer_do_not_meet() -> None:
    """A check excludes functions for the whole process: it waits for a token, and the answer for the check."""

    def reply(turns: list[str], show: Show, temperature: float, top_p: float) -> None:
        while True:
            for _ in range(200):
                torch.softmax(torch.ones(3), dim=-1)  # which the exercise excludes
            show(ord("a"))

    def softmax(x: torch.Tensor, dim: int = -1) -> torch.Tensor:
        e = (x - x.amax(dim, keepdim=True)).exp()
        return e / e.sum(dim, keepdim=True)

    box = ChatBox(reply)
    box.question.value = "first"
    box.send.click()
    assert all(check("softmax", {"softmax": softmax}).passed for _ in range(10))
    assert box.turns == ["first"]  # still being answered
    box.again.click()
    assert box.answering is not None
    box.answering.join(10)
    assert not box.answering.is_alive()


def test_starting_again_lets_the_student_go_on_at_once() -> None:
    """Also where the code of the student never shows another token."""
    ends = threading.Event()
    box = ChatBox(lambda *_: ends.wait(10))
    box.question.value = "first"
    box.send.click()
    box.again.click()
    assert not box.send.disabled
    ends.set()
    assert box.answering is not None
    box.answering.join(10)
    assert (box.turns, box.shown.value) == ([], "")


def test_an_answer_that_ends_after_starting_again_is_dropped() -> None:
    """An answer whose code doesn't notice does not become the student's first turn."""

    def reply(turns: list[str], show: Show, temperature: float, top_p: float) -> None:
        show(ord("a"))
        box.again.click()

    box = ChatBox(reply)
    ask(box, "first")
    assert (box.turns, box.shown.value) == ([], "")


def test_tokens_appear_one_by_one() -> None:
    """The text is shown while the model still writes; the mark at its end isn't."""
    seen = []

    def reply(turns: list[str], show: Show, temperature: float, top_p: float) -> None:
        for token in (*b"ab", smollm.SPECIAL.index("<|im_end|>")):
            show(token)
            seen.append(box.shown.value)

    box = ChatBox(reply)
    ask(box, "?")
    assert seen[0].endswith("a</p></div>")
    assert seen[1] == seen[2]
    assert seen[1].endswith("ab</p></div>")


def test_a_student_s_error_is_shown_and_forgotten() -> None:
    """The box goes on working, and the question without an answer is no turn."""

    def reply(turns: list[str], show: Show, temperature: float, top_p: float) -> None:
        if turns[-1] == "bad":
            raise NotImplementedError
        show(ord("x"))

    box = ChatBox(reply)
    ask(box, "bad")
    assert "not written yet" in box.shown.value
    assert box.turns == []
    assert not box.send.disabled
    ask(box, "good")
    assert box.turns == ["good", "x"]


def test_what_the_box_lacks_has_not_run_yet() -> None:
    """After a restart. A name that the student's own code lacks is an error of that code."""

    def own() -> None:
        return missing  # noqa: F821 - as in a new kernel

    replies = {(lambda *_: missing): "Run them with", (lambda *_: own()): "NameError: name"}  # noqa: F821
    for reply, said in replies.items():
        box = ChatBox(reply)
        ask(box, "?")
        assert said in box.shown.value


def test_nothing_typed_is_no_turn() -> None:
    """An empty line asks nothing."""
    box = ChatBox(lambda *_: pytest.fail("nothing was asked"))
    ask(box, "  ")
    assert box.turns == []


def test_without_weights_there_is_a_recorded_conversation(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is shown as HTML, and there is no box."""

    def missing() -> smollm.SmolLM:
        raise smollm.NotInstalledError(smollm.INSTALL)

    shown: list[display.HTML] = []
    monkeypatch.setattr(smollm, "load", missing)
    monkeypatch.setattr(display, "display", shown.append)
    chat_box.chat_box()
    (still,) = shown
    assert "needs the weights" in still.data
    assert "The capital of Italy is Rome." in still.data


def test_where_no_kernel_runs_the_recorded_conversation_takes_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page or a slide shows the HTML beside the view of the box."""
    shown: list[dict[str, Any]] = []
    monkeypatch.setattr(display, "display", lambda data, *, raw: shown.append(data))
    chat_box.chat_box()
    assert CONTROLS in shown[0]
    assert "no text was recorded" not in shown[0]["text/html"]
    assert shown[0]["text/html"].count("<b>model</b>") == 2


def test_the_sliders_can_be_left_out() -> None:
    """The box at the top of the lesson has none."""
    with_sliders, without = (ChatBox(chat_box.finished_reply, sampling=on).widget() for on in (True, False))
    assert len(with_sliders.children) == len(without.children) + 1


def test_enter_sends() -> None:
    """The message that the browser sends at Enter asks as the button does; another message asks nothing."""
    box = ChatBox(lambda _, show, *__: show(ord("x")))
    box.question.value = "first"
    press(box, "other")
    assert box.turns == []
    press(box, "submit")
    assert box.answering is not None
    box.answering.join(10)
    assert box.turns == ["first", "x"]


def test_an_answer_that_was_cut_ends_with_an_ellipsis() -> None:
    """The mark is shown, and is no part of the turn that the model reads next."""

    def reply(turns: list[str], show: Show, temperature: float, top_p: float) -> None:
        for token in (ord("x"), *([END] if turns[-1] == "short" else [])):
            show(token)

    box = ChatBox(reply)
    ask(box, "long")
    ask(box, "short")
    assert box.turns == ["long", "x", "short", "x"]
    assert box.shown.value.count("x …</p>") == 1
    assert box.shown.value.endswith("x</p></div>")


def test_the_finished_model_remembers_the_conversation(monkeypatch: pytest.MonkeyPatch) -> None:
    """It reads all turns, each in the chat template, and its answer is cut if it takes all tokens."""
    read: list[str] = []

    class Reader(Letters):
        def encode(self, text: str) -> str:
            read.append(text)
            return text

        def generate(self, _ids: str, count: int) -> bytes:
            return b"x" * (count if "long" in read[-1] else 1)

    monkeypatch.setattr(smollm, "load", Reader)
    box = ChatBox(chat_box.finished_reply)
    ask(box, "one")
    ask(box, "two")
    first = smollm.QUESTION.format(question="one")
    assert read == [first, f"{first}x<|im_end|>\n{smollm.QUESTION.format(question='two')}"]
    assert "…" not in box.shown.value
    ask(box, "long")
    assert box.shown.value.endswith("x …</p></div>")


def test_in_a_narrow_window_rows_break() -> None:
    """Nothing is squeezed: neither the tracks of the sliders nor the words on the buttons."""
    sliders, line, _ = ChatBox(lambda *_: None).widget().children
    for row in (sliders, line):
        assert row.layout.flex_flow == "row wrap"
        assert [each.layout.flex for each in row.children if each.layout.width] == ["0 0 auto"] * 2
