"""What a rank needs of the edges of others: their rows, slice by slice, and answers to what functions ask."""
