"""The colours of the heat map: from orange for 0 % over grey to blue for 100 %.

Orange and blue stay apart in every common form of colour blindness, and each cell has its number too.
A step is a background and the colour of the text on it.
"""

Step = tuple[str, str]

INK, PAPER = "#14181c", "#ffffff"
LIGHT: tuple[Step, ...] = (
    ("#a34a00", PAPER), ("#e08214", INK), ("#f4a54a", INK), ("#fdc88a", INK), ("#fbe5c8", INK),
    ("#eef0f1", INK), ("#d3e5f2", INK), ("#a9cfe8", INK), ("#74b3da", INK), ("#2c7bb6", PAPER),
    ("#0b5394", PAPER),
)  # fmt: skip
DARK: tuple[Step, ...] = (
    ("#ff9a3d", INK), ("#e08214", INK), ("#a85a0a", PAPER), ("#7d4a14", PAPER), ("#55402a", PAPER),
    ("#3a4148", PAPER), ("#2b4a61", PAPER), ("#235f88", PAPER), ("#2672a8", PAPER), ("#5aaee0", INK),
    ("#9bd2f5", INK),
)  # fmt: skip


def step(share: float) -> int:
    """Return the number of the step for a share from 0 to 1."""
    last = len(LIGHT) - 1
    return min(max(round(share * last), 0), last)
