"""mrprep: from a folder of raw text to packed, sharded MindSpore MindRecord, and a trainer that reads it."""

__version__ = "0.1.0"
