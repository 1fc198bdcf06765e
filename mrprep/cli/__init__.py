"""The command line: one command a file. Nothing heavy is imported before a command runs."""
