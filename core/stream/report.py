"""What a report shows of a job: points over time, few however long it runs, from which panels are made.

A point stands for one slide, or for 2, 4, 8, ... of them: whenever there are :data:`MOST` points, neighbours are
joined. So the points depend on the number of slides only, and are the same after a crash. Of joined slides events,
late events and alerts are added up, the lag is the largest, everything else that of the last one.
"""

from __future__ import annotations

import json
import time
import warnings
from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.base.errors import ParameterError, SuricateError
from suricate.base.files import as_path, check_writable, replacing
from suricate.base.parameters import shown
from suricate.graph import frames
from suricate.intake.tables import library
from suricate.io.sources import times
from suricate.pages.panels import Line, Panel, Story, moment, number
from suricate.stream.alerts import values_of

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure

    from suricate.graph import Graph
    from suricate.stream.contents import Due
    from suricate.stream.tracking import JobTracker
    from suricate.stream.window import Window

MOST = 256  #: points
TOP, DRAWN = 10, 5  #: vertices of each point that are kept, and lines of them that are drawn
ALERTS = 10  #: newest alerts that are listed
PATIENCE, SHARE = 10.0, 20  #: seconds between two pages at least, and how many times what one takes
PICTURES = ".svg", ".png", ".pdf"
UNITS = (86_400e9, "days"), (3_600e9, "hours"), (60e9, "minutes"), (1e9, "seconds"), (1e6, "ms")
SCALE = 12  #: how many times as large as others a line may be to share their panel

Point = dict[str, Any]


class Report:
    """Points of a job over time, made by ``Window.report``; ``write`` makes a page of them.

    Attributes:
        path: the file of the page, None if it was not named.
        first: the number of the first slide that is in it.
    """

    def __init__(self, job: Window, path: Any) -> None:
        self._job = job
        self.path: Path | None = None if path is None else as_path(path)
        if self.path is not None:
            library("jinja2", "report")
            library("matplotlib", "report")
            check_writable(self.path)
            job.outputs.demand_free(self.path)
            job.outputs.add(self.path, "the report")
        self.first = job.slides + 1
        self._points: list[Point] = []
        self._stride, self._slide, self._late = 1, job.slides, job.contents.late.count
        self._last: deque[list[Any]] = deque(maxlen=ALERTS)
        self._has_warned = False  # that it could not be written
        self._written_at, self._took, self._shown = time.monotonic(), 0.0, -1  # the number of the slide that is shown

    # -- what is kept --------------------------------------------------------------------------------------------------

    def advance(self, slide: int, due: Due, graph: Graph, edges: int) -> None:
        """Add the slide of this number, once."""
        if slide == self._slide:
            return
        fired = [len(alert.fired) for alert in self._job.alerts]
        point: Point = {
            "end": due.end, "events": due.entered, "late": due.late - self._late, "lag": due.lag, "slides": 1,
            "vertices": graph.num_live, "edges": edges, "alerts": fired,
            "heads": [headline(each) for each in self._job.graphs.trackers] if self._is_last_of_point() else None,
        }  # fmt: skip
        named = [[due.end, alert.name, text] for alert in self._job.alerts for text in texts_of(alert.fired)]
        self.add(point)
        self._slide, self._late = slide, due.late
        self._last.extend(named)

    def _is_last_of_point(self) -> bool:
        """Whether the next slide is the last one that its point stands for."""
        held = self._points[-1]["slides"] % self._stride if self._points else 0
        return held + 1 == self._stride

    def add(self, point: Point) -> None:
        """Add the point of one slide to the others, and join neighbours if there are too many."""
        is_last = self._is_last_of_point()
        if self._points and self._points[-1]["slides"] < self._stride:
            self._points[-1] = joined(self._points[-1], point)
        else:
            self._points.append(point)
        if is_last and len(self._points) == MOST:
            self._points = [joined(*pair) for pair in zip(self._points[::2], self._points[1::2], strict=True)]
            self._stride *= 2

    def save(self) -> dict[str, np.ndarray]:
        """Return the state for a checkpoint, as an array of bytes."""
        state = {"first": self.first, "points": self._known(), "stride": self._stride, "last": [*self._last],
                 "trackers": self._labels}  # fmt: skip
        return {"state": np.frombuffer(json.dumps([self._slide, self._late, state]).encode(), np.uint8)}

    def load(self, saved: dict[str, np.ndarray]) -> None:
        """Restore what :meth:`save` returned; headlines only if the job has the same trackers."""
        if not saved:
            return
        self._slide, self._late, state = json.loads(saved["state"].tobytes())
        self.first, self._points, self._stride = state["first"], state["points"], state["stride"]
        self._last.extend(state["last"])
        for point in self._points if state["trackers"] != self._labels else ():
            point["heads"] = None

    @property
    def _labels(self) -> list[str]:
        return [tracker.label for tracker in self._job.graphs.trackers]

    def _known(self) -> list[Point]:
        """Return the points, the newest one with headlines even if further slides will be joined to it."""
        job, points = self._job, [*self._points]
        if points and points[-1]["heads"] is None and job.current is not None and self._slide == job.slides:
            points[-1] = points[-1] | {"heads": [headline(each) for each in job.graphs.trackers]}
        return points

    # -- what is shown -------------------------------------------------------------------------------------------------

    def story(self) -> Story:
        """Return what there is to show."""
        job, points = self._job, self._known()
        ends = np.array([point["end"] for point in points], np.int64)
        facts = {"newest slide": shown_moment(points[-1]["end"], job.has_unit)} if points else {}
        facts |= {"slides": f"{self._slide:,}", "events": f"{job.past.events:,}"}
        facts |= {name: f"{count:,}" for name, count in (("late", job.late), ("not valid", job.skipped)) if count}
        size, slide = job._options.size, job._options.slide
        facts["window"] = f"{'everything' if size is None else size}, slide {slide}"
        if self.first > 1:
            facts["this report begins"] = f"with slide {self.first:,}"
        moments = ends.astype("datetime64[ns]") if job.has_unit else ends
        return Story("suricate stream", facts, moments, self._panels(points))

    def _panels(self, points: list[Point]) -> list[Panel]:
        job, slides = self._job, column(points, "slides")
        events, late = (Line(name, column(points, name) / slides) for name in ("events", "late"))
        live = [Line(name, column(points, name)) for name in ("vertices", "edges")]
        size, unit = 1.0, ""
        lag = column(points, "lag")
        if job.has_unit:
            size, unit = next((each for each in UNITS if lag.max(initial=0) >= each[0]), UNITS[-1])
        panels = [Panel("events per slide", [events, late] if late.values.any() else [events])]
        panels += comparable("live", live)
        panels.append(Panel(f"lag, {unit}" if unit else "lag", [Line("lag", lag / size)]))
        for place, tracker in enumerate(job.graphs.trackers):
            panels += tracker_panels(tracker, [point["heads"] and point["heads"][place] for point in points])
        return [*panels, *self._alerts(points)]

    def _alerts(self, points: list[Point]) -> list[Panel]:
        alerts, has_unit = self._job.alerts, self._job.has_unit
        if not alerts:
            return []
        counts = np.array([point["alerts"] for point in points], float).reshape(len(points), len(alerts))
        lines = [Line(alert.name, counts[:, place]) for place, alert in enumerate(alerts[:DRAWN])]
        rows = [[shown_moment(end, has_unit), name, text] for end, name, text in [*self._last][::-1]]
        return [Panel("alerts fired", lines, ["slide", "alert", "what"] if rows else (), rows)]

    def figure(self) -> Figure:
        """Return a figure of all panels; raises ``MissingLibraryError`` without matplotlib."""
        library("matplotlib", "plot")
        from suricate.pages.pictures import figure_of

        story = self.story()
        return figure_of(story.panels, story.moments)

    def html(self) -> str:
        """Return the page; raises ``MissingLibraryError`` without Jinja2 and matplotlib."""
        for name in ("jinja2", "matplotlib"):
            library(name, "report")
        from suricate.pages.page import page_of

        return page_of(self.story())

    def write(self, path: Any = None) -> None:
        """Write the page to ``path``, by default the one of the report; the file is replaced as a whole.

        Raises:
            ParameterError: neither is given. OSError: it cannot be written.
        """
        target = self.path if path is None else as_path(path)
        if target is None:
            raise ParameterError("write: the report has no file, so name one")
        if target != self.path:
            self._job.outputs.demand_free(target)
        begin = time.monotonic()
        text = self.html().encode("utf-8", "replace")
        with replacing(target) as file:
            file.write(text)
        self._written_at = time.monotonic()
        self._took, self._shown = self._written_at - begin, self._slide

    def close(self) -> None:
        """Write the page if it has a file and there is something new."""
        if self.path is not None and self._shown != self._slide:
            self.write()

    def refresh(self) -> None:
        """Write the page if it has a file and the last one is old: at most a twentieth of the time is spent on it."""
        if self.path is not None and time.monotonic() - self._written_at > max(PATIENCE, SHARE * self._took):
            try:
                self.write()
            except OSError as error:  # a full disk, say: the job is worth more than its page
                self._written_at = time.monotonic()
                if not self._has_warned:
                    self._has_warned = True
                    warnings.warn(f"report: {error}; the job goes on, and tries again", stacklevel=3)


def of_history(job: Window) -> Report:
    """Return a report from the history of a job that kept none: trackers, alerts and vertices of its newest slide."""
    report, current, late = Report(job, None), job.current, 0
    for end, events, was_late, lag, edges in job.past.facts:
        tick = int(end.astype("datetime64[ns]").astype(np.int64) if job.has_unit else end)
        known = {"end": tick, "events": events, "late": was_late - late, "lag": lag, "edges": edges}
        report.add(known | {"slides": 1, "vertices": None, "alerts": [0] * len(job.alerts), "heads": None})
        late = was_late
    report.first = job.slides - len(job.past.frame()) + 1
    if current is not None and report._points:
        report._points[-1] |= {"vertices": job.graph.num_live, "alerts": [len(alert.fired) for alert in job.alerts]}
    return report


def picture_of(job: Window, path: Any) -> Path:
    """Return ``path`` as that of a picture of a job; raises what a later :func:`save` would raise, and if it is taken.

    Raises:
        MissingLibraryError: matplotlib is not installed. OSError: the file cannot be written.
        ParameterError: it is no ``.svg``, ``.png`` or ``.pdf``; the job reads it, or writes something else there.
    """
    library("matplotlib", "plot")
    path = as_path(path)
    if path.suffix not in PICTURES:
        raise ParameterError(f"a picture is one of {', '.join(PICTURES)}, got {shown(str(path))}")
    check_writable(path)
    job.outputs.demand_free(path)
    return path


def save(figure: Figure, path: Path) -> None:
    """Write a figure to a file: an SVG for light and dark, other formats as matplotlib has them."""
    if path.suffix != ".svg":
        figure.savefig(path)
        return
    from suricate.pages.pictures import svg_of

    with replacing(path) as file:
        file.write(svg_of(figure).encode())


def joined(first: Point, second: Point) -> Point:
    """Return the point of the slides of two points, one after the other."""
    sums = {name: first[name] + second[name] for name in ("events", "late", "slides")}
    alerts = [a + b for a, b in zip(first["alerts"], second["alerts"], strict=True)]
    return second | sums | {"lag": max(first["lag"], second["lag"]), "alerts": alerts}


def column(points: list[Point], name: str) -> np.ndarray:
    """Return one of the numbers of each point, ``float64[points]``."""
    return np.array([point[name] for point in points], np.float64)


def texts_of(fired: frames.Frame) -> list[str]:
    """Return a text for each of the newest rows of what an alert told: its columns and values."""
    names = [each for each in fired.columns if each != "alert" and not (each == "vertex" and "name" in fired.columns)]
    rows = zip(*(fired[name][-ALERTS:].tolist() for name in names), strict=True)
    return [", ".join(f"{name} {number(value)}" for name, value in zip(names, row, strict=True)) for row in rows]


def shown_moment(end: int, has_unit: bool) -> str:
    """Return the end of a slide as text."""
    return moment(times.moment(end, has_unit=True) if has_unit else end)


# -- headlines ---------------------------------------------------------------------------------------------------------


def headline(tracker: JobTracker) -> dict[str, Any] | None:
    """Return what a report says of a tracker: ``numbers`` by name, ``top``: names and values; None before a result."""
    try:
        graph, result, kind = tracker._graph, tracker.result, tracker.kind
    except SuricateError:  # with every= above 1 there is none yet
        return None
    known = {name: part for name, part in frames.fields_of(result).items() if part is not None}
    parts = {name: part for name, part in known.items() if np.ndim(part) == 0}
    numbers = {name.removeprefix("num_"): _plain(part) for name, part in parts.items()}
    if frames.is_of_edges(result):
        best = frames.top(graph, result, kind, TOP, None, True)
        edges = (f"{src} - {dst}" for src, dst in zip(best["src"].tolist(), best["dst"].tolist(), strict=True))
        return {
            "numbers": numbers,
            "top": [[*map(_plain, row)] for row in zip(edges, best[best.columns[3]], strict=True)],
        }
    try:
        seen = values_of(graph, result, kind, None)
    except ParameterError:  # no value per vertex
        return {"numbers": numbers, "top": []}
    if kind.pointers:
        reached = seen.value[seen.has]
        return {"numbers": numbers | {"reached": len(reached), "farthest": _plain(reached.max(initial=0))}, "top": []}
    top = frames.top(graph, result, kind, TOP, None, True)
    if top[top.columns[-1]].dtype == bool:
        return {"numbers": numbers | {"members": int(seen.value[seen.has].sum())}, "top": []}
    called = top["name" if graph.names is not None else "vertex"]
    found = top["size" if kind.groups else next(each for each in top.columns if each not in ("rank", "vertex", "name"))]
    if kind.groups:
        numbers = numbers or {"groups": int(np.count_nonzero(np.bincount(seen.value[seen.has])))}
        numbers["largest"] = _plain(found[0]) if len(found) else 0
    return {"numbers": numbers, "top": [[*map(_plain, row)] for row in zip(called, found, strict=True)]}


def _plain(value: Any) -> Any:
    """Return ``value`` as JSON has it: a number, a text or None."""
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value if value is None or isinstance(value, (int, float, str)) else str(value)


def tracker_panels(tracker: JobTracker, heads: list[dict[str, Any] | None]) -> list[Panel]:
    """Return the panels of a tracker from its headlines over time (None where there is none): numbers, top by name."""
    known = [head for head in heads if head]
    if not known:
        return [Panel(f"{tracker.label}: no result yet", [])]
    top = known[-1]["top"][:DRAWN]
    columns = ["", *(("group", "vertices") if tracker.kind.groups else ("name", "value"))]
    rows = [[str(place), _text(name), number(value)] for place, (name, value) in enumerate(top, 1)]
    lines = [
        Line(name, _values([head and head["numbers"].get(name) for head in heads])) for name in known[-1]["numbers"]
    ]
    panels = comparable(tracker.label, lines)
    if tracker.kind.groups:  # these have numbers
        return [*panels[:-1], panels[-1]._replace(columns=columns, rows=rows)]
    if not top:
        return panels
    values = [dict(map(tuple, head["top"])) if head else {} for head in heads]
    drawn = [Line(_text(name), _values([each.get(name) for each in values])) for name, _ in top]
    return [*panels, Panel(f"{tracker.label}: top {len(top)}", drawn, columns, rows)]


def comparable(title: str, lines: list[Line]) -> list[Panel]:
    """Return one panel of all lines, or if they differ in scale one for each; none without lines."""
    tops = [np.nanmax(line.values, initial=0.0) for line in lines]
    if len(lines) < 2 or max(tops) <= SCALE * min(tops):
        return [Panel(title, lines)] if lines else []
    return [Panel(f"{title}: {line.label}", [line]) for line in lines]


def _values(values: list[Any]) -> np.ndarray:
    return np.array([np.nan if value is None else value for value in values], np.float64)


def _text(name: Any) -> str:
    return "(none)" if name is None else str(name)
