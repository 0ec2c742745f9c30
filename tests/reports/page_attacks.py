"""Markdown with which a student might reach for a button of formgrader, or for a style or script of a page."""

EXERCISES = ("double-test", "halve-test", "why")
_COVER = "position:fixed;top:0;left:0;width:100%;height:100%;z-index:99999;opacity:0.01"


def button(kind: str, attribute: str = "class") -> str:
    """Return elements that formgrader's script takes for its own buttons, one for each exercise.

    bootstrap's classes lay them invisibly over the whole page.
    """
    inside = "".join(f'<span id="{name}"></span>' for name in EXERCISES)
    return (
        f'<div {attribute}="nbgrader_cell"><div {attribute}="{kind} modal-backdrop fade in" style="{_COVER}">'
        f"{inside}</div></div>"
    )


CLICKS = {
    "full credit by class": button("full-credit"),
    "no credit by class": button("no-credit"),
    "resolve by class": button("mark-graded"),
    "single quotes, capitals": button("full-credit").replace('"', "'").replace("class", "CLASS"),
    "in a table": f"| a |\n|---|\n| {button('full-credit')} |",
    "in a list": f"- x\n\n  {button('full-credit')}",
    "in a heading": f"# {button('full-credit')}",
    "in a details": f"<details open>\n\n{button('full-credit')}\n\n</details>",
    "split by blank lines": button("full-credit").replace("><", ">\n\n<"),
    "by entities": button("full-credit").replace("class", "cl&#97;ss"),
    "after an unfinished comment": "<!-- x --!>" + button("full-credit"),
    "in a foreign element": f"<svg><foreignObject>{button('full-credit')}</foreignObject></svg>",
    "in mathml": f"<math><mtext>{button('full-credit')}</mtext></math>",
    "in a noscript": f"<noscript><p title='</noscript>{button('full-credit')}'></noscript>",
    "in a code block": f"```html\n{button('full-credit')}\n```",
    "in a title": f'<a title="{button("full-credit").replace(chr(34), "&quot;")}">x</a>',
    "through code": f'<div title="\n\n```python\n">{button("full-credit")}\n```\n',
}
BINDINGS = {
    "ids of headings": "\n\n".join(f"# {name}" for name in EXERCISES),
    "formula with a class": r"$\class{full-credit}{x}$ $$\cssId{why}{x}$$ $\style{position:fixed}{x}$",
    "formula by entities": r"&#36;&#92;class{full-credit}{x}&#36; &dollar;&bsol;cssId{why}{x}&dollar;",
    "formula that defines": r"\begin{align}\def\x{\class}\require{html}\x{a}{b}\href{javascript:x}{y}\end{align}",
    "formula around a comment": "$\\cl<!-- -->ass{full-credit}{x}$ $\\<b></b>class{a}{b}$ $\\cl<i>a</i>ss{a}{b}$",
    "data of bootstrap": '<a data-toggle="modal" data-target="#x" href="#">x</a><i data-link="/etc">x</i>',
    "clobbered names": '<img name="formgrader"><form id="base_url"><input name="score" class="score"></form>',
    "labels": '<label for="why">x</label><button form="x" formaction="/">x</button><output for=why>',
    "aria": '<div role="button" aria-label="Next" tabindex="1" accesskey="n" contenteditable>x</div>',
    "handlers": "<img src=x onerror=a()><details ontoggle=a() open>x</details><b onclick=a()>x</b>",
    "links": "[a](/logout) [b](../x) [c](javascript:a()) [d](//evil) [e](data:text/html,x) <a href=' java\nscript:x'>f</a>",
    "pictures": "![a](http://evil/x.png) ![b](/logout) ![c](data:image/svg+xml;base64,x) <img src='../../x' srcset='http://evil/y 1x'>",
    "attachments": "![a](attachment:none.png)",
    "styles": "<style>body{display:none}</style><link rel=stylesheet href=http://evil><p style='position:fixed'>x",
    "frames": "<iframe srcdoc='<script>a()</script>'></iframe><object data=x></object><embed src=x><base href=//evil>",
    "scripts": "<script>a()</script><scr<script>ipt>a()</script><svg><script>a()</script></svg><math href='javascript:x'>",
    "mutations": "<math><mtext><table><mglyph><style><!--</style><img title='--&gt;&lt;img src=1 onerror=a()&gt;'>",
    "mermaid": '```mermaid\ngraph LR\nA["<img src=x onerror=a()>"]\n```\n<pre class="mermaid">x</pre>',
    "control characters": "a\x1b[2Jb\u202ec<di\0v class=x>d\x08\u2028",
}
ATTACKS = CLICKS | BINDINGS
