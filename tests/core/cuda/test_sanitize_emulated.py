"""Whether sanitizers report faults of kernels on the emulated device: each is planted once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from emulated_programs import GXX

from suricate.base.devices import cuda_device_count

CHECKOUT = Path(__file__).parents[3]
LAUNCH = '''
import sys
import cupy
import numpy as np
from emulated_programs import address_of, launch_at
from suricate.cuda.kernel import Parameters

TEXT = """
extern "C" __global__ void write(unsigned int* a, long long at, long long in_shared, long long wide) {
    __shared__ unsigned int words[8];
    words[in_shared] = 1;
    a[at] = words[in_shared];
    *reinterpret_cast<unsigned long long*>(a + wide) = 2;
}
"""
array = cupy.empty(5, np.uint32)
given = array, *map(np.int64, map(int, sys.argv[1:]))
parameters = Parameters(given)
parameters.pack(given)
launch_at(address_of(TEXT, "write"), 1, 1, False, parameters.address)
'''
FAULTS = {
    "none": ((4, 7, 2), "no reports"),
    "behind an array": ((5, 7, 2), "WRITE of size 4"),
    "before an array": ((-1, 7, 2), "WRITE of size 4"),
    "half of a word behind": ((0, 7, 4), "WRITE of size 8"),
    "behind shared memory": ((0, 8, 2), "index 8 out of bounds"),
    "not aligned": ((0, 7, 1), "misaligned address"),
}


@pytest.mark.slow
@pytest.mark.skipif(GXX is None or cuda_device_count() > 0, reason="needs g++ on x86-64, and no GPU")
@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_reported(fault: str, tmp_path: Path) -> None:
    places, report = FAULTS[fault]
    program = tmp_path / "launch.py"
    program.write_text(LAUNCH)
    command = [sys.executable, CHECKOUT / ".ci" / "sanitize_emulated.py", sys.executable, program, *map(str, places)]
    environment = {name: value for name, value in os.environ.items() if name != "SURICATE_EMULATED_CUDA"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if "no sanitizers here" in done.stderr:
        pytest.skip("g++ has no sanitizers")
    assert report in done.stdout, done.stdout + done.stderr
    assert done.returncode == (fault != "none")
