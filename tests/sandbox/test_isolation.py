"""A run is a world of its own: nothing gets in or out, no limit is out of reach, and nothing stays behind."""

import mmap
import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from autograder.model.errors import RunEndedError, RunOutOfTimeError, RunTimedOutError, RunWaitedError
from autograder.probe import resource_monitor
from autograder.probe.resource_monitor import ResourceMonitor
from autograder.sandbox import bubblewrap
from autograder.sandbox.client import WarmProcess
from autograder.sandbox.run import Request, Run
from autograder.sandbox.system_calls import FORBIDDEN
from coursework.engine.operations import CallFunction

pytestmark = pytest.mark.sandbox
CALL = """
import ctypes, errno
def call(*arguments):
    ctypes.set_errno(0)
    libc = ctypes.CDLL(None, use_errno=True)
    done = libc.syscall(*map(ctypes.c_long, arguments))
    return 'done' if done >= 0 else errno.errorcode[ctypes.get_errno()]
"""


def told(run: Run, expression: str, before: str = "") -> str:
    """Return the value of an expression inside, by way of an exception's message."""
    raised = run.cell(f"{before}\nraise ValueError(repr({expression}))", 10)
    assert raised is not None
    return str(raised["message"])


def below(warm: WarmProcess) -> int:
    """Return how many processes there are in the sandbox."""
    warm.used(0)  # answered only after a run has been stopped
    monitor = ResourceMonitor()
    try:
        return len(monitor.family(warm._process.pid))
    finally:
        monitor.close()


def numbers() -> dict[str, int]:
    """Return the numbers of the forbidden calls that this machine knows."""
    import pyseccomp

    known = {}
    for name in FORBIDDEN:
        try:
            known[name] = pyseccomp.resolve_syscall(pyseccomp.Arch.NATIVE, name)
        except (ValueError, OSError):
            continue
    return {name: number for name, number in known.items() if number >= 0}


def test_no_forbidden_system_call_gets_through(run: Run) -> None:
    """Keyrings, namespaces, mounts, other processes, the kernel and uncounted memory are out of reach."""
    calls = numbers()
    assert {"keyctl", "add_key", "request_key", "unshare", "setns", "mount", "ptrace", "bpf"} <= calls.keys()
    assert {"memfd_create", "memfd_secret", "shmget", "io_uring_setup", "userfaultfd"} <= calls.keys()
    answers = told(run, f"{{name for name, n in {calls}.items() if call(n, 0, 0, 0, 0, 0) != 'EPERM'}}", CALL)
    assert answers == "set()"


@pytest.mark.parametrize("flag", [0x10000000, 0x20000000, 0x00020000, 0x40000000, 0x02000000])
def test_no_namespace_can_be_made_with_clone(run: Run, flag: int) -> None:
    """Neither clone nor clone3 makes a user, process, mount, network or control-group namespace."""
    import pyseccomp

    clone, clone3 = (pyseccomp.resolve_syscall(pyseccomp.Arch.NATIVE, n) for n in ("clone", "clone3"))
    assert told(run, f"call({clone}, {flag} | 17, 0, 0, 0, 0)", CALL) == "'EPERM'"
    assert told(run, f"call({clone3}, 0, 88)", CALL) == "'ENOSYS'"


def test_no_socket_that_knows_no_namespace_can_be_made(run: Run) -> None:
    """A vsock would reach the machine that runs this one, AF_ALG the kernel's ciphers."""
    made = "import socket\ndef made(family):\n    try: socket.socket(family, 1)\n    except OSError as e: return e.errno"
    assert told(run, "{made(40), made(38), made(17)}", made) == "{97}"  # EAFNOSUPPORT


def test_what_honest_code_needs_is_left(run: Run) -> None:
    """Threads, processes, pipes, shared tensors, temporary files and backward passes work."""
    code = """
import asyncio, multiprocessing, subprocess, tempfile, threading, torch
thread = threading.Thread(target=print); thread.start(); thread.join()
context = multiprocessing.get_context("fork")
worker = context.Process(target=print); worker.start(); worker.join()
assert worker.exitcode == 0
assert subprocess.run(["/bin/echo", "1"], capture_output=True).stdout == b"1\\n"
torch.ones(3).share_memory_()
tempfile.TemporaryFile().write(b"x")
asyncio.new_event_loop().run_until_complete(asyncio.sleep(0))
layer = torch.nn.Linear(3, 3)
layer(torch.ones(2, 3)).sum().backward()
loader = torch.utils.data.DataLoader(torch.arange(4), num_workers=1)
assert len(list(loader)) == 4
"""
    assert run.cell(code, 20) is None


def test_the_checks_are_not_there_however_they_are_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy of the package in a folder of Python is covered; its neighbours are not."""
    for name in ("autograder", "neighbour"):
        folder = tmp_path / "lib/python3.11/site-packages" / name
        folder.mkdir(parents=True)
        (folder / "answers.py").write_text("ANSWER = 1")
    folders = [*bubblewrap._python_folders(), (tmp_path, bubblewrap.HOME / "more")]
    monkeypatch.setattr(bubblewrap, "_python_folders", lambda: folders)
    with WarmProcess() as warm, warm.run() as run:
        look = "import os\nhere = '/sandbox/more/lib/python3.11/site-packages/'"
        listed = "[os.listdir(here + name) for name in ('autograder', 'neighbour')]"
        assert told(run, listed, look) == "[[], ['answers.py']]"
        found = "[root for root, _, files in os.walk('/') if 'reference.py' in files and 'lessons' in root]"
        assert told(run, found, look) == "[]"


def test_shared_memory_is_small_and_each_runs_own(warm: WarmProcess) -> None:
    """What one run leaves in /dev/shm, the next does not find; more than 64 MB does not fit."""
    with warm.run() as first:
        assert first.cell("open('/dev/shm/left', 'w').write('x')", 5) is None
        raised = first.cell("open('/dev/shm/big', 'wb').write(bytes(65 * 2**20))", 5)
        assert raised is not None
        assert raised["type"] == "OSError"
    with warm.run() as second:
        assert told(second, "os.listdir('/dev/shm')", "import os") == "[]"


def test_nothing_else_can_be_written(run: Run) -> None:
    """Only /tmp and /dev/shm take files: not the rest of /dev, no terminal, no /proc."""
    look = """
import os
def writable(folder):
    try: os.close(os.open(folder + '/left', os.O_CREAT | os.O_WRONLY)); return True
    except OSError: return False
folders = [root for root, _, _ in os.walk('/') if root.count('/') < 4]
"""
    assert told(run, "sorted(f for f in folders if writable(f))", look) == "['/dev/shm', '/tmp']"
    assert told(run, "os.listdir('/dev/pts')", "import os") == "[]"


def test_a_run_inherits_no_descriptor_but_its_channel(run: Run) -> None:
    """Two runs would share the position and the locks of a file that both inherit."""
    look = """
import os, stat
def kind(number):
    try: return stat.S_IFMT(os.fstat(number).st_mode)
    except OSError: return None
"""
    regular = "[n for n in range(256) if kind(n) in (stat.S_IFREG, stat.S_IFDIR, stat.S_IFIFO)]"
    assert told(run, regular, look) == "[]"
    assert told(run, "sum(kind(n) == stat.S_IFSOCK for n in range(256))", look) == "1"


def test_the_warm_process_has_no_memory_that_runs_would_share(warm: WarmProcess) -> None:
    """A page that is mapped as shared and writable would carry words from one run to the next."""
    monitor = ResourceMonitor()
    assert below(warm) == 3  # two of bubblewrap, and the warm process
    maps = [Path(f"/proc/{each.pid}/maps").read_text() for each in monitor.family(warm._process.pid)]
    monitor.close()
    assert not [line for text in maps for line in text.splitlines() if line.split()[1] == "rw-s"]


STOPS_EVERYTHING = """
import os, signal
for _ in range(20):
    if os.fork() == 0:
        os.setsid()
        while True: pass
os._exit = lambda code: None
signal.signal(signal.SIGTERM, signal.SIG_IGN)
os.kill(0, signal.SIGSTOP)
"""


@pytest.mark.parametrize("close", ["alive", "timed-out"])
def test_nothing_is_left_of_a_run_that_stops_its_supervisor(close: str) -> None:
    """Children in sessions of their own, a stopped process group: all of it is gone when `close` returns."""
    with WarmProcess() as warm:
        before = below(warm)
        with warm.run() as run:
            code = STOPS_EVERYTHING if close == "timed-out" else STOPS_EVERYTHING.rpartition("os.kill")[0]
            try:
                run.cell(code, 1 if close == "timed-out" else 20)  # its children compete with it
            except RunEndedError:
                assert close == "timed-out"
        assert below(warm) == before


def test_a_supervisor_cannot_be_signalled(warm: WarmProcess) -> None:
    """It is in another session and outside the process namespace, so `kill` has no number for it."""
    attack = "import os, signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nos.kill(0, signal.SIGTERM)\n"
    with warm.run() as run:
        run.cell(attack + "try: os.kill(-1, signal.SIGSTOP)\nexcept OSError: pass", 5)
        assert told(run, "1 + 1") == "2"


@pytest.mark.parametrize(
    "attack",
    [
        "import os, time\nfor _ in range(300):\n    if os.fork() == 0: time.sleep(60)",
        "import threading, time\nfor _ in range(300): threading.Thread(target=time.sleep, args=(60,)).start()\n"
        "time.sleep(5)",
        "import os, time\nif os.fork() == 0:\n    os.setsid()\n    for _ in range(99):\n"
        "        if os.fork() == 0: time.sleep(60)\nos.wait()",
    ],
)
def test_processes_and_threads_are_counted(run: Run, attack: str) -> None:
    """More than 64 of them end the run, or cannot be started."""
    try:
        raised = run.cell(attack, 10)
    except RunEndedError:
        assert "too-much" in {kind for kind, _ in run.take_notes()}
    else:
        assert raised is not None
        assert raised["type"] in {"BlockingIOError", "RuntimeError"}


def test_a_fork_bomb_never_has_more_processes_than_there_may_be(warm: WarmProcess) -> None:
    """Each fork waits for the supervisor, so there are no hundreds, however busy the machine is by then.

    A look takes a while, and may see one that ends and another that takes its place. Those that two looks in turn
    see lived between them at one moment.
    """
    monitor, most = ResourceMonitor(), 0
    before: set[tuple[int, int]] = set()
    with warm.run() as run, ThreadPoolExecutor() as pool:
        bomb = pool.submit(run.cell, "import os\nwhile True: os.fork()", 10)
        while not bomb.done():
            now = {(each.pid, each.started) for each in monitor.family(warm._process.pid)}
            most, before = max(most, len(now & before)), now
        kinds = {kind for kind, _ in run.take_notes()}
        if ended := bomb.exception():
            assert isinstance(ended, RunEndedError)
            # RLIMIT_NPROC binds an ordinary user, so a fork may fail before the supervisor is asked. Then two
            # processes answer for the cell, which is noise.
            assert kinds & ({"too-much"} if os.geteuid() == 0 else {"too-much", "noise"})
        else:
            assert os.geteuid() != 0
            assert (bomb.result() or {})["type"] == "BlockingIOError"
    monitor.close()
    assert most <= 2 * 64


def _child(size: int) -> int:
    """Start a child that holds memory which is shared and anonymous, as a memfd's is."""
    ready, tell = os.pipe()
    child = os.fork()
    if child == 0:
        held = mmap.mmap(-1, size)
        held.write(b"x" * size)
        os.write(tell, b"1")
        time.sleep(60)
    os.read(ready, 1)
    os.close(ready)
    os.close(tell)
    return child


def test_shared_memory_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The monitor sees what a process holds in shared memory."""
    monitor, child = ResourceMonitor(), _child(64 * 2**20)
    try:
        used = sum(monitor._proportional(each) for each in monitor.family(child))
        assert used > 64 * 2**20
        monkeypatch.setattr(resource_monitor, "MAX_MEMORY", used + 2**20)
        assert not monitor.exceeded(child)
        monkeypatch.setattr(resource_monitor, "MAX_MEMORY", 60 * 2**20)
        assert monitor.exceeded(child)
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)
        monitor.close()


def test_the_time_of_processes_that_ended_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A chain of processes that each compute for a while uses up one allowance."""
    monitor = ResourceMonitor()
    monkeypatch.setattr(resource_monitor, "MAX_SECONDS", 0.3)
    exceeded = False
    while not exceeded:
        child = os.fork()
        if child == 0:
            while True:
                pass
        time.sleep(0.1)
        exceeded = monitor.exceeded(child)
        assert len(monitor._used) > 1 or not exceeded
        os.kill(child, 9)
        os.waitpid(child, 0)
    monitor.close()


ALARMS_OFF = """
import os, signal
for timer in (signal.ITIMER_REAL, signal.ITIMER_PROF, signal.ITIMER_VIRTUAL):
    signal.setitimer(timer, 0)
"""


TRICKLE = """
import gc, os, struct, time
session = next(o for o in gc.get_objects() if type(o).__name__ == 'Session')
if os.fork() == 0:
    session.channel.sendall(struct.pack('!II', 60, 0))
    while True:
        session.channel.sendall(b'x')
        time.sleep(0.5)
time.sleep(60)
"""


def test_a_reply_that_trickles_has_one_deadline(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each byte renewed the time once; now the message has to be complete in time."""
    monkeypatch.setattr("autograder.sandbox.run.WALL_FACTOR", 1.0)
    started = time.monotonic()
    with pytest.raises(RunEndedError):
        run.cell(ALARMS_OFF + TRICKLE, 1)
    assert time.monotonic() - started < 10


@pytest.mark.parametrize("attack", [TRICKLE, "import time\ntime.sleep(60)", "while True: pass"])
def test_a_submission_has_one_deadline(attack: str, warm: WarmProcess) -> None:
    """After it, nothing is waited for, whatever the command itself was allowed."""
    started = time.monotonic()
    with warm.run(deadline=started + 2) as run, pytest.raises(RunOutOfTimeError):
        run.cell(attack, 20)
    assert time.monotonic() - started < 10


@pytest.fixture
def no_wall_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the end of a run to what the kernel counts, and keep the grace short."""
    monkeypatch.setattr("autograder.sandbox.run.WALL_FACTOR", 100.0)
    monkeypatch.setattr("autograder.sandbox.run.GRACE_SECONDS", 0.5)


@pytest.mark.parametrize("before", ["", "for _ in range(3): os.fork()\n"])
@pytest.mark.usefixtures("no_wall_clock")
def test_a_loop_without_alarms_ends_by_the_kernels_count(run: Run, before: str) -> None:
    """Code that switches its clocks off is stopped by the processor time it uses, not by the wall clock."""
    with pytest.raises(RunTimedOutError, match="processor time"):
        run.cell(f"{ALARMS_OFF}{before}while True: pass", 1)


ALSO = pytest.mark.full("another way to wait", seconds=3)


@pytest.mark.parametrize(
    "waiting",
    [
        pytest.param("import time\ntime.sleep(60)", marks=ALSO),
        pytest.param("import asyncio\nloop = asyncio.new_event_loop()\nloop.run_forever()", marks=ALSO),
        pytest.param("import threading\nthreading.Event().wait()", marks=ALSO),
        pytest.param("import time\ntime.monotonic = time.time = lambda: 0.0\nwhile True: time.sleep(0.05)", marks=ALSO),
        "os.kill(os.getpid(), signal.SIGSTOP)",
        "import time\nstart = time.monotonic()\nwhile True:\n"  # computes whenever somebody looks
        "    time.sleep(0.05 if 0.1 < (time.monotonic() - start) % 1 < 0.85 else 0)",
    ],
)
@pytest.mark.usefixtures("no_wall_clock")
def test_what_waits_ends_when_its_time_is_over(run: Run, waiting: str) -> None:
    """The kernel says how long a run neither computed nor waited in line for a processor."""
    with pytest.raises(RunWaitedError, match="computed little"):
        run.cell(f"{ALARMS_OFF}{waiting}", 1)


def test_no_process_is_started_where_functions_are_excluded(warm: WarmProcess) -> None:
    """It would not know of the overridden kernels. Threads are left, and in other exercises a program may run."""
    cell = "import os\nstatus = os.system('true')"
    asked = Request(CallFunction([]), "f", 1, 5.0)
    for excluded, status in (((), 0), (("softmax",), 127 << 8)):
        with warm.run() as run:
            probe = run.probe(5, (), [f"{cell}\ndef f():\n    return status"], "03_attention", excluded)
            assert next(probe.observe_all([asked]))["value"] in ((status,) if not excluded else (status, -1))
