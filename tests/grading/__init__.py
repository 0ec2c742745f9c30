"""Tests of recording, with a tiny course."""
