"""A rank of MPI that runs the jobs of the kit of comms which it finds in a folder, one after the other.

Each is a file ``job.N``, pickled; the result of rank R is ``result.N.R``. An empty job is the last.
"""

from __future__ import annotations

import pickle
import sys
import time
from itertools import count
from pathlib import Path

from suricate.parallel import connect

folder, comm = Path(sys.argv[1]), connect()
for number in count():
    with comm.busy():
        while not (given := folder / f"job.{number}").exists():
            time.sleep(0.02)
    if not (job := given.read_bytes()):
        break
    made = folder / f"making.{number}.{comm.rank}"
    made.write_bytes(pickle.dumps(pickle.loads(job)(comm)))
    made.rename(folder / f"result.{number}.{comm.rank}")
