"""Weights of other programs into ours and back; after each conversion, logits of both on the same ids."""
