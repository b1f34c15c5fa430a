"""Loops of the operators: ordinary modules, from which ``instances`` makes one per cursor and edge function."""
