"""Reading a lesson as its author writes it: py:percent text with one tag to a cell."""
