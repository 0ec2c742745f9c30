"""A cluster gives what the pool of this machine gives, loses nothing, and gets no key in clear."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path

import dask
import nbformat
import pytest
from click.testing import CliRunner
from conftest import ROOT, Edit, solve
from distributed import KilledWorker, LocalCluster, Security
from tiny_course import LESSON, RIGHT, hand_in

from autograder.cli import main
from autograder.grading.cluster import Cluster, ClusterPool, make_task
from autograder.grading.pool import Pool
from autograder.grading.version import lesson_version
from autograder.model.course import Course
from autograder.model.errors import CourseError, SandboxMissingError
from autograder.storage.course_key import lesson_key
from autograder.submissions.submission import Submission

from .cluster_fake import SEEN

pytestmark = pytest.mark.full("a cluster of processes", seconds=15)
REAL = "03_attention"
FAKE = "grading.cluster_fake"


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a certificate that is its own authority."""
    folder = tmp_path_factory.mktemp("certificates")
    made = ["-keyout", folder / "key.pem", "-out", folder / "cert.pem", "-days", "2"]
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-subj",
        "/CN=cluster",
        *made,
    ]
    subprocess.run(command, check=True, capture_output=True)
    shutil.copy(folder / "cert.pem", folder / "ca.pem")
    return folder


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, certificates: Path) -> Iterator[Cluster]:
    """A scheduler with two workers, each a process with one thread; all speak TLS."""
    folder = tmp_path_factory.mktemp("dask")
    cert, key = str(certificates / "cert.pem"), str(certificates / "key.pem")
    ends = {
        f"tls_{end}_{kind}": path
        for end in ("scheduler", "worker", "client")
        for kind, path in (("cert", cert), ("key", key))
    }
    security = Security(require_encryption=True, tls_ca_file=str(certificates / "ca.pem"), **ends)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(SEEN, str(folder / "seen"))
        patch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "tests"), str(ROOT)]))
        options = {"threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}
        with (
            dask.config.set({"temporary-directory": str(folder)}),
            LocalCluster(n_workers=2, protocol="tls", security=security, **options) as made,
        ):
            yield Cluster(made.scheduler_address, certificates)


def results(pool: Pool, handed: Sequence[Submission]) -> dict[str, tuple[str, str]]:
    """Grade, and return each student's attempt without its time, and the notebook, as text."""
    done = {}
    for attempt, notebook in pool.grade_all(handed):
        plain = attempt.model_dump(mode="json", exclude={"graded_at"})
        done[attempt.student] = json.dumps(plain), nbformat.writes(notebook)
    assert len(done) == len(handed)
    return done


def handed_in(course: Course, *students: str, lesson: str = LESSON) -> list[Submission]:
    """Return what these students handed in."""
    version = lesson_version(course, lesson)
    return [Submission(course, student, lesson, version) for student in students]


@pytest.fixture
def real(tmp_path: Path) -> Course:
    """The lessons of this repository, in a course with a key of its own."""
    for name in ("nbgrader_config.py", "source", "release"):
        (tmp_path / name).symlink_to(ROOT / name)
    return Course(tmp_path)


def give(course: Course, student: str, name: str, **edits: Edit) -> Path:
    """Hand in model answers with edits, under any file name."""
    path = course.submission(student, REAL).with_name(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    changes = {key.replace("_", "-"): edit for key, edit in edits.items()}
    nbformat.write(solve(course, REAL, changes), path)
    return path


@pytest.mark.sandbox
def test_two_workers_give_what_one_process_gives(real: Course, cluster: Cluster) -> None:
    """Right, wrong, renamed, beside another, broken, linked and absent: equal to the byte, apart from the time."""
    give(real, "right", f"{REAL}.ipynb")
    unscaled = {"attention_scores": lambda text: text.replace(" / math.sqrt(k.size(-1))", "")}
    give(real, "wrong", f"{REAL}.ipynb", **unscaled)
    give(real, "renamed", f"{REAL} (1).ipynb", causal_mask=lambda _: "1 / 0")
    shutil.copy(
        give(real, "twice", f"{REAL}.ipynb"), real.submission("twice", REAL).with_name("b.ipynb")
    )
    give(real, "broken", f"{REAL}.ipynb").write_text("not a notebook")
    give(real, "linked", f"{REAL}.ipynb").unlink()
    real.submission("linked", REAL).symlink_to(real.submission("right", REAL))
    give(real, "absent", f"{REAL}.ipynb").unlink()
    names = ("right", "wrong", "renamed", "twice", "broken", "linked", "absent")
    handed = handed_in(real, *names, lesson=REAL)
    sandboxed = shutil.which("bwrap") is not None
    with Pool(1, sandboxed=sandboxed) as pool:
        alone = results(pool, handed)
    there = results(ClusterPool(cluster, 1, sandboxed=sandboxed), handed[::-1])
    assert there == alone
    reports = {name: json.loads(text)["report"] for name, (text, _) in there.items()}
    states = {name: report.get("state", "graded") for name, report in reports.items()}
    assert {name for name, state in states.items() if state != "graded"} == {
        "broken",
        "linked",
        "absent",
    }
    assert "scale-missing" in there["wrong"][0]


@pytest.mark.sandbox
def test_workers_find_the_lines_that_one_process_finds(real: Course, cluster: Cluster) -> None:
    """Once the scores are there, and without the student's name."""
    give(real, "wrong", f"{REAL}.ipynb", attention_scores=lambda text: text.replace("-2, -1", "1, 2"))
    (handed,) = handed_in(real, "wrong", lesson=REAL)
    sandboxed = shutil.which("bwrap") is not None
    with Pool(1, sandboxed=sandboxed) as pool:
        ((graded, _),) = pool.grade_all([handed])
        handed = replace(handed, graded=graded)
        alone = list(pool.find_lines([handed]))
    sent = json.loads(make_task(handed, sandboxed=True).partition(b"\n")[0])
    assert json.loads(sent["graded"])["student"] == ""
    there = list(ClusterPool(cluster, 1, sandboxed=sandboxed).find_lines([handed]))
    assert there == alone
    assert there[0].report.exercise("attention-scores").lines
    assert there[0].student == "wrong"


def test_a_death_costs_only_the_submission_that_causes_it(course: Course, cluster: Cluster) -> None:
    """One ends its process each time, another its worker once. All others are graded."""
    for student in ("a", "b", "c"):
        hand_in(course, student, **RIGHT)
    hand_in(course, "killer", double="# right but die")
    hand_in(course, "unlucky", double="# right once")
    pool = ClusterPool(cluster, 1, sandboxed=False, program=FAKE)
    handed = handed_in(course, "a", "killer", "unlucky", "b", "c")
    done = {attempt.student: attempt for attempt, _ in pool.grade_all(handed)}
    assert {name: attempt.report.score for name, attempt in done.items()} == {
        "a": 18.0, "b": 18.0, "c": 18.0, "unlucky": 8.0, "killer": 0.0,
    }  # fmt: skip
    assert {name for name, attempt in done.items() if attempt.faulty} == {"killer"}
    assert "died twice" in done["killer"].detail


def test_a_submission_that_several_workers_died_with_is_tried_again_alone(course: Course) -> None:
    """Dask gives up on it; None is what makes the pool grade it once more, and then leave it."""
    future = Future[bytes]()
    future.set_exception(KilledWorker("grade-1", None, 3))
    pool = ClusterPool(Cluster("tls://10.0.0.1:8786"), 1, sandboxed=True)
    assert pool._result(future, Submission(course, "alice", LESSON, "v")) is None


def test_a_worker_without_a_sandbox_refuses(course: Course, cluster: Cluster) -> None:
    """The run ends with the worker's name and its reason."""
    hand_in(course, "alice", **RIGHT)
    pool = ClusterPool(cluster, 1, sandboxed=True, program=FAKE)
    with pytest.raises(
        SandboxMissingError, match=r"worker tls://\S+ refuses to grade: no bubblewrap here"
    ):
        list(pool.grade_all(handed_in(course, "alice")))


def test_a_worker_with_another_version_refuses(course: Course, cluster: Cluster) -> None:
    """Its scores would be those of another grader."""
    hand_in(course, "alice", **RIGHT)
    pool = ClusterPool(cluster, 1, sandboxed=False, program=FAKE)
    with pytest.raises(CourseError, match="another version of the autograder"):
        list(pool.grade_all([Submission(course, "alice", LESSON, "0" * 64)]))


def test_a_scheduler_refuses_a_connection_in_clear(cluster: Cluster) -> None:
    """A cluster that speaks TLS speaks nothing else, so nothing is sent."""
    pool = ClusterPool(
        Cluster(cluster.address.replace("tls", "tcp"), in_clear=True), 1, sandboxed=True
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("autograder.grading.cluster.CONNECT_SECONDS", 1)
        with pytest.raises(CourseError, match="no scheduler answers"):
            list(pool.grade_all([]))


def test_nobody_answers() -> None:
    """A wrong address is reported in words."""
    pool = ClusterPool(Cluster("tcp://127.0.0.1:9", in_clear=True), 1, sandboxed=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("autograder.grading.cluster.CONNECT_SECONDS", 1)
        with pytest.raises(CourseError, match="no scheduler answers"):
            list(pool.grade_all([]))


def test_a_task_shows_nothing_and_names_nobody(course: Course) -> None:
    """Dask may log a task, and the student's name is not needed to grade."""
    hand_in(course, "alice", **RIGHT)
    task = make_task(*handed_in(course, "alice"), sandboxed=True)
    assert repr(task) == "Task()"
    assert b"alice" not in task
    sent, _, file = task.partition(b"\n")
    assert json.loads(sent)["key"] == lesson_key(course, LESSON).hex()
    assert file == course.submission("alice", LESSON).read_bytes()
    assert course.key.read_bytes().strip() not in task


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--cluster", "tcp://10.0.0.1:8786"], "would not be encrypted"),
        (["--cluster", "10.0.0.1:8786", "--cluster-security", "."], "would not be encrypted"),
        (["--cluster", "tls://10.0.0.1:8786"], "no certificates"),
        (
            ["--cluster", "tls://10.0.0.1:8786", "--cluster-security", "."],
            "no ca.pem, cert.pem, key.pem",
        ),
        (["--cluster-in-clear"], "need --cluster ADDRESS"),
    ],
)
def test_the_key_is_not_sent_in_clear(course: Course, options: list[str], said: str) -> None:
    """Without encryption, or without certificates, nothing is even connected."""
    hand_in(course, "alice", **RIGHT)
    result = CliRunner().invoke(main, ["--course", str(course.root), "grade", "3", *options])
    assert result.exit_code == 2
    assert said in result.stderr
