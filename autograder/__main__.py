"""The command line, as `python -m autograder`."""

from autograder.cli import main

main(prog_name="autograder")
