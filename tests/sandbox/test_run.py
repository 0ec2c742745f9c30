"""Questions arrive as they were meant, are answered in order, and cost nothing but their own answer."""

import shutil
import struct
from collections.abc import Iterable
from contextlib import closing

import pytest
import torch

from autograder.model.errors import RunCrashedError, RunEndedError
from autograder.sandbox import client
from autograder.sandbox.client import WarmProcess
from autograder.sandbox.run import AHEAD, Request
from coursework.engine import values
from coursework.engine.operation import make
from coursework.engine.operations import CallFunction

pytestmark = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")


def test_the_frame_holds_all_that_is_asked() -> None:
    """The operation with its inputs, the name, the seed and the limit."""
    asked = CallFunction([torch.arange(6.0).view(2, 3)])
    request = Request(asked, "softmax", 7, 2.5)
    size, _ = struct.unpack_from("!II", request.frame)
    order = values.unpack(request.frame[8 : 8 + size], request.frame[8 + size :])
    again = make(order.pop("operation"), order.pop("fields"))
    assert isinstance(again, CallFunction)
    assert torch.equal(again.args[0], asked.args[0])
    assert order == {"do": "observe", "name": "softmax", "seed": 7, "seconds": 2.5}
    assert request.frame is request.frame


def _questions(values: Iterable[object], seconds: float = 5.0) -> list[Request]:
    return [Request(CallFunction([value]), "f", 1, seconds) for value in values]


@pytest.mark.parametrize("size", [1, 50_000], ids=["small", "larger than the channel holds"])
def test_answers_come_in_the_order_of_the_questions(warm: WarmProcess, size: int) -> None:
    """However many are sent ahead, and however large they are."""
    with warm.run() as run:
        run.cell("def f(x):\n    return 2 * x", 5)
        sent = [torch.full((size,), float(number)) for number in range(3 * AHEAD)]
        got = [seen["value"][0].item() for seen in run.probe(5).observe_all(_questions(sent))]
    assert got == [2.0 * number for number in range(3 * AHEAD)]


@pytest.mark.parametrize("sizes", [[1, 300, 2_000, 3_500], [6_000, 6_000, 1_000, 1_000], [15_000, 500, 500]])
def test_long_answers_hold_up_no_question(warm: WarmProcess, sizes: list[int]) -> None:
    """A probe that waits for us to take its answer reads nothing meanwhile, so what is sent ahead must have room."""
    with warm.run() as run:
        run.cell("import torch\ndef f(x):\n    return torch.zeros(150_000) + len(x)", 5)
        sent = [torch.zeros(size) for size in sizes * AHEAD]
        got = [seen["value"][0].item() for seen in run.probe(5).observe_all(_questions(sent))]
    assert got == sizes * AHEAD


@pytest.mark.parametrize("how", ["os._exit(1)", "while True: pass"])
def test_a_question_that_ends_its_probe_costs_no_other(warm: WarmProcess, how: str) -> None:
    """The questions before it are answered, and a new probe of the same run answers those after it."""
    got: list[object] = []
    with warm.run() as run:
        run.cell(f"import os\ndef f(x):\n    if x == 3:\n        {how}\n    return x", 5)
        with pytest.raises(RunEndedError):
            got.extend(seen["value"] for seen in run.probe(5).observe_all(_questions(range(8), 1.0)))
        got.extend(seen["value"] for seen in run.probe(5).observe_all(_questions(range(4, 8))))
        assert run.alive
    assert got == [0, 1, 2, 4, 5, 6, 7]


def test_a_probe_whose_answers_nobody_waits_for_is_ended(warm: WarmProcess) -> None:
    """Else the next probe's answers would be taken for those."""
    with warm.run() as run:
        run.cell("def f(x):\n    return x", 5)
        probe = run.probe(5)
        with closing(probe.observe_all(_questions(range(5)))) as answers:
            assert next(answers)["value"] == 0
        assert not probe.ready
        assert next(run.probe(5).observe_all(_questions([9])))["value"] == 9


def test_after_the_notebook_probes_know_nothing_of_it(warm: WarmProcess) -> None:
    """Neither its names nor what it replaced, if it left nothing; a file or a process that is left is told."""
    with warm.run() as run:
        run.cell("import torch\nf = torch.nn.answer = lambda x: x", 5)
        assert run.clean()
        define = ["import torch\ndef f(x):\n    return hasattr(torch.nn, 'answer')"]
        with closing(run.probe(5, cells=define)) as probe:
            assert next(probe.observe_all(_questions([1])))["value"] is False
        assert run.clean()
        run.cell("open('/tmp/left', 'w').write('x')", 5)
        assert not run.clean()


def test_a_notebook_that_ends_leaves_its_run(warm: WarmProcess) -> None:
    """Whatever ends the process in which cells run, and whatever it sends to the one that it came from."""
    with warm.run() as run:
        with pytest.raises(RunCrashedError):
            run.cell("import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\nos._exit(3)", 5)
        assert not run.alive
        assert run.clean()
        probe = run.probe(5, cells=["f = abs"])
        assert next(probe.observe_all(_questions([-1])))["value"] == 1


LEAVES_A_FILE = "open('/tmp/left', 'w').write('x')"
LEAVES_A_PROCESS = "import os, time\nif os.fork() == 0: time.sleep(60)"


def test_a_run_that_is_kept_serves_again_as_long_as_nothing_is_left_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file, a process, another lesson, new modules and much time lead to a fresh run; with the process all end."""
    with WarmProcess() as warm:
        first = warm.kept_run("trials", "03_attention")
        first.probe(5, cells=["x = 1"]).close()
        assert warm.kept_run("trials", "03_attention") is first
        assert warm.kept_run("proofs", "03_attention") is not first
        for left in (LEAVES_A_FILE, LEAVES_A_PROCESS):
            first.probe(5, cells=[left]).close()
            second = warm.kept_run("trials", "03_attention")
            assert second is not first
            assert not first.alive
            first = second
        other = warm.kept_run("trials", "04_multi_head_attention")
        assert other is not first
        warm.add(["tabnanny"])
        newest = warm.kept_run("trials", "04_multi_head_attention")
        assert newest is not other
        newest.probe(5, cells=["for n in range(4 * 10**7): pass"]).close()
        monkeypatch.setattr(client, "KEPT_SECONDS", 0.05)
        assert warm.kept_run("trials", "04_multi_head_attention") is not newest
        newest = warm.kept_run("proofs", "03_attention")
    assert not newest.alive
