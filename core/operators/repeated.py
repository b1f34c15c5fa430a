"""Operators over all vertices that are called repeatedly with the same functions and arrays: bound only once.

On the host, checking arguments, finding a program and packing arguments takes longer than a small batch takes on the
device, or in a compiled loop. An algorithm may make the calls that follow every batch through :class:`Repeated`: a call
with the same objects as an earlier one then reuses its packed arguments, and only the few that change are packed again.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Any

from suricate import operators
from suricate.base.errors import ParameterError
from suricate.edgefn import bounds
from suricate.graph import Graph
from suricate.operators import binding, checks
from suricate.operators.call import Stop, driver_of
from suricate.operators.results import Propagated

MOST = 16  #: launches that are kept


class Repeated:
    """Calls of operators over all vertices of one graph, made repeatedly.

    Up to 16 calls are kept, recognised by the identity of their functions, arrays and scalars: pass the same objects
    again. Values that functions take from closures and globals must not change; the graph may. Use it under the graph's
    lock.

    Args:
        graph: the graph.

    Raises:
        ParameterError: ``graph`` is not a graph.

    Example:
        >>> g = su.Graph(3, device="cpu")
        >>> calls, value = su.Repeated(g), np.zeros(3, int)
        >>> def grow(v, value):
        ...     value[v] += v
        >>> for _ in range(3):
        ...     calls.vertex_map(grow, args=(value,))
        >>> value.tolist()
        [0, 3, 6]
    """

    def __init__(self, graph: Graph) -> None:
        if not hasattr(graph, "exclusive"):
            raise ParameterError(f"graph must be a Graph, got {type(graph).__name__}")
        self._graph = graph
        self._made: dict[tuple[int, ...], tuple[Any, Any]] = {}

    def vertex_map(self, fn: Callable[..., Any], *, args: tuple[Any, ...] = ()) -> None:
        """Call ``fn(v, *args)`` for every vertex, as ``vertex_map`` does; its results are ignored.

        Example:
            >>> g, value = su.Graph(3, device="cpu"), np.ones(3, int)
            >>> def double(v, value):
            ...     value[v] *= 2
            >>> su.Repeated(g).vertex_map(double, args=(value,))
            >>> value.tolist()
            [2, 2, 2]
        """
        graph = self._graph
        if not self._prepares(args):
            operators.vertex_map(graph, None, fn, args=args)
            return
        with graph.exclusive():
            launch = self._find(
                (fn, *args), lambda: driver_of(graph).MapOfAll(graph, binding.bind_map(graph, fn, args))
            )
            if launch is None:
                driver_of(graph).map_all(graph, binding.bind_map(graph, fn, args))
            else:
                launch.run()

    def passes(
        self,
        fn: Callable[..., Any],
        *,
        args: tuple[Any, ...] = (),
        then: Callable[..., Any],
        dtype: Any,
        max_steps: int,
        stop: Stop,
        swap: tuple[tuple[Any, Any], ...],
        after: Propagated | None = None,
    ) -> Propagated:
        """Pull in rounds over all vertices: sum ``fn`` over the in-edges of each vertex, and pass the sum to ``then``.

        This is ``suricate.operators.converge``, with the same parameters and result, for all vertices of the graph and
        with ``reduce="sum"``, ``over="in"`` and ``wake=None``; here ``stop.until`` must be ``(scalar, bound)``, and
        ``stop.most`` None.

        Example:
            >>> g = su.Graph.from_coo([0, 1, 2], [1, 2, 0], in_edges=True, device="cpu")
            >>> old, new, moved = np.ones(3), np.zeros(3), g.scalar("sum", "float64")
            >>> def halve(v, value, old, new, moved):
            ...     new[v] = value / 2
            ...     moved.add(abs(new[v] - old[v]))
            >>> ends = {"stop": su.Stop(until=(moved, 0.5)), "max_steps": 9, "swap": ((old, new),), "dtype": "float64"}
            >>> old_of = lambda u, v, w, old, new, moved: old[u]
            >>> done = su.Repeated(g).passes(old_of, args=(old, new, moved), then=halve, **ends)
            >>> done.steps, old.tolist()
            (3, [0.125, 0.125, 0.125])
        """
        graph, (scalar, bound) = self._graph, stop.until

        def make() -> Any:
            call = binding.bind_pull(graph, fn, args, "sum", None, dtype, then)
            if call.columns:  # not prepared
                return None
            pairs, (until, _) = checks.places_of(graph, call, swap), checks.stop_of(graph, stop)
            checks.apart(call)
            return driver_of(graph).Passes(graph, call, checks.pull_direction(graph, "in"), until, pairs)

        if self._prepares(args):
            with graph.exclusive():
                launch = self._find((fn, then, scalar, *args, *chain.from_iterable(swap)), make)
                if launch is not None:
                    done: Propagated = launch.run(checks.step_limit(max_steps), bound, after)
                    return done
        return operators.converge(
            graph, None, fn, args=args, reduce="sum", over="in", then=then, wake=None, dtype=dtype,
            max_steps=max_steps, stop=stop, swap=swap, after=after,
        )  # fmt: skip

    def _prepares(self, args: tuple[Any, ...]) -> bool:
        graph = self._graph
        if str in map(type, args):  # columns, whose arrays change with the graph
            return False
        return graph.partition is None and graph.num_vertices > 0 and not bounds.CHECKED

    def _find(self, held: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        """Return the launch kept for the objects ``held``, made by ``make()``; on CUDA None in the first call."""
        key = tuple(map(id, held))
        found = self._made.get(key)
        if found is not None and (found[1] is None or not found[1].fits()):
            found = self._made[key] = held, make()
        elif found is None:
            if len(self._made) >= MOST:
                self._made.clear()
            found = self._made[key] = held, None if self._graph.device.is_cuda else make()  # held: their ids stay taken
        return found[1]
