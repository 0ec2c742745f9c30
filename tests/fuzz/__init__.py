"""Made-up input: few examples in `make test-all`, and as many as `EXAMPLES` says: `EXAMPLES=3000 pytest tests/fuzz`."""
