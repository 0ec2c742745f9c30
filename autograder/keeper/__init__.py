"""The warm process, and the keeper of each run: they stand between a student's process and the grader's.

They run inside the sandbox and outside the run. Of the rest of the autograder they import the probe alone.
"""
