"""Lesson 01, embeddings."""
