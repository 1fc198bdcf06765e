"""Phases, units, executors, fingerprints, the ledger and progress; knows nothing of text."""
