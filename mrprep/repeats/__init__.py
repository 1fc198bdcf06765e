"""Text that comes again in other documents of its source: what is counted, and how it is taken out."""
