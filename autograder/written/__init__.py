"""`autograder written`: a small server on this machine with a page for each written answer."""
