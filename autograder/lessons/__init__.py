"""The checks and mistakes of each lesson: one package a lesson, one module and one YAML an exercise.

The lesson's text declares the exercises, their order and their points. `load_lesson` in `loading`
puts the two together. In the sandbox only the `fixtures` modules can be seen.

The sources in `reference` also stand in for a student's earlier answers (see `judge.oracle`): torch,
nn, F and math are in scope there, and the functions and classes of ours that they name.
"""
