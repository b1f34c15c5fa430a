"""The loops of ``heaviest``: a template over the cursor of any backend."""

from suricate.kernels import inner, kernel, neighbors, weight


@inner
def heaviest_of(g, u, factor):
    """Return the greatest weight of the edges of ``u``, scaled."""
    greatest = 0.0
    for _, slot in neighbors(g, u):
        scaled = float(weight(g, slot)) * factor
        if scaled > greatest:
            greatest = scaled
    return greatest


@kernel
def look_at_all(g, num_vertices, factor, heaviest):
    """Look at every vertex."""
    for u in range(num_vertices):
        heaviest[u] = heaviest_of(g, u, factor)


@kernel
def look_at_ends(g, src, dst, status, wanted, size, factor, heaviest):
    """Look at the sources of the arcs whose ``status`` is ``wanted``; an empty ``status`` means all."""
    for i in range(size):
        if len(status) == 0 or status[i] == wanted:
            heaviest[src[i]] = heaviest_of(g, src[i], factor)
