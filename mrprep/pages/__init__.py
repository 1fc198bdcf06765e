"""Self-contained HTML pages with figures: values in, HTML out. Knows nothing of builds, text or training."""
