"""Code cells parse as IPython reads them, answered or not, and import nothing of the autograder."""

from pathlib import Path

import pytest
from lesson_texts import changed, read_text

from autograder.authoring.code import check_code
from autograder.model.errors import LessonTextError
from autograder.model.lesson_text import LessonText

BROKEN = {
    "no Python": ("    return x / 2", "    return x /", "01_small.py:20: cell 'given-1': the code"),
    "skeleton is no Python": (
        "    two = 2\n    return two * x\n    ### END SOLUTION",
        "    two = (\n        2\n    ### END SOLUTION\n    )\n    return two * x",
        "cell 'double': the code does not parse",
    ),
    "import": ("import math", "import math, autograder.model.report", "never imports autograder"),
    "from import": ("import math", "from autograder import results", "never imports autograder"),
    "hidden import": ("import math", '__import__("autograder.judge")', "never imports autograder"),
    "import in a magic": ("import math", "# %time import autograder", "never imports autograder"),
}


def test_good_code_passes(lesson: LessonText) -> None:
    """Nothing to object to in a lesson that runs."""
    check_code(lesson)


@pytest.mark.parametrize(("old", "new", "says"), BROKEN.values(), ids=BROKEN)
def test_bad_code_is_named(tmp_path: Path, old: str, new: str, says: str) -> None:
    """The error names the cell, and for a syntax error the line."""
    broken = read_text(tmp_path, changed(old, new))
    with pytest.raises(LessonTextError) as caught:
        check_code(broken)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    "code", ["%time math.pi", "!echo hello", "await sleep(1)", "math?", "# the autograder marks it"]
)
def test_what_a_notebook_runs_is_code(tmp_path: Path, code: str) -> None:
    """Magics, shell lines, help and await at the top parse as IPython reads them."""
    line = code if code.startswith(("await", "#")) else f"# {code}"
    check_code(read_text(tmp_path, changed("import math", f"import math\n{line}")))
