"""Isolates a forked process from the warm process it came from, and from its siblings.

The warm process already runs in a bubblewrap sandbox. Each run gets namespaces of its own inside it:
it sees and can signal only its own processes, /proc is empty, /tmp is fresh, there is no network,
and it has no capabilities. See namespaces(7), user_namespaces(7) and capabilities(7).
"""

import ctypes
import os
import resource
import signal
from pathlib import Path

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC = 0x00020000, 0x04000000, 0x08000000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_REC, MS_PRIVATE = 1, 2, 4, 0x4000, 0x40000
PR_SET_PDEATHSIG, PR_CAPBSET_DROP, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 1, 24, 36, 38
CAPABILITY_VERSION_3, LAST_CAPABILITY = 0x20080522, 40

MEMORY = 2 * 2**30  # bytes, on top of what the process has mapped at the start
FILE_SIZE = 64 * 2**20  # bytes
CPU_SECONDS = 200
OPEN_FILES = 256

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> None:
    """Raise OSError if a call of the C library failed."""
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
    """Mount an empty /proc, read-only, and a fresh /tmp of limited size."""
    _check(_libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None), "make mounts private")
    flags = MS_NOSUID | MS_NODEV
    _check(_libc.mount(b"tmpfs", b"/proc", b"tmpfs", flags | MS_RDONLY, b"size=4k"), "mount /proc")
    _check(_libc.mount(b"tmpfs", b"/tmp", b"tmpfs", flags, b"size=256m"), "mount /tmp")
    os.chdir("/tmp")  # noqa: S108 - the sandbox's own


def drop_capabilities() -> None:
    """Give up every capability in the new user namespace, for this process and all it starts."""
    for capability in range(LAST_CAPABILITY + 1):
        _libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    nothing = (ctypes.c_uint32 * 6)()
    _check(_libc.capset(header, nothing), "capset")
    _check(_libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")


def limit_resources() -> None:
    """Limit memory, processor time, file size, open files and core dumps."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    memory = pages * os.sysconf("SC_PAGE_SIZE") + MEMORY
    for what, limit in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_CPU, CPU_SECONDS),
        (resource.RLIMIT_FSIZE, FILE_SIZE),
        (resource.RLIMIT_NOFILE, OPEN_FILES),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(what, (limit, limit))


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parent ends, so that none is overlooked."""
    _libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def die_with_parent() -> None:
    """Ask the kernel to kill this process when its parent ends, killed or not."""
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
