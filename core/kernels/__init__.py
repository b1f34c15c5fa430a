"""Loops and kernels of one's own over the cursor of any backend: templates, programs, arc lists, rounds."""
