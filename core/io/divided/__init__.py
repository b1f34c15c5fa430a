"""Files that several processes read: in stretches, and together."""
