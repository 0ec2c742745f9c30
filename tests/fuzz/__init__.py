"""Made-up input: a short slice in every run of the tests, thousands of examples with `-m fuzz`."""
