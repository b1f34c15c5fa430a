"""Numbers on which the code of both devices agrees."""

FIRST, LAST = -(1 << 63), (1 << 63) - 1  #: times; LAST: never, FIRST: at no time any more
NONE = -1  #: no event
TRIES = 64  #: draws of a step of a walk for another event than the last one; then the next is taken
