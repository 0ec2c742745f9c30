"""The views are bertviz's own, draw without a network, and answer to the mouse."""

import inspect
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import bertviz
import pytest
import torch
from nbconvert import HTMLExporter
from nbformat import v4
from playwright.sync_api import Frame, Page, sync_playwright

from coursework import head_view, model_view

CHROMIUM = shutil.which("chromium")
browser_test = [
    pytest.mark.full("Chromium"),
    pytest.mark.skipif(CHROMIUM is None, reason="needs chromium"),
]
TOKENS = ["[CLS]", "a", "cat", "sat", "[SEP]", "the", "cat", "</s>", "[SEP]"]
# What VS Code lets an output do, as its notebook page says it; it has no require.js.
VSCODE = (
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; "
    "img-src https: http: data:; connect-src https:; child-src https: data: blob:;"
)


def previous(layers: int, heads: int, length: int) -> torch.Tensor:
    """Weights (L, H, S, S): head h looks h tokens back, and at the first where there is none."""
    table = torch.zeros(layers, heads, length, length)
    for head in range(heads):
        for query in range(length):
            table[:, head, query, max(query - head, 0)] = 1.0
    return table


def pair() -> dict[str, Any]:
    """Arguments for a sentence pair: two layers, three heads."""
    weights = previous(2, 3, len(TOKENS))
    weights[1] = weights[0].flip(0)  # in the second layer, head 2 looks at itself
    return {"attention": weights, "tokens": TOKENS, "sentence_b_start": 5}


def translation() -> dict[str, Any]:
    """Arguments for an encoder of three tokens and a decoder of four."""
    return {
        "encoder_attention": torch.full((2, 2, 3, 3), 1 / 3),
        "decoder_attention": [torch.eye(4).expand(1, 2, 4, 4)] * 2,
        "cross_attention": torch.eye(4)[None, None, :, :3].expand(2, 2, 4, 3),
        "encoder_tokens": ["five", "six", "<eos>"],
        "decoder_tokens": ["<bos>", "fünf", "sechs", "<eos>"],
    }


@pytest.fixture(scope="module")
def offline() -> Iterator[tuple[Page, list[str]]]:
    """A page whose every request but for files is refused, and written down."""
    asked: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1000, "height": 1600})
        page.route(lambda url: not url.startswith("file:"), lambda route: route.abort())
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: pytest.fail(f"a script failed: {error}"))
        yield page, asked
        browser.close()


@pytest.fixture
def frames(offline: tuple[Page, list[str]], tmp_path: Path) -> Iterator[Callable[..., list[Frame]]]:
    """Show HTML in a page and return its frames; in the end, nothing was asked of a network."""
    page, asked = offline
    asked.clear()

    def show(*pieces: str, head: str = "") -> list[Frame]:
        file = tmp_path / "page.html"
        file.write_text(f"<!doctype html><meta charset=utf-8>{head}<body>{''.join(pieces)}")
        page.goto(file.as_uri())
        views = [frame for frame in page.frames if frame != page.main_frame]
        for view in views:
            view.wait_for_selector("#vis svg line", state="attached")
        return views

    yield show
    assert [url for url in asked if not url.startswith(("file:", "data:", "about:"))] == []


def seen(frame: Frame) -> set[tuple[int, int]]:
    """Return (query, key) of every line of a head view that can be seen now."""
    lines = frame.eval_on_selector_all(
        "#attention line",
        """lines => lines.filter(line => getComputedStyle(line).visibility === 'visible'
               && +line.getAttribute('stroke-opacity') > 0)
           .map(line => [+line.getAttribute('left-token-index'), +line.getAttribute('right-token-index')])""",
    )
    return {(query, key) for query, key in lines}


def back(steps: int) -> set[tuple[int, int]]:
    """Return the lines of a head that looks so many tokens back."""
    return {(query, max(query - steps, 0)) for query in range(len(TOKENS))}


@pytest.mark.parametrize("name", ["head_view", "model_view"])
def test_the_arguments_are_those_of_bertviz(name: str) -> None:
    """Same names in the same order, so bertviz's documentation holds for ours."""
    ours = {"head_view": head_view, "model_view": model_view}[name]
    theirs = getattr(bertviz, name)
    assert list(inspect.signature(ours).parameters) == list(inspect.signature(theirs).parameters)


def test_importing_the_coursework_imports_no_view() -> None:
    """A lesson without views does not wait for bertviz."""
    code = "import sys, coursework; print('bertviz' in sys.modules, 'torch' in sys.modules)"
    command = [sys.executable, "-c", code]
    told = subprocess.run(command, capture_output=True, text=True, check=True)
    assert told.stdout.split() == ["False", "False"]


@pytest.mark.parametrize("view", [head_view, model_view])
def test_a_view_is_reproducible_and_below_a_megabyte(view: Callable[..., Any]) -> None:
    """The same weights give the same HTML; a BERT of 6 layers of 12 heads fits."""
    weights = torch.rand(6, 12, 18, 18).softmax(-1)
    tokens = [f"t{i}" for i in range(18)]
    html = view(weights, tokens, sentence_b_start=9).data
    assert html == view(tuple(weights), tokens, sentence_b_start=9).data
    assert len(html.encode()) < 1_000_000


@pytest.mark.parametrize("view", [head_view, model_view])
def test_what_does_not_fit_is_refused(view: Callable[..., Any]) -> None:
    """Bertviz's own checks are still there, and ours of the one argument we changed."""
    with pytest.raises(ValueError, match="positions, while number of tokens is 8"):
        view(pair()["attention"], TOKENS[:-1])
    with pytest.raises(ValueError, match="html_action"):
        view(**pair(), html_action="show")
    with pytest.raises(ValueError, match="at least one attention"):
        view()


def test_view_as_an_action_shows_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    """html_action="view" is bertviz's way: shown now, and nothing returned to be shown twice."""
    assert model_view(**pair(), html_action="view") is None
    assert "HTML" in capsys.readouterr().out


class TestHeadView:
    """One layer, a colour a head."""

    pytestmark = browser_test

    def test_hovering_shows_one_tokens_lines(self, frames: Callable[..., list[Frame]]) -> None:
        """All lines at first; under the mouse those of one token, on either side."""
        (view,) = frames(head_view(**pair()).data)
        assert seen(view) == back(0) | back(1) | back(2)
        view.locator("#left text").nth(4).hover()
        assert seen(view) == {(4, 4), (4, 3), (4, 2)}
        view.locator("#right text").nth(4).hover()
        assert seen(view) == {(4, 4), (5, 4), (6, 4)}
        view.locator("#layer").hover()
        assert seen(view) == back(0) | back(1) | back(2)

    def test_layer_and_head_can_be_chosen(self, frames: Callable[..., list[Frame]]) -> None:
        """A double click leaves one head, a click adds one; another layer shows its own weights."""
        (view,) = frames(head_view(**pair()).data)
        boxes = view.locator("#vis svg > g").last.locator("rect")
        boxes.nth(2).dblclick()
        assert seen(view) == back(2)
        boxes.nth(1).click()
        assert seen(view) == back(2) | back(1)
        boxes.nth(1).click()
        view.select_option("#layer", "1")
        assert seen(view) == back(0)

    def test_the_start_can_be_chosen(self, frames: Callable[..., list[Frame]]) -> None:
        """`layer` and `heads` say what is seen at first."""
        (view,) = frames(head_view(**pair(), layer=1, heads=[1]).data)
        assert view.input_value("#layer") == "1"
        assert seen(view) == back(1)

    def test_the_sentences_of_a_pair_can_be_chosen(
        self, frames: Callable[..., list[Frame]]
    ) -> None:
        """Sentence A to sentence B leaves the tokens of each on its own side."""
        (view,) = frames(head_view(**pair()).data)
        view.select_option("#filter", label="Sentence B -> Sentence A")
        assert view.locator("#left text").all_text_contents() == TOKENS[5:]
        assert view.locator("#right text").all_text_contents() == TOKENS[:5]

    def test_cross_attention_has_two_languages(self, frames: Callable[..., list[Frame]]) -> None:
        """Decoder tokens on the left read encoder tokens on the right."""
        (view,) = frames(head_view(**translation()).data)
        view.select_option("#filter", label="Cross")
        assert view.locator("#left text").all_text_contents() == translation()["decoder_tokens"]
        assert view.locator("#right text").all_text_contents() == translation()["encoder_tokens"]
        assert seen(view) == {(0, 0), (1, 1), (2, 2)}

    def test_every_line_fits_its_frame(self, frames: Callable[..., list[Frame]]) -> None:
        """Nothing is cut off, whichever sentences are chosen."""
        for arguments in (pair(), translation()):
            (view,) = frames(head_view(**arguments).data)
            assert view.evaluate(FITS)


FITS = """() => document.documentElement.scrollHeight <= innerHeight
              && document.documentElement.scrollWidth <= innerWidth"""


class TestModelView:
    """All layers and heads in a table."""

    pytestmark = browser_test
    THUMBNAILS = "#vis svg > g > rect:last-child"

    def test_a_click_enlarges_one_head(self, frames: Callable[..., list[Frame]]) -> None:
        """The enlarged picture says which head it is, and goes when it is clicked again."""
        (view,) = frames(model_view(**pair()).data)
        assert view.locator(self.THUMBNAILS).count() == 6
        view.locator(self.THUMBNAILS).nth(4).click(position={"x": 5, "y": 5})
        assert view.locator("text.detail").text_content() == "Layer 1, Head 1"
        assert view.locator("text.token").all_text_contents() == TOKENS * 2
        view.locator(self.THUMBNAILS).nth(4).click(position={"x": 5, "y": 5})
        assert view.locator(".detail").count() == 0

    def test_hovering_filters_the_enlarged_picture(
        self, frames: Callable[..., list[Frame]]
    ) -> None:
        """Only the lines of the token under the mouse stay."""
        (view,) = frames(model_view(**pair(), include_heads=[0, 2]).data)
        view.locator(self.THUMBNAILS).nth(1).click(position={"x": 5, "y": 5})
        assert view.locator("text.detail").text_content() == "Layer 0, Head 2"
        view.locator("text.token").nth(3).hover()
        shown = view.eval_on_selector_all(
            ".attn-line-group",
            "groups => groups.map((g, i) => +g.style.opacity ? i : -1).filter(i => i >= 0)",
        )
        assert shown == [3]

    def test_cross_attention_can_be_chosen(self, frames: Callable[..., list[Frame]]) -> None:
        """Encoder, decoder and cross-attention are one choice away; a table each."""
        (view,) = frames(model_view(**translation(), display_mode="light").data)
        for label, lines in {"Encoder": 9, "Decoder": 16, "Cross": 12}.items():
            view.select_option("#filter", label=label)
            assert view.locator("#vis line").count() == 2 * 2 * lines

    @pytest.mark.parametrize("width", [1000, 600, 350])
    def test_the_table_fits_its_frame(self, frames: Callable[..., list[Frame]], width: int) -> None:
        """The table shrinks with the page: nothing is cut off on a narrow one, and little is left empty."""
        (view,) = frames(f"<div style='width:{width}px'>{model_view(**pair()).data}</div>")
        view.wait_for_selector("svg[viewBox]")
        assert view.evaluate(FITS)
        assert (
            view.evaluate("innerHeight - document.querySelector('svg').getBoundingClientRect().bottom") < 80
        )


@pytest.mark.parametrize("policy", ["", VSCODE], ids=["browser", "VS Code's rules"])
@pytest.mark.full("Chromium")
@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")
def test_two_views_on_one_page_leave_each_other_alone(
    frames: Callable[..., list[Frame]], policy: str
) -> None:
    """The same picture twice and another: what is chosen in one is not chosen in the next."""
    head = f'<meta http-equiv="Content-Security-Policy" content="{policy}">' if policy else ""
    twice = head_view(**pair()).data
    first, second, third = frames(twice, twice, model_view(**pair()).data, head=head)
    first.locator("#vis svg > g").last.locator("rect").nth(2).dblclick()
    first.locator("#left text").nth(5).hover()
    assert seen(first) == {(5, 3)}
    assert seen(second) == back(0) | back(1) | back(2)
    assert third.locator("#vis line").count() == 6 * len(TOKENS) ** 2
    assert first.page.evaluate("[typeof d3, typeof jQuery, typeof requirejs]") == ["undefined"] * 3


@pytest.mark.full("Chromium")
@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")
def test_an_exported_page_shows_the_view(frames: Callable[..., list[Frame]]) -> None:
    """A notebook that was run and exported to HTML keeps its views alive."""
    data = {"text/html": head_view(**pair()).data}
    cell = v4.new_code_cell("head_view()", outputs=[v4.new_output("execute_result", data)])
    exporter = HTMLExporter(mathjax_url="", require_js_url="", template_name="basic")
    page, _ = exporter.from_notebook_node(v4.new_notebook(cells=[cell]))
    (view,) = frames(page)
    view.locator("#left text").nth(4).hover()
    assert seen(view) == {(4, 4), (4, 3), (4, 2)}
