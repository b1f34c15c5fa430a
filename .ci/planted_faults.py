"""Faults of one line, as people make them, for ``faults.py``: a file, its right text, a wrong one, and where to look.

The tests named are those that are run first; a fault that they do not see is looked for in the whole tier.
"""

from __future__ import annotations

from typing import NamedTuple


class Fault(NamedTuple):
    """A wrong text in place of a right one, which occurs once in the file; tests to run first, separated by blanks."""

    name: str
    file: str
    right: str
    wrong: str
    tests: str


ALGORITHMS = "tests/algorithms/"
OPERATORS = "tests/core/operators/"
SLABHASH = "tests/backends/slabhash"
HORNET = "tests/backends/test_hornet_like.py"
CSR = "tests/backends/test_csr_baseline.py"
GPMA = "tests/backends/test_gpma.py"
BLOCKED = "tests/backends/test_blocked.py"
GRAPH = "tests/core/graph/test_"

FAULTS = [
    # -- backends ------------------------------------------------------------------------------------------------------
    Fault("slabhash: a deletion leaves the degree", "backends/slabhash/loops/__init__.py",
          "g.vertex[degree_place(src[i])] -= np.uint32(1)", "g.vertex[degree_place(src[i])] -= np.uint32(0)", SLABHASH),
    Fault("slabhash: the first weight wins", "backends/slabhash/loops/__init__.py",
          "                g.pool[at + t] = weights[i * size + t]\n", "", SLABHASH),
    Fault("slabhash: rehashing moves tombstones", "backends/slabhash/loops/__init__.py",
          "        if v < KEY_TOMBSTONE:\n", "        if v <= KEY_TOMBSTONE:\n", SLABHASH),
    Fault("slabhash: the last eight keys of a wide slab are misplaced", "backends/slabhash/loops/__init__.py",
          "compare8(g.pool, base + 24, v) << 24", "compare8(g.pool, base + 16, v) << 24", SLABHASH),
    Fault("slabhash: duplicates have the status of the opposite", "backends/slabhash/loops/duplicates.py",
          "(UNCHANGED if same else REPLACED)", "(REPLACED if same else UNCHANGED)", SLABHASH),
    Fault("hornet_like: a block holds one edge too many", "backends/hornet_like/loops.py",
          "degree > (1 << k) else KEEP", "degree > (1 << k) + 1 else KEEP", HORNET),
    Fault("hornet_like: an edge behind the tail fills itself", "backends/hornet_like/loops.py",
          "and slot[i] < tail:", "and slot[i] <= tail:", HORNET),
    Fault("hornet_like: migration copies the first weight", "backends/hornet_like/loops.py",
          "g.weight[fresh + i] = g.weight[old + i]", "g.weight[fresh + i] = g.weight[old]", HORNET),
    Fault("hornet_like: a scan misses the last edge", "backends/hornet_like/loops.py",
          "range(at, min(hi, at + STEP))", "range(at, min(hi - 1, at + STEP))", HORNET),
    Fault("csr_baseline: a deletion keeps the edge", "backends/csr_baseline/loops.py",
          "kept = slot[i] + 1", "kept = slot[i]", CSR),
    Fault("csr_baseline: weights in the order of the batch", "backends/csr_baseline/loops.py",
          "= batch_weight[order[i]]", "= batch_weight[i]", CSR),
    Fault("csr_baseline: a look-up reads the next row", "backends/csr_baseline/loops.py",
          "found[i] = at < end and dst[at] == v", "found[i] = at <= end and dst[at] == v", CSR),
    Fault("gpma: a deletion leaves the count of its leaf", "backends/gpma/loops.py",
          "g.count[slot >> LEAF_BITS] -= np.uint8(1)", "g.count[slot >> LEAF_BITS] -= np.uint8(0)", GPMA),
    Fault("gpma: an empty leaf has no head", "backends/gpma/loops.py",
          "g.head[leaf] = g.head[leaf + 1]", "g.head[leaf] = LAST", GPMA),
    Fault("gpma: weights in the order of the batch", "backends/gpma/loops.py",
          "    g.weight[slot] = weight[order[item]]", "    g.weight[slot] = weight[item]", GPMA),
    Fault("blocked: the edge that fills a hole has another's weight", "backends/blocked/loops.py",
          "g.weight[slot[i]] = g.weight[end]", "g.weight[slot[i]] = g.weight[slot[i]]", BLOCKED),
    Fault("blocked: the freed block remains the last", "backends/blocked/loops.py",
          "g.link[before], g.back[head] = NO_BLOCK, before", "g.link[before], g.back[head] = NO_BLOCK, tail", BLOCKED),
    Fault("blocked: edges of a deleted vertex are counted on", "backends/blocked/loops.py",
          "g.counters[EDGES] -= np.int64(g.degree[u])", "g.counters[EDGES] -= np.int64(0)", BLOCKED),
    # -- operators -----------------------------------------------------------------------------------------------------
    Fault("pull: loops count twice over both directions", "core/operators/cpu/pull/pulling.py",
          "(not gapless and v >= TOMBSTONE) or (without_loop and v == u):\n            continue",
          "not gapless and v >= TOMBSTONE:\n            continue", OPERATORS + "test_pulls.py"),
    Fault("push: a vertex is queued once per offer", "core/cpu/queues.py",
          "    if stamp[v] != step:", "    if v >= 0:", OPERATORS + "test_advance.py"),
    Fault("pull: values go to the place of the vertex", "core/operators/cpu/pull/neighbor_reduce.py",
          "                put(out, i, total)", "                put(out, u, total)",
          OPERATORS + "test_pulls.py " + OPERATORS + "test_neighbor_reduce.py"),
    Fault("search: those who joined have the step of their neighbours", "core/operators/cpu/push/propagate_once.py",
          "let_join_range(0, queued, stamp, step + number + 1,", "let_join_range(0, queued, stamp, step + number,",
          OPERATORS + "test_pushes.py " + OPERATORS + "test_propagate.py"),
    Fault("edge_map: self-loops are left out", "core/operators/cpu/maps/edge_map.py",
          "if not (without_loop and v == u):", "if v != u:", OPERATORS + "test_maps.py"),
    Fault("edge_map: the arcs of other statuses", "core/operators/cpu/maps/edge_map.py",
          "status[i] != wanted)", "status[i] == wanted)", OPERATORS + "test_maps.py"),
    Fault("forest: any parent that explains a word", "core/repair/cpu/forest.py",
          "if same_keys(value, word) and less_word(value, best):", "if same_keys(value, word):",
          OPERATORS + "test_forest.py"),
    Fault("forest: the first invalid vertex has no children", "core/repair/cpu/forest.py",
          "for i in range(before, found):", "for i in range(before + 1, found):", OPERATORS + "test_forest.py"),
    Fault("intersect: loops are pairs", "core/operators/cpu/intersect/intersect.py",
          "once and u[i] >= v[i]", "once and u[i] > v[i]", OPERATORS + "test_intersect_everything.py"),
    Fault("intersect: a member in the first slot is missed", "core/operators/cpu/intersect/intersect.py",
          "far = find(g, large, x)", "far = find(g, large, x) - 1", OPERATORS + "test_intersect_everything.py"),
    # -- structures ----------------------------------------------------------------------------------------------------
    Fault("cores: a neighbour of the same number keeps its support", "algorithms/kcore/core_numbers_cpu.py",
          "core[w] > now and core[w] <= before:", "core[w] > now and core[w] < before:", ALGORITHMS + "test_kcore.py"),
    Fault("cores: a loop supports its vertex", "algorithms/kcore/core_numbers_cpu.py",
          "core[w] < core[v] or w == v:", "core[w] < core[v]:", ALGORITHMS + "test_kcore.py"),
    Fault("components: arcs that come in are no replacement of a deleted edge", "algorithms/wcc/spanning_forest_cpu.py",
          "            if found == NO_VERTEX and not graph.undirected:",
          "            if found != NO_VERTEX and not graph.undirected:", ALGORITHMS + "test_wcc.py"),
    # -- graphs --------------------------------------------------------------------------------------------------------
    Fault("graph: the number of loops is never counted again", "core/graph/update.py",
          "if self._loops[0] != self.version:", "if self._loops[0] < 0:", GRAPH + "graph.py " + GRAPH + "update.py"),
    Fault("graph: in-edges of deleted vertices the wrong way round", "core/graph/update.py",
          "self.into.delete(outside.dst, outside.src)", "self.into.delete(outside.src, outside.dst)",
          GRAPH + "graph.py " + GRAPH + "live.py"),
    Fault("rollback: the edges that did not change", "core/graph/rollback.py",
          "xp.flatnonzero(status == wanted)", "xp.flatnonzero(status != wanted)",
          GRAPH + "update.py tests/core/testing/test_conformance.py"),
    Fault("delta: a loop's status is that of one copy", "core/graph/delta/__init__.py",
          "(src[:n] == dst[:n]) & (status[n:] != 0)", "(src[:n] != dst[:n]) & (status[n:] != 0)", GRAPH + "delta.py"),
    # -- algorithms ----------------------------------------------------------------------------------------------------
    Fault("bfs: new vertices have no word", "algorithms/bfs.py",
          "        self.sources.resize(graph, forest)\n        forest.repair", "        forest.repair",
          ALGORITHMS + "test_bfs.py"),
    Fault("sssp: heavier edges are passed over", "algorithms/sssp.py",
          ', delta.arcs("replaced", placed=True))', ")", ALGORITHMS + "test_sssp.py"),
    Fault("sssp: vertices of which 0 is the parent are far away", "algorithms/sssp.py",
          "where(parent >= 0,", "where(parent > 0,", ALGORITHMS + "test_sssp.py"),
    Fault("coloring: deletions change nothing", "algorithms/coloring/__init__.py",
          '(delta.edge_set("inserted"), delta.edge_set("deleted")))', '(delta.edge_set("inserted"),))',
          ALGORITHMS + "test_local.py"),
    Fault("scc: colours go on in the wrong direction", "algorithms/scc/__init__.py",
          'args=(first, root), over="in")', "args=(first, root))", ALGORITHMS + "test_scc.py"),
]  # fmt: skip
