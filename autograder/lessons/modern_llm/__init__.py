"""Checks and known mistakes of lesson 09, a model with rotary positions, shared key heads and a cache."""
