"""Two changes to one source are merged where they do not touch."""

from autograder.judge.merge import merged

SOURCE = "is_real = ids != pad_id\nreturn is_real.unsqueeze(1)"


def test_changes_of_different_tokens_are_merged() -> None:
    """Two mistakes in one expression make an answer with both."""
    inverted, fixed = SOURCE.replace("!=", "=="), SOURCE.replace("pad_id", "0")
    assert merged(SOURCE, inverted, fixed) == SOURCE.replace("!= pad_id", "== 0")


def test_changes_of_the_same_token_are_not() -> None:
    """Two mistakes that put different things in one place exclude each other."""
    assert merged(SOURCE, SOURCE.replace("!=", "=="), SOURCE.replace("!=", ">")) is None
