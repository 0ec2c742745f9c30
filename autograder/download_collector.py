"""Sorts what Canvas and Moodle give as a download into `submitted/`, for nbgrader's own `zip_collect`.

Both write the name of a person and their own number for this person before the name of each file.
"""

import re
from functools import cached_property
from pathlib import Path
from typing import Final

from nbgrader.plugins.zipcollect import FileNameCollectorPlugin
from traitlets import Unicode

from autograder.exports.roster import Person, Roster, read_roster
from autograder.model.errors import CourseError

# The student chooses the end of a name, so only the beginning, which the system writes, may tell whose it is.
NAMES: Final = {
    # lovelaceada_1234_567890_03_attention-1.ipynb: LATE may stand before the numbers; 1 is the attempt
    "Canvas": re.compile(r"/[^/_]+_(?:LATE_)?(?P<number>\d+)_\d+_(?P<file>[^/]+?)(?:-\d+)?\.ipynb$"),
    # Ada Lovelace_1234_assignsubmission_file/03_attention.ipynb, in a folder or not
    "Moodle": re.compile(r"/[^/]*?_(?P<number>\d+)_assignsubmission_file(?:_?/|_)(?P<file>[^/]+)\.ipynb$"),
}


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
        found = NAMES[self._roster.system].search(Path(submitted_file).as_posix())
        if found is None:  # nbgrader warns that the file is skipped
            return None
        person = self._people.get(found["number"])
        if person is None:
            self.log.warning(
                f"{Path(submitted_file).name}: nobody on the roster has the number {found['number']}; "
                "the folder is named after it"
            )
        return {"student_id": person.student_id if person else found["number"], "file_id": found["file"]}

    @cached_property
    def _roster(self) -> Roster:
        """The roster of the system that the files come from; without one, the command ends."""
        if not self.roster:
            self.parent.fail(
                "name the roster of your system: nbgrader zip_collect LESSON --DownloadCollector.roster=FILE"
            )
        try:
            roster = read_roster(Path(self.roster))
            roster.folders()
        except CourseError as error:
            self.parent.fail(str(error))
        if roster.system not in NAMES:
            self.parent.fail(
                f"{self.roster} was exported neither from Canvas nor from Moodle, so it lacks their numbers"
            )
        return roster

    @cached_property
    def _people(self) -> dict[str, Person]:
        """The people of the roster by the number that their system has for them."""
        numbers = ((re.sub(r"\D", "", one.canvas_id or one.moodle_id), one) for one in self._roster.people)
        return {number: person for number, person in numbers if number and person.student_id}
