"""An incident says what was seen, where, and what to do about it, without an accusation."""

import re

import pytest

from autograder.grading.incidents import KNOWN, MAX_DETAILS, MAX_KEPT, SENTENCES, Incidents
from autograder.probe.notes import Kind

ACCUSING = re.compile(r"cheat|attack|forbidden|illegal|suspicious|malicious|violat|hack|^It ", re.I)


@pytest.mark.parametrize("kind", Kind)
def test_every_kind_says_what_was_seen_and_what_to_do(kind: Kind) -> None:
    """The reader is addressed, and nothing accuses."""
    incidents = Incidents()
    incidents.add("softmax", [(kind, "a detail")])
    [incident] = incidents.found
    assert (incident.exercise, incident.kind) == ("softmax", kind)
    assert incident.message.startswith(SENTENCES[kind].seen)
    told, kept = (incident.message, incident.detail)
    assert ("a detail" in told, kept) == ((True, "") if kind in KNOWN else (False, "a detail"))
    assert incident.message.endswith(SENTENCES[kind].advice)
    assert incident.message[-1] == "."
    assert not ACCUSING.search(SENTENCES[kind].seen)


def test_a_changing_answer_is_put_as_it_was_seen() -> None:
    """It is about the same question asked twice, not about new numbers."""
    incidents = Incidents()
    incidents.add("softmax", [(Kind.CHANGING, "rows add up to 1")])
    assert incidents.found[0].message.startswith(
        "Asked the same question twice, your code gave two different answers (rows add up to 1). "
    )


def test_one_kind_in_one_exercise_is_one_incident() -> None:
    """Its details are listed once each, the first few of them, and the rest are counted."""
    incidents = Incidents()
    for number in range(1000):
        incidents.add("softmax", [(Kind.NETWORK, f"host {number}"), (Kind.NETWORK, "host 0")])
    incidents.add(None, [(Kind.NETWORK, "")])
    first, other = incidents.found
    assert first.detail.count("host") == MAX_DETAILS
    assert first.detail.endswith(f"and {MAX_KEPT - MAX_DETAILS} more")
    assert "host" not in first.message
    assert (other.exercise, other.detail) == (None, "")


def test_a_note_of_unknown_kind_counts_as_noise() -> None:
    """The process that runs a submission cannot name a kind of its own."""
    incidents = Incidents()
    incidents.add(None, [("<b>mine</b>", "")])
    assert [incident.kind for incident in incidents.found] == [Kind.NOISE]
