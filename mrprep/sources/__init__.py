"""From a folder of files to documents: find them, cut them into spans, read each span as a stream."""
