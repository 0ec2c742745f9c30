"""The instructor's half: builds lessons, marks submissions, names mistakes, reports on a class."""
