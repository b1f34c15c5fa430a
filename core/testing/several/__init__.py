"""Kits for what several processes take part in."""
