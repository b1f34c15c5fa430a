"""Bytes per edge of a graph whose edges come and go: used and allocated, over the slides of a window.

Usage: ``python .ci/window.py [BACKEND] [rmat|uniform] [SCALE] [SLIDES]``: 16 edges per vertex in the window, each slide
inserts and deletes 1 % of them. Prints 13 lines, with the processor time of the slides since the last one.
"""

from __future__ import annotations

import sys
import time

import numpy as np

import suricate as su

SHARE, EDGE_FACTOR = 100, 16
QUADRANTS = 0.57, 0.76, 0.95  #: running sums of R-MAT's probabilities


def draw(kind: str, scale: int, size: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return random edges, with duplicates."""
    if kind == "uniform":
        return tuple(rng.integers(0, 1 << scale, (2, size), dtype=np.uint32))
    src, dst = np.zeros((2, size), np.uint32)
    left, upper, most = QUADRANTS
    for _ in range(scale):
        at = rng.random(size)
        src, dst = 2 * src + (at > upper), 2 * dst + ((at > left) & (at <= upper) | (at > most))
    return src.astype(np.uint32), dst.astype(np.uint32)


def main(backend: str = "slabhash", kind: str = "rmat", scale: str = "16", slides: str = "300") -> None:
    """Slide a window over a stream of random edges."""
    rng, size = np.random.default_rng(1), (EDGE_FACTOR << int(scale)) // SHARE
    graph = su.Graph(1 << int(scale), backend=backend, device="cpu")
    window, start = [], time.process_time()
    for slide in range(SHARE + int(slides) + 1):
        if slide >= SHARE and (slide - SHARE) % max(1, int(slides) // 12) == 0:
            used, allocated = (
                sum(part) / graph.num_edges for part in zip(*graph.store().memory().values(), strict=True)
            )
            print(f"{slide - SHARE:5} slides: {used:6.2f} bytes per edge used, {allocated:6.2f} allocated, "
                  f"{time.process_time() - start:6.2f} s", flush=True)  # fmt: skip
            start = time.process_time()
        window.append(draw(kind, int(scale), size, rng))
        graph.insert_edges(*window[-1])
        if slide >= SHARE:
            graph.delete_edges(*window[slide - SHARE])
    graph.check()


if __name__ == "__main__":
    main(*sys.argv[1:])
