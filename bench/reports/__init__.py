"""Results on disk, and the tables and plots that are made of them."""
