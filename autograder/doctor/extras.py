"""What only lessons and pictures need: a browser, fonts, data."""

import shutil
import subprocess

from autograder.doctor.finding import Finding, ok, warning
from autograder.model.course import Course

SIGNS = "√ᵀ×–"  # in figures and pages
FONTS = "sudo apt-get install fontconfig fonts-dejavu"


def chromium(_course: Course) -> Finding:
    """Look for the browser that takes pictures of pages."""
    found = shutil.which("chromium")
    if found is None:
        return warning(
            "not installed; 'make pictures' and the tests of pages need it", "sudo apt-get install chromium"
        )
    return ok(found)


def fonts(_course: Course) -> Finding:
    """Check whether some font of the system has the signs of formulas."""
    program = shutil.which("fc-list")
    if program is None:
        return warning("fonts could not be checked: fontconfig is not installed", FONTS)
    lacking = [sign for sign in SIGNS if not _fonts_with(program, sign)]
    if lacking:
        return warning(f"no font has {' '.join(lacking)}; pictures of pages need them", FONTS)
    return ok(f"there are fonts with {' '.join(SIGNS)}")


def _fonts_with(program: str, sign: str) -> str:
    done = subprocess.run(  # noqa: S603 - fontconfig's own program
        [program, f":charset={ord(sign):x}", "family"], capture_output=True, text=True, check=False
    )
    return done.stdout.strip()


def word_vectors(_course: Course) -> Finding:
    """Check whether the small BERT of lessons 01, 04, 05 and 08 is there, and is the one that was pinned."""
    from coursework.pretrained import INSTALL, MODEL, WEIGHTS, find_model, verified

    folder = find_model()
    if folder is None:
        return warning(f"{MODEL} is not installed; lessons use a small model of their own", INSTALL)
    if not verified(folder / WEIGHTS):
        return warning(f"{folder / WEIGHTS} is not the pinned file", INSTALL)
    return ok(f"{MODEL}, {WEIGHTS} with the pinned SHA-256")


def shakespeare(_course: Course) -> Finding:
    """Check whether the corpus of lesson 07 is there, and is the one that was pinned."""
    from coursework.corpus import INSTALL, NoShakespeareError, shakespeare

    try:
        works = shakespeare()
    except NoShakespeareError as error:
        return warning(f"{error}; lesson 07 uses a synthetic play", INSTALL)
    return ok(f"{len(works)} works, with the pinned SHA-256")
