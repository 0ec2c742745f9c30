"""Failed checks are grouped by cause, and a cause is told once."""

from autograder.reports.causes import OTHER_NUMBERS, failures

from .sample_work import check


def test_messages_that_differ_in_numbers_have_one_cause() -> None:
    """The titles are all kept, in order."""
    (one,) = failures([check("a", "off by 0.5 at [2, 1]"), check("b", "off by -3e-05 at [0, 7]")])
    assert one.titles == ("a", "b")
    assert one.message == f"off by 0.5 at [2, 1] {OTHER_NUMBERS}"


def test_numbers_that_all_checks_share_are_not_said_to_differ() -> None:
    """The same message twice, or after another sentence, is true of each check."""
    (one,) = failures([check("a", "Off by 2."), check("b", "Off by 2."), check("c", "Unchanged. Off by 2.")])
    assert one.message == "Off by 2."


def test_a_message_that_ends_with_another_joins_it() -> None:
    """The shorter one is shown; one that merely contains it stays apart."""
    groups = failures([check("a", "Unchanged. Off by 2."), check("b", "Off by 3."), check("c", "Off by 3. Twice.")])
    assert [group.titles for group in groups] == [("a", "b"), ("c",)]
    assert groups[0].message == f"Off by 3. {OTHER_NUMBERS}"


def test_another_line_of_the_code_is_another_cause() -> None:
    """Its number is what the student looks for."""
    groups = failures([check("a", "IndexError (line 4 of your cell)"), check("b", "IndexError (line 14 of your cell)")])
    assert len(groups) == 2


def test_checks_without_a_message_stay_apart() -> None:
    """Their titles are all there is to say."""
    groups = failures([check("a"), check("b"), check("c", passed=True)])
    assert [group.titles for group in groups] == [("a",), ("b",)]
