"""The instructor's half: builds lessons, grades submissions, names mistakes, reports on a class."""
