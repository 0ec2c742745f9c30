"""Says in three lines why there is no sandbox on this machine, how to get one, and how to go on without.

The kernel's settings are those of namespaces(7) and of Ubuntu's AppArmor. What a container has to allow is
in https://github.com/containers/bubblewrap/issues/505, and what Ubuntu forbids in issue 632 there.
"""

import os
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from autograder.model.errors import SandboxMissingError

BUBBLEWRAP, LIBSECCOMP = "bubblewrap", "libseccomp2"  # as Debian's packages are called
INSTALL = f"sudo apt-get install {BUBBLEWRAP} {LIBSECCOMP}"
PROFILE = Path(__file__).with_name("apparmor") / "bwrap"
UBUNTUS = "etc/apparmor.d/bwrap-userns-restrict"
LOAD = f"sudo cp '{PROFILE}' /etc/apparmor.d/bwrap && sudo apparmor_parser -r /etc/apparmor.d/bwrap"
UNLOAD = f"sudo ln -s /{UBUNTUS} /etc/apparmor.d/disable/ && sudo apparmor_parser -R /{UBUNTUS}"
GO_ON = (
    "Or add --unsandboxed, but only for code that you trust: submissions then run with your own rights, "
    "and every page says so. 'autograder doctor' checks this machine."
)
# How to start a container in which bubblewrap can make namespaces and mount /proc.
CONTAINERS = {
    "Docker": "start it with 'docker run --security-opt seccomp=unconfined "
    "--security-opt apparmor=unconfined --security-opt systempaths=unconfined …'",
    "Podman": "start it with 'podman run --security-opt seccomp=unconfined "
    "--security-opt label=disable --security-opt unmask=ALL …'",
    "Kubernetes": 'give it the securityContext {"seccompProfile": {"type": "Unconfined"}}; '
    "docs/cluster.md says more",
}
ANY_CONTAINER = "start it without its seccomp filter, and with no part of /proc masked"
IN_CGROUP = {"Kubernetes": "kubepods", "Docker": "docker|containerd", "Podman": "libpod"}


@dataclass(frozen=True)
class Machine:
    """What decides whether bubblewrap can make namespaces. A setting that the kernel lacks is None."""

    apparmor: int | None = None  # kernel.apparmor_restrict_unprivileged_userns
    clone: int | None = None  # kernel.unprivileged_userns_clone
    most: int | None = None  # user.max_user_namespaces
    container: str = ""  # a name in CONTAINERS, or that of another kind; '' outside of containers
    is_root: bool = False
    has_ubuntus_profile: bool = False

    @classmethod
    def read(cls, root: Path = Path("/"), environment: Mapping[str, str] = os.environ) -> "Machine":
        """Read this machine's settings, or those below another root."""
        kernel = root / "proc/sys/kernel"
        return cls(
            apparmor=_number(kernel / "apparmor_restrict_unprivileged_userns"),
            clone=_number(kernel / "unprivileged_userns_clone"),
            most=_number(root / "proc/sys/user/max_user_namespaces"),
            container=_container(root, environment),
            is_root=os.geteuid() == 0,
            has_ubuntus_profile=(root / UBUNTUS).exists(),
        )


def not_installed(what: str) -> SandboxMissingError:
    """Return the error for a machine without bubblewrap or libseccomp."""
    if sys.platform != "linux":
        where = "a Linux machine, a Linux virtual machine, or WSL 2 on Windows"
        return _refusal("it needs Linux", f"To grade in the sandbox, use {where}.")
    return _refusal(f"{what} is not installed", f"To install what it needs: {INSTALL}")


def cannot_start(said: str, machine: Machine | None = None) -> SandboxMissingError:
    """Return the error for a machine on which bubblewrap ends with the message `said`."""
    causes = list(_causes(machine or Machine.read()))
    quoted = f"bubblewrap is installed, but cannot start ({said})"
    if not causes:
        return _refusal(
            f"{quoted}; no setting of the kernel is known to cause this",
            "Ask the administrator of this machine to allow user namespaces. This command has to end "
            "without a message: bwrap --ro-bind / / --unshare-all true",
        )
    reasons, fixes = zip(*causes, strict=True)
    return _refusal(f"{quoted}: {', and '.join(reasons)}", f"To allow it: {'; '.join(fixes)}")


def _refusal(problem: str, fix: str) -> SandboxMissingError:
    return SandboxMissingError("\n".join((f"no sandbox: {problem}.", fix, GO_ON)))


def _causes(machine: Machine) -> Iterator[tuple[str, str]]:
    """Yield what forbids namespaces here, each with what allows them.

    Root is bound by the number of namespaces alone, except in a container.
    """
    on_host = "on the host: " if machine.container else ""
    if machine.container:
        fix = CONTAINERS.get(machine.container, ANY_CONTAINER)
        yield (f"it runs in a container ({machine.container}), which forbids new namespaces by default", fix)
    if machine.most == 0:
        fix = "sudo sysctl -w user.max_user_namespaces=15000"
        yield "user.max_user_namespaces is 0", on_host + fix
    if machine.is_root and not machine.container:
        return
    if machine.clone == 0:
        fix = "sudo sysctl -w kernel.unprivileged_userns_clone=1"
        yield "kernel.unprivileged_userns_clone is 0", on_host + fix
    if machine.apparmor:
        yield _forbidden_by_apparmor(machine)


def _forbidden_by_apparmor(machine: Machine) -> tuple[str, str]:
    """Return the setting of Ubuntu's, and what allows bubblewrap its namespaces.

    The path in a profile is one of the host, so in a container only the setting can be changed.
    """
    reason = "AppArmor forbids user namespaces (kernel.apparmor_restrict_unprivileged_userns is 1)"
    if machine.container:
        off = "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"
        return reason, f"on the host: {off}"
    if machine.has_ubuntus_profile:
        reason += ", and Ubuntu's profile for bubblewrap forbids it to what bubblewrap starts"
        return reason, f"{UNLOAD} && {LOAD}"
    return reason, LOAD


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None


def _container(root: Path, environment: Mapping[str, str]) -> str:
    if "KUBERNETES_SERVICE_HOST" in environment:
        return "Kubernetes"
    if (root / "run/.containerenv").exists():
        return "Podman"
    if (root / ".dockerenv").exists():
        return "Docker"
    if named := environment.get("container"):  # set by systemd-nspawn, LXC and others
        return named
    try:
        groups = (root / "proc/1/cgroup").read_text()
    except OSError:
        return ""
    return next((kind for kind, word in IN_CGROUP.items() if re.search(word, groups)), "")
