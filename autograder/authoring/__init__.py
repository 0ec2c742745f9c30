"""From a lesson's text to its notebooks; holds the text against the checks and the mistakes."""
