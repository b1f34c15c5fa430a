"""A script of 60 lines that uses every public word of ``su``: what is made is in ``kinds``, what holds in ``facts``."""

import numpy as np

import suricate as su


def meet(u, v, w, into, sets):
    su.atomic.add(into, v, 1)
    su.unite(sets, u, v)


drawn = su.generate.uniform(8, 24, seed=1, self_loops=False)
su.write(drawn, "drawn.csv", num_vertices=8)
g = su.Graph(8, device="cpu", in_edges=True, names=su.Names.of(list("abcdefgh")))
bfs = g.track("bfs", source="a")
delta = g.apply(su.Batch(insert=(drawn.src, drawn.dst)))
kinds = [(g.device, su.Device), (g.store(), su.Store), (bfs, su.Tracker), (delta, su.Delta), (g.edges(), su.EdgeList)]
kinds += [(su.read("drawn.csv", num_vertices=8), su.io.EdgeFile), (su.advise(8, 24, 4), su.Advice)]
facts = [len(delta.inserted.src) == len(su.arcs(g).src) == g.num_edges == 24, su.estimate_memory(8, 24).peak > 0]

level, into, change, sets = np.full(8, 99), np.zeros(8, np.int64), g.scalar("sum", "int64"), g.union_find()
level[0], batch, words = 0, g.edge_set([0], [1]), g.words({"rank": "uint32"}, {"parent": "uint32"})
near = su.advance(g, g.frontier(0), lambda u, v, w: 1, out=into.copy(), reduce="sum")
done = su.propagate(g, [0], lambda u, v, w, level: level[u] + 1, out=level, args=(level,), reduce="min")
one = su.EdgeFunction(cuda="1", numba=lambda u, v, w: 1, result="int64")
degree = su.neighbor_reduce(g, None, one, reduce="sum")
first = su.filter(g, None, lambda v, level: level[v] == 0, args=(level,))
found = su.vertex_map(g, first, lambda v, level: level[v] == 0, args=(level,))
su.edge_map(g, delta.edge_set("inserted"), meet, args=(into, sets))
tree = g.forest(words, lambda u, v, w, s: (s.rank[u], u), lambda v, s: (v, v))
kinds += [(near, su.Frontier), (batch, su.EdgeSet), (change, su.Scalar), (sets, su.UnionFind), (words, su.Words)]
kinds += [(tree, su.Forest), (su.Repeated(g), su.Repeated), (su.contract(g, degree), su.Contraction)]
facts += [degree.tolist() == g.degrees().tolist(), into.tolist() == g.degrees("in").tolist(), len(first) == 1]
facts += [len(su.wedges(g, [0, 0], lambda u, v, x: 1, best=3).labels) == 2]
kinds += [(su.sample(g, [0, 0], [2], over="out"), su.Sample)]
facts += [len(found) == 1, sets.num_components == 1, level.max() == bfs.result.level.max(), su.EMPTY == 2**32 - 1]
facts += [len(su.intersect(g, u=batch)) == 1, su.mixed(1, 2) == su.mixed(1, np.arange(3))[2]]


def highest(u, v, w, old, new, change):
    return old[u]


def keep(v, value, old, new, change):
    new[v] = max(value, old[v])
    change.add(new[v] != old[v])


old, new = np.arange(8), np.zeros(8, np.int64)
call = {"args": (old, new, change), "reduce": "max", "over": "in", "then": keep}
rounds = su.iterate(lambda: su.neighbor_reduce(g, None, highest, **call), until=change, max_steps=9, swap=[(old, new)])
su.converge(g, None, highest, **call, wake=None, stop=su.Stop(until=change), swap=[(old, new)], max_steps=9)


class Degrees(su.Algorithm):
    name, requires, result = "degrees", su.Requirements(), property(lambda self: self.found.copy())

    def compute(self, graph):
        self.found = graph.degrees()


class Plugin:
    suricate_algorithms = staticmethod(su.hookimpl(lambda: [Degrees]))


su.plugins.register(Plugin, "every word")
job = su.stream.Window({"time": [1, 2], "src": [0, 1], "dst": [1, 0]}, size="2", slide="1", graph={"device": "cpu"})
replayed = su.replay(g, (drawn.src[:1], drawn.dst[:1], [False]), g.track(su.algorithm("degrees")))
facts += [rounds < 9, old.min() == 7, [w.events for w in job] == [1, 1], replayed.changed.tolist() == [1]]
facts += [su.parallel.run(lambda comm: comm.size, ranks=2) == [2, 2], su.networkx.Graph([(0, 1)]).order() == 2]
facts += [su.Events(8, device="cpu").append([1, 2], [0, 1], [1, 2]) == range(2)]
facts += [not su.testing.measure(g.degrees, g.device).waits, issubclass(su.errors.WeightError, ValueError)]
facts += [su.kernels.ROUND_WORDS == 24, su.Step("module", None, None, None).answer is None, su.__version__[0] == "0"]
