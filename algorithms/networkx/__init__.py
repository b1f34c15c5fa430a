"""Functions of NetworkX over the algorithms; the entry points ``suricate.networkx`` list them (docs/networkx.md)."""
