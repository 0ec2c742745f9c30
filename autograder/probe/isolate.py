"""Isolates a forked process from the warm process it came from, and from its siblings.

The warm process already runs in a bubblewrap sandbox. Each run gets namespaces of its own inside it:
it sees and can signal only its own processes, /proc is empty, /tmp and /dev/shm are fresh and small,
there is no network and no keyring, it has no capabilities, and a filter forbids system calls that no
lesson needs. See namespaces(7), capabilities(7), session-keyring(7) and seccomp(2).
"""

import contextlib
import ctypes
import os
import platform
import re
import resource
import signal
from pathlib import Path
from typing import Final

import coursework

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC = 0x00020000, 0x04000000, 0x08000000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_BIND, MS_REC, MS_PRIVATE = 1, 2, 4, 0x1000, 0x4000, 0x40000
PR_SET_PDEATHSIG, PR_CAPBSET_DROP, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 1, 24, 36, 38
PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2
KEYCTL_JOIN_SESSION_KEYRING = 1
KEYCTL = {"x86_64": 250, "aarch64": 219}  # the number of keyctl(2), by machine
CAPABILITY_VERSION_3, LAST_CAPABILITY = 0x20080522, 40

MEMORY = 2 * 2**30  # bytes, on top of what the process has mapped at the start
FILE_SIZE = 64 * 2**20  # bytes
CPU_SECONDS = 200
OPEN_FILES = 256
LOCKED_MEMORY = 64 * 2**10  # bytes
MAX_PROCESSES = 64  # threads included
PLAIN: Final = "plain"  # in place of filters: runs are not isolated
WRITABLE_FOLDERS: Final = ("/tmp", "/dev/shm")  # noqa: S108 - the sandbox's own
# The text of the stand-ins, of which a run keeps only what its lesson hands out; `skip` finds none there. The
# language model has parts of its own that would do for answers, and no run needs it.
_PLACE: Final = Path(coursework.__file__).parent
HIDDEN_FILES: Final = tuple(
    path for pattern in ("stand_ins*.py*", "smollm*.py*", "examples/*.json") for path in _PLACE.rglob(pattern)
)
COUNTED_BY_NAMESPACE = (5, 14)  # the first kernel that counts the processes of each user namespace

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def new_namespaces() -> None:
    """Leave every shared namespace. The next fork becomes process 1 of its own process namespace."""
    uid, gid = os.getuid(), os.getgid()
    flags = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWNET | CLONE_NEWUTS
    _check(_libc.unshare(flags), "unshare")
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
    Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")


def private_folders() -> None:
    """Mount fresh folders of limited size on /tmp and /dev/shm, and empty ones on /proc and /dev/pts."""
    _check(_libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None), "make mounts private")
    for folder, more, options in (
        ("/tmp", 0, "size=256m,nr_inodes=20000"),  # noqa: S108 - the sandbox's own
        ("/dev/shm", 0, "size=64m,nr_inodes=1000"),  # noqa: S108 - the sandbox's own
        ("/dev/pts", MS_RDONLY, "size=4k"),
        ("/proc", MS_RDONLY, "size=4k"),
    ):
        flags = MS_NOSUID | MS_NODEV | more
        done = _libc.mount(b"tmpfs", folder.encode(), b"tmpfs", flags, options.encode())
        _check(done, f"mount {folder}")
    for path in HIDDEN_FILES:
        _check(_libc.mount(b"/dev/null", os.fsencode(path), None, MS_BIND, None), f"hide {path}")
    os.chdir("/tmp")  # noqa: S108 - the sandbox's own


def new_session_keyring() -> None:
    """Leave the keyring of whoever started the grader. Where keyrings are forbidden anyway, do nothing."""
    number = KEYCTL.get(platform.machine())
    if number is not None:
        _libc.syscall(number, KEYCTL_JOIN_SESSION_KEYRING, None, 0, 0, 0)


def close_descriptors(*kept: int) -> None:
    """Close every descriptor but `kept` and the standard streams: two runs share what they inherit."""
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 - numbers
        if int(name) > 2 and int(name) not in kept:
            with contextlib.suppress(OSError):  # that of the listing itself is closed already
                os.close(int(name))


def drop_capabilities() -> None:
    """Give up every capability in the new user namespace, for this process and all it starts."""
    for capability in range(LAST_CAPABILITY + 1):
        _libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    nothing = (ctypes.c_uint32 * 6)()
    _check(_libc.capset(header, nothing), "capset")
    _check(_libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")


class _Program(ctypes.Structure):
    """struct sock_fprog of seccomp(2)."""

    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def program_of(text: bytes) -> ctypes.Structure:
    """Return a program for the kernel, of 8 bytes for each instruction, as seccomp(2) takes it."""
    return _Program(len(text) // 8, text)


def filter_system_calls(program: bytes) -> None:
    """Forbid system calls from now on, with a program for the kernel."""
    loaded = program_of(program)
    done = _libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(loaded), 0, 0)
    _check(done, "seccomp")


def limit_resources() -> None:
    """Limit memory, processor time, file size, open files, processes and core dumps."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    memory = pages * os.sysconf("SC_PAGE_SIZE") + MEMORY
    for what, limit in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_CPU, CPU_SECONDS),
        (resource.RLIMIT_FSIZE, FILE_SIZE),
        (resource.RLIMIT_NOFILE, OPEN_FILES),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_MEMLOCK, LOCKED_MEMORY),
        (resource.RLIMIT_MSGQUEUE, 0),
    ):
        resource.setrlimit(what, (limit, limit))


def limit_processes() -> None:
    """Limit the processes of this user namespace, where the kernel counts those of each by itself.

    It does not limit the machine's administrator, so the resource monitor counts them as well.
    """
    release = re.match(r"(\d+)\.(\d+)", platform.release())
    if release and tuple(map(int, release.groups())) >= COUNTED_BY_NAMESPACE:
        resource.setrlimit(resource.RLIMIT_NPROC, (MAX_PROCESSES, MAX_PROCESSES))


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parent ends, so that none is overlooked."""
    _libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def die_with_parent() -> None:
    """Ask the kernel to kill this process when its parent ends, killed or not."""
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
