"""MinHash near-duplicate search on arrays: no files, no processes, one thing a file."""
