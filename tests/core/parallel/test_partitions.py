"""Jobs over partitions, as ranks on Dask hold them, against the same job on one process with a list of all of them."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as hs
from test_all_ranks_read import files_of, slides
from test_lanes import chunks_of, job

import suricate.engines.partition_sources as sources
import suricate.stream as st
from suricate.engines.partitions import Partitions, assigned
from suricate.errors import LateEventError, ParameterError, WeightError
from suricate.parallel import Comm, run

pd = pytest.importorskip("pandas")

pytestmark = pytest.mark.plain


def frames(seed: int, number: int, *, named: bool, kinds: bool) -> list[Any]:
    """So many partitions, some without rows, mostly later than those before; weights are floats where some lack."""
    found = [
        pd.DataFrame(each).assign(time=each["time"] + 30 * at, weight=each["weight"].tolist())
        for at in range(-(-number // 5))
        for each in chunks_of(seed + at, named=named, kinds=kinds)
    ]
    rng = random.Random(seed)
    return [each[:0] if rng.random() < 0.2 else each for each in found[:number]]


def held_by(rank: int, size: int, parts: list[Any], seed: int = 0) -> Partitions:
    """What a rank gets of partitions that lie anywhere."""
    rng = random.Random(seed)
    holders = [rng.sample([*"abcd"][:size], 1) for _ in parts]
    owners = assigned(holders, [*"abcd"][:size])
    return Partitions(
        pd.concat(parts)[:0], owners, {at: parts[at] for at, owner in enumerate(owners) if owner == rank}, size
    )


def source_of(comm: Comm | None, parts: list[Any], seed: int = 0, **options: Any) -> st.Source:
    declared = pd.concat(parts).dtypes.to_dict()
    given = [each.astype(declared) for each in parts] if comm is None else held_by(comm.rank, comm.size, parts, seed)
    return st.source(given, time_unit="s", **options)


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Partitions are read in pieces."""
    monkeypatch.setattr(sources, "MOST", 7)
    monkeypatch.setattr(sources, "SORTED", 0)
    monkeypatch.setattr(sources, "LEAST", 5)


@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seed=hs.integers(0, 2**20), ranks=hs.integers(1, 4), number=hs.integers(1, 9), by_time=hs.booleans(),
    kinds=hs.booleans(), named=hs.booleans(), directed=hs.booleans(), counted=hs.booleans(), prefetch=hs.booleans(),
    combine=hs.sampled_from(["last", "sum", "decay"]),
)  # fmt: skip
@example(seed=3, ranks=3, number=9, by_time=False, kinds=True, named=True, directed=True, counted=False, prefetch=True,
         combine="last")  # fmt: skip
@example(seed=4, ranks=4, number=7, by_time=True, kinds=True, named=True, directed=False, counted=False, prefetch=False,
         combine="sum")  # fmt: skip
@example(seed=7, ranks=2, number=8, by_time=False, kinds=False, named=False, directed=True, counted=True,
         prefetch=False, combine="last")  # fmt: skip
@example(seed=5, ranks=4, number=1, by_time=True, kinds=False, named=False, directed=True, counted=False,
         prefetch=False, combine="decay")  # fmt: skip
def test_slides_and_files_are_those_of_one_process(
    seed: int, ranks: int, number: int, by_time: bool, kinds: bool, named: bool, directed: bool, counted: bool,
    prefetch: bool, combine: str, tmp_path_factory: pytest.TempPathFactory,
) -> None:  # fmt: skip
    folder = tmp_path_factory.mktemp("job")
    parts = frames(seed, number, named=named, kinds=kinds)
    order = "time" if by_time else None
    options: dict[str, Any] = {"names": named or None, "directed": directed, "combine": combine}
    if combine == "sum":
        options["attributes"] = {"fee": "sum"}
    if counted:
        options |= {"size": 60, "slide": 20, "lateness": 0, "combine": "last"}
    elif combine == "decay":
        options["half_life"] = "3s"

    def work(comm: Comm | None, out: Path, readers: str) -> list[Any]:
        given = {"order": order, "on_error": out / "bad.csv", "prefetch": 2 if prefetch and not order else None}
        return slides(job(comm, source_of(comm, parts, seed, **given), out, readers, **options), out)

    one, all_ = folder / "one", folder / "all"
    one.mkdir()
    all_.mkdir()
    expected = work(None, one, "first")
    found = run(lambda comm: work(comm, all_, "all"), ranks)
    assert found == [expected] * ranks
    assert files_of(all_) == files_of(one)


@pytest.mark.parametrize(("order", "named"), [(None, True), ("time", False)])
def test_a_job_goes_on_wherever_partitions_lie_then(order: str | None, named: bool, tmp_path: Path) -> None:
    parts = frames(6, 9, named=named, kinds=True)
    (tmp_path / "one").mkdir()
    (tmp_path / "all").mkdir()

    def work(comm: Comm | None, out: Path, readers: str, most: int, seed: int = 0, **options: Any) -> list[Any]:
        given = {"names": named or None, "checkpoint_every": 1, **options}
        source = source_of(comm, parts, seed, order=order, on_error=out / "bad.csv")
        return slides(job(comm, source, out, readers, **given), out, most)

    whole, found = work(None, tmp_path / "one", "first", 99), list[Any]()
    state = {"checkpoint": tmp_path / "state"}
    for seed, (ranks, most) in enumerate(((3, 2), (2, 4), (1, 1), (4, 5), (3, 99))):
        first, *others = run(
            lambda comm, most=most, seed=seed: work(comm, tmp_path / "all", "all", most, seed, **state), ranks
        )
        assert others == [first] * (ranks - 1)
        found += first[: -3 if most == 99 else -4 - 2 * named]  # the last slide is not done: the loop was left in it
    assert found == whole[:-3]
    assert first[-3:] == whole[-3:]
    assert len(found) > 15
    assert files_of(tmp_path / "all") == files_of(tmp_path / "one")


def test_partitions_that_have_changed_since_are_an_error_on_all_ranks(tmp_path: Path) -> None:
    """Further ones may come behind, but where they are sorted."""
    parts = [pd.DataFrame({"time": np.arange(9 * at, 9 * at + 9), "src": at, "dst": np.arange(9)}) for at in range(4)]
    changed = [each.assign(dst=each["dst"] + (at == 1)) for at, each in enumerate(parts)]

    def work(comm: Comm, parts: list[Any], order: str | None, most: int = 99) -> int:
        source = source_of(comm, parts, comm.size, order=order)
        window = job(comm, source, tmp_path, "all", checkpoint=tmp_path / str(order), checkpoint_every=1)
        for number, _ in enumerate(window, 1):
            if number == most:
                break
        return window.read

    for order in (None, "time"):
        run(lambda comm, order=order: work(comm, parts, order, 6), 3)
        with pytest.raises(ParameterError, match="checkpoint: partition 1 has other rows than the 9 that were read"):
            run(lambda comm, order=order: work(comm, changed, order), 2)
    with pytest.raises(ParameterError, match="partition 1 was read, and there are 1 now"):
        run(lambda comm: work(comm, parts[:1], None), 2)
    with pytest.raises(ParameterError, match=r"source was Partitions\(4, order='time'\) with readers='all', and is"):
        run(lambda comm: work(comm, [*parts, parts[0]], "time"), 2)
    assert run(lambda comm: work(comm, [*parts, parts[3]], None), 4) == [45] * 4


def test_what_is_wrong_is_raised_on_all_ranks_behind_the_slides_before_it(tmp_path: Path) -> None:
    parts = [pd.DataFrame({"time": np.arange(9 * at, 9 * at + 9), "src": at, "dst": 1}) for at in range(4)]
    late = [*parts[:3], parts[0], parts[3]]
    bad = [each.assign(weight=[np.nan if at == 2 and row == 4 else 1.0 for row in range(9)])
           for at, each in enumerate(parts)]  # fmt: skip

    def ends(comm: Comm | None, parts: list[Any], order: str | None = None) -> list[Any]:
        readers, found = "first" if comm is None else "all", []
        window = job(comm, source_of(comm, parts, order=order), tmp_path, readers, lateness="1s", late="raise")
        try:
            found += [w.end for w in window]
        except (LateEventError, WeightError) as error:
            found += [w.end for w in [window.current] if w is not None] + [type(error)]
        return [*found, window.read]

    for those, order, error in ((late, None, LateEventError), (bad, None, WeightError), (bad, "time", WeightError)):
        expected = ends(None, those, order)
        assert expected[-2] is error
        for ranks in (2, 4):
            found = run(lambda comm, those=those, order=order: ends(comm, those, order)[:-1], ranks)
            assert found == [expected[:-1]] * ranks


def test_rows_without_a_time_are_skipped_but_cannot_be_sorted(tmp_path: Path) -> None:
    """Sorting is as merging, for which ``on_error`` does not help."""
    parts = [
        pd.DataFrame({"time": np.arange(at, 40, 4).astype("M8[s]"), "src": at, "dst": range(10)}) for at in range(4)
    ]
    parts[1].loc[3, "time"] = pd.NaT

    def work(comm: Comm | None, readers: str, order: str | None = None) -> Any:
        given = parts if comm is None else held_by(comm.rank, comm.size, parts)
        source = st.source(given, order=order, on_error="skip")
        window = job(comm, source, tmp_path, readers, lateness="60s")
        return [(w.end, w.events, w.graph.num_edges) for w in window], window.skipped, window.read

    expected = work(None, "first")
    assert expected[1:] == (1, 40)
    for ranks in (1, 3):
        assert run(lambda comm: work(comm, "all"), ranks) == [expected] * ranks
        with pytest.raises(ParameterError, match=r"time: a time is missing \(NaT\)"):
            run(lambda comm: work(comm, "all", "time"), ranks)


def test_what_ranks_cannot_read_so_is_refused(tmp_path: Path) -> None:
    parts = [pd.DataFrame({"time": [at], "src": [at], "dst": [1]}) for at in range(4)]

    def refused(comm: Comm, message: str, source: Any, readers: str = "all", **options: Any) -> None:
        with pytest.raises(Exception, match=message):
            list(job(comm, source(held_by(comm.rank, comm.size, parts)), tmp_path, readers, **options))

    alone = r"the partitions lie with 2 processes: st.Window\(data, readers='all', graph="
    for order in (None, "time"):
        run(lambda c, order=order: refused(c, alone, lambda d: st.source(d, time_unit="s", order=order), "first"), 2)
    run(lambda c: refused(c, "readers='all': all processes read files", lambda d: st.chain(d, d)), 2)
    run(lambda c: refused(c, "readers='all': not with at_end='hold'", lambda d: d, at_end="hold"), 2)
    run(lambda c: refused(c, "not with slide='step'", lambda d: d, size=2, slide="step", lateness=0), 2)
    lengths = {"size": 2, "slide": 1, "lateness": 0}
    timeless = [each[["src", "dst"]] for each in parts]
    for ranks in (1, 2):
        what = "order='time' needs events with times"
        run(lambda c, w=what: refused(c, w, lambda _: source_of(c, timeless, order="time"), **lengths), ranks)
    for order, options in (("size", {}), ("time", {"prefetch": 2}), (None, {"max_rows": 3})):
        with pytest.raises(ParameterError, match=r"order must be|prefetch=2|max_wait and max_rows are for rows"):
            st.source(held_by(0, 2, parts), order=order, **options)
    with pytest.raises(ParameterError, match="columns: 'fee' is neither"):
        st.Window(st.source(held_by(0, 1, parts), columns={"fee": "dst"}), size=2, slide=1)


def test_no_partition_has_rows(tmp_path: Path) -> None:
    parts = [pd.DataFrame({"time": [1], "src": [1], "dst": [1]})[:0] for _ in range(3)]
    for order in (None, "time"):
        for ranks in (1, 2, 4):
            found = run(
                lambda c, o=order: [w.end for w in job(c, source_of(c, parts, order=o), tmp_path, "all")], ranks
            )
            assert found == [[]] * ranks
