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
    """The fields of a word: how many bits each has.

    Attributes:
        root_shift: bits of the distance.
        root_bits: bits of an id.
        length_mask: lengths are 1 to this plus 1.
        last_rank: the worst class.
        unmix: the inverse of :data:`MIX` modulo ``2**root_bits``.
        limit: when a distance is above it, the forest is made again.
    """

    root_shift: int
    root_bits: int
    length_mask: int
    last_rank: int
    unmix: int
    limit: int


def layout_for(num_vertices: int) -> Layout:
    """Return the layout for graphs of up to about twice ``num_vertices`` vertices.

    Ids come first; then distances have at least as many bits, and the rest goes to lengths and classes.
    """
    root_bits = min(32, max(8, num_vertices.bit_length()))
    unused = 62 - 2 * root_bits
    longest = min(LONGEST, max(0, unused))
    ranks = min(RANKS, max(0, unused - longest))
    root_shift = 63 - root_bits - ranks
    unmix = pow(MIX, -1, 1 << root_bits)
    return Layout(root_shift, root_bits, (1 << longest) - 1, (1 << ranks) - 1, unmix, 1 << (root_shift - 1))
