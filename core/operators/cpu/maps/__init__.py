"""Functions per vertex and per edge on the CPU, with their templates."""
