"""The commands of `autograder`; `autograder.cli` puts them together."""
