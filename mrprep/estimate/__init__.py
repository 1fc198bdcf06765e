"""What a build and a training will cost, before either begins: from a sample of the text and from formulas."""
