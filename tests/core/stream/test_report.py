"""What a report keeps of a job: right, few, the same after a crash; and how it is shown."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

import suricate.stream as st
from suricate import plugins
from suricate.errors import MissingLibraryError, ParameterError, RequirementError
from suricate.stream import report as module
from suricate.stream.report import Report

pytestmark = pytest.mark.plain

CPU = {"device": "cpu"}
NAMES = np.array(["<script>x</script>", "[red]a", "\x1b[31mb", *(f"n{at}" for at in range(30))], object)


def events(number: int) -> dict[str, Any]:
    rng = np.random.default_rng(7)
    ends = [NAMES[rng.zipf(1.6, number) % len(NAMES)] for _ in range(2)]
    ends[1][-20:] = NAMES[0]
    return {"time": np.sort(rng.integers(0, 60 * number, number)), "src": ends[0], "dst": ends[1]}


def job_of(chunks: Any, folder: Path | None = None) -> st.Window:
    source = st.source(chunks, time_unit="s")
    return st.Window(source, size="2h", slide="20min", names=True, graph=CPU, checkpoint=folder, checkpoint_every=5)


def tracked(job: st.Window) -> Report:
    """With ranks, components, a search, a degree every third slide, and an alert on it."""
    job.track("pagerank")
    job.track("wcc")
    job.track("bfs", source="n3")
    fan_out = job.track("degree", every=3)
    job.alert(fan_out, above=6)
    return job.report()


def lines(report: Report) -> dict[str, dict[str, np.ndarray]]:
    return {panel.title: {line.label: line.values for line in panel.lines} for panel in report.story().panels}


def told(report: Report) -> Any:
    story = report.story()
    panels = [(panel.title, panel.columns, panel.rows) for panel in story.panels]
    return panels, story.facts, story.moments.tolist()


def test_points_say_what_the_slides_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compared with the slides themselves, NetworkX, and top() of the trackers."""
    job = job_of(events(600))
    report = tracked(job)
    ranks = job.graphs.trackers[0]
    said: list[dict[str, Any]] = []
    for w in job:
        src, dst, *_ = w.graph.edges()
        live = nx.DiGraph(zip(w.graph.names[src].tolist(), w.graph.names[dst].tolist(), strict=True))
        sizes = [*map(len, nx.weakly_connected_components(live))]
        depths = nx.single_source_shortest_path_length(live, "n3") if "n3" in live else {"n3": 0}
        said.append({
            "end": w.end, "vertices": len(live), "edges": live.number_of_edges(), "events": w.events, "lag": w.lag,
            "components": len(sizes), "largest": max(sizes), "reached": len(depths) * ("n3" in live),
            "farthest": max(depths.values()), "first": ranks.top(1)["name"][0], "best": ranks.top(1)["value"][0],
            "alerts": len(job.alerts[0].fired),
        })  # fmt: skip
    assert len(said) > 20
    found = lines(report)
    column = {name: [each[name] for each in said] for name in said[0]}
    assert np.array_equal(report.story().moments, np.array(column["end"]))
    assert found["events per slide"]["events"].tolist() == column["events"]
    assert found["live"]["vertices"].tolist() == column["vertices"]
    assert found["live"]["edges"].tolist() == column["edges"]
    lag = next(values["lag"] for title, values in found.items() if title.startswith("lag"))
    assert np.allclose(lag / lag.max(), np.array(column["lag"]) / max(column["lag"]))
    for label, title in (("components", "wcc"), ("largest", "wcc"), ("reached", "bfs"), ("farthest", "bfs")):
        (values,) = [each[label] for name, each in found.items() if name.startswith(title) and label in each]
        assert values.tolist() == column[label], label
    (top,) = [panel for panel in report.story().panels if panel.title == "pagerank: top 5"]
    assert [row[1] for row in top.rows] == ranks.top(5)["name"].tolist()
    for name in {line.label for line in top.lines} & set(column["first"]):
        at = np.array(column["first"]) == name
        assert np.allclose(found["pagerank: top 5"][name][at], np.array(column["best"])[at])
    assert found["alerts fired"]["degree above=6"].tolist() == column["alerts"]
    assert sum(column["alerts"]) > 3


def test_many_slides_make_few_points(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 16)
    job = st.Window({"src": np.arange(500) % 7, "dst": np.arange(500) % 5}, size=9, slide=1, graph=CPU)
    report = job.report()
    edges = []
    for w in job:
        edges.append(w.graph.num_edges)
        assert len(report._points) <= 16
    assert len(edges) == 500
    story = report.story()
    stride = 32
    assert len(story.moments) == -(-500 // stride)
    assert story.moments.tolist() == [*range(stride, 500, stride), 500]
    assert lines(report)["live"]["edges"].tolist() == [edges[at - 1] for at in story.moments]
    assert sum(point["events"] for point in report._points) == 500
    assert set(lines(report)["events per slide"]["events"]) == {1.0}


def test_a_job_that_goes_on_has_the_report_of_one_that_did_not_stop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST", 8)
    chunks = [{name: part[at : at + 50] for name, part in events(600).items()} for at in range(0, 600, 50)]
    whole = job_of(chunks)
    expected = tracked(whole)
    assert len([*whole]) > 25
    for most in (7, 13, 99, 99):  # the last one goes on from the end
        job = job_of(chunks, tmp_path / "state")
        report = tracked(job)
        with job:
            for _ in job:
                if job.slides > most:
                    break
    assert report.first == 1
    assert told(report) == told(expected)
    for title, values in lines(expected).items():
        for label, line in values.items():
            assert np.allclose(lines(report)[title][label], line, equal_nan=True, atol=1e-5), (title, label)


def test_a_report_that_begins_later_says_so(tmp_path: Path) -> None:
    chunks = [{name: part[at : at + 50] for name, part in events(300).items()} for at in range(0, 300, 50)]
    for most in (7, 99):
        job = job_of(chunks, tmp_path / "state")
        report = job.report() if most == 99 else None
        with job:
            for _ in job:
                if job.slides > most:
                    break
    assert report is not None
    begins = job.slides - len(report.story().moments) + 1
    assert begins > 5
    assert report.story().facts["this report begins"] == f"with slide {begins}"


def test_the_page_is_written_at_the_end_and_now_and_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "report.html"
    job = job_of(events(200))
    job.track("pagerank")
    report = job.report(page)
    iterator = iter(job)
    next(iterator)
    assert not page.exists()
    monkeypatch.setattr(module, "PATIENCE", 0.0)
    monkeypatch.setattr(module, "SHARE", 0)
    next(iterator)
    early = page.read_text()
    assert "<dd>1</dd>" in early, "after one slide"
    monkeypatch.undo()
    assert [*iterator]
    text = page.read_text()
    assert text != early
    assert f"<dd>{job.slides}</dd>" in text
    assert text.count("<figure") == len(report.story().panels)
    assert "&lt;script&gt;x&lt;/script&gt;" in text
    assert "<script" not in text
    assert "\x1b" not in text


def test_a_full_disk_is_told_once_and_the_page_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0.0)
    monkeypatch.setattr(module, "SHARE", 0)
    job, page = job_of(events(200)), tmp_path / "report.html"
    job.report(page)
    tries: list[int] = []
    replacing = module.replacing

    def full(path: Path) -> Any:
        tries.append(job.slides)
        if len(tries) < 4:
            raise OSError(28, "No space left on device", str(path))
        return replacing(path)

    monkeypatch.setattr(module, "replacing", full)
    with pytest.warns(UserWarning, match=r"report: .*No space left on device.*tries again") as told, job:
        slides = len([*job])
    assert sum("No space left on device" in str(each.message) for each in told) == 1
    assert tries[:5] == [0, 1, 2, 3, 4]
    assert f"<dd>{slides}</dd>" in page.read_text()


def test_plot_with_and_without_a_report(tmp_path: Path) -> None:
    job = job_of(events(200))
    job.track("wcc")
    ends = [w.end for w in job]
    figure = job.plot(tmp_path / "plot.svg")
    assert "prefers-color-scheme" in (tmp_path / "plot.svg").read_text()
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles[0] == "events per slide"
    assert any(title.startswith("wcc") for title in titles)
    events_line = figure.axes[0].lines[0]
    assert events_line.get_ydata().tolist() == job.history["events"].tolist()
    assert np.array_equal(events_line.get_xdata(), np.array(ends))
    job.plot(tmp_path / "plot.png")
    assert (tmp_path / "plot.png").read_bytes()[:4] == b"\x89PNG"
    before = job_of(events(20))
    assert before.plot().axes


def test_what_a_report_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = job_of(events(100))
    job.sink(tmp_path / "out.csv")
    with pytest.raises(ParameterError, match="belongs to another sink"):
        job.report(tmp_path / "out.csv")
    with pytest.raises(FileNotFoundError):
        job.report(tmp_path / "no" / "folder.html")
    with pytest.raises(ParameterError, match="name one"):
        job.report().write()
    for write in (job.report().write, job.plot):
        with pytest.raises(ParameterError, match=r"belongs to another sink|is one of"):
            write(tmp_path / "out.csv")
    with pytest.raises(FileNotFoundError):
        job.plot(tmp_path / "no" / "folder.svg")
    next(job)
    with pytest.raises(RequirementError, match="before"):
        job.report()
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingLibraryError, match=r"suricate\[report\]"):
        job_of(events(100)).report(tmp_path / "page.html")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingLibraryError, match=r"suricate\[plot\]"):
        job.plot()


@pytest.mark.parametrize("directed", [True, False])
def test_every_algorithm_can_be_shown(directed: bool) -> None:
    rng = np.random.default_rng(3)
    pairs = {name: rng.integers(0, 12, 60) for name in ("src", "dst")} | {"weight": np.ones(60)}
    job = st.Window(pairs, size=40, slide=30, graph={**CPU, "directed": directed, "self_loops": "drop"})
    kinds = [kind for kind in plugins.algorithms().values() if kind.requires.undirected in (None, not directed)]
    for kind in kinds:
        job.track(kind, **kind.sample_params(12, 0))
    report = job.report()
    assert len([*job]) == 2
    found = lines(report)
    others = {"random_walks", "personalized_pagerank"}  # have no value per vertex or edge
    assert {kind.name for kind in kinds} - {title.split()[0].rstrip(":") for title in found} == others
    for tracker in job.graphs.trackers:
        label = tracker.label[:15]
        values = [part for title, each in found.items() if title.startswith(label) for part in each.values()]
        assert all(np.isfinite(part[-1]) for part in values), label
    assert found["independent_set"]["members"][-1] == job.graphs.trackers[
        [kind.name for kind in kinds].index("independent_set")].result.sum()  # fmt: skip
