"""Finished builds that grow and shrink: what an addition or a removal makes of their books and tables."""
