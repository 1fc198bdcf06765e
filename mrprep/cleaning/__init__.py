"""Cleaning rules, one family a file: text in, text and a count of changed places out."""
