"""What students get as one file: released lessons, what they import, and how to set up."""
