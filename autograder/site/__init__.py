"""The lessons as pages to read in a browser, without Jupyter and without a network."""
