"""The instructor's half: builds lessons, grades submissions, names mistakes, reports on a class."""

import sys

# jsonschema, which reads notebooks, imports this if it can, for identifiers that no notebook holds. It
# parses a grammar of its own when it is imported, which takes longer than grading a notebook.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type] # None: not to be imported
