"""Tries an answer, compares results, describes and draws what differs: for the notebook and for the grader.

Students have all of it, and it holds nothing secret: no input that is graded, no reference, no mistake.
"""
