"""Types of ``Graph.track`` and ``Graph.compute`` by the name of an algorithm: made by ``.ci/call_types.py``.

Only type checkers use this module; ``Forest`` is what ``Graph.forest`` returns. The last overload is for algorithms of
plugins, and for names in variables.
"""

from collections.abc import Mapping
from typing import Any, Literal, Protocol, Required, TypedDict, Unpack, overload

from suricate.algorithms.bfs import BFSResult
from suricate.algorithms.directed_triangles import DirectedTrianglesResult
from suricate.algorithms.edge_betweenness import EdgeBetweennessResult
from suricate.algorithms.hits import HITSResult
from suricate.algorithms.kcore import KCoreResult
from suricate.algorithms.ktruss import KTrussResult
from suricate.algorithms.leiden import LeidenResult
from suricate.algorithms.msf import MSFResult
from suricate.algorithms.personalized_pagerank import PersonalizedRanks
from suricate.algorithms.scc import SCCResult
from suricate.algorithms.similarity import Similarities
from suricate.algorithms.sssp import SSSPResult
from suricate.algorithms.triangles import TrianglesResult
from suricate.algorithms.wcc import WCCResult
from suricate.base.devices import GivenArray, GivenVertices, ReturnedArray
from suricate.graph.tracker import Tracker
from suricate.plugins.algorithm import Algorithm
from suricate.repair.forest import Forest as Forest

class Parameters(TypedDict, total=False):
    """What every algorithm takes: ``weight``, the column of edges with the weights."""

    weight: str

class Betweenness(Parameters, total=False):
    """Parameters of ``betweenness``."""

    k: int | None
    normalized: bool
    endpoints: bool
    seed: int
    sources: GivenVertices | None
    weighted: bool

class BFS(Parameters, total=False):
    """Parameters of ``bfs``."""

    source: int | str
    sources: GivenVertices | None

class Closeness(Parameters, total=False):
    """Parameters of ``closeness``."""

    wf_improved: bool
    k: int | None
    seed: int
    sources: GivenVertices | None
    weighted: bool

class Coloring(Parameters, total=False):
    """Parameters of ``coloring``."""

    seed: int

class Degree(Parameters, total=False):
    """Parameters of ``degree``."""

    over: Literal["out", "in"]
    weighted: bool

class DirectedKCore(Parameters, total=False):
    """Parameters of ``directed_kcore``."""

class DirectedTriangles(Parameters, total=False):
    """Parameters of ``directed_triangles``."""

    definition: Literal["networkx", "ldbc"]

class EdgeBetweenness(Parameters, total=False):
    """Parameters of ``edge_betweenness``."""

    k: int | None
    normalized: bool
    seed: int
    sources: GivenVertices | None
    weighted: bool
    kernels: bool

class Eigenvector(Parameters, total=False):
    """Parameters of ``eigenvector``."""

    max_iter: int | None
    tol: float
    nstart: Mapping[int, float] | Mapping[str, float] | GivenArray | None
    weighted: bool | None

class HITS(Parameters, total=False):
    """Parameters of ``hits``."""

    max_iter: int | None
    tol: float
    nstart: Mapping[int, float] | Mapping[str, float] | GivenArray | None
    normalized: bool
    weighted: bool | None

class IndependentSet(Parameters, total=False):
    """Parameters of ``independent_set``."""

    seed: int
    nodes: GivenVertices | None

class Katz(Parameters, total=False):
    """Parameters of ``katz``."""

    alpha: float
    beta: float | Mapping[int, float] | Mapping[str, float] | GivenArray
    max_iter: int | None
    tol: float
    nstart: Mapping[int, float] | Mapping[str, float] | GivenArray | None
    normalized: bool
    weighted: bool | None

class KCore(Parameters, total=False):
    """Parameters of ``kcore``."""

    kernels: bool

class KTruss(Parameters, total=False):
    """Parameters of ``ktruss``."""

    kernels: bool

class LabelPropagation(Parameters, total=False):
    """Parameters of ``label_propagation``."""

    max_iter: int
    seed: int
    synchronous: bool

class Leiden(Parameters, total=False):
    """Parameters of ``leiden``."""

    resolution: float
    seed: int
    refine: bool
    stable: bool
    max_iter: int | None
    levels: bool
    pass_share: float
    pass_gain: float
    kernels: bool

class MSF(Parameters, total=False):
    """Parameters of ``msf``."""

    kernels: bool

class PageRank(Parameters, total=False):
    """Parameters of ``pagerank``."""

    alpha: float
    personalization: Mapping[int, float] | Mapping[str, float] | GivenArray | None
    tol: float
    max_iter: int | None
    weighted: bool | None
    norm: Literal["l1", "linf"]
    method: Literal["auto", "static", "nd", "dt", "df", "dfp"]
    self_loops: bool
    equation: int | None
    frontier_tol: float | None
    prune_tol: float | None
    dtype: Literal["float64", "float32"]
    nstart: Mapping[int, float] | Mapping[str, float] | GivenArray | None
    dangling: Mapping[int, float] | Mapping[str, float] | GivenArray | None

class PersonalizedPageRank(Parameters, total=False):
    """Parameters of ``personalized_pagerank``."""

    sources: Required[GivenVertices | None]
    alpha: float
    tol: float
    max_iter: int | None
    weighted: bool | None

class RandomWalks(Parameters, total=False):
    """Parameters of ``random_walks``."""

    length: int
    walks_per_vertex: int
    starts: GivenVertices | None
    restart: float
    p: float
    q: float
    weighted: bool | None
    seed: int

class StronglyConnectedComponents(Parameters, total=False):
    """Parameters of ``scc``."""

class Similarity(Parameters, total=False):
    """Parameters of ``similarity``."""

    pairs: Any
    kind: Literal["jaccard", "overlap", "cosine", "adamic_adar", "resource_allocation"]
    vertices: GivenVertices | None
    best: int | None
    neighbors: bool

class SpMV(Parameters, total=False):
    """Parameters of ``spmv``."""

    x: float | Mapping[int, float] | Mapping[str, float] | GivenArray
    over: Literal["out", "in"]
    weighted: bool | None

class SquareClustering(Parameters, total=False):
    """Parameters of ``square_clustering``."""

    kernels: bool

class SSSP(Parameters, total=False):
    """Parameters of ``sssp``."""

    source: int | str
    delta: float | None
    sources: GivenVertices | None

class Triangles(Parameters, total=False):
    """Parameters of ``triangles``."""

    method: Literal["auto", "dynamic", "static"]
    kernels: bool
    per_vertex: bool
    weighted: Literal["", "geometric", "barrat"]

class WCC(Parameters, total=False):
    """Parameters of ``wcc``."""

    kernels: bool

class Track(Protocol):
    """Types of the trackers of ``Graph.track``, by the algorithm's name."""

    @overload
    def __call__(self, algorithm: Literal["betweenness"], **params: Unpack[Betweenness]) -> Tracker[ReturnedArray]: ...
    @overload
    def __call__(self, algorithm: Literal["bfs"], **params: Unpack[BFS]) -> Tracker[BFSResult]: ...
    @overload
    def __call__(self, algorithm: Literal["closeness"], **params: Unpack[Closeness]) -> Tracker[ReturnedArray]: ...
    @overload
    def __call__(self, algorithm: Literal["coloring"], **params: Unpack[Coloring]) -> Tracker[ReturnedArray]: ...
    @overload
    def __call__(self, algorithm: Literal["degree"], **params: Unpack[Degree]) -> Tracker[ReturnedArray]: ...
    @overload
    def __call__(
        self, algorithm: Literal["directed_kcore"], **params: Unpack[DirectedKCore]
    ) -> Tracker[KCoreResult]: ...
    @overload
    def __call__(
        self, algorithm: Literal["directed_triangles"], **params: Unpack[DirectedTriangles]
    ) -> Tracker[DirectedTrianglesResult]: ...
    @overload
    def __call__(
        self, algorithm: Literal["edge_betweenness"], **params: Unpack[EdgeBetweenness]
    ) -> Tracker[EdgeBetweennessResult]: ...
    @overload
    def __call__(self, algorithm: Literal["eigenvector"], **params: Unpack[Eigenvector]) -> Tracker[ReturnedArray]: ...
    @overload
    def __call__(self, algorithm: Literal["hits"], **params: Unpack[HITS]) -> Tracker[HITSResult]: ...
    @overload
    def __call__(
        self, algorithm: Literal["independent_set"], **params: Unpack[IndependentSet]
    ) -> Tracker[ReturnedArray]: ...
    @overload
    def __call__(self, algorithm: Literal["katz"], **params: Unpack[Katz]) -> Tracker[ReturnedArray]: ...
    @overload
    def __call__(self, algorithm: Literal["kcore"], **params: Unpack[KCore]) -> Tracker[KCoreResult]: ...
    @overload
    def __call__(self, algorithm: Literal["ktruss"], **params: Unpack[KTruss]) -> Tracker[KTrussResult]: ...
    @overload
    def __call__(
        self, algorithm: Literal["label_propagation"], **params: Unpack[LabelPropagation]
    ) -> Tracker[ReturnedArray]: ...
    @overload
    def __call__(self, algorithm: Literal["leiden"], **params: Unpack[Leiden]) -> Tracker[LeidenResult]: ...
    @overload
    def __call__(self, algorithm: Literal["msf"], **params: Unpack[MSF]) -> Tracker[MSFResult]: ...
    @overload
    def __call__(self, algorithm: Literal["pagerank"], **params: Unpack[PageRank]) -> Tracker[ReturnedArray]: ...
    @overload
    def __call__(
        self, algorithm: Literal["personalized_pagerank"], **params: Unpack[PersonalizedPageRank]
    ) -> Tracker[PersonalizedRanks]: ...
    @overload
    def __call__(self, algorithm: Literal["random_walks"], **params: Unpack[RandomWalks]) -> Tracker[ReturnedArray]: ...
    @overload
    def __call__(
        self, algorithm: Literal["scc"], **params: Unpack[StronglyConnectedComponents]
    ) -> Tracker[SCCResult]: ...
    @overload
    def __call__(self, algorithm: Literal["similarity"], **params: Unpack[Similarity]) -> Tracker[Similarities]: ...
    @overload
    def __call__(self, algorithm: Literal["spmv"], **params: Unpack[SpMV]) -> Tracker[ReturnedArray]: ...
    @overload
    def __call__(
        self, algorithm: Literal["square_clustering"], **params: Unpack[SquareClustering]
    ) -> Tracker[ReturnedArray]: ...
    @overload
    def __call__(self, algorithm: Literal["sssp"], **params: Unpack[SSSP]) -> Tracker[SSSPResult]: ...
    @overload
    def __call__(self, algorithm: Literal["triangles"], **params: Unpack[Triangles]) -> Tracker[TrianglesResult]: ...
    @overload
    def __call__(self, algorithm: Literal["wcc"], **params: Unpack[WCC]) -> Tracker[WCCResult]: ...
    @overload
    def __call__(self, algorithm: str | type[Algorithm], **params: Any) -> Tracker[Any]: ...

class Compute(Protocol):
    """Types of the results of ``Graph.compute``, by the algorithm's name."""

    @overload
    def __call__(self, algorithm: Literal["betweenness"], **params: Unpack[Betweenness]) -> ReturnedArray: ...
    @overload
    def __call__(self, algorithm: Literal["bfs"], **params: Unpack[BFS]) -> BFSResult: ...
    @overload
    def __call__(self, algorithm: Literal["closeness"], **params: Unpack[Closeness]) -> ReturnedArray: ...
    @overload
    def __call__(self, algorithm: Literal["coloring"], **params: Unpack[Coloring]) -> ReturnedArray: ...
    @overload
    def __call__(self, algorithm: Literal["degree"], **params: Unpack[Degree]) -> ReturnedArray: ...
    @overload
    def __call__(self, algorithm: Literal["directed_kcore"], **params: Unpack[DirectedKCore]) -> KCoreResult: ...
    @overload
    def __call__(
        self, algorithm: Literal["directed_triangles"], **params: Unpack[DirectedTriangles]
    ) -> DirectedTrianglesResult: ...
    @overload
    def __call__(
        self, algorithm: Literal["edge_betweenness"], **params: Unpack[EdgeBetweenness]
    ) -> EdgeBetweennessResult: ...
    @overload
    def __call__(self, algorithm: Literal["eigenvector"], **params: Unpack[Eigenvector]) -> ReturnedArray: ...
    @overload
    def __call__(self, algorithm: Literal["hits"], **params: Unpack[HITS]) -> HITSResult: ...
    @overload
    def __call__(self, algorithm: Literal["independent_set"], **params: Unpack[IndependentSet]) -> ReturnedArray: ...
    @overload
    def __call__(self, algorithm: Literal["katz"], **params: Unpack[Katz]) -> ReturnedArray: ...
    @overload
    def __call__(self, algorithm: Literal["kcore"], **params: Unpack[KCore]) -> KCoreResult: ...
    @overload
    def __call__(self, algorithm: Literal["ktruss"], **params: Unpack[KTruss]) -> KTrussResult: ...
    @overload
    def __call__(
        self, algorithm: Literal["label_propagation"], **params: Unpack[LabelPropagation]
    ) -> ReturnedArray: ...
    @overload
    def __call__(self, algorithm: Literal["leiden"], **params: Unpack[Leiden]) -> LeidenResult: ...
    @overload
    def __call__(self, algorithm: Literal["msf"], **params: Unpack[MSF]) -> MSFResult: ...
    @overload
    def __call__(self, algorithm: Literal["pagerank"], **params: Unpack[PageRank]) -> ReturnedArray: ...
    @overload
    def __call__(
        self, algorithm: Literal["personalized_pagerank"], **params: Unpack[PersonalizedPageRank]
    ) -> PersonalizedRanks: ...
    @overload
    def __call__(self, algorithm: Literal["random_walks"], **params: Unpack[RandomWalks]) -> ReturnedArray: ...
    @overload
    def __call__(self, algorithm: Literal["scc"], **params: Unpack[StronglyConnectedComponents]) -> SCCResult: ...
    @overload
    def __call__(self, algorithm: Literal["similarity"], **params: Unpack[Similarity]) -> Similarities: ...
    @overload
    def __call__(self, algorithm: Literal["spmv"], **params: Unpack[SpMV]) -> ReturnedArray: ...
    @overload
    def __call__(
        self, algorithm: Literal["square_clustering"], **params: Unpack[SquareClustering]
    ) -> ReturnedArray: ...
    @overload
    def __call__(self, algorithm: Literal["sssp"], **params: Unpack[SSSP]) -> SSSPResult: ...
    @overload
    def __call__(self, algorithm: Literal["triangles"], **params: Unpack[Triangles]) -> TrianglesResult: ...
    @overload
    def __call__(self, algorithm: Literal["wcc"], **params: Unpack[WCC]) -> WCCResult: ...
    @overload
    def __call__(self, algorithm: str | type[Algorithm], **params: Any) -> Any: ...
