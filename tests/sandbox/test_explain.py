"""What keeps bubblewrap from starting is read from the machine, and told with the command that allows it."""

from pathlib import Path

import pytest
from conftest import ROOT

from autograder.sandbox import explain
from autograder.sandbox.explain import LOAD, PROFILE, UBUNTUS, Machine, cannot_start, not_installed

SAID = "bwrap: setting up uid map: Permission denied"
APPARMOR = "proc/sys/kernel/apparmor_restrict_unprivileged_userns"
CLONE = "proc/sys/kernel/unprivileged_userns_clone"
MOST = "proc/sys/user/max_user_namespaces"


def machine(root: Path, files: dict[str, str], environment: dict[str, str] | None = None) -> Machine:
    """Return what is read below a root with these files."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return Machine.read(root, environment or {})


def lines(of: Machine) -> list[str]:
    """Return the three lines for a machine."""
    told = str(cannot_start(SAID, of)).splitlines()
    assert len(told) == 3
    assert SAID in told[0]
    assert "--unsandboxed" in told[2]
    assert "autograder doctor" in told[2]
    return told


@pytest.fixture
def ordinary(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run as an ordinary user, as far as the module can tell."""
    monkeypatch.setattr(explain.os, "geteuid", lambda: 1000)


@pytest.mark.usefixtures("ordinary")
@pytest.mark.parametrize(
    ("files", "reason", "command"),
    [
        ({APPARMOR: "1\n"}, "kernel.apparmor_restrict_unprivileged_userns is 1", LOAD),
        ({CLONE: "0\n"}, "kernel.unprivileged_userns_clone is 0", "sysctl -w kernel.unprivileged_userns_clone=1"),
        ({MOST: "0\n"}, "user.max_user_namespaces is 0", "sysctl -w user.max_user_namespaces=15000"),
        ({".dockerenv": ""}, "container (Docker)", "seccomp=unconfined"),
        ({"run/.containerenv": ""}, "container (Podman)", "unmask=ALL"),
        ({"proc/1/cgroup": "0::/kubepods/pod1"}, "container (Kubernetes)", "docs/cluster.md"),
        ({"proc/1/cgroup": "12:pids:/docker/0a1b"}, "container (Docker)", "docker run"),
    ],
)
def test_each_cause_comes_with_its_cure(
    tmp_path: Path, files: dict[str, str], reason: str, command: str
) -> None:
    """The first line names the setting, the second has the command."""
    told = lines(machine(tmp_path, files))
    assert reason in told[0]
    assert command in told[1]


@pytest.mark.usefixtures("ordinary")
def test_settings_that_allow_namespaces_are_not_blamed(tmp_path: Path) -> None:
    """With nothing to blame, the second line has a command to try."""
    allowed = {APPARMOR: "0\n", CLONE: "1\n", MOST: "63210\n", "proc/1/cgroup": "0::/init.scope"}
    told = lines(machine(tmp_path, allowed))
    assert "no setting of the kernel" in told[0]
    assert "bwrap --ro-bind / / --unshare-all true" in told[1]


@pytest.mark.usefixtures("ordinary")
def test_two_causes_are_both_told(tmp_path: Path) -> None:
    """What is set on the host is to be changed there."""
    told = lines(machine(tmp_path, {APPARMOR: "1", ".dockerenv": ""}))
    assert "AppArmor" in told[0]
    assert "Docker" in told[0]
    assert "on the host: sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0" in told[1]
    assert "docker run" in told[1]


@pytest.mark.usefixtures("ordinary")
def test_ubuntus_own_profile_is_taken_away_first(tmp_path: Path) -> None:
    """It and ours are for the same program."""
    told = lines(machine(tmp_path, {APPARMOR: "1", UBUNTUS: "profile"}))
    assert told[1].index("apparmor_parser -R") < told[1].index("apparmor_parser -r")


@pytest.mark.parametrize("name", ["lxc", "systemd-nspawn"])
def test_a_container_may_name_itself(tmp_path: Path, name: str) -> None:
    """By the variable that its manager sets."""
    assert machine(tmp_path, {}, {"container": name}).container == name
    assert machine(tmp_path, {}).container == ""


def test_root_is_not_bound_by_what_ordinary_users_are() -> None:
    """Except in a container."""
    told = lines(Machine(apparmor=1, clone=0, is_root=True))
    assert "AppArmor" not in told[0]
    assert "AppArmor" in lines(Machine(apparmor=1, is_root=True, container="Docker"))[0]


@pytest.mark.parametrize(("platform", "said"), [("linux", "apt-get install"), ("darwin", "Linux")])
def test_what_is_missing_can_be_installed(
    monkeypatch: pytest.MonkeyPatch, platform: str, said: str
) -> None:
    """On a machine without Linux there is nothing to install."""
    monkeypatch.setattr(explain.sys, "platform", platform)
    told = str(not_installed("bubblewrap")).splitlines()
    assert len(told) == 3
    assert said in told[1]


def test_the_profile_is_part_of_the_package() -> None:
    """For /usr/bin/bwrap alone; a wheel has it too."""
    text = PROFILE.read_text()
    assert "profile bwrap /usr/bin/bwrap flags=(unconfined) {\n  userns," in text
    assert "sandbox/apparmor/*" in (ROOT / "pyproject.toml").read_text()
