"""Checks of `pad_batch`."""

from collections.abc import Sequence

import torch

from autograder.judge.draw import Draw
from autograder.judge.exercise import Exercise, Lesson, Stimulus, call
from autograder.judge.explain import arguments_kept, explained
from autograder.judge.judgement import Seen, unchanged
from autograder.judge.symptoms import whole
from autograder.lessons.embeddings import reference

LONGEST = "longest = max(len(sequence) for sequence in sequences)"
FULL = "torch.full((len(sequences), longest), pad_id, dtype=torch.long)"
FILL = "batch[row, : len(sequence)] = torch.as_tensor(sequence)"
RETURN = "return batch"


def _sequences(draw: Draw, lengths: Sequence[int]) -> list[list[int]]:
    return [draw.integers(4, 90, length).tolist() for length in lengths]


def _lengths(seen: Seen) -> list[int]:
    return [len(sequence) for sequence in seen.inputs["args"][0]]


def _shape(seen: Seen) -> str | None:
    got, lengths = whole(seen), _lengths(seen)
    want = (len(lengths), max(lengths))
    if got.shape == want:
        return None
    if got.shape == want[::-1]:
        return f"Expected (batch, longest) = {want}, got {tuple(got.shape)}: the batch comes first."
    return (
        f"Sequences of the lengths {lengths} should give the shape {want}, got {tuple(got.shape)}."
    )


def _wrong_place(seen: Seen) -> str | None:
    """Say which place of which sequence holds something else, and whether it is padding."""
    got, want = whole(seen), seen.expected.value
    row, place = (int(i) for i in (got != want).nonzero()[0])
    length = _lengths(seen)[row]
    if place >= length:
        said = f"it should be padding, {want[row, place]}, since the sequence has {length} ids"
    else:
        said = f"id {place} of that sequence is {want[row, place]}"
    return f"Row {row}, place {place} holds {got[row, place]}; {said}."


symptoms = (_shape, _wrong_place)
judge = explained(*symptoms)


def add_batches(lesson: Lesson) -> None:
    """Declare the exercise, its cases and its misconceptions."""
    exercise = lesson.exercise("pad-batch", 2, "pad_batch", reference=reference.pad_batch)
    _add_cases(exercise)
    _add_mistakes(exercise)


def _add_cases(exercise: Exercise) -> None:
    @exercise.case("lists of different lengths are padded on the right", judge=judge, weight=2)
    def lists(draw: Draw) -> Stimulus:
        return call(_sequences(draw, [4, 7, 2]))

    @exercise.case(
        "LongTensors are padded as lists are, and come back unchanged", judge=unchanged(*symptoms)
    )
    def tensors(draw: Draw) -> Stimulus:
        return call([torch.tensor(row) for row in _sequences(draw, [3, 1, 6, 5])])

    @exercise.case("another pad_id", judge=judge)
    def other_id(draw: Draw) -> Stimulus:
        rows = _sequences(draw, [2, 5])
        rows[1][1] = 0
        return call(rows, pad_id=draw.integer(91, 99))

    @exercise.case(
        "one sequence alone, and sequences of one length, get no padding", judge=judge, weight=0.5
    )
    def alone(draw: Draw) -> Stimulus:
        return call(_sequences(draw, [5]))

    @exercise.case("an empty sequence among others is all padding", judge=judge, weight=0.5)
    def one_empty(draw: Draw) -> Stimulus:
        return call(_sequences(draw, [2, 0, 4]))

    @exercise.case("the lists come back unchanged", judge=arguments_kept(judge))
    def arguments(draw: Draw) -> Stimulus:
        return Stimulus("arguments_after", {"args": [_sequences(draw, [1, 4, 3])], "kwargs": {}})


def _add_mistakes(exercise: Exercise) -> None:
    mistake = exercise.misconception
    # fmt: off - a mistake is a small table: title, hint, edit
    mistake(
        "left-padded",
        "The padding stands on the left",
        "The first id of a sequence belongs to place 0 of its row.",
        edits={FILL: "batch[row, longest - len(sequence) :] = torch.as_tensor(sequence)"},
    )
    mistake(
        "cut-to-shortest",
        "All sequences are cut to the shortest",
        "Nothing should be lost: who decides the length, the shortest or the longest?",
        edits={
            LONGEST: "longest = min(len(sequence) for sequence in sequences)",
            FILL: "batch[row] = torch.as_tensor(sequence[:longest])",
        },
    )
    mistake(
        "pad-id-ignored",
        "The argument `pad_id` is ignored: the padding is always 0",
        "Try it with pad_id=9.",
        edits={FULL: FULL.replace("pad_id", "0")},
    )
    mistake(
        "one-too-long",
        "Every row has one place too many",
        "The longest sequence needs no padding at all.",
        edits={LONGEST: "longest = max(len(sequence) for sequence in sequences) + 1"},
    )
    mistake(
        "first-decides",
        "The first sequence decides the length, not the longest",
        "Try it with a first sequence that is the shortest.",
        edits={
            LONGEST: "longest = len(sequences[0])",
            FILL: "batch[row, : len(sequence)] = torch.as_tensor(sequence[:longest])",
        },
    )
    mistake(
        "length-first",
        "The batch is the second dimension: (longest, B), not (B, longest)",
        "One row for each sequence.",
        edits={RETURN: "return batch.transpose(0, 1)"},
    )
    mistake(
        "last-repeated",
        "The last id is repeated in place of padding",
        "What stands behind the end is pad_id, so that a mask can find it.",
        edits={
            RETURN: "for row, sequence in enumerate(sequences):\n"
            "        batch[row, len(sequence) :] = list(sequence)[-1] if len(sequence) else pad_id\n"
            "    return batch"
        },
    )
    mistake(
        "sorted-by-length",
        "The sequences are sorted by their length",
        "Row i belongs to sequence i: targets and labels rely on it.",
        edits={LONGEST: f"sequences = sorted(sequences, key=len, reverse=True)\n    {LONGEST}"},
    )
    mistake(
        "ended",
        "An <eos> is put behind each sequence",
        "Padding alone is added here; <eos> is a token like others.",
        edits={FILL: f"{FILL}\n        batch[row, len(sequence) : len(sequence) + 1] = 2"},
    )
    mistake(
        "float",
        "The batch is of floats",
        "Ids are int64: ask your tensor for its dtype.",
        edits={"dtype=torch.long": "dtype=torch.float"},
    )
    mistake(
        "lists-returned",
        "Lists are returned, not a tensor",
        "What comes out is one LongTensor (B, longest).",
        edits={RETURN: "return batch.tolist()"},
    )
    mistake(
        "lists-only",
        "Only lists can be padded: for LongTensors it fails",
        "`tensor + [0, 0]` adds numbers; a list of the ids can be made of either.",
        edits={
            FULL: "torch.tensor([sequence + [pad_id] * (longest - len(sequence))"
            " for sequence in sequences])"
        },
    )
    mistake(
        "tensors-only",
        "Only LongTensors can be padded: for lists it fails",
        "torch.as_tensor makes a tensor of a list, and leaves a tensor alone.",
        edits={"torch.as_tensor(sequence)": "sequence.clone()"},
    )
    mistake(
        "lists-lengthened",
        "The caller's lists are padded themselves",
        "`+=` and `append` change the list you were given.",
        edits={
            FILL: f"{FILL}\n        if isinstance(sequence, list):\n"
            "            sequence += [pad_id] * (longest - len(sequence))"
        },
    )
    mistake(
        "one-row",
        "All sequences are put end to end in one row",
        "One row for each sequence.",
        edits={
            RETURN: "return torch.cat([torch.as_tensor(s, dtype=torch.long) for s in sequences])"
        },
    )
    # fmt: on
