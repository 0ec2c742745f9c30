"""A page to read and to count: the text of the vocabulary exercises, written for this course."""

from pathlib import Path
from typing import Final

PAGE: Final = (Path(__file__).parent / "data/page.txt").read_text("utf-8")
