"""Pushes on the CPU: ``advance`` and ``propagate``, with their templates."""
