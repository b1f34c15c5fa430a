"""The kit of comms on actors of Ray, which has to be installed, and an actor that dies."""

import os
from pathlib import Path
from unittest import mock

import pytest

ray = pytest.importorskip("ray")

import suricate_ray  # noqa: E402

from suricate.errors import CommunicationError  # noqa: E402
from suricate.testing import CommConformance  # noqa: E402


@pytest.fixture(scope="module", autouse=True)
def _started():
    """Processes of Ray on this machine, which find the modules of this folder."""
    given = {"PYTHONPATH": str(Path(__file__).parent), "RAY_USAGE_STATS_ENABLED": "0"}
    with mock.patch.dict(os.environ, given):
        ray.init(num_cpus=3, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


class TestRay(CommConformance):
    """Each test starts three actors."""

    def run(self, job, ranks):
        """Start them."""
        return suricate_ray.run(job, ranks)


def dies(comm):
    """End the process of rank 1."""
    if comm.rank == 1:
        os._exit(9)
    comm.barrier()


def test_an_actor_that_dies_is_named():
    """While the others wait for it."""
    with pytest.raises(CommunicationError, match="rank 1 is gone"):
        suricate_ray.run(dies, 3)
