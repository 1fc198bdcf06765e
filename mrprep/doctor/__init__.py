"""What a machine must have before the first step, one family of readings a file, and what a log's last words mean."""
