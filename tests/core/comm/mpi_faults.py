"""What goes wrong in a job of MPI: one rank does what the argument says, the others wait for it."""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import suppress

import suricate as su
from suricate.base.notice import NOTICE
from suricate.comm import watch
from suricate.parallel import connect

comm = connect()
graph = su.Graph(30, device="cpu", comm=comm, threads=1)
graph.insert_edges([comm.rank], [comm.rank + 1])
fault, last = sys.argv[1], comm.rank == comm.size - 1
if fault in ("stalls", "hangs", "quiet", "busy", "compiles"):
    os.environ["SURICATE_TIMEOUT"] = "3"  # from here on: processes do not start at the same time
if last and fault == "raises":
    raise KeyError("mine")
if last and fault.startswith("exits"):
    sys.exit(int(fault[-1]))
if last and fault == "killed":
    os.kill(os.getpid(), signal.SIGKILL)
if last and fault == "aborts":
    comm.abort("no more data")
if last and fault in ("stalls", "hangs"):
    time.sleep(600)
if fault == "hangs":
    with comm.busy(reads=True):
        time.sleep(600)
if last and fault == "quiet":
    with comm.busy(1.5, reads=True):
        time.sleep(600)
if last and fault == "busy":
    with comm.busy():
        time.sleep(7.5)
if last and fault == "compiles":
    NOTICE.start()
    time.sleep(7.5)
    NOTICE.end()
if fault == "queued" and not last:  # as if a device waited for a collective, to which the last rank does not come
    watch.LEFT = 0.5
    comm.watch_queue(lambda: lambda: False)
    time.sleep(600)
if fault == "queued":
    sys.exit(0)
if fault in ("busy", "compiles"):
    comm.barrier()
    os.environ["SURICATE_TIMEOUT"] = "600"  # the machine may be busy, too
if fault == "elsewhere":
    for _ in range(2):
        comm.allgather("long" * 300)  # messages of other lengths from here on
if last and fault == "elsewhere":
    graph.degrees()
if last and fault == "interrupted":
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.alarm(1)
if fault == "interrupted":
    time.sleep(0 if last else 4)
    with suppress(KeyboardInterrupt):
        comm.allgather("long" * 300)
if fault == "asks":
    graph.compute("bfs", source=int(last))
graph.insert_edges([5], [6])
print("done", flush=True)
