"""State is made by its graph, ``graph.frontier(...)`` and so on: its classes are public for annotations and checks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from suricate.base import renamed
from suricate.base.errors import ParameterError

T = TypeVar("T")
_NOW = {  # class -> the method of a graph that makes one
    "EdgeSet": "graph.edge_set(src, dst, values)",
    "Forest": "graph.forest(words, offer, restart)",
    "Frontier": "graph.frontier(vertices)",
    "Scalar": "graph.scalar(op, dtype)",
    "UnionFind": "graph.union_find()",
    "Words": "graph.words(keys, payload)",
}
_OLD = {"all": "graph.frontier()", "from_vertices": "graph.frontier(ids)", "of_vertex": "graph.frontier(vertex)"}


class MadeByGraph(type):
    """Class of the classes of state: to call one is an error that names the method of a graph; ``_of`` makes one."""

    if TYPE_CHECKING:

        def _of(cls: type[T], *args: Any, **kwargs: Any) -> T: ...

    else:
        _of = type.__call__

    def __call__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse to make one."""
        raise ParameterError(f"{cls.__name__}(...) is written {_NOW[cls.__name__]} now")

    def __getattr__(cls, name: str) -> NoReturn:
        renamed.attribute(f"type object {cls.__name__!r}", name, _OLD if cls.__name__ == "Frontier" else {})
