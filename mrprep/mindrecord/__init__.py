"""The only place that touches MindRecord; MindSpore is imported inside functions here."""
