"""Fixtures of the whole suite: devices, backends, the folder of real graphs, and the hypothesis profiles.

``SURICATE_DATA`` names the folder of real graphs; ``SURICATE_TEST_PROFILE`` picks ``ci`` (the default), ``gpu`` or
``thorough``. ``SURICATE_TEST_GRAIN`` is the least work of a part of a CPU loop: with 1 and, say,
``SURICATE_THREADS=3`` nearly every operator and batch runs on several threads.
"""

from __future__ import annotations

import gc
import importlib.util
import os
import signal
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from unittest import mock

import emulated_cuda
import pytest
import tiers
from data_folder import DATA
from hypothesis import HealthCheck, settings

from suricate.base.devices import Device, cuda_device_count, resolve_device
from suricate.cpu import threads
from suricate.edgefn import bounds
from suricate.plugins import backends
from suricate.store import Store

os.environ.pop("COLUMNS", None)  # workers of pytest have it; tables of tests are as wide as they need
os.environ.setdefault("SURICATE_AHEAD", "0")  # they count launches, and what is compiled
os.environ.setdefault("SURICATE_QUIET", "1")  # tests look at stderr, whether kernels are compiled already or not
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell starts what runs in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)
if emulated_cuda.WANTED:
    emulated_cuda.install()
BUILT_IN_BACKENDS = ("slabhash", "hornet_like", "csr_baseline", "blocked", "gpma")

threads.GRAIN = int(os.environ.get("SURICATE_TEST_GRAIN", threads.GRAIN))

COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large]}
settings.register_profile("ci", max_examples=25, derandomize=True, **COMMON)
settings.register_profile("gpu", max_examples=10, derandomize=True, **COMMON)
settings.register_profile("thorough", max_examples=400, **COMMON)
settings.load_profile(os.environ.get("SURICATE_TEST_PROFILE", "ci"))


def no_cuda() -> str | None:
    """Return why CUDA tests cannot run here, or None if they can."""
    if cuda_device_count() == 0:
        return "the CUDA driver offers no device"
    return None if importlib.util.find_spec("cupy") else "CuPy is not installed"


def pytest_configure(config: pytest.Config) -> None:
    if config.option.tier == "quick" and config.option.share_of is None:
        os.environ.setdefault("SURICATE_BUILDS", "quick")  # a CUDA program then takes a quarter of the time to compile


def pytest_addoption(parser: pytest.Parser) -> None:
    tiers.add_options(parser)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    return True if tiers.is_left_out(config, collection_path) else None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Let no garbage be collected while tests are: all that is made stays."""
    gc.disable()
    yield
    gc.enable()


@pytest.hookimpl(wrapper=True)  # around the hooks of classes, too
def pytest_generate_tests(metafunc: pytest.Metafunc) -> Iterator[None]:
    yield
    tiers.prune(metafunc)


@pytest.hookimpl(wrapper=True)  # ahead of ``-k`` and ``-m``, and behind them
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
    tiers.select(config, items)
    missing_cuda = no_cuda()
    for item in items:
        if missing_cuda and item.get_closest_marker("gpu"):
            item.add_marker(pytest.mark.skip(reason=missing_cuda))
    yield
    if workers := int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", 0)):
        items[:] = tiers.long_first(items, workers)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and tiers.may_be_empty(session.config):
        session.exitstatus = pytest.ExitCode.OK


@pytest.fixture(scope="module", autouse=True)
def few_objects_to_collect() -> None:
    """Spare the collections of a module what was there before it: each took the benchmark's tests half a second."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def fewer_checks(request: pytest.FixtureRequest) -> Iterator[None]:
    """Spare the compiled part of the quick tier functions whose indices are checked, beside those that are not."""
    if tiers.checks_indices(request.node):
        yield
    else:
        with mock.patch.object(bounds, "checking", nullcontext):
            yield


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request: pytest.FixtureRequest) -> Device:
    """Each device in turn."""
    return resolve_device(request.param)


def _backend(request: pytest.FixtureRequest, device: Device) -> str:
    """The name of each built-in backend that runs on ``device``."""
    if device.kind not in backends()[request.param].devices:
        pytest.skip(f"{request.param} does not run on {device}")
    return request.param


backend = pytest.fixture(_backend, params=BUILT_IN_BACKENDS, name="backend")  # of two in the quick tier
every_backend = pytest.fixture(_backend, params=BUILT_IN_BACKENDS, name="every_backend")


@pytest.fixture
def backend_class(backend: str) -> type[Store]:
    """The class of ``backend``."""
    return backends()[backend]


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of real graphs; tests that need it are skipped where it is absent."""
    if not DATA.is_dir():
        pytest.skip(f"no folder {DATA}; set SURICATE_DATA")
    return DATA
