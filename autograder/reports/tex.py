"""Which formulas may be typeset: those made of the commands that mathematics is written with.

MathJax has more: commands that set a class, an id, a style or a link, load extensions, or define others.
"""

import re

_COMMAND = re.compile(r"\\([A-Za-z]+)")
_COMMANDS = """
alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa lambda mu nu xi pi varpi rho
varrho sigma varsigma tau upsilon phi varphi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi
Psi Omega hbar ell imath jmath Re Im aleph beth wp partial nabla infty emptyset varnothing forall exists
nexists neg lnot top bot angle triangle square Box blacksquare bullet circ star ast dagger ddagger cdot cdots
ldots dots dotsb dotsc vdots ddots prime backslash
frac dfrac tfrac cfrac sqrt binom dbinom tbinom over choose stackrel overset underset atop substack
sum prod coprod int iint iiint oint bigcup bigcap bigsqcup bigvee bigwedge bigoplus bigotimes bigodot limits
nolimits lim limsup liminf sup inf max min arg argmax argmin log ln lg exp sin cos tan cot sec csc arcsin
arccos arctan sinh cosh tanh coth det dim ker deg gcd hom Pr mod bmod pmod operatorname
pm mp times div oplus ominus otimes odot oslash wedge vee land lor cap cup sqcap sqcup setminus smallsetminus
wr amalg diamond bowtie leq le geq ge neq ne ll gg lll ggg equiv sim simeq approx cong propto doteq prec succ
preceq succeq subset supset subseteq supseteq subsetneq supsetneq sqsubseteq sqsupseteq in ni notin not mid
nmid parallel perp vdash dashv models asymp triangleq lesssim gtrsim leqslant geqslant
to gets leftarrow rightarrow leftrightarrow Leftarrow Rightarrow Leftrightarrow longleftarrow longrightarrow
longleftrightarrow Longleftarrow Longrightarrow Longleftrightarrow mapsto longmapsto hookleftarrow
hookrightarrow uparrow downarrow updownarrow Uparrow Downarrow nearrow searrow swarrow nwarrow implies iff
impliedby rightharpoonup leftharpoonup rightleftharpoons xrightarrow xleftarrow therefore because
left right middle big Big bigg Bigg bigl bigr Bigl Bigr biggl biggr Biggl Biggr langle rangle lfloor rfloor
lceil rceil lvert rvert lVert rVert vert Vert lbrace rbrace lbrack rbrack
hat widehat bar tilde widetilde vec dot ddot check breve acute grave overline underline overbrace underbrace
overrightarrow overleftarrow boxed phantom hphantom vphantom
mathbb mathbf mathcal mathfrak mathit mathrm mathscr mathsf mathtt boldsymbol bm pmb bf it rm cal tt text
textbf textit textrm textsf texttt textnormal mbox hbox displaystyle textstyle scriptstyle scriptscriptstyle
quad qquad enspace thinspace space tag notag nonumber begin end hline cr
"""
_HARMLESS = frozenset(_COMMANDS.split())


def is_harmless(text: str) -> bool:
    """Return whether a text holds only commands that typeset."""
    return _HARMLESS.issuperset(_COMMAND.findall(text))
