"""Filter rules, one family a file: a profile of a text and thresholds in, the complaint or None out."""
