"""From a document to its rows, and from a row to its documents, read from the build alone."""
