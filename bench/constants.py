"""Every constant of the benchmarks: sweeps, repeats, limits, tolerances."""

from __future__ import annotations

from pathlib import Path

SEED = 20041026  #: default seed of graphs, batches and sources
COLLEGEMSG = Path(__file__).parent / "data" / "CollegeMsg.txt.gz"  #: the temporal graph that ships with the package

# -- sweeps ------------------------------------------------------------------------------------------------------------

BATCHES = tuple(2**k for k in range(10, 23, 2))  #: batch sizes of the operations
UPDATE_BATCHES = (1_000, 10_000, 100_000)  #: batch sizes of the kept-current algorithms
UPDATE_SHARE = 1 / 4  #: of the edges at most; a smaller graph has one size, this share of its edges
LOSES = 1.1  #: an update that takes this many times as long as computing from scratch loses to it
SPEEDUP_BATCH, SPEEDUP_BATCHES = 10_000, 10  #: Meerkat's measure of updating against computing from scratch
METHOD_SHARES = (1e-7, 1e-6, 1e-5, 1e-4, 1e-3)  #: batch sizes of the suite of methods, as shares of the edges
METHOD_STREAM_BATCHES = 100  #: batches of its streams
VERTEX_BATCHES = tuple(2**k for k in (16, 18, 20))  #: vertices inserted and deleted at once
CROSSOVER_BATCHES = (1, *(2**k for k in range(4, 25, 4)))  #: batch sizes of the crossover map
CROSSOVER_LIMIT = 2.0  #: seconds of a batch and its use; more is "over the limit", and larger batches are left out
FAR_OVER = 20  #: times the limit of a task: if its first repeat takes more, it is not tried again
CROSSOVER_REPEATS, CROSSOVER_TIME_LIMIT = 3, 0.4  #: of a cell: least number of repeats, seconds after which they do
CHECK_BY_REFERENCE = (
    2**19
)  #: edges above which contents are compared by digests, and answers of the map computed from scratch
QUICK_REPEATS, QUICK_TIME_LIMIT = 5, 0.5  #: of a row of the suites on usage and ablations
REPLAYED, REPLAY_CALLS = 1 << 17, 1 << 9  #: events of a replay, compiled and by single calls
REPLAYED_AT = 4  #: vertices at which a replay answers
SHORT_BATCHES, SHORT_CALLS = (1, 10, 100), 2_000  #: of the suite on short calls: edges of a call, and calls of a row
BESIDE_BATCHES, BESIDE_CALLS = (2**10,), 500  #: the same on CUDA, each call between other work:
BESIDE_HOST, BESIDE_DEVICE = 1e-4, 1e-3  #: seconds of Python before it, and of a kernel that is in flight meanwhile
USAGE_BATCHES = (2**10, 2**16)  #: batch sizes of the suite on usage, beside single edges
LATENCY_REPEATS = 200  #: least repeats of a row on single edges, so that its 99th percentile is known
ROUNDS = 8  #: of reads and writes by turns
ABLATION_BATCH = 2**14  #: batch of the suite on ablations
ABLATION_LIMIT = 5.0  #: seconds of an algorithm by one scheme; more is over the limit
RANK_STEPS = 10  #: steps of ranks by one scheme
DEMO_BATCH = 2**12  #: batch size of the operations in the demo
SCALING_GRAPHS, SCALING_BATCHES, SCALING_REPEATS = ("rmat:16",), (2**12, 2**16), 3  #: of the suite on scaling
CAPACITY_SLICES = 2**26, 2**25  #: edges of a call that fills a graph, the next when one does not fit
CAPACITY_BATCH, CAPACITY_QUESTIONS = 2**22, 2**20  #: edges of the batch, and of the queries, on a full graph
EDGE_FACTOR = 16  #: edges per vertex of R-MAT graphs
DELETE_SHARE = 0.2  #: share of deletions in a batch of the kept-current algorithms
MAX_GROWTH = 1.1  #: a graph is compacted between repeats when it uses more memory than this, relative to its start
UNDO_SHARE = 1 / 32  #: a batch of a larger share of the edges is not undone, the graph is rebuilt
AGE_ROUNDS, AGE_SHARE = 10, 0.1  #: an aged graph: so often this share of its edges was deleted and inserted again
FULL = 0.9  #: a full store uses this share of what it has allocated, in its largest part
FULL_EXTRA = 0.5  #: edges that may be added to fill a store, as a share of the input's
GROWTH_BATCH, GROWTH_BATCHES = 2**20, 8  #: batch of the workload 'growth'; smaller if there were fewer batches
SWEEP_BATCHES = (2**16, 2**20)  #: batch sizes of the sweep over backend options
SMALL_BATCH = 2**16  #: largest batch that is reported by its latency, too
STREAM_LOADED = 0.9  #: share of a temporal graph that is loaded before the stream of batches starts
STREAM_BATCHES = 20  #: number of batches that the rest is cut into
PIECE = 2**22  #: edges of a stream that are drawn at a time
DRAWN_FROM = 2**26  #: edges of a graph from which on the crossover map draws it in pieces
FILL_BATCH = 2**26  #: most edges that a graph of the crossover map is built from at once
DIGESTED = 2**16  #: edges of a drawn graph whose digest says which graph it was
DRAWN_EDGES = 2**22  #: edges of the stream of the suite on windows, unless the command line says otherwise
WINDOW_SHARE, SLIDE_SHARE = 1 / 8, 1 / 64  #: of the stream that a long window holds; of the window that a slide moves
WINDOW_MOMENTS, WINDOW_CHECKS = 16, 4  #: how often on its way rate and bytes are noted, and the content is verified
QUESTIONS = 2**12  #: sampled questions of a verification
SLIDE_SHARES, QUICK_SLIDE_SHARES = (1e-4, 1e-3, 1e-2), (1e-2,)  #: of the edges that enter with a slide
CURVE_SHARES = (1e-5, 1e-4, 1e-3, 1e-2, 0.03, 0.1, 0.3)  #: of the curve
QUICK_CURVE_SHARES = (1e-3, 1e-2, 0.1)
SLIDES, QUICK_SLIDES = 1000, 100  #: slides of a row at least, so that its 99.9th percentile is known, if time suffices
VERIFIED_SLIDES = 3  #: slides of a row that are verified before it is timed
STREAM_TIME_LIMIT = 1.0  #: seconds of a row of the suite on streams, a tenth of what its slides may take
EVENTS, CUDA_EVENTS, SINGLE_EVENTS = 2**12, 2**20, 1_000  #: of the suite on events: of a batch or slide; one by one
EVENT_SEEDS, FAN, WALKS = (512, 4096), (10, 5), (4096, 20)  #: trees of a sample, its fan-outs; walks and their steps
JOB_SLIDE, TURNS = 2**16, 100  #: events of a slide of jobs over files, and beside batches; how many of these are timed
LONG_TIMES, QUICK_LONG_TIMES = 16, 4  #: events of a long job, as a multiple of the graph's
LONG_WINDOW_SHARE, LONG_CHUNK = 1 / 100, 2**18  #: of a long job's events in its window; events that are made at a time
DEVICE_TIMES = 625  #: times as many events of one that makes them on the device, through a window of the graph's number
LONG_MOMENTS = 100  #: how often on its way rate and bytes are noted
VALUE_DTYPES = ("float32", "float64")  #: dtypes of the vertex array in neighbor_reduce

# -- repeats -----------------------------------------------------------------------------------------------------------

WARM_CALLS = 4  #: untimed calls right before a timed one, so that it takes what it takes in a stream of calls
WARM_EDGES = 2**16  #: most distinct edges of such a call; and at most 1 / 64 of the graph's
PROBE_STEPS = 300  #: of the loop that shows whether a core is shared
PROBES = 5  #: loops, of which the least counts
BUSY_CORE = 1.25  #: times the least: more is a busy core; seen were up to 1.21, and 1.36 to 2.9
WARMUPS = 2  #: repeats after verification that are not counted
MIN_REPEATS = 10
MAX_REPEATS = 1000
TARGET_ERROR = 0.01  #: stop when the standard error of the median is below this share of it
NOISY = 0.10  #: noise above this share is flagged
TIME_LIMIT = 5.0  #: seconds per row, untimed parts included, after which MIN_REPEATS suffice
DEMO_TIME_LIMIT = 0.4
PATIENCE = 10  #: after this many time limits a row stops even with fewer than MIN_REPEATS

# -- comparison of processes -------------------------------------------------------------------------------------------

LEAST_PROCESSES = 5  #: per side; with fewer nothing is tested
ALPHA = 0.01  #: a difference has a corrected p below it,
BEYOND = 1.1  #: and a ratio above it, or below its reciprocal
ACROSS = ("machine", "version", "backend", "device", "detail")  #: in what sides may differ if the user says so

# -- algorithms --------------------------------------------------------------------------------------------------------

CHECK_EACH_BATCH = 1_000_000  #: graphs with at most this many edges are verified after every batch of a stream

LIBRARIES = {  #: that algorithms are compared with -> the module that is imported
    "scipy": "scipy", "networkx": "networkx", "igraph": "igraph", "networkit": "networkit", "graphtool": "graph_tool",
}  # fmt: skip

# -- memory bandwidth --------------------------------------------------------------------------------------------------

COPY_BYTES = 2**30  #: size of the device copy that measures the peak
COPY_REPEATS = 20
