"""The page of a training run: curves, incidents, where the time went, the data behind it."""
