"""Where results are kept: the attempt log, nbgrader's gradebook and the autograded folder."""
