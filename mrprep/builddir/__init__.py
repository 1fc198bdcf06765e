"""What a build looks like on disk."""
