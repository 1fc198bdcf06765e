"""Evaluation sets: their n-grams, and where these stand in documents."""
