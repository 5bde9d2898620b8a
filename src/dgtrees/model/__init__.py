"""What becomes of a finished tree: files, text, pictures."""
