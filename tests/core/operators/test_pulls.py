"""Pulls against the plain Python model: directions, second phases, words, modes, layers, rounds over an active set."""

from __future__ import annotations

import numpy as np
import pytest
from operator_model import KINDS, REDUCE, N, mode, small

import suricate as su
from suricate.errors import DTypeError, ParameterError, RequirementError, ShapeError

both_kinds = pytest.mark.parametrize("kind", sorted(KINDS))
directions = pytest.mark.parametrize("over", ["out", "in", "both"])


def values(seed=1):
    return np.random.default_rng(seed).integers(0, 50, N)


def value_of(u, v, w, x):
    return 3 * x[u] + w - 5 * v


def given(case, over):
    """Return per vertex the list of (u, v, w) that a pull hands to its function."""
    rows = {vertex: [] for vertex in range(N)}
    for owner, neighbor, w in case.seen("in" if over == "both" and not case.graph.directed else over):
        rows[owner].append((owner, neighbor, w) if over == "out" else (neighbor, owner, w))
    return rows


@both_kinds
@directions
@pytest.mark.parametrize("reduce", ["sum", "max", "or"])
def test_directions(backend, device, kind, over, reduce):
    case = small(backend, device, kind, "int32")
    x = values()
    start = -(2**63) if reduce == "max" else 0
    expected = []
    for row in given(case, over).values():
        total = start
        for u, v, w in row:
            total = REDUCE[reduce](total, int(3 * x[u] + w - 5 * v))
        expected.append(total)
    found = su.neighbor_reduce(case.graph, None, value_of, args=(case.array(x),), reduce=reduce, over=over)
    assert case.host(found).tolist() == expected
    chosen = [7, 3, 3, 59, 0]
    found = su.neighbor_reduce(case.graph, chosen, value_of, args=(case.array(x),), reduce=reduce, over=over)
    assert case.host(found).tolist() == [expected[v] for v in chosen]


@both_kinds
@directions
def test_whether_any_edge_does(backend, device, kind, over):
    """A function that counts its edges in a scalar sees all of them, though one may tell the answer."""
    case = small(backend, device, kind, "int32")
    x, seen = values(), case.graph.scalar("sum", "int64")
    rows = given(case, over)

    def is_large(u, v, w, x):
        return x[u] + x[v] > 60

    def is_large_and_seen(u, v, w, x, seen):
        seen.add(1)
        return x[u] + x[v] > 60

    expected = [int(any(x[u] + x[v] > 60 for u, v, _ in row)) for row in rows.values()]
    assert 0 < sum(expected) < N
    for fn, args in ((is_large, ()), (is_large_and_seen, (seen,))):
        found = su.neighbor_reduce(case.graph, None, fn, args=(case.array(x), *args), reduce="or", over=over)
        assert case.host(found).tolist() == expected
    assert seen.read() == sum(map(len, rows.values()))


@both_kinds
@directions
@pytest.mark.parametrize("reduce", ["sum", "mode", "min", "hindex"])
def test_the_second_phase(backend, device, kind, over, reduce):
    """It gets each vertex once with its value, vertices without edges too; values are stored by vertex, or not."""
    case = small(backend, device, kind)
    x = values() // 10
    far = 2**63 - 1
    expected = []
    for row in given(case, over).values():
        each = [int(x[u] + x[v]) for u, v, _ in row]
        largest = sum(x >= i for i, x in enumerate(sorted(each, reverse=True), 1))
        found = {"sum": sum(each), "mode": mode(each), "min": min(each, default=None), "hindex": largest}[reduce]
        expected.append(far if found is None else found)

    def total(u, v, w, x, got, calls):
        return x[u] + x[v]

    def then(v, value, x, got, calls):
        got[v] = value
        calls[v] += 1
        return value > 6

    for vertices, inside in (
        (None, range(N)),
        ([3, 9, 9, 58], {3, 9, 58}),
        (([3], case.graph.frontier([3, 4])), {3, 4}),
    ):
        for stored in (False, True):
            got, calls = case.array(np.full(N, -1)), case.array(np.zeros(N, np.int64))
            out = case.array(np.full(N, -7)) if stored else None
            args = (case.array(x), got, calls)
            joined = su.neighbor_reduce(
                case.graph, vertices, total, args=args, reduce=reduce, over=over, out=out, then=then
            )
            assert case.host(got).tolist() == [expected[v] if v in inside else -1 for v in range(N)]
            assert case.host(calls).tolist() == [int(v in inside) for v in range(N)]
            assert case.members(joined) == [v for v in sorted(inside) if expected[v] > 6]
            if out is not None:
                assert case.host(out).tolist() == [expected[v] if v in inside else -7 for v in range(N)]


@both_kinds
@pytest.mark.parametrize(
    ("over", "dtype"),
    [("out", "int32"), ("out", "float64"), ("in", "uint32"), ("in", "float32"), ("both", "int64"), ("both", "float64")],
)
def test_modes(backend, device, kind, over, dtype):
    case = small(backend, device, kind)
    x = (values() % 4).astype(dtype)
    none = np.iinfo(dtype).max if np.dtype(dtype).kind != "f" else np.inf
    for label in (x, values().astype(dtype)):
        expected = [mode(label[v if over == "out" else u] for u, v, _ in row) for row in given(case, over).values()]
        out = case.array(np.zeros(N, dtype))
        fn = (lambda u, v, w, x: x[v]) if over == "out" else (lambda u, v, w, x: x[u])
        su.neighbor_reduce(case.graph, None, fn, args=(case.array(label),), reduce="mode", over=over, out=out)
        assert case.host(out).tolist() == [none if value is None else value for value in expected]


def test_modes_leave_nan_out(device):
    graph = su.Graph(4, backend="csr_baseline", device=device)
    graph.insert_edges([0, 0, 0, 1], [1, 2, 3, 1])
    x = device.xp.asarray(np.array([0.0, np.nan, np.nan, 2.0]))
    found = su.neighbor_reduce(graph, None, lambda u, v, w, x: x[v], args=(x,), reduce="mode")
    assert device.to_numpy(found).tolist() == [2.0, np.inf, np.inf, np.inf]


@both_kinds
@directions
def test_the_smallest_word(backend, device, kind, over):
    case = small(backend, device, kind, "float32")
    x = values() % 5

    def offer(u, v, w, x, *rest):
        return w + x[u], u + v

    def word(u, v, w, x):
        return w + x[u], u + v

    words = case.graph.words(keys={"cost": "float32"}, payload={"sum": "uint32"})
    su.neighbor_reduce(case.graph, None, word, args=(case.array(x),), reduce="argmin", over=over, out=words)
    expected = [
        min(((w + x[u], u + v) for u, v, w in row), default=(np.inf, 2**32 - 1)) for row in given(case, over).values()
    ]
    assert list(zip(case.host(words.cost).tolist(), case.host(words.sum).tolist(), strict=True)) == expected

    cost, total = case.array(np.zeros(N)), case.array(np.zeros(N, np.int64))

    def word_and(u, v, w, x, cost, total):
        return w + x[u], u + v

    def then(v, least, least_sum, x, cost, total):
        cost[v] = least
        total[v] = least_sum
        return least < 3

    args = (case.array(x), cost, total)
    joined = su.neighbor_reduce(
        case.graph, None, word_and, args=args, reduce="argmin", over=over, dtype=words, then=then
    )
    assert list(zip(case.host(cost).tolist(), case.host(total).tolist(), strict=True)) == expected
    assert case.members(joined) == [v for v in range(N) if expected[v][0] < 3]


@both_kinds
def test_layers_backwards(backend, device, kind):
    """What is computed for a layer is complete before the one above it: the dependencies of betweenness."""
    case = small(backend, device, kind)
    level, sigma = np.full(N, 10**6), np.zeros(N)
    level[0], sigma[0] = 0, 1
    arrays = case.array(level), case.array(sigma)

    def paths(u, v, w, sigma, level):
        return sigma[u] if level[v] == 10**6 else 0

    def reach(v, step, sigma, level):
        level[v] = step
        return True

    args = (arrays[1], arrays[0])
    done = su.propagate(case.graph, [0], paths, out=arrays[1], args=args, reduce="sum", then=reach, layers=True)

    def share(u, v, w, delta, sigma, level):
        return sigma[u] / sigma[v] * (1 + delta[v]) if level[v] == level[u] + 1 else 0.0

    def keep(v, value, delta, sigma, level):
        delta[v] = value
        return False

    level, sigma = (case.host(array) for array in arrays)
    expected = np.zeros(N)
    for u in sorted(np.flatnonzero(level < 10**6), key=lambda u: -level[u]):
        below = [v for a, v, _ in case.arcs if a == u and level[v] == level[u] + 1]
        expected[u] = sum(sigma[u] / sigma[v] * (1 + expected[v]) for v in below)
    delta = case.array(np.zeros(N))
    su.neighbor_reduce(case.graph, done.layers.reversed, share, args=(delta, *args), reduce="sum", then=keep)
    np.testing.assert_allclose(case.host(delta), expected, rtol=1e-12)
    out = case.array(np.zeros(N))
    found = su.neighbor_reduce(case.graph, done.layers.reversed, share, args=(out, *args), reduce="sum", out=out)
    assert found is out
    np.testing.assert_allclose(case.host(out), expected, rtol=1e-12)


# -- rounds over an active set -----------------------------------------------------------------------------------------


def lowest(u, v, w, label, new):
    return label[u]


def take(v, value, label, new):
    new[v] = min(label[v], value)
    return 2 if value < label[v] else 0


def publish(v, label, new):
    label[v] = new[v]


def rounds(case, start, over, wake, limit):
    """Return labels, rounds and vertices computed: what a converge of the three functions does."""
    label, active, made, touched = list(range(N)), set(start), 0, 0
    rows, neighbors = given(case, over), {v: set() for v in range(N)}
    for u, v, _ in case.seen(wake):
        neighbors[u].add(v)
    while active and made < limit:
        made, touched = made + 1, touched + len(active)
        new, woken = {}, set()
        for v in active:
            value = min((label[a if over != "out" else b] for a, b, _ in rows[v]), default=2**63 - 1)
            new[v] = min(label[v], value)
            woken |= neighbors[v] if value < label[v] else set()
        for v, value in new.items():
            label[v] = value
        active = woken
    return label, made, touched, not active


@both_kinds
@pytest.mark.parametrize(("over", "wake"), [("in", "out"), ("both", "both"), ("in", "in")])
def test_rounds(backend, device, kind, over, wake):
    case = small(backend, device, kind)
    for start, limit in ((range(N), 100), ([3, 9], 100), (range(N), 2)):
        label, new = case.array(np.arange(N)), case.array(np.zeros(N, np.int64))
        frontier = None if len(start) == N else start
        done = su.converge(
            case.graph, frontier, lowest, args=(label, new), reduce="min", over=over, then=take, commit=publish,
            wake=wake, max_steps=limit,
        )  # fmt: skip
        expected, *numbers = rounds(case, start, over, wake, limit)
        assert case.host(label).tolist() == expected
        assert [done.steps, done.touched, done.converged] == numbers


def test_rounds_in_which_nobody_is_woken(backend, device):
    """Without ``wake`` only those go on that stay active, whatever ``then`` says besides."""
    case = small(backend, device)
    count, total = case.array(np.zeros(N, np.int64)), case.graph.scalar("sum", "int64")

    def nothing(u, v, w, count, total):
        return 0

    def go_on(v, value, count, total):
        count[v] += 1
        total.add(1)
        return 3 if count[v] <= v else 2

    args = (count, total)
    done = su.converge(
        case.graph, None, nothing, args=args, reduce="sum", then=go_on, wake=None, stop=su.Stop(until=(total, 2))
    )
    assert case.host(count).tolist() == [min(v + 1, N - 1) for v in range(N)]
    assert (done.steps, done.touched, done.converged) == (N - 1, N * (N + 1) // 2 - 1, False)


def test_rounds_from_arcs_and_staying_active(backend, device):
    """Both ends of the arcs are active; one that says so stays, and wakes nobody."""
    case = small(backend, device)
    count = case.array(np.zeros(N, np.int64))

    def nothing(u, v, w, count):
        return 0

    def again(v, value, count):
        count[v] += 1
        return 1 if count[v] < 3 else 0

    edges = su.EdgeList(case.array(np.array([1, 5], np.uint32)), case.array(np.array([5, 7], np.uint32)))
    done = su.converge(case.graph, (edges, [7, 8]), nothing, args=(count,), reduce="sum", then=again)
    assert case.host(count).tolist() == [3 * (v in (1, 5, 7, 8)) for v in range(N)]
    assert (done.steps, done.touched, done.converged) == (3, 12, True)


def test_rounds_of_few_vertices_with_many_neighbours(device):
    """A chain leads through a vertex of many in-neighbours, and on: what it has is more than any of theirs."""
    many, n = 2000, 2008
    graph = su.Graph(n, device=str(device), in_edges=True)
    graph.insert_edges([0, 1, 2, 3, 4, *range(8, n)], [1, 2, 3, 4, 5, *([3] * many)])
    length = device.xp.zeros(n, np.int64)
    length[8:] = device.xp.arange(many)
    new = length.copy()

    def further(u, v, w, length, new):
        return length[u] + 1

    def grow(v, value, length, new):
        new[v] = max(value, length[v])
        return 3 if value > length[v] else 0

    def show(v, length, new):
        length[v] = new[v]

    done = su.converge(
        graph, [1, 8], further, args=(length, new), reduce="max", over="in", then=grow, commit=show, wake="out"
    )
    assert length[:8].tolist() == [0, 1, 2, many, many + 1, many + 2, 0, 0]
    assert (done.steps, done.converged) == (6, True)


def lower(v, value, label, new):
    new[v] = min(label[v], value)
    return (2 if value < label[v] else 0) + (1 if new[v] % 1000 == 7 and value < label[v] else 0)


@pytest.mark.gpu
@pytest.mark.parametrize("over", ["in", "both"])
@pytest.mark.parametrize("limit", [pytest.param(2, marks=pytest.mark.slow), 3, 100])
def test_rounds_of_many_vertices_equal_those_of_the_cpu(over, limit):
    """Where most vertices wake their neighbours, these see it when they pull."""
    n = 1 << 18
    src, dst, _ = su.generate.rmat(18, 4, seed=5)
    heavy = np.arange(4000, n, 3, np.uint32)  # of one vertex
    src, dst = np.append(src, heavy), np.append(dst, np.full(len(heavy), 17, np.uint32))
    found = []
    for backend, options in (("slabhash", {"slab_bytes": 32}), ("slabhash", {"slab_bytes": 64}), ("csr_baseline", {})):
        for device in ("cpu", "cuda"):
            graph = su.Graph(n, backend=backend, device=device, in_edges=True, **options)
            graph.insert_edges(src, dst)
            xp = graph.device.xp
            label, new = xp.arange(n, dtype=np.int64)[::-1].copy(), xp.zeros(n, np.int64)
            wake = "out" if over == "in" else over
            for start in (None, np.union1d(dst[src < 50], src[dst < 50])):
                done = su.converge(
                    graph, start, lowest, args=(label, new), reduce="min", over=over, then=lower, commit=publish,
                    wake=wake, max_steps=limit,
                )  # fmt: skip
                host = graph.device.to_numpy(label)
                found.append((done.steps, done.touched, done.converged, host.tobytes()))
                label += 1
                label[:50] -= n
    assert len(set(found[0::2])) == len(set(found[1::2])) == 1


@pytest.mark.parametrize("apart", [0, 7])
def test_a_round_sees_the_round_before(backend, device, apart):
    """Also where `then` sees others (7 apart)."""
    n = 1 << 10
    src, dst, _ = su.generate.rmat(10, 16, seed=5)
    graph = su.Graph(n, backend=backend, device=str(device), in_edges=True)
    graph.insert_edges(src, dst)
    value = np.random.default_rng(1).integers(0, 1000, n)
    xp = graph.device.xp
    label, new = xp.array(value), xp.zeros(n, np.int64)

    def own(v, value, label, new):
        new[v] = (value + label[v]) % 1000
        return 1

    def others(v, value, label, new):
        new[v] = (value + label[(v + 7) % 1024]) % 1000
        return 1

    done = su.converge(
        graph, None, lowest, args=(label, new), reduce="sum", then=others if apart else own, commit=publish, wake=None,
        max_steps=3,
    )  # fmt: skip
    src, dst, _ = (None if part is None else graph.device.to_numpy(part) for part in su.arcs(graph))
    for _ in range(3):
        total = np.zeros(n, np.int64)
        np.add.at(total, dst, value[src])
        value = (total + np.roll(value, -apart)) % 1000
    assert (done.steps, done.touched) == (3, 3 * n)
    assert graph.device.to_numpy(label).tolist() == value.tolist()


@pytest.mark.gpu
@pytest.mark.parametrize("share", [3, 20, 100])
def test_rounds_of_a_part_of_the_vertices_equal_those_of_the_cpu(share):
    """A large active set that only the stamps tell is made a list."""
    n = 1 << 18
    at = np.arange(n).reshape(512, 512)
    src, dst = np.append(at[:, :-1], at[:-1].T), np.append(at[:, 1:], at[1:].T)
    found = []
    for backend, device in (("slabhash", "cpu"), ("slabhash", "cuda"), ("csr_baseline", "cuda")):
        graph = su.Graph(n, backend=backend, device=device, directed=False)
        graph.insert_edges(src, dst)
        xp = graph.device.xp
        label, new = xp.asarray(np.random.default_rng(3).permutation(n)), xp.zeros(n, np.int64)
        done = su.converge(
            graph, np.arange(0, n, share), lowest, args=(label, new), reduce="min", then=lower, commit=publish,
            max_steps=30,
        )  # fmt: skip
        found.append((done.steps, done.touched, done.converged, graph.device.to_numpy(label).tobytes()))
    assert len(set(found)) == 1


def test_rounds_of_modes(backend, device):
    """Label propagation: rounds of pulls whose values take a table of the size of a degree."""
    case = small(backend, device, "undirected")
    label, new = case.array(np.arange(N) % 7), case.array(np.zeros(N, np.int64))

    def most(v, value, label, new):
        new[v] = label[v] if value > 100 else value
        return 3 if new[v] != label[v] else 0

    done = su.converge(
        case.graph, None, lowest, args=(label, new), reduce="mode", then=most, commit=publish, max_steps=4
    )
    expected, active, made = [v % 7 for v in range(N)], set(range(N)), 0
    rows = given(case, "in")
    while active and made < 4:
        found = {v: mode(expected[u] for u, _, _ in rows[v]) for v in active}
        changed = {v for v in active if found[v] is not None and found[v] != expected[v]}
        for v in changed:
            expected[v] = found[v]
        active, made = changed | {u for v in changed for u, _, _ in rows[v]}, made + 1
    assert case.host(label).tolist() == expected
    assert done.steps == made


# -- wrong calls -------------------------------------------------------------------------------------------------------


def test_wrong_calls(device):
    graph = su.Graph(N, backend="csr_baseline", device=device)
    out = device.xp.zeros(N, np.int64)
    words = graph.words(keys={"cost": "float32"})

    def then(v, value):
        return True

    def plain(u, v, w):
        return 1

    with pytest.raises(RequirementError, match="in-edges"):
        su.neighbor_reduce(graph, None, plain, reduce="sum", over="both")
    with pytest.raises(ShapeError, match="2 entries"):
        su.neighbor_reduce(graph, [1, 2], plain, reduce="sum", out=out[:2], then=then)
    with pytest.raises(RequirementError, match="vertices, not edges"):
        su.neighbor_reduce(graph, su.EdgeList([0], [1]), plain, reduce="sum", then=then)
    with pytest.raises(RequirementError, match=r"'updated'.*then"):
        su.neighbor_reduce(graph, None, plain, reduce="sum", then=then, scheme="updated")
    with pytest.raises(DTypeError, match=r"argmin.*Words"):
        su.neighbor_reduce(graph, None, plain, reduce="argmin")
    with pytest.raises(RequirementError, match="needs out"):
        su.neighbor_reduce(graph, None, lambda u, v, w: (1.0,), reduce="argmin", dtype=words)
    with pytest.raises(ParameterError, match="max_steps"):
        su.converge(graph, None, plain, reduce="sum", over="out", then=then, max_steps=-1)
    with pytest.raises(ParameterError, match="Scalar"):
        su.converge(graph, None, plain, reduce="sum", over="out", then=then, stop=su.Stop(until=3))
    layers = su.propagate(graph, [0], plain, out=out, reduce="min", args=(), layers=True).layers
    small_graph = su.Graph(3, backend="csr_baseline", device=device)
    with pytest.raises(su.errors.VertexRangeError, match="60 vertices"):
        su.neighbor_reduce(small_graph, layers, plain, reduce="sum")
