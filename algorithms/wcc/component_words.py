"""The words of the forest of components: where their parts lie.

A word is 63 bits: the class of the root (0 is best), the scrambled id of the root, the distance from it. The smaller
word wins.
"""

from __future__ import annotations

from typing import NamedTuple

UNREACHED = 0x7FFFFFFFFFFFFFFF  #: the word of a vertex that has no root yet
MIX = 0x1E3779B1  #: odd: multiplying by it is one to one modulo a power of two
LONGEST = 4  #: bits of the longest length
RANKS = 5  #: bits of a class


class Layout(NamedTuple):
    """How a vertex's word in the forest of components is divided, from the highest bit: class, root, distance.

    Attributes:
        root_shift: the number of bits of the distance from the root, the lowest bits.
        root_bits: the number of bits of the scrambled id of the root, above the distance.
        length_mask: arcs have lengths from 1 to ``length_mask + 1``; their sum along a path is the distance.
        last_rank: the worst class of a root, the largest number; the best class is 0. Roots of better classes win.
        unmix: turns a scrambled id into the id: the inverse of the factor :data:`MIX` modulo ``2**root_bits``.
        limit: the greatest distance; above it the forest is built from scratch.
    """

    root_shift: int
    root_bits: int
    length_mask: int
    last_rank: int
    unmix: int
    limit: int


def layout_for(num_vertices: int) -> Layout:
    """Return the layout for a graph of ``num_vertices`` vertices, which may still grow to ``2**root_bits`` vertices.

    The id of the root takes ``root_bits`` bits, the distance at least as many; what remains extends lengths and
    classes.
    """
    root_bits = min(32, max(8, num_vertices.bit_length()))
    unused = 62 - 2 * root_bits
    longest = min(LONGEST, max(0, unused))
    ranks = min(RANKS, max(0, unused - longest))
    root_shift = 63 - root_bits - ranks
    unmix = pow(MIX, -1, 1 << root_bits)
    return Layout(root_shift, root_bits, (1 << longest) - 1, (1 << ranks) - 1, unmix, 1 << (root_shift - 1))
