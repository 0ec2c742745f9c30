"""bertviz's head view and model view as one piece of HTML each, which needs no network.

bertviz (Vig 2019, arXiv:1906.05714) draws with d3 and jQuery, which it fetches from a content
network through require.js: no picture without a network, nor where the page has no require.js. Here
its own drawing is put into a frame of its own, together with both libraries. In the frame it finds
what it needs and nothing else, so several views on one page leave each other and the page alone.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Final

import torch
from IPython.display import HTML, display
from torch import Tensor

Attention = Tensor | Sequence[Tensor]
DECIMALS: Final = 3  # a weight is drawn as an opacity: more digits would make no difference to see
PARAMS: Final = re.compile(r"const params = (\{.*\}); // HACK")
SCRIPT: Final = re.compile(r'<script type="text/javascript">(.*)</script>', re.DOTALL)
BODY: Final = re.compile(r"</script>(.*?)<script", re.DOTALL)
VIS_ID: Final = re.compile(r"bertviz-[0-9a-f]{32}")

# What bertviz asks of require.js, answered with what is in the frame.
SHIM: Final = "var require={config(){}},requirejs=(names,draw)=>draw(jQuery,d3);"
TABLE, MENU = 970, 70  # pixels: how wide bertviz draws a model view, and how high the menu above it is
# Let it shrink with a narrow page.
SHRINK: Final = """new MutationObserver(() => {
  const svg = document.querySelector("svg[width='970']");
  if (svg) svg.setAttribute("viewBox", `0 0 970 ${svg.getAttribute("height")}`);
}).observe(document.body, {childList: true, subtree: true});"""
STYLE: Final = """html{color-scheme:light;background:#fff}
body{margin:8px;font:15px 'Helvetica Neue',Helvetica,Arial,sans-serif}
select{font:inherit;margin:0 1em 6px 2px}svg[viewBox]{max-width:100%;height:auto}
body:has(#layer){zoom:1.3}"""  # the head view's type is small for the back row


def head_view(  # noqa: PLR0917 - the arguments are bertviz's, in its order
    attention: Attention | None = None,
    tokens: Sequence[str] | None = None,
    sentence_b_start: int | None = None,
    prettify_tokens: bool = True,
    layer: int | None = None,
    heads: Sequence[int] | None = None,
    encoder_attention: Attention | None = None,
    decoder_attention: Attention | None = None,
    cross_attention: Attention | None = None,
    encoder_tokens: Sequence[str] | None = None,
    decoder_tokens: Sequence[str] | None = None,
    include_layers: Sequence[int] | None = None,
    html_action: str = "return",
) -> HTML | None:
    """Draw one layer's attention as lines from each token to those it attends to, a colour a head.

    The arguments are those of bertviz.head_view. Attention: a tensor (L, H, S, S), or one tensor
    (1, H, S, S) for each layer; cross-attention: (L, H, T, S), T decoder tokens by S encoder
    tokens. Returns the picture; with html_action="view" shows it at once and returns None. Raises
    ValueError where tokens and attention do not fit together.
    """
    options = dict(locals())
    from bertviz import head_view as draw

    return _picture(draw, options, "Head view of attention", _head_height)


def model_view(  # noqa: PLR0917 - the arguments are bertviz's, in its order
    attention: Attention | None = None,
    tokens: Sequence[str] | None = None,
    sentence_b_start: int | None = None,
    prettify_tokens: bool = True,
    display_mode: str = "dark",
    encoder_attention: Attention | None = None,
    decoder_attention: Attention | None = None,
    cross_attention: Attention | None = None,
    encoder_tokens: Sequence[str] | None = None,
    decoder_tokens: Sequence[str] | None = None,
    include_layers: Sequence[int] | None = None,
    include_heads: Sequence[int] | None = None,
    html_action: str = "return",
) -> HTML | None:
    """Draw all layers and heads as small pictures in a table; a click on one enlarges it.

    The arguments are those of bertviz.model_view, with attention as in `head_view`. Returns the
    picture; with html_action="view" shows it at once and returns None. Raises ValueError where
    tokens and attention do not fit together.
    """
    options = dict(locals())
    from bertviz import model_view as draw

    return _picture(draw, options, "Model view of attention", _model_height)


def _picture(
    draw: Callable[..., HTML], options: dict[str, Any], title: str, height: Callable[[Mapping[str, Any]], str]
) -> HTML | None:
    """Let bertviz draw rounded layers (1, H, T, S), put the result into a frame, and return or show it."""
    html_action = options.pop("html_action")
    if html_action not in ("return", "view"):
        raise ValueError(f"html_action is 'return' or 'view', not {html_action!r}")
    for name, value in options.items():
        if value is not None and name.endswith("attention"):
            layers = [torch.as_tensor(layer).detach().cpu().double() for layer in value]
            rounded = [layer.round(decimals=DECIMALS) for layer in layers]
            options[name] = [layer.unsqueeze(0) if layer.dim() == 3 else layer for layer in rounded]
        elif isinstance(value, Sequence) and not isinstance(value, str):
            options[name] = list(value)
    view = draw(**options, html_action="return").data
    body, script = BODY.search(view), SCRIPT.search(view)
    params = script and PARAMS.search(script[1])
    if not (body and script and params):
        raise RuntimeError("bertviz draws in another way than 1.4.1 does: install bertviz==1.4.1")
    drawn = json.loads(params[1])
    # A token such as "</s>" must not seem to end the script.
    compact = json.dumps(drawn, separators=(",", ":")).replace("<", "\\u003c")
    scripts = (_vendored("d3.min.js"), _vendored("jquery.slim.min.js"), SHIM)
    page = (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><style>{STYLE}</style>'
        + "".join(f"<script>{text}</script>" for text in scripts)
        + f"<body>{body[1].strip()}<script>{SHRINK}</script>"
        + f"<script>{script[1].replace(params[1], compact)}</script></body></html>"
    )
    page = VIS_ID.sub("bertviz", page)
    inside = page.replace("&", "&amp;").replace("'", "&#39;")  # the scripts have more " than '
    style = f"width:100%;{height(drawn)};border:0;display:block;background:#fff"
    frame = f'<iframe title="{title}" sandbox="allow-scripts" style="{style}" srcdoc='
    html = HTML(f"<div style='container-type:inline-size'>{frame}'{inside}'></iframe></div>")
    return html if html_action == "return" else display(html)


@cache
def _vendored(name: str) -> str:
    """Return the text of a library that lies beside this module; its licence lies there too."""
    return (files("coursework") / "vendor" / name).read_text(encoding="utf-8")


def _rows(params: Mapping[str, Any]) -> int:
    """Return how many tokens the longest list of a picture has."""
    views = params["attention"]
    return max(max(len(view["left_text"]), len(view["right_text"])) for view in views)


def _head_height(params: Mapping[str, Any]) -> str:
    """Return the height of a head view: a line a token, under the choices and the colours."""
    return f"height:{1.3 * (22.5 * _rows(params) + 90):.0f}px"


def _model_height(params: Mapping[str, Any]) -> str:
    """Return the height of a model view: its table, or the enlarged picture where that is more.

    On a page narrower than the table, the table shrinks with it, and the menu above does not.
    """
    rows, layers = _rows(params), len(params["include_layers"])
    table = layers * (84 / params["total_heads"] * rows + 10) + 38
    drawing = max(table, 18 * rows + 55)
    narrow = f"calc({MENU}px + {100 * drawing / TABLE:.0f}cqw)"
    return f"height:{drawing + MENU:.0f}px;height:min({drawing + MENU:.0f}px,{narrow})"
