"""Loops and kernels outside the operators that work over the cursor of any backend: templates, programs, arc lists."""
