"""What forks share is safe to share: memory in huge pages, and torch's thread pool."""

import subprocess
import sys
from pathlib import Path

import pytest

from autograder.probe.warm import collapse_memory

MOVED = """
import os, re
from pathlib import Path
from autograder.probe.warm import collapse_memory

def huge():
    return int(re.search(r"AnonHugePages: *(\\d+)", Path("/proc/self/smaps_rollup").read_text())[1])

held = bytearray(range(256)) * (1 << 16)  # 16 MB
before = huge()
areas = collapse_memory()
assert held == bytearray(range(256)) * (1 << 16)
child = os.fork()
if child == 0:
    held[0] = 9
    os._exit(held[0])
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9 and held[0] == 0
print(areas, huge() - before)
"""
FORKS = """
import os, torch
from autograder.probe.warm import warm_up

set_by, really = [], torch.set_num_threads
torch.set_num_threads = lambda count: (set_by.append(os.getpid()), really(count))
warm_up(())
child = os.fork()
if child == 0:
    os._exit(set_by.count(os.getpid()))
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
SWITCH = Path("/sys/kernel/mm/transparent_hugepage/enabled")


def _kernel_has_them() -> bool:
    release = Path("/proc/sys/kernel/osrelease").read_text().split(".")
    new = (int(release[0]), int(release[1])) >= (6, 1)
    return new and SWITCH.exists() and "[never]" not in SWITCH.read_text()


@pytest.mark.skipif(not _kernel_has_them(), reason="the kernel has no MADV_COLLAPSE")
def test_memory_is_moved_and_holds_what_it_held() -> None:
    """After the move a fork still has memory of its own to write to."""
    done = subprocess.run([sys.executable, "-c", MOVED], capture_output=True, text=True, check=True)
    areas, kilobytes = map(int, done.stdout.split())
    assert areas > 0
    assert kilobytes >= 8192


def test_without_a_map_of_memory_nothing_is_moved(tmp_path: Path) -> None:
    """Where /proc is missing or nothing can be moved, grading goes on with small pages."""
    assert collapse_memory(tmp_path / "maps") == 0
    (tmp_path / "maps").write_text("1000-2000 rw-p 00000000 00:00 0 \n")  # smaller than a huge page
    assert collapse_memory(tmp_path / "maps") == 0


def test_a_fork_builds_the_thread_pool_before_anything_else_runs() -> None:
    """Two threads of an answer that are the first to use torch do not meet a pool that is half built."""
    done = subprocess.run([sys.executable, "-c", FORKS], capture_output=True, text=True, check=True)
    assert done.stdout == "1\n"
