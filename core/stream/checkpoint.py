"""Checkpoints of a job: numbered files in a folder; a job continues from the newest intact one.

A file is an ``.npz`` archive (every member has a checksum): ``about`` is JSON (format, version, identity of the job,
positions in the source, the sinks and the files of refused events, counters), the arrays are the events of the window,
the events that wait for their slide, and the names. The graph is not in it: it is built from the events. A file gets
its final name when it is complete on the disk. Beside it, a file ``.idle`` has a line of JSON for each slide that the
wall clock closed between this checkpoint and the next (the number of events read, the end, the position in the source),
and for each time that a merge stopped or began to wait for a source (see ``Turns``). A file ``owner`` is of the job
that goes on from the folder, from its first sink or slide on; an earlier one is refused its next slide or row.
"""

from __future__ import annotations

import json
import numbers
import time
import uuid
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from suricate.base.archives import DAMAGE, as_member, one_line, prefixed, read_archive, state_in
from suricate.base.errors import FileFormatError, ParameterError, RequirementError
from suricate.base.files import as_path, in_errors, replacing, sync
from suricate.base.parameters import integer, is_number, shown
from suricate.io.sources.positions import as_json, from_json
from suricate.io.sources.times import duration

if TYPE_CHECKING:
    from suricate.stream.ranks import Ranks
    from suricate.stream.window import Window

FORMAT, VERSION, ABOUT, OWNER = "suricate stream", 3, "about", "owner"
PART = ".part.npz"  #: how the names of files end that have the events of ranks but the first one
OF_EVENTS = "ring.", "waiting.", "ahead."  #: arrays that one rank has taken from a checkpoint,
OF_NAMES = "names.ids", "names.counts", "names.since", "names.data", "names.offsets"  #: and these of divided names
GRAPH = {"directed": True, "weight_dtype": "by default", "self_loops": "allow"}  #: options that must not change
KEPT = 2  #: checkpoints that a folder has: the one before is there if the newest is damaged


class Checkpoints:
    """The checkpoints of one job, in ``folder``.

    ``every``: a number of slides, or a duration between two checkpoints. ``ParameterError`` for anything else.
    """

    def __init__(self, folder: Any, every: Any) -> None:
        self.folder = as_path(folder)
        if self.folder.exists() and not self.folder.is_dir():
            raise ParameterError(f"checkpoint must be the name of a folder; {shown(str(folder))} is a file")
        counts = is_number(every, numbers.Integral)
        self._slides = integer("checkpoint_every", every, low=1) if counts else None
        self._seconds = 0.0 if counts else duration(every, "checkpoint_every", has_unit=True) / 1e9
        self._saved_slides, self._saved_at = 0, time.monotonic()
        self._damaged: list[Path] = []
        self._newest = 0  # the number of the newest checkpoint that this job knows
        self._token = ""  # what the owner's file says if this job is the owner

    def demand_seen(self, ranks: Ranks) -> None:
        """Raise ``ParameterError`` on all ranks unless all see what the first one writes to the folder; collective."""
        if not ranks.several:
            return
        seen = ranks.first(self._touch)
        try:
            with ranks.alike():
                if not (self.folder / seen).exists():
                    reason = "does not see what the first one writes there: name a folder that all see"
                    raise ParameterError(f"checkpoint={shown(str(self.folder))}: this process {reason}")
        finally:
            if ranks.is_first:
                (self.folder / seen).unlink(missing_ok=True)

    def _touch(self) -> str:
        self.folder.mkdir(parents=True, exist_ok=True)
        name = f"{uuid.uuid4().hex}.seen"
        (self.folder / name).touch()
        return name

    def is_due(self, slides: int) -> bool:
        """Return whether a checkpoint is due after ``slides`` slides of the job."""
        if self._slides is not None:
            return slides - self._saved_slides >= self._slides
        return slides > self._saved_slides and time.monotonic() - self._saved_at >= self._seconds

    def claim(self) -> None:
        """Make this job the owner of the folder, if it has not been yet; raise if another has become it since.

        Raises:
            RequirementError: another job has continued from this folder meanwhile.
            OSError: the folder cannot be written.
        """
        path = self.folder / OWNER
        if self._token and path.exists():
            if path.read_text() != self._token:
                raise RequirementError(f"checkpoint: another job has gone on from {self.folder}; this one cannot, too")
            return
        self._token = self._token or uuid.uuid4().hex
        self.folder.mkdir(parents=True, exist_ok=True)
        with replacing(path) as file:
            file.write(self._token.encode())

    def next_number(self) -> int:
        """Return the number of the checkpoint that is written next."""
        found = self._files()
        return found[-1][0] + 1 if found else 1

    def save_part(self, job: Window, number: int) -> None:
        """Write what a rank but the first one has of the state of a job, as part of the checkpoint ``number``."""
        arrays = job.contents.save_part()
        fields = {"format": FORMAT, "version": VERSION, "arrays": [*arrays]}
        members: dict[str, Any] = {ABOUT: as_member(fields), **arrays}
        with replacing(self._part(number, job._ranks.rank)) as file:
            np.savez(file, **members)

    def save(self, job: Window, slides: int, number: int) -> None:
        """Write the state of a job after ``slides`` slides, and remove all older checkpoints but one.

        Other ranks have written their parts of the checkpoint with this ``number``.

        Raises:
            OSError: the file cannot be written; the existing checkpoints remain.
            RequirementError: another job has continued from this folder meanwhile.
            ParameterError: the source's position is not made of numbers, texts, None, tuples, lists and dicts.
        """
        self.claim()
        about, arrays = state_of(job)
        fields = {"format": FORMAT, "version": VERSION, "slides": slides, "arrays": [*arrays], **about}
        members: dict[str, Any] = {ABOUT: as_member(fields), **arrays}
        self.folder.mkdir(parents=True, exist_ok=True)
        found, self._newest = self._files(), number
        with replacing(self.folder / f"{number:08}.npz") as file:
            np.savez(file, **members)
        kept = [path for _, path in found if path not in self._damaged][1 - KEPT :]
        for _, path in found:
            if path not in kept:
                path.unlink(missing_ok=True)
        oldest = min([int(path.stem) for path in kept], default=number)
        stale = [path for at, path in self._files(".idle") if at < oldest]
        stale += [path for path in self.folder.glob("*" + PART) if int(path.name.partition(".")[0]) < oldest]
        for path in stale:
            path.unlink(missing_ok=True)
        self._saved_slides, self._saved_at = slides, time.monotonic()

    def load(self) -> tuple[dict[str, Any], dict[str, np.ndarray]] | None:
        """Return the newest intact checkpoint as JSON and arrays, or None; a damaged one is skipped with a warning."""
        found = self._files()
        self._newest = found[-1][0] if found else 0
        for _, path in reversed(found):
            try:
                with open(path, "rb") as file:
                    version, about, arrays = read_archive(file, ABOUT, FORMAT)
                if version == VERSION and about["arrays"] != [*arrays]:
                    raise ValueError("arrays are missing")
            except DAMAGE as error:
                reason = f"{path} is no checkpoint, or a damaged one ({one_line(error)})"
                warnings.warn(f"{reason}: the one before is used", stacklevel=4)
                self._damaged.append(path)
                continue
            if version != VERSION:
                reason = f"the checkpoint has format version {version}, this suricate reads {VERSION}"
                reason += ": use another folder" + ("; 1 lost weights of edges with attributes" if version == 1 else "")
                raise FileFormatError(path, None, reason)
            self._saved_slides = int(about["slides"])
            about["idle"] = about.get("idle", []) + self._closes(int(path.stem))
            about["number"] = int(path.stem)
            return about, arrays
        if found:
            raise FileFormatError(found[-1][1], None, "no checkpoint in this folder is whole: empty it to start again")
        return None

    def parts(self, about: dict[str, Any], ranks: Ranks) -> list[dict[str, np.ndarray]]:
        """Return the parts of a loaded checkpoint, ``about`` in JSON, that this one of the ``ranks`` goes on with.

        Raises:
            FileFormatError: a part is damaged, or another file.
            OSError: it is not there, or cannot be read.
        """
        found = []
        for rank in range(1, about.get("ranks", 1)):
            if rank % ranks.size == ranks.rank:
                path = self._part(about["number"], rank)
                try:
                    with open(path, "rb") as file:
                        _, fields, arrays = read_archive(file, ABOUT, FORMAT)
                    if fields["arrays"] != [*arrays]:
                        raise ValueError("arrays are missing")
                except DAMAGE as error:
                    raise FileFormatError(
                        path, None, f"this part of a checkpoint is damaged: {one_line(error)}"
                    ) from None
                found.append(arrays)
        return found

    def _part(self, number: int, rank: int) -> Path:
        return self.folder / f"{number:08}.{rank}{PART}"

    def note(self, line: list[Any]) -> None:
        """Append a line about the silence of the source; it is on the disk at the return."""
        path = self.folder / f"{self._newest:08}.idle"
        is_new = not path.exists()
        with in_errors(str(path)):
            with open(path, "a") as file:
                file.write(json.dumps(line) + "\n")
            sync(path)
            if is_new:  # so that the name lasts
                sync(self.folder)

    def _closes(self, number: int) -> list[Any]:
        """Return what :meth:`note` wrote since the checkpoint ``number``; a line without its end was not handed out."""
        texts = [path.read_text() for found, path in self._files(".idle") if found >= number]
        return [json.loads(line) for text in texts for line in text.splitlines(keepends=True) if line.endswith("\n")]

    def _files(self, suffix: str = ".npz") -> list[tuple[int, Path]]:
        """Return the checkpoints, or other files of the folder, with their numbers, ascending."""
        paths = self.folder.glob("*" + suffix) if self.folder.is_dir() else ()
        return sorted((int(path.stem), path) for path in paths if path.stem.isdecimal())


# -- what a job is and where it stands ---------------------------------------------------------------------------------


def identity_of(job: Window) -> dict[str, list[str]]:
    """Return the options in which a job must equal a checkpoint to continue: by name ``[value, text for errors]``."""
    options, rule = job._options, job._options.rule(None)
    ticks = {"size": rule.grid.size, "slide": (options.mode, rule.grid.slide), "origin": rule.grid.origin,
             "lateness": rule.delay, "ahead": rule.ahead, "half_life": options.half_life_ticks}  # fmt: skip
    found = {name: [str(value), str(getattr(options, name))] for name, value in ticks.items()}
    for name in ("combine", "attributes", "empty"):
        found[name] = [str(getattr(options, name))] * 2
    for name, default in GRAPH.items():
        value = job.graphs.options.get(name, default)
        found[name] = [str(getattr(value, "name", None) or getattr(value, "__name__", value))] * 2  # dtypes have names
    readers = " with readers='all'" if job._readers == "all" else ""
    found["source"], found["time_unit"] = [job._source.describe() + readers] * 2, [str(job._source.time_unit)] * 2
    ids = "ids" if job.names is None else "names, all of them kept" if job.names.keep else "names"
    return {**found, "vertices": [ids] * 2}


def state_of(job: Window) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return the state of a job between two slides: a dict for JSON, and arrays by name."""
    graph, (contents, arrays) = job.graphs.graph, job.contents.save()
    about: dict[str, Any] = {
        "job": identity_of(job),
        "position": as_json(job._position),
        "skipped": [each.save() for each in job.refusals],
        "num_vertices": 0 if graph is None else graph.num_vertices,
        "rows": job.silence.rows,
        "idle": [*job.silence.turns, *job.silence.closes],
        "sinks": {sink.target: sink.save() for sink in job._sinks if sink.target},
        "trackers": [[tracker.identity, tracker.slides] for tracker in job.graphs.trackers],
        "alerts": [alert.identity for alert in job.alerts],
        "ranks": job._ranks.size,
        **contents,
    }
    arrays["deleted"] = np.empty(0, np.uint32) if graph is None else graph.deleted_vertices
    arrays |= prefixed("history.", job.past.save())
    for number, tracker in enumerate(job.graphs.trackers):
        arrays |= prefixed(f"state{number}.", tracker.state) | prefixed(f"tracker{number}.", tracker.kept)
    for number, alert in enumerate(job.alerts):
        arrays |= prefixed(f"alert{number}.", alert.save())
    if job.record is not None:
        arrays |= prefixed("report.", job.record.save())
    return about, arrays


def restore(job: Window, about: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """Restore a new job from ``about`` (JSON) and arrays of a checkpoint, but for its graph, trackers and sinks.

    Raises:
        FileFormatError: a part of the checkpoint is damaged.
        ParameterError: the checkpoint is of a job with another window, source or graph.
        RequirementError: the source cannot continue from the position of the checkpoint.
    """
    with job._ranks.alike():
        parts = _parts(job, about, arrays)
    with job._ranks.alike():
        job.contents.load(about, arrays, parts)  # collective where names are divided


def _parts(job: Window, about: dict[str, Any], arrays: dict[str, np.ndarray]) -> list[dict[str, np.ndarray]]:
    """Restore a new job but for its contents, of which the parts of the checkpoint are returned."""
    expected = identity_of(job)
    for what, (key, text) in about["job"].items():
        if key != expected[what][0]:
            reason = f"{what} was {text}, and is {expected[what][1]} now"
            raise ParameterError(f"checkpoint: it is of another job: {reason}; another folder begins a new job")
    if about["position"] is not None and job._ranks.is_first and not job._source.resumes:
        reason = "this source cannot go on from a position: st.source takes a function of one"
        raise RequirementError(f"checkpoint: {reason}; lists of chunks and st.scan can, too")
    job._position = from_json(about["position"])
    job.silence.rows = about.get("rows", 0)
    for line in about["idle"]:
        (job.silence.turns if isinstance(line[0], str) else job.silence.closes).append(line)
    for refusals, counts in zip(job.refusals, about["skipped"], strict=True):
        refusals.load(counts)
    job.past.load(state_in(arrays, "history."))
    checkpoints = job._checkpoints
    parts = [] if checkpoints is None else checkpoints.parts(about, job._ranks)
    if job._ranks.is_first and (parts or job._ranks.several):
        parts.insert(0, arrays)
    return parts


def restore_graph(job: Window, about: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """Restore the graph of a checkpoint (JSON and arrays), and those of its trackers that the job has, too."""
    job.make_graph()
    graphs = job.graphs
    held = job.contents.with_texts(job._ranks.change(job.contents.held(), graphs))
    saved = [*about["trackers"], *[(None, 0)] * len(graphs.trackers)]
    goes_on = [each.identity == identity for each, (identity, _) in zip(graphs.trackers, saved, strict=False)]
    states = [state_in(arrays, f"state{at}.") if same else {} for at, same in enumerate(goes_on)]
    graphs.restore(held, about["num_vertices"], arrays["deleted"], states, job.contents.scale)
    for number, tracker in enumerate(graphs.trackers):
        if goes_on[number]:
            tracker.load(saved[number][1], state_in(arrays, f"tracker{number}."))


def without_events(saved: Any) -> Any:
    """Return a loaded checkpoint (JSON and arrays, or None) without the arrays of events, for ranks other than 0."""
    if saved is None:
        return None
    about, arrays = saved
    own = *OF_EVENTS, *(OF_NAMES if about.get("divided") else ())
    return about, {name: part for name, part in arrays.items() if not name.startswith(own)}
