"""Checks of `LanguageModel`."""

import torch

from autograder.judge.draw import Draw
from autograder.judge.exercise import Exercise, Lesson, Stimulus, module
from autograder.judge.judgement import agrees
from autograder.lessons.multi_head_attention.symptoms import gradients_arrive, unchanged_call
from autograder.lessons.transformer import reference
from autograder.lessons.transformer.symptoms import GENERAL, moved, not_registered
from autograder.lessons.transformer.weights import language_model

SIZES = [13, 8, 2, 4, 12]  # vocabulary, d_model, layers, heads, d_ff
NEARLY_ALL = 1 - 1e-9
LEARNT = (
    "embedding.embed.weight", "layers.0.self_attention.w_q.weight", "layers.1.feed_forward.linear1.weight",
    "layers.1.norm2.bias", "norm.weight", "norm.bias", "project.weight", "project.bias",
)  # fmt: skip
NORM = "return self.project(self.norm(x))"
LAYERS = (
    "layers = [CausalDecoderLayer(d_model, num_heads, d_ff, dropout) for _ in range(num_layers)]"
)
POSITION, CLIMB = "x = self.position(x)", "x = layer(x)"
MAKES_POSITION = "self.position = PositionalEncoding(d_model, max_len, dropout)"


def add_language_model(lesson: Lesson) -> None:
    """Declare the exercise, its cases and its misconceptions."""
    exercise = lesson.exercise(
        "language-model", 2, "LanguageModel", reference=reference.LanguageModel
    )
    _add_values(exercise)
    _add_properties(exercise)
    _add_others(exercise)
    _add_flow_mistakes(exercise)
    _add_part_mistakes(exercise)


def _ids(draw: Draw, *shape: int) -> torch.Tensor:
    return draw.integers(3, 13, *shape)


def _add_values(exercise: Exercise) -> None:
    @exercise.case("logits for three texts of five tokens", judge=agrees(*GENERAL), weight=2)
    def logits(draw: Draw) -> Stimulus:
        return module(SIZES, language_model(draw, 13), [_ids(draw, 3, 5)])

    @exercise.case("one token, and then as many tokens as words", judge=agrees(*GENERAL))
    def other_lengths(draw: Draw) -> Stimulus:
        return module(SIZES, language_model(draw, 13), [_ids(draw, 2, 1)], [_ids(draw, 2, 13)])

    @exercise.case("another number of layers and heads", judge=agrees(*GENERAL))
    def three_layers(draw: Draw) -> Stimulus:
        weights = language_model(draw, 13, d_model=6, num_layers=3, d_ff=5)
        return module([13, 6, 3, 1, 5], weights, [_ids(draw, 2, 4)])


def _add_properties(exercise: Exercise) -> None:
    @exercise.case("the future stays out of sight", judge=moved("Changing token 3", 3))
    def causal(draw: Draw) -> Stimulus:
        ids = _ids(draw, 3, 6)
        other = ids.clone()
        other[:, 3] = 3 + (ids[:, 3] - 2) % 10
        return Stimulus("rows_moved", {**module(SIZES, {}, [ids], [other]).inputs, "rows": 3})

    @exercise.case(
        "every position reads all that came before", judge=moved("Changing token 0", 0), weight=0.5
    )
    def history(draw: Draw) -> Stimulus:
        ids = _ids(draw, 3, 6)
        other = ids.clone()
        other[:, 0] = 3 + (ids[:, 0] - 2) % 10
        return Stimulus("rows_moved", {**module(SIZES, {}, [ids], [other]).inputs, "rows": 3})

    @exercise.case(
        "a text gives the same alone and in a batch",
        judge=moved("Taking text 0 out of its batch", None),
        weight=0.5,
    )
    def alone(draw: Draw) -> Stimulus:
        ids = _ids(draw, 3, 6)
        return Stimulus(
            "rows_moved", {**module(SIZES, {}, [ids], [ids[:1].clone()]).inputs, "rows": 1}
        )


def _add_others(exercise: Exercise) -> None:
    @exercise.case("an optimiser is given every part", judge=not_registered)
    def registered(_draw: Draw) -> Stimulus:
        return Stimulus("registered", {**module(SIZES, {}, []).inputs, "attributes": list(LEARNT)})

    @exercise.case("gradients reach every part", judge=gradients_arrive)
    def learns(draw: Draw) -> Stimulus:
        weights = language_model(draw, 13)
        inputs = {
            **module(SIZES, weights, [_ids(draw, 2, 5)]).inputs,
            "cotangent": draw.normal(2, 5, 13),
        }
        return Stimulus("gradients_at", {**inputs, "paths": list(LEARNT)})

    @exercise.case("dropout is on in train mode, and as strong as asked for")
    def dropout(draw: Draw) -> Stimulus:
        return module(
            [*SIZES, 9, NEARLY_ALL], language_model(draw, 13), [_ids(draw, 2, 5)], train=True
        )

    @exercise.case("a text longer than max_len raises ValueError", weight=0.5)
    def too_long(draw: Draw) -> Stimulus:
        return module([*SIZES, 6], {}, [_ids(draw, 2, 7)])

    @exercise.case("max_len may exceed 512", weight=0.5, judge=agrees(*GENERAL))
    def long_enough(draw: Draw) -> Stimulus:
        weights = language_model(draw, 13, d_model=4, num_layers=1, d_ff=4)
        return module([13, 4, 1, 1, 4, 540], weights, [_ids(draw, 1, 530)])

    @exercise.case(
        "it works in float64, and leaves its argument as it is",
        judge=unchanged_call(*GENERAL),
        weight=0.5,
    )
    def arguments(draw: Draw) -> Stimulus:
        asked = module(SIZES, language_model(draw, 13), [_ids(draw, 2, 5)]).inputs
        return Stimulus("methods", {**asked, "methods": [""], "real": [None], "double": True})


def _add_flow_mistakes(exercise: Exercise) -> None:
    mistake = exercise.misconception
    mistake("norm-missing", "The last norm is missing, or not used",
            "Pre-norm layers add to x without ever normalising it.", edits={NORM: "return self.project(x)"})  # fmt: skip
    mistake("norm-after-projection", "The norm is taken of the logits, not of what is projected",
            "First norm, then project.", edits={NORM: "return F.layer_norm(self.project(x), (self.project.out_features,))"})  # fmt: skip
    mistake("norm-first", "The norm comes before the layers, not after them",
            "The first layer begins with a norm of its own.",
            edits={POSITION: "x = self.norm(self.position(x))", NORM: "return self.project(x)"})  # fmt: skip
    mistake("norm-each-layer", "The last norm is applied after every layer",
            "Once, at the end.", edits={CLIMB: "x = self.norm(layer(x))", NORM: "return self.project(x)"})  # fmt: skip
    mistake("position-missing", "The positions are never added", "To attention the order is nothing.",
            edits={POSITION: "pass"})  # fmt: skip
    mistake("position-each-layer", "The positions are added before every layer",
            "Once, at the bottom: the skip connections carry them up.",
            edits={POSITION: "pass", CLIMB: "x = layer(self.position(x))"})  # fmt: skip
    mistake("position-added-twice", "The token vectors are added once more to what already holds them",
            "PositionalEncoding returns x plus the positions.", edits={POSITION: "x = x + self.position(x)"})  # fmt: skip
    mistake("embedding-unscaled", "The token vectors are not scaled by √d_model",
            "TokenEmbedding scales when it is called; its `embed` does not.",
            edits={"x = self.embedding(ids)": "x = self.embedding.embed(ids)"})  # fmt: skip
    mistake("softmax", "There is a softmax in the model", "Logits are wanted.",
            edits={NORM: f"{NORM}.softmax(dim=-1)"})  # fmt: skip
    mistake("log-softmax", "There is a log-softmax in the model", "Logits are wanted.",
            edits={NORM: f"{NORM}.log_softmax(dim=-1)"})  # fmt: skip
    mistake("not-projected", "The features are returned, without projection to the vocabulary",
            "Logits are as wide as the vocabulary.", edits={NORM: "return self.norm(x)"})  # fmt: skip
    mistake("only-the-last", "Only the logits of the last position are returned",
            "In training every position is scored.", edits={NORM: f"{NORM}[:, -1]"})  # fmt: skip
    mistake("returns-in-the-loop", "Only the first layer is used: the return stands in the loop",
            "How often is the loop gone through?", edits={CLIMB: "x = layer(x); break"})  # fmt: skip
    mistake("layers-not-chained", "Every layer reads the bottom, and all but the last are forgotten",
            "What a layer returns is what the next one reads.",
            edits={POSITION: "x = self.position(x); bottom = x", CLIMB: "x = layer(bottom)"})  # fmt: skip
    mistake("layers-reversed", "The layers are gone through from the top down", "Layer 0 comes first.",
            edits={"for layer in self.layers:": "for layer in reversed(self.layers):"})  # fmt: skip
    mistake("skip-around-layers", "The input of each layer is added once more to its output",
            "The skip connections are inside the layer already.", edits={CLIMB: "x = x + layer(x)"})  # fmt: skip
    mistake("shifted-inside", "The model shifts its input itself",
            "language_windows has shifted already.",
            edits={"x = self.embedding(ids)": "x = self.embedding(shift_right(ids))"})  # fmt: skip


def _add_part_mistakes(exercise: Exercise) -> None:
    mistake = exercise.misconception
    mistake("layers-shared", "All layers are one and the same",
            "[layer] * 3 is one layer three times: make each anew.",
            edits={LAYERS: "layers = [CausalDecoderLayer(d_model, num_heads, d_ff, dropout)] * num_layers"})  # fmt: skip
    mistake("plain-list", "The layers are kept in a plain list, where no optimiser finds them",
            "nn.ModuleList registers what it holds.",
            edits={"self.layers = nn.ModuleList(layers)": "self.layers = layers"})  # fmt: skip
    mistake("one-layer", "num_layers is ignored: there is one layer", "Print len(model.layers).",
            edits={"range(num_layers)": "range(1)"})  # fmt: skip
    mistake("heads-ignored", "num_heads is ignored", "Print model.layers[0].self_attention.num_heads.",
            edits={LAYERS: LAYERS.replace("num_heads,", "1,")})  # fmt: skip
    mistake("heads-as-layers", "The number of layers and of heads are exchanged",
            "A layer is given heads; the loop counts layers.",
            edits={LAYERS: LAYERS.replace("num_heads", "num_layers").replace("range(num_layers)", "range(num_heads)")})  # fmt: skip
    mistake("d-ff-ignored", "d_ff is ignored", "Print model.layers[0].feed_forward.",
            edits={LAYERS: LAYERS.replace("d_ff", "4 * d_model")})  # fmt: skip
    mistake("layer-dropout-lost", "dropout is not passed on to the layers", "Four arguments each.",
            edits={LAYERS: LAYERS.replace(", dropout)", ")")})  # fmt: skip
    mistake("position-dropout-lost", "dropout is not passed on to the positions", "Three arguments.",
            edits={MAKES_POSITION: "self.position = PositionalEncoding(d_model, max_len)"})  # fmt: skip
    mistake("max-len-lost", "max_len is not passed on to the positions", "Three arguments.",
            edits={MAKES_POSITION: "self.position = PositionalEncoding(d_model, dropout=dropout)"})  # fmt: skip
    mistake("max-len-and-dropout-lost", "Neither max_len nor dropout is passed on to the positions",
            "Three arguments.", edits={MAKES_POSITION: "self.position = PositionalEncoding(d_model)"})  # fmt: skip
    mistake("projects-to-d-model", "The projection leads to d_model, not to the vocabulary",
            "One logit for each word.",
            edits={"nn.Linear(d_model, vocab_size)": "nn.Linear(d_model, d_model)"})  # fmt: skip
    mistake("no-bias", "The projection has no bias", "nn.Linear as it comes has one; leave it in.",
            edits={"nn.Linear(d_model, vocab_size)": "nn.Linear(d_model, vocab_size, bias=False)"})  # fmt: skip
    mistake("tied", "The projection shares its weights with the embedding",
            "A trick of its own (Press and Wolf 2016, arXiv:1608.05859); here `project` has its own weights.",
            edits={"self.project = nn.Linear(d_model, vocab_size)":
                   "self.project = nn.Linear(d_model, vocab_size); self.project.weight = self.embedding.embed.weight"})  # fmt: skip
