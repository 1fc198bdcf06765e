"""Checks of a build's data, one a file: each sees blocks of sampled rows and returns findings."""
