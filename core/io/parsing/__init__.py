"""Text formats: from bytes to columns, and from labels to ids."""
