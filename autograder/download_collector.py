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
from autograder.model.course import Course
from autograder.model.errors import CourseError
from autograder.storage.class_list import class_list, handed_in
from autograder.storage.io_errors import plain_io_errors

# The student chooses the end of a name, so only the beginning, which the system writes, may tell whose it is.
NAMES: Final = {
    # lovelaceada_1234_567890_03_attention-1.ipynb: LATE may stand before the numbers. The second number, the
    # file's own, and the one at the end grow with each upload.
    "Canvas": re.compile(
        r"/[^/_]+_(?:LATE_)?(?P<number>\d+)_(?P<upload>\d+)_(?P<file>[^/]+?)(?:-(?P<again>\d+))?\.ipynb$"
    ),
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
        found = self._match_name(submitted_file)
        if found is None:  # nbgrader warns that the file is skipped
            return None
        same = self._of_one_name[_place(found)]
        if len(same) > 1 and not self._is_newest(submitted_file, found, same):
            return None
        _, folder = self._people.get(found["number"], (None, ""))
        if not folder:
            self.log.warning(
                f"{Path(submitted_file).name}: nobody on the roster has the number {found['number']}; "
                "the folder is named after it"
            )
        return {
            "student_id": folder or found["number"],
            "file_id": f"{found['file']}.ipynb",
        }  # nbgrader cuts one ending off

    def _match_name(self, file: str) -> re.Match[str] | None:
        return NAMES[self._roster.system].search(Path(file).as_posix())

    def _is_newest(self, file: str, found: re.Match[str], same: list[str]) -> bool:
        """Return whether a file is the newest of several that would get one name, and say so if it is not.

        nbgrader ends at the second one, before anything is sorted.
        """
        orders = {each: _order(match) for each in same if (match := self._match_name(each))}
        newest = [each for each, order in orders.items() if order == max(orders.values())]
        person, _ = self._people.get(found["number"], (None, ""))
        who, name = person or found["number"], Path(file).name
        if len(newest) > 1:
            self.log.warning(f"{who}: {len(same)} files '{name}', and nothing says which is newer: left out")
        elif file not in newest:
            self.log.warning(f"{who}: '{name}' is left out, because '{Path(newest[0]).name}' is newer")
        return newest == [file]

    @cached_property
    def _of_one_name(self) -> dict[tuple[str, str], list[str]]:
        """The files of the download by whose they are and what they would be called."""
        found: dict[tuple[str, str], list[str]] = {}
        folder = self.parent._format_collect_path(self.parent.extracted_directory)
        for file in sorted(map(str, Path(folder).rglob("*.ipynb"))):
            if match := self._match_name(file):
                found.setdefault(_place(match), []).append(file)
        return found

    @cached_property
    def _roster(self) -> Roster:
        return self._read[0]

    @cached_property
    def _read(self) -> tuple[Roster, list[str]]:
        """The roster, and the folder of each person on it; without a roster, the command ends."""
        if not self.roster:
            self.parent.fail(
                "name the roster of your system: nbgrader zip_collect LESSON --DownloadCollector.roster=FILE"
            )
        course = Course(Path(self.parent.coursedir.root))
        try:
            with plain_io_errors(course):
                listed = class_list(course)
                roster = read_roster(Path(self.roster)).with_emails(listed)
                folders = roster.folders({each.student for each in listed} | handed_in(course).keys())
        except CourseError as error:
            self.parent.fail(str(error))
        if roster.system not in NAMES:
            self.parent.fail(
                f"{self.roster} was exported neither from Canvas nor from Moodle, so it lacks their numbers"
            )
        for note in roster.notes:
            self.log.warning(note)
        return roster, folders

    @cached_property
    def _people(self) -> dict[str, tuple[Person, str]]:
        """The people of the roster, each with the folder, by the number that their system has for them."""
        roster, folders = self._read
        people = zip(roster.people, folders, strict=True)
        numbers = ((re.sub(r"\D", "", one.canvas_id or one.moodle_id), one, folder) for one, folder in people)
        return {number: (person, folder) for number, person, folder in numbers if number and folder}


def _place(found: re.Match[str]) -> tuple[str, str]:
    return found["number"], found["file"]


def _order(found: re.Match[str]) -> tuple[int, int]:
    """Return what grows with each upload; Moodle's names say nothing of it."""
    groups = found.groupdict()
    return int(groups.get("upload") or 0), int(groups.get("again") or 0)
