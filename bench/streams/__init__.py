"""The suite on streams: windows that slide over a stream of events, and what a job costs.

``events`` has the stream and an independent model of its window; ``slides`` one slide after the other, by hand and by
a job; ``curve`` the same beside SciPy and igraph over the share of the graph that changes; ``jobs`` whole files through
a job, what the job itself costs, and its memory.
"""
