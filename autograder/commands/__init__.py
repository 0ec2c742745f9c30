"""The commands of `autograder`, a module for each; `autograder.cli` puts them together."""
