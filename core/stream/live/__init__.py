"""Jobs as services: in a thread, asked from others, and with metrics that are served."""
