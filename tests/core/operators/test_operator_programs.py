"""How operators are put together: generated modules on the CPU, CUDA sources that need no GPU to assemble."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path

import cuda_samples
import numpy as np
import pytest
from cuda_samples import forests, intersections, operators

import suricate as su
from suricate.base.devices import CPU
from suricate.operators.cpu import instances
from suricate.repair.cpu import repairs

pytestmark = pytest.mark.compiled

BACKENDS = ("csr_baseline", "hornet_like", "slabhash", "blocked", "gpma")
COOPERATIVE = ("converge.cu", "layers.cu", "passes.cu", "propagate.cu")
TEMPLATES = {
    "columns.cu",
    "advance.cu",
    "converge.cu",
    "passes.cu",
    "layers.cu",
    "edge_map.cu",
    "merge.cu",
    "neighbor_reduce.cu",
    "propagate.cu",
    "rounds.cu",
    "vertex_map.cu",
}

SCRIPT = """
import numpy as np
import suricate as su
from suricate.base.cache import cache_folder
from suricate.operators.cpu import instances as cpu

def product(u, v, w, x):
    return x[v]

g = su.Graph(3, backend="csr_baseline", device="cpu")
g.insert_edges([0, 0, 1], [1, 2, 2])
x = np.array([1.0, 2.0, 4.0])
print(su.neighbor_reduce(g, None, product, args=(x,), reduce="sum").tolist())
print(cache_folder())
stats = next(iter(cpu._instances.values())).neighbor_reduce.stats
print(sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
"""


def run_script(tmp_path: Path, **variables: str) -> list[str]:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    environment = {
        key: value for key, value in os.environ.items() if key not in ("SURICATE_CACHE_DIR", "XDG_CACHE_HOME")
    }
    command = [sys.executable, str(script)]
    done = subprocess.run(command, env=environment | variables, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


@pytest.mark.slow
def test_machine_code_is_kept_in_the_cache_folder(tmp_path):
    folder = tmp_path / "cache"
    first = run_script(tmp_path, SURICATE_CACHE_DIR=str(folder))
    assert first[:2] == ["[6.0, 4.0, 0.0]", str(folder)]
    files = {path: path.stat().st_mtime_ns for path in folder.glob("entries/*")}
    assert len([path for path in files if path.suffix == ".code"]) == 1
    again = run_script(tmp_path, SURICATE_CACHE_DIR=str(folder))
    assert again[:2] == first[:2]
    assert first[2] == "0 1"
    assert again[2] == "1 0"
    assert {path: path.stat().st_mtime_ns for path in folder.glob("entries/*")} == files


@pytest.mark.slow
def test_damaged_entries_are_made_again(tmp_path):
    folder = tmp_path / "cache"
    first = run_script(tmp_path, SURICATE_CACHE_DIR=str(folder))
    for file in folder.glob("entries/*"):
        file.write_bytes(file.read_bytes()[:-1])
    assert run_script(tmp_path, SURICATE_CACHE_DIR=str(folder)) == first
    assert run_script(tmp_path, SURICATE_CACHE_DIR=str(folder))[2] == "1 0"


@pytest.mark.slow
def test_cache_follows_xdg(tmp_path):
    found = run_script(tmp_path, XDG_CACHE_HOME=str(tmp_path / "xdg"))
    assert found[:2] == ["[6.0, 4.0, 0.0]", str(tmp_path / "xdg" / "suricate")]


@pytest.mark.slow
def test_a_folder_that_cannot_be_written_is_replaced(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    found = run_script(tmp_path, SURICATE_CACHE_DIR=str(blocked / "cache"))
    assert found[0] == "[6.0, 4.0, 0.0]"
    assert "suricate-" in found[1]
    assert not Path(found[1]).exists()


ROOMS = (instances.HERE, repairs.HERE)
TEMPLATE_FILES = sorted(file for room in ROOMS for file in room.rglob("*.py") if "bindings import" in file.read_text())


@pytest.mark.parametrize("file", TEMPLATE_FILES, ids=lambda file: file.stem)
def test_templates_are_modules(file):
    """Each template can be imported; some run as they stand, over a contiguous view and the functions of bindings."""
    template = file.stem
    module = importlib.import_module(".".join(("suricate", *file.relative_to(instances.CORE).with_suffix("").parts)))
    graph = su.Graph(3, backend="csr_baseline", device="cpu", weight_dtype="float64")
    graph.insert_edges([0, 0, 1], [1, 2, 2], [1.0, 2.0, 4.0])
    data, out, ids = graph.view().data, np.zeros(3), np.empty(3, np.uint32)
    assert module.__doc__
    if template == "neighbor_reduce":
        module.neighbor_reduce((data, data, 3), ids, True, 0, 3, (out, 1, ids), 0, (ids, ids))
        assert out.tolist() == [3, 4, 0]
    if template == "reduce_updated":
        module.neighbor_reduce(data, 3, out)
        assert out.tolist() == [3, 4, 0]
    if template == "advance_updated":
        assert module.advance(data, 3, out, np.zeros(3, np.uint32), 1, ids) == 2
        assert (out.tolist(), ids[:2].tolist()) == ([0, 1, 6], [1, 2])


def test_functions_that_differ_only_in_a_number_do_not_mix():
    graph = su.Graph(3, backend="csr_baseline", device="cpu")
    graph.insert_edges([0, 0, 1], [1, 2, 2])
    for number in (1, 2, 1):
        assert su.neighbor_reduce(graph, None, lambda u, v, w, k=number: k, reduce="sum").tolist() == [
            2 * number,
            number,
            0,
        ]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("weight_dtype", [None, "float32"])
def test_cuda_sources_can_be_assembled_anywhere(backend, weight_dtype):
    view = su.Graph(4, backend=backend, device=CPU, weight_dtype=weight_dtype).view()
    pushed, repaired = operators.programs(view), forests.programs(view)
    assert {program.source.name for program in pushed} == TEMPLATES
    for program in (*pushed, *repaired):
        assert "edge_fn" in program.text or program.source.name in ("merge.cu", "rounds.cu")
        assert program.cooperative == (program.source.name in (*COOPERATIVE, "forest.cu"))


@pytest.mark.parametrize("backend", BACKENDS)
def test_sources_of_intersect_can_be_assembled_anywhere(backend):
    graph = su.Graph(4, backend=backend, device=CPU)
    programs = intersections.programs(graph.view(), graph.edge_set([0], [1]))
    templates = {"intersect.cu", "intersect_stream.cu", "orient.cu", "oriented.cu"}
    assert {program.source.name for program in programs} == templates
    for program in programs:
        assert ("edge_fn(" in program.prelude) == (program.source.name != "orient.cu")


def test_assembling_needs_no_cupy():
    support = str(Path(cuda_samples.__file__).parents[1])
    code = (
        f"import sys, suricate as su\nsys.path.append({support!r})\nfrom cuda_samples import operators as cuda\n"
        "cuda.programs(su.Graph(4, backend='csr_baseline', device='cpu').view())\nassert 'cupy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_views_of_one_kind_share_their_text():
    """A graph has a new view after every batch; only the first one is described."""
    from suricate.kernels.walking import Walk

    graph = su.Graph(4, backend="slabhash", device=CPU)
    first = graph.view()
    graph.insert_edges([0], [1])
    second = graph.view()
    weighted = su.Graph(4, backend="slabhash", device=CPU, weight_dtype="float32").view()
    assert first is not second
    assert Walk(first).prelude is Walk(second).prelude
    assert Walk(weighted).prelude != Walk(first).prelude
