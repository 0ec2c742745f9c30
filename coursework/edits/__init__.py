"""Small changes of an answer's own code, in search of the place where it is wrong.

Nothing here knows a right answer: each change is one that could be made to any code. What such a change
leads to is tried elsewhere.
"""
