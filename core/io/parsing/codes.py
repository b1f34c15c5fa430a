"""Constants of the loop over bytes and its callers: classes of bytes, fields of a line, errors."""

from __future__ import annotations

BLANK, NEWLINE, DELIMITER, COMMENT = 1, 2, 4, 8  # classes of bytes
BREAK = BLANK | NEWLINE | DELIMITER

TEXTS, SIGNED, CANONICAL = 1, 2, 4  # bits of ids: texts; numbers of any sign; numbers without + or leading zeros
DECIMAL, NEGATIVE, LARGE = 1, 2, 4  # marks: a weight with a point, a negative id, an id from 2**63 on

SKIP, SRC, DST, WEIGHT, TIME = range(5)  # fields of a line
FIELDS = {"-": SKIP, "src": SRC, "dst": DST, "weight": WEIGHT, "time": TIME}

OK, MISSING, EXTRA, EMPTY_FIELD, BAD_ID, ID_RANGE, BAD_WEIGHT, WEIGHT_RANGE, BAD_TIME, BAD_RECORD, BAD_QUOTE = range(11)
WRONG = OK, BAD_ID, BAD_ID, BAD_WEIGHT, BAD_TIME  # errors of tokens, by fields
NO_DELIMITER, NOT_CANONICAL, OTHER_ZONE, FINE_TIME = range(11, 15)
