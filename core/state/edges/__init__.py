"""The edge set: a few edges beside a graph, as a hash table and as rows by source."""
