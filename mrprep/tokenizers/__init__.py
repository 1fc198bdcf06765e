"""Tokenizers, one family a file behind one protocol, and what makes and uses vocabularies."""
