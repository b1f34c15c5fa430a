"""``intersect`` on the CPU, with its templates."""
