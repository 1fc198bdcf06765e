"""The phases of the dedupe stage, on files: candidates, their shingles, comparison, verdicts."""
