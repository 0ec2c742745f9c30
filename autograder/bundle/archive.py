"""One zip for students: released lessons, their pictures, the wheel, requirements, a how-to."""

import re
import zipfile
from collections.abc import Iterable, Iterator
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from autograder.authoring.files import files_in, write
from autograder.bundle.secrets import refuse_secrets
from autograder.bundle.wheel import build_wheel
from autograder.model.course import Course
from autograder.model.errors import BundleError

FOLDER: Final = "transformer-lessons"
# What lessons and coursework import, and what opens them; the rest is the instructor's.
FOR_STUDENTS: Final = (
    "torch",
    "numpy",
    "jupyterlab",
    "ipykernel",
    "ipywidgets",
    "huggingface_hub",
    "ipython",
    "matplotlib",
    "seaborn",
    "bertviz",
    "transformers",
    "safetensors",
    "jinja2",
    "tqdm",
)
PINNED: Final = re.compile(r"^([A-Za-z0-9_.-]+)==\S+$")
DATE: Final = (2020, 1, 1, 0, 0, 0)  # equal contents give an equal zip


def write_bundle(course: Course) -> Path:
    """Write the students' zip to dist/ and return it.

    Raises BundleError where something in it gives an answer or a check away.
    """
    with TemporaryDirectory() as place:
        wheel = build_wheel(course, Path(place))
        contents = dict(_contents(course, wheel))
    refuse_secrets(course, contents)
    path = course.root / "dist" / f"{FOLDER}.zip"
    write(path, _zipped(contents, Path(f"{path}.part")))
    return path


def _contents(course: Course, wheel: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the path in the zip and the content of each file."""
    for lesson in course.lessons():
        folder = course.release_notebook(lesson).parent
        for path in files_in(folder):
            yield f"lessons/{path.relative_to(course.release).as_posix()}", path.read_bytes()
    yield wheel.name, wheel.read_bytes()
    pretrained = course.root / "requirements-pretrained.txt"
    yield pretrained.name, pretrained.read_bytes()
    listed = (course.root / "requirements.txt").read_text(encoding="utf-8")
    yield "requirements.txt", requirements(listed, wheel.name).encode()
    yield "HOWTO.md", (files("autograder.bundle") / "HOWTO.md").read_bytes()


def requirements(listed: str, wheel: str) -> str:
    """Return the students' requirements: the course's pins of what they need, and the wheel.

    Raises BundleError where the course does not pin one of them.
    """
    pins = {match[1]: match[0] for match in map(PINNED.match, listed.splitlines()) if match}
    missing = [name for name in FOR_STUDENTS if name not in pins]
    if missing:
        raise BundleError(f"requirements.txt pins no version of {', '.join(missing)}: add it")
    lines = (*(pins[name] for name in FOR_STUDENTS), f"./{wheel}")
    return "# What the lessons need. Install with: pip install -r requirements.txt\n" + _lines(lines)


def _lines(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _zipped(contents: dict[str, bytes], draft: Path) -> bytes:
    """Return a zip with everything in one folder, the same for the same contents."""
    draft.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(contents):
            entry = zipfile.ZipInfo(f"{FOLDER}/{name}", DATE)
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, contents[name])
    whole = draft.read_bytes()
    draft.unlink()
    return whole
