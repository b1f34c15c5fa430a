"""Neighbours in the reference: what a reader of one entry may want instead, or next.

Each line is a group, and each of its names gets the others under "See also". Names are those of ``su``; with ``st.`` of
``su.stream``; with ``@`` algorithms that come along. ``A > B C`` is one-sided: A names B and C.
"""

from __future__ import annotations

from collections.abc import Iterable

GROUPS = """
Graph.insert_edges Graph.delete_edges Graph.apply Batch
Graph.apply > Delta
Delta > Graph.apply EdgeSet Tracker.changed
Batch > Delta
Graph > Graph.from_coo read Graph.track Graph.apply
Graph.insert_vertices Graph.delete_vertices Graph.live_vertices Graph.deleted_vertices
Graph.track Graph.compute Tracker
Graph.track > replay st.Window
Graph.compute > algorithm
Tracker > replay Tracker.changed Tracker.top
Tracker.at Tracker.top Tracker.changed Tracker.to_pandas
Tracker.to_pandas Tracker.to_arrow
Graph.has_edges Graph.edge_weights Graph.neighbors
Graph.degrees Graph.degree Graph.neighbors
Graph.neighbors Graph.adjacency Graph.edges
Graph.edges > Graph.to_coo arcs
arcs > Graph.edges
Graph.mark Graph.updated
Graph.memory_usage Graph.reserve Graph.compact estimate_memory
estimate_memory > advise
advise > estimate_memory
Graph.save Graph.load Graph.to
Graph.save > write
Graph.load > read
read write
read > st.scan Graph.from_coo
Graph.from_coo Graph.from_csr Graph.from_scipy_sparse Graph.from_pandas_edgelist
Graph.to_coo Graph.to_csr Graph.to_scipy_sparse Graph.to_pandas_edgelist
Graph.from_coo Graph.to_coo
Graph.from_csr Graph.to_csr
Graph.from_scipy_sparse Graph.to_scipy_sparse
Graph.from_pandas_edgelist Graph.to_pandas_edgelist
Graph.from_networkx Graph.to_networkx
Graph.from_edge_index Graph.to_edge_index Graph.from_pyg
Graph.from_pyg Graph.to_pyg
Graph.from_igraph Graph.to_igraph
Graph.from_networkit Graph.to_networkit
Graph.from_arrow Graph.to_arrow Graph.from_polars
Graph.from_polars Graph.to_polars
Graph.frontier Frontier
Graph.words Words
Graph.edge_set EdgeSet
Graph.scalar Scalar
Graph.union_find UnionFind
Graph.forest Forest
Graph.columns Graph.edge_columns
Graph.names Names
Graph.synchronize Graph.wait_until_built
Graph.store Graph.view Store
Algorithm > Requirements Graph.track hookimpl Store
Requirements > Algorithm
Store > Algorithm hookimpl
hookimpl > Algorithm Store
algorithm > Algorithm Graph.compute
replay > Graph.track Step
Step > replay Algorithm
advance propagate neighbor_reduce
neighbor_reduce converge
converge propagate iterate
vertex_map edge_map filter
filter > advance
intersect wedges @triangles
edge_map > arcs intersect
iterate > Scalar Stop Repeated
Stop > iterate
Repeated > iterate neighbor_reduce
atomic unite mixed
unite > UnionFind
atomic > edge_map Words
mixed > sample
wedges > @similarity
contract Contraction
contract > @leiden
sample Sample Events.sample
EdgeFunction > advance neighbor_reduce
Events st.Window
Events.append Events.expire Events.remove Events.close_before
Events.between Events.sample
Events.save Events.load
Events.at Events.columns
st.Window > Graph.track st.scan st.files st.Slide
st.Slide > st.Window Delta
st.scan st.files st.source
st.chain st.merge st.where
st.source > st.Source
st.Source > st.source
st.Window.track st.Window.alert st.Window.sink
st.Window.plot st.Window.report
st.Window.metrics st.Window.serve
st.Window.track > Graph.track
@bfs @sssp @closeness
@bfs > propagate
@sssp > propagate
@wcc @scc
@wcc > UnionFind Forest @msf
@msf > @wcc
@scc > @bfs
@pagerank @personalized_pagerank @hits @katz @eigenvector
@pagerank > converge
@triangles @directed_triangles @square_clustering @ktruss
@kcore @directed_kcore @ktruss
@betweenness @edge_betweenness @closeness
@label_propagation @leiden
@coloring @independent_set
@degree @spmv
@degree > Graph.degrees
@spmv > neighbor_reduce
@similarity > wedges @triangles
@random_walks > sample @personalized_pagerank
@closeness > @bfs
@leiden > contract
"""


def neighbours() -> dict[str, list[str]]:
    """Return the neighbours of each name of the table, in its order."""
    found: dict[str, list[str]] = {}
    for line in filter(None, GROUPS.splitlines()):
        first, one_sided, others = line.partition(" > ")
        names = [first, *others.split()] if one_sided else line.split()
        for name in names[:1] if one_sided else names:
            kept = found.setdefault(name, [])
            kept += [other for other in names if other != name and other not in kept]
    return found


NEIGHBOURS = neighbours()


def path(name: str) -> str:
    """Return the full name of what is not an algorithm."""
    return f"suricate.stream.{name[3:]}" if name.startswith("st.") else f"suricate.{name}"


BY_PATH = {name if name.startswith("@") else path(name): others for name, others in NEIGHBOURS.items()}


def role(name: str) -> str:
    """Return a link to a name."""
    if name.startswith("@"):
        return f":doc:`{name[1:]} </docs/reference/algorithms/{name[1:]}>`"
    return f":py:obj:`{name.replace('st.', 'su.stream.') if name.startswith('st.') else 'su.' + name} <{path(name)}>`"


def see_also(path: str, indent: str = "") -> str:
    """Return the "See also" of an entry, or ``""``."""
    others: Iterable[str] = BY_PATH.get(path, ())
    return f"{indent}.. seealso:: {', '.join(map(role, others))}\n" if others else ""
