"""The half that runs in the sandbox: it calls what it is told to call, and sends back values.

Nothing here knows an expected value, a check or an answer, and nothing here imports the rest of
`autograder`: of that, only this folder and the lessons' fixtures are visible inside the sandbox.
"""
