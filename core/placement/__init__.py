"""Where the edges of a divided graph are: ranges of owners, the stores of their rows, and batches in parts."""
