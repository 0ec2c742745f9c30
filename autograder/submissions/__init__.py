"""Finding, reading and aligning what students submitted."""
