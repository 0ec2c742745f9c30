"""The search for the line: the smallest change of the student's own code with which every check passes."""
