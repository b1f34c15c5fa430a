"""What a window over a stream holds: when slides close (``rule``), and the events and edges in it (``ring``)."""
