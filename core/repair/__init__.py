"""The dependence forest ``su.Forest``: words that depend on each other along edges, repaired around a change."""
