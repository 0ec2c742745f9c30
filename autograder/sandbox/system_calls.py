"""The system calls that a run may not make, as a seccomp filter (see seccomp(2)).

The filter is built here, where libseccomp knows the numbers of this machine's calls, and loaded by each
run. It forbids what no lesson needs and what reaches further than a run may: into the kernel, other
processes, keyrings, namespaces, mounts, and memory that no limit counts. A forbidden call fails with
EPERM, so that a library which merely tries one goes on without.
"""

import errno
import tempfile
from functools import lru_cache
from typing import Any

from autograder.sandbox.explain import not_installed

KEYRINGS = "add_key keyctl request_key"
NAMESPACES = "unshare setns"
MOUNTS = (
    "mount umount umount2 pivot_root chroot open_tree open_tree_attr move_mount mount_setattr fsopen "
    "fsconfig fsmount fspick statmount listmount name_to_handle_at open_by_handle_at mknod mknodat"
)
OTHER_PROCESSES = (
    "ptrace process_vm_readv process_vm_writev process_madvise process_mrelease kcmp pidfd_getfd "
    "migrate_pages move_pages"
)
KERNEL = (
    "bpf perf_event_open userfaultfd io_uring_setup io_uring_enter io_uring_register kexec_load "
    "kexec_file_load init_module finit_module delete_module reboot syslog acct swapon swapoff quotactl "
    "quotactl_fd lookup_dcookie fanotify_init nfsservctl _sysctl sysfs uselib ustat vhangup "
    "personality modify_ldt ioperm iopl vm86 vm86old sethostname setdomainname settimeofday "
    "clock_settime clock_settime64 clock_adjtime clock_adjtime64 adjtimex stime"
)
UNCOUNTED_MEMORY = (
    "memfd_create memfd_secret shmget shmat shmctl shmdt semget semctl semop semtimedop msgget msgctl "
    "msgsnd msgrcv mq_open mq_unlink mbind set_mempolicy"
)
FORBIDDEN = " ".join((KEYRINGS, NAMESPACES, MOUNTS, OTHER_PROCESSES, KERNEL, UNCOUNTED_MEMORY)).split()

NEW_NAMESPACES = tuple(  # the flags CLONE_NEW… of clone(2)
    1 << bit for bit in (7, 17, 25, 26, 27, 28, 29, 30)
)
SOCKET_FAMILIES = (1, 2, 10, 16)  # Unix, IPv4, IPv6, netlink; others, such as vsock, know no namespace
LAST_FAMILY = 64  # beyond all that exist
TERMINAL_INPUT = (0x5412, 0x541C)  # TIOCSTI and TIOCLINUX of ioctl_tty(2): they type for someone else
THREAD = 0x10000  # the flag CLONE_THREAD of clone(2)
PROGRAMS = ("execve", "execveat")
FORKS = ("clone", "fork", "vfork")  # what starts a process or a thread; there is no clone3


@lru_cache(maxsize=1)
def filter_programs() -> str:
    """Return three programs for the kernel in hexadecimal, with colons between them.

    The first is the filter of every run. The second has the kernel ask the supervisor of a run before each
    fork. The third forbids starting another process; threads are left. Raises SandboxMissingError
    without libseccomp.
    """
    try:
        import pyseccomp  # it looks for the library when it is imported
    except (ImportError, RuntimeError, OSError) as problem:
        raise not_installed("the library libseccomp") from problem
    forbidding, asking, no_processes = (pyseccomp.SyscallFilter(pyseccomp.ALLOW) for _ in range(3))
    _forbid(pyseccomp, forbidding)
    for name in FORKS:
        _add(pyseccomp, asking, pyseccomp.NOTIFY, name)
    for name in (*PROGRAMS, "fork", "vfork"):
        _add(pyseccomp, no_processes, pyseccomp.ERRNO(errno.EPERM), name)
    no_thread = pyseccomp.Arg(0, pyseccomp.MASKED_EQ, THREAD, 0)
    _add(pyseccomp, no_processes, pyseccomp.ERRNO(errno.EPERM), "clone", no_thread)
    return ":".join(_exported(rules).hex() for rules in (forbidding, asking, no_processes))


def _exported(rules: Any) -> bytes:
    with tempfile.TemporaryFile() as file:
        rules.export_bpf(file)
        file.seek(0)
        return file.read()


def _forbid(seccomp: Any, rules: Any) -> None:
    """Add the rules: whole calls, and those that depend on an argument."""
    denied = seccomp.ERRNO(errno.EPERM)
    for name in FORBIDDEN:
        _add(seccomp, rules, denied, name)
    # The flags of clone3 lie in memory, where a filter cannot look. Without it the C library uses clone.
    _add(seccomp, rules, seccomp.ERRNO(errno.ENOSYS), "clone3")
    for flag in NEW_NAMESPACES:
        _add(seccomp, rules, denied, "clone", seccomp.Arg(0, seccomp.MASKED_EQ, flag, flag))
    unknown = seccomp.ERRNO(errno.EAFNOSUPPORT)
    for family in set(range(LAST_FAMILY)) - {*SOCKET_FAMILIES}:
        _add(seccomp, rules, unknown, "socket", _low_half(seccomp, 0, family))
    for request in TERMINAL_INPUT:
        _add(seccomp, rules, denied, "ioctl", _low_half(seccomp, 1, request))


def _low_half(seccomp: Any, position: int, value: int) -> Any:
    """Compare the 32 bits of an argument that the kernel reads of an int."""
    return seccomp.Arg(position, seccomp.MASKED_EQ, 0xFFFFFFFF, value)


def _add(seccomp: Any, rules: Any, action: int, name: str, *arguments: Any) -> None:
    """Add a rule, unless this machine's kernel or library has no call of that name."""
    try:
        number = seccomp.resolve_syscall(seccomp.Arch.NATIVE, name)
    except (ValueError, OSError):
        return
    if number >= 0:
        rules.add_rule(action, number, *arguments)
