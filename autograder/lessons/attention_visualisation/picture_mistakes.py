"""What goes wrong in `plot_attention`: edits of the model answer."""

from autograder.judge.exercise import Exercise

CELLS = "cells = weights.detach().cpu().numpy()"
SCALE = "vmin=0, vmax=1, "
LABELS = "xticklabels=keys, yticklabels=queries, "
SIZE = "figsize=(2 + 0.45 * len(keys), 1.2 + 0.4 * len(queries))"
RETURN = "return ax"
DRAW = "sns.heatmap(cells, ax=ax, "


def add_mistakes(exercise: Exercise) -> None:
    """Declare the misconceptions."""
    _add_cells(exercise)
    _add_labels(exercise)
    _add_axes(exercise)


def _add_cells(exercise: Exercise) -> None:
    mistake = exercise.misconception
    mistake("exchanged", "Queries go across and keys go down",
            "A row is a query: its weights sum to one.",
            edits={CELLS: f"{CELLS}.T", LABELS: "xticklabels=queries, yticklabels=keys, "})  # fmt: skip
    mistake("transposed", "The weights are transposed, but the labels are not",
            "Take 5 queries and 7 keys: what is in the corner?", edits={CELLS: f"{CELLS}.T"})  # fmt: skip
    mistake("upside-down", "The first query is at the bottom", "A text is read from the top.",
            edits={RETURN: f"ax.invert_yaxis()\n    {RETURN}"})  # fmt: skip
    mistake("upside-down-labels", "The rows are turned over, their labels are not",
            "Rows and labels have to be turned together.", edits={CELLS: f"{CELLS}[::-1]"},
            also=[{RETURN: f"ax.set_yticklabels(queries[::-1])\n    {RETURN}"}])  # fmt: skip
    mistake("own-scale", "Every picture has a colour scale of its own",
            "Where the darkest blue means 0.2 here and 1.0 there, pictures cannot be compared.",
            edits={SCALE: ""},
            also=[{SCALE: "vmin=0, vmax=cells.max(), "}, {SCALE: "vmin=cells.min(), vmax=cells.max(), "},
                  {SCALE: "vmin=0, "}, {SCALE: "vmax=1, "}, {SCALE: "robust=True, "}])  # fmt: skip
    mistake("scale-from-minus-one", "The colour scale begins at −1", "Weights lie between 0 and 1.",
            edits={"vmin=0": "vmin=-1"})  # fmt: skip
    mistake("rescaled", "The weights are rescaled before they are drawn",
            "The picture should show the weights themselves.",
            edits={CELLS: f"{CELLS}; cells = cells / cells.max()"},
            also=[{CELLS: f"{CELLS}; cells = cells / cells.max(axis=1, keepdims=True)"},
                  {CELLS: f"{CELLS}; cells = (cells - cells.min()) / (cells.max() - cells.min())"},
                  {CELLS: "cells = weights.softmax(dim=-1).detach().cpu().numpy()"}])  # fmt: skip
    mistake("rounded", "The weights are rounded before they are drawn",
            "Formatting is for annotations, `fmt`; the colours take the numbers as they are.",
            edits={CELLS: f"{CELLS}.round(1)"}, also=[{CELLS: f"{CELLS}.round(2)"}])  # fmt: skip


def _add_labels(exercise: Exercise) -> None:
    mistake = exercise.misconception
    mistake("labels-exchanged", "The labels of queries and keys are exchanged",
            "xticklabels are those across.", edits={LABELS: "xticklabels=queries, yticklabels=keys, "})  # fmt: skip
    mistake("numbers-for-labels", "Numbers stand where the tokens should",
            "seaborn labels rows and columns with numbers unless it is told what to write.", edits={LABELS: ""},
            also=[{LABELS: "xticklabels=True, yticklabels=True, "}])  # fmt: skip
    mistake("no-labels", "There are no labels", "Which tokens are these?",
            edits={LABELS: "xticklabels=False, yticklabels=False, "})  # fmt: skip
    mistake("keys-for-both", "The rows are labelled with the keys too",
            "In cross-attention the queries are other tokens than the keys.",
            edits={"yticklabels=queries": "yticklabels=keys"})  # fmt: skip
    mistake("queries-for-both", "The columns are labelled with the queries too",
            "In cross-attention the queries are other tokens than the keys.",
            edits={"xticklabels=keys": "xticklabels=queries"})  # fmt: skip
    mistake("one-side-only", "Only one side is labelled", "Rows and columns both want their tokens.",
            edits={", yticklabels=queries": ""}, also=[{"xticklabels=keys, ": ""}])  # fmt: skip
    mistake("labels-left-out", "With many tokens some labels are left out",
            "`auto` leaves out labels that seem too close; a list, or a tick for every cell, does not.",
            edits={CELLS: f'{CELLS}; cells = __import__("pandas").DataFrame(cells, index=queries, columns=keys)', LABELS: "", SIZE: ""},
            also=[{LABELS: "", RETURN: f"ax.set_xticks([i + 0.5 for i in range(0, len(keys), 2)], keys[::2])\n    ax.set_yticks([i + 0.5 for i in range(0, len(queries), 2)], queries[::2])\n    {RETURN}"}])  # fmt: skip
    mistake("labels-at-the-edges", "The labels are off by one",
            "Was <sos> put in front of one list and not of the other?",
            edits={"xticklabels=keys": 'xticklabels=["<sos>", *keys[:-1]]'},
            also=[{"xticklabels=keys": "xticklabels=[*keys[1:], '']"},
                  {"yticklabels=queries": 'yticklabels=["<sos>", *queries[:-1]]'},
                  {"yticklabels=queries": "yticklabels=[*queries[1:], '']"}])  # fmt: skip
    mistake("repeated-once", "A token that occurs twice is labelled once",
            "`set` and dictionaries forget repetitions.",
            edits={"xticklabels=keys, yticklabels=queries": "xticklabels=list(dict.fromkeys(keys)), yticklabels=list(dict.fromkeys(queries))"})  # fmt: skip


def _add_axes(exercise: Exercise) -> None:
    mistake = exercise.misconception
    mistake("axes-ignored", "The Axes that are handed over are not used",
            "Whoever hands over `ax` wants the picture there.", edits={"if ax is None:": "if True:"})  # fmt: skip
    mistake("current-axes", "The picture lands on the current Axes, not on those handed over",
            "sns.heatmap takes an argument `ax`.", edits={DRAW: "sns.heatmap(cells, "})  # fmt: skip
    mistake("nothing-returned", "The Axes are not returned", "-> Axes.", edits={RETURN: "return None"})  # fmt: skip
    mistake("figure-returned", "The figure is returned, not the Axes", "-> Axes.", edits={RETURN: "return ax.figure"})  # fmt: skip
    mistake("no-own-axes", "Without `ax` the function fails", "Where ax is None it makes Axes of its own.",
            edits={"ax = plt.subplots(": "plt.subplots("})  # fmt: skip
    mistake("imshow", "The picture is drawn by imshow, not by seaborn's heatmap", "sns.heatmap(…)",
            edits={"sns.heatmap(cells, ax=ax, ": "(lambda cells, cbar=0, **o: ax.imshow(cells, vmin=0, vmax=1))(cells, "})  # fmt: skip
