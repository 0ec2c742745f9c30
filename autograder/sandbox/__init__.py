"""Where student code runs: a warm process under bubblewrap, and a fresh fork of it for each run."""
