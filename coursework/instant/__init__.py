"""The instant check: tries a student's answer on public examples and shows a card, offline."""
