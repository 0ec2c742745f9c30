"""Sorts what Canvas and Moodle give as a download into `submitted/`, for nbgrader's own `zip_collect`.

Both write the name of a person and their own number for this person before the name of each file.
"""

import re
from functools import cached_property
from pathlib import Path
from typing import Final

from nbgrader.plugins.zipcollect import FileNameCollectorPlugin
from traitlets import Unicode

from autograder.exports.roster import Person, read_roster
from autograder.model.errors import CourseError

# As in lovelaceada_1234_567890_03_attention-1.ipynb, where LATE may stand before the numbers, and the last
# number is the attempt; and Ada Lovelace_1234_assignsubmission_file/03_attention.ipynb, in a folder or not.
NAMES: Final = (
    re.compile(r"/[^/_]+_(?:LATE_)?(?P<number>\d+)_\d+_(?P<file>[^/]+?)(?:-\d+)?\.ipynb$"),
    re.compile(r"/[^/]*_(?P<number>\d+)_assignsubmission_file(?:_?/|_)(?P<file>[^/]+)\.ipynb$"),
)


class DownloadCollector(FileNameCollectorPlugin):  # type: ignore[misc] # nbgrader has no type annotations
    """Tells nbgrader whose a downloaded notebook is, by its file's name and the roster of the same system.

    With a `named_regexp`, for files of another kind, it is nbgrader's own collector.
    """

    roster = Unicode(
        "", help="The gradebook exported from Canvas, or the grading worksheet exported from Moodle."
    ).tag(config=True)

    def collect(self, submitted_file: str) -> dict[str, str] | None:
        """Return the student's folder and the notebook's name, None for what is no student's notebook."""
        if self.named_regexp:
            return super().collect(submitted_file)  # type: ignore[no-any-return]
        path = Path(submitted_file).as_posix()
        found = next(filter(None, (name.search(path) for name in NAMES)), None)
        if found is None:  # nbgrader says that it is left out
            return None
        person = self._people.get(found["number"])
        if person is None:
            self.log.warning(
                f"{Path(path).name}: nobody on the roster has the number {found['number']}; "
                "the folder is named after it"
            )
        return {"student_id": person.student_id if person else found["number"], "file_id": found["file"]}

    @cached_property
    def _people(self) -> dict[str, Person]:
        """The people of the roster by the number that their system has for them."""
        if not self.roster:
            self.parent.fail(
                "name the roster of your system: nbgrader zip_collect LESSON --DownloadCollector.roster=FILE"
            )
        try:
            people = read_roster(Path(self.roster)).people
        except CourseError as error:
            self.parent.fail(str(error))
        numbers = ((re.sub(r"\D", "", each.canvas_id or each.moodle_id), each) for each in people)
        return {number: each for number, each in numbers if number and each.student_id}
