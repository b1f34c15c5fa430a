"""State on the device that operators and algorithms share: frontiers, words, scalars, union-find, workspace, locks."""
