"""Attributes of events as columns of edges, against a dictionary; kinds and attributes in text and CSV files."""

import math

import numpy as np
import pytest

import suricate as su
import suricate.stream as st
from suricate.errors import WeightError

RULES = {
    "fee": "sum",
    "rate": "last",
    "first": "first",
    "least": "min",
    "most": "max",
    "number": "count",
    "whole": "sum",
}
FOLD = {
    "sum": sum, "last": lambda x: x[-1], "first": lambda x: x[0], "min": min, "max": max, "count": len
}  # fmt: skip


def events(seed, count=300, kinds=True):
    random = np.random.default_rng(seed)
    src, dst = random.integers(0, 6, (2, count))
    made = {"time": np.sort(random.integers(0, 60, count)), "src": src, "dst": dst}
    made |= {name: random.integers(-8, 9, count) / 4 for name in ("fee", "rate", "first", "least", "most")}
    made["whole"] = random.integers(-(2**61), 2**61, count) // 64
    if kinds:
        made["kind"] = random.choice([1, 1, 1, 1, -1, 0], count)
    return made


def model(made, end, size):
    """The attributes of each edge at the end of a window, in plain Python."""
    live = {}
    kinds = made.get("kind", np.ones(len(made["time"]), int))
    for i in range(len(made["time"])):
        if not end - size <= made["time"][i] < end and made["time"][i] >= end:
            continue
        key, row = (int(made["src"][i]), int(made["dst"][i])), {name: made[name][i] for name in RULES if name in made}
        held = live.setdefault(key, [])
        # what had left by the end of an earlier slide could not be taken any more: slides of 1 tick
        held[:] = [each for each in held if each[0] >= made["time"][i] + 1 - size]
        if kinds[i] < 1:
            del held[-1 if kinds[i] < 0 else 0 :]
        if kinds[i] >= 0:
            held.append((made["time"][i], row))
    found = {}
    for key, held in live.items():
        rows = [row for time, row in held if end - size <= time]
        if rows:
            found[key] = [
                float(FOLD[rule]([row.get(name, 0) for row in rows])) if name != "whole" else
                int(sum(int(row[name]) for row in rows)) for name, rule in RULES.items()
            ]  # fmt: skip
    return found


def columns(graph):
    edges = graph.edges()
    ends = zip(edges.src.tolist(), edges.dst.tolist(), strict=True)
    found = [graph.edge_columns.at_rows(name, edges.row).tolist() for name in RULES]
    return dict(zip(ends, map(list, zip(*found, strict=True)), strict=True))


def agree(found, right):
    return found.keys() == right.keys() and all(
        all(math.isclose(a, b, abs_tol=1e-9) for a, b in zip(found[key], right[key], strict=True)) for key in right
    )


@pytest.mark.compiled
@pytest.mark.parametrize("kinds", [False, True])
def test_attributes_are_those_of_a_dictionary(kinds, device):
    made, size = events(1, kinds=kinds), 12
    chunks = [{name: part[a:b] for name, part in made.items()} for a, b in ((0, 7), (7, 100), (100, 300))]
    job = st.Window(chunks, size=str(size), slide="1", attributes=RULES, graph={"device": device})
    slides = 0
    for w in job:
        w.graph.check()
        assert agree(columns(w.graph), model(made, w.end, size))
        slides += 1
    assert slides > 50


@pytest.mark.compiled
def test_algorithms_take_attributes_for_weights(device):
    made = events(2, kinds=False)
    made["fee"] = abs(made["fee"]) + 0.25
    job = st.Window(made, size="12", slide="3", attributes={"fee": "sum"}, graph={"device": device})
    near, rare = job.track("sssp", source=0, weight="fee"), job.track("sssp", source=0, weight="fee", every=2)
    plain = st.Window({**made, "weight": made["fee"]}, size="12", slide="3", combine="sum", graph={"device": device})
    right = plain.track("sssp", source=0)
    for w, _ in zip(job, plain, strict=True):
        assert np.array_equal(w.graph.device.to_numpy(near.result.distance),
                              w.graph.device.to_numpy(right.result.distance))  # fmt: skip
        if job.slides > 1:
            assert len(rare.result.distance) <= w.graph.num_vertices
    assert near.updates.failed == 0


@pytest.mark.compiled
def test_a_job_with_attributes_goes_on(tmp_path):
    made, size = events(3), 12
    chunks = [{name: part[i : i + 20] for name, part in made.items()} for i in range(0, 300, 20)]
    options = {"size": str(size), "slide": "1", "attributes": RULES, "graph": {"device": "cpu"}}
    for stop in (10, 23, 100):
        job = st.Window(chunks, checkpoint=tmp_path, checkpoint_every=1, **options)
        for w in job:
            assert agree(columns(w.graph), model(made, w.end, size))
            if job.slides == stop:
                break
    assert w.end == 60
    with pytest.raises(su.errors.ParameterError, match="attributes was"):
        st.Window(chunks, checkpoint=tmp_path, **{**options, "attributes": {"fee": "min"}})


@pytest.mark.parametrize("rule", ["last", "first", "min", "max"])
def test_bools_are_bools_where_the_column_is(rule):
    made = {"src": [0, 1, 0], "dst": [1, 0, 1], "time": [1, 2, 3], "open": [True, False, False]}
    right = {"last": [False, False], "first": [True, False], "min": [False, False], "max": [True, False]}[rule]
    for kinds, dtype in (({"open": bool}, np.bool_), ({}, np.int64)):
        options = {"device": "cpu", "edge_columns": kinds}
        for slide in st.Window(made, size=5, slide=5, attributes={"open": rule}, graph=options):
            found = slide.graph.edge_columns["open"]
            assert (found.dtype, found.tolist()) == (dtype, right)


def test_weights_that_are_rounded_are_refused_by_a_sentence_that_says_why():
    made = {"src": [0], "dst": [1], "time": [1], "weight": [2**53 + 1]}
    with pytest.raises(WeightError, match=r"9007199254740993 of edge \(0, 1\).* up to 9007199254740992: pass floats"):
        list(st.Window(made, size=5, slide=5, combine="last", graph={"device": "cpu"}))


def test_bad_attributes():
    made = {"src": [0], "dst": [1], "fee": ["x"]}
    for rules, error, text in [
        ([], su.errors.ParameterError, "attributes must be a dict"),
        ({"weight": "sum"}, su.errors.ParameterError, "'weight' is no name of an attribute"),
        ({"fee": "mean"}, su.errors.ParameterError, r"attributes\['fee'\] must be one of"),
        ({"price": "sum"}, su.errors.ParameterError, "no column 'price'"),
        ({"fee": "sum"}, su.errors.DTypeError, "attributes are numbers"),
    ]:
        with pytest.raises(error, match=text):
            next(st.Window(made, size=1, slide=1, attributes=rules, graph={"device": "cpu"}))
    big = {"src": [0, 0], "dst": [1, 1], "n": [2**62, 2**62]}
    with pytest.raises(su.errors.WeightError, match="a sum of 'n' is out of the range of int64"):
        list(st.Window(big, size=2, slide=2, attributes={"n": "sum"}, graph={"device": "cpu"}))
    big["weight"] = big.pop("n")
    with pytest.raises(su.errors.WeightError, match=r"edge \(0, 1\) is out of the range of int64"):
        list(st.Window(big, size=2, slide=2, combine="sum", graph={"device": "cpu"}))
    nan = {"src": [0, 0], "dst": [1, 2], "n": [1.5, np.nan]}
    job = st.Window(st.source(nan, on_error="skip"), size=2, slide=1, attributes={"n": "sum"}, graph={"device": "cpu"})
    assert [w.graph.num_edges for w in job] == [1]
    assert job.skipped == 1


HEADER = "src,dst,fee,time,kind,note\n"
ROWS = [
    (0, 1, 1.5, 1, "insert", '"a, b"'), (1, 2, 2, 2, "+", "x"), (0, 1, 0.25, 3, "i", ""),
    (0, 1, "", 4, "delete", '"q""q"'), (1, 2, 9, 5, "set", " y"), (2, 2, 3, 6, "1", "z"), (2, 2, "", 7, "-1", "z"),
]  # fmt: skip


@pytest.mark.parametrize("form", ["csv", "semicolon", "text", "skip"])
def test_kinds_and_attributes_in_files(form, tmp_path):
    path = tmp_path / ("events.txt" if form == "text" else "events.csv")
    separator = {"semicolon": ";", "text": " "}.get(form, ",")
    rows = [[str(part) for part in row] for row in ROWS]
    if form == "text":
        rows = [[part.strip(' "').replace(", ", "") or "0" for part in row] for row in rows]
    lines = [separator.join(row) for row in rows]
    if form == "skip":
        lines.insert(3, "0,x,2,3,insert,n")
    lines.insert(2, "# a comment" if form == "text" else "")
    path.write_text(("" if form == "text" else HEADER.replace(",", separator)) + "\n".join([*lines, ""]))
    if form == "text":
        places = {"src": 0, "dst": 1, "time": 3, "kind": 4}
        source = st.scan(path, columns={**places, "fee": 2}, on_error="skip")
    else:
        source = st.scan(path, src="src", dst="dst", time="time", on_error="skip")
    rules = {"fee": "sum"} if form == "text" else {"fee": "sum", "n": "count"}
    job = st.Window(source, size=None, slide="1s", attributes=rules, graph={"device": "cpu"})
    fees = []
    for w in job:
        edges = w.graph.edges()
        values = w.graph.edge_columns.at_rows("fee", edges.row).tolist()
        fees.append(dict(zip(zip(edges.src.tolist(), edges.dst.tolist(), strict=True), values, strict=True)))
    assert job.skipped == (form == "skip")
    right = [{(0, 1): 1.5}, {(0, 1): 1.5, (1, 2): 2}, {(0, 1): 1.75, (1, 2): 2}]
    assert fees[:3] == right
    assert fees[-1][1, 2] == 9
    assert (2, 2) not in fees[-1]
    assert fees[-1] == {(0, 1): 1.5, (1, 2): 9}


def test_unknown_columns_of_files(tmp_path):
    path = tmp_path / "events.csv"
    path.write_text("src,dst,time\n0,1,2\n")
    with pytest.raises(su.errors.ParameterError, match="has no column 'op'; it has src, dst, time"):
        list(st.scan(path, kind="op").read())
    path.write_text("src,dst,time,kind\n0,1,2,insert\n0,1,3,remove\n")
    with pytest.raises(su.errors.ParameterError, match="kind must be insert, delete or set, got 'remove'"):
        list(st.Window(st.scan(path), size="5s", slide="1s", graph={"device": "cpu"}))


TEXT_RULES = {"city": "last", "first_city": "first", "fee": "sum", "n": "count"}


def texts(seed, count=400):
    random = np.random.default_rng(seed)
    src, dst = random.integers(0, 6, (2, count))
    city, first = ([f"city {at}, ä" if at % 3 else "" for at in random.integers(0, count, count)] for _ in range(2))
    times = np.sort(random.integers(0, 60, count))
    return {"time": times, "src": src, "dst": dst, "city": city, "first_city": first,
            "fee": random.integers(0, 9, count)}  # fmt: skip


def right_texts(made, end, size):
    found = {}
    for i in np.flatnonzero((made["time"] < end) & (made["time"] >= end - size)):
        _, first, fee, n = found.get((made["src"][i], made["dst"][i]), ("", made["first_city"][i], 0, 0))
        found[made["src"][i], made["dst"][i]] = made["city"][i], first, fee + made["fee"][i], n + 1
    return found


def texts_of(graph):
    edges = graph.edges()
    ends = zip(edges.src.tolist(), edges.dst.tolist(), strict=True)
    found = [graph.edge_columns.at_rows(name, edges.row).tolist() for name in TEXT_RULES]
    return dict(zip(ends, zip(*found, strict=True), strict=True))


@pytest.mark.compiled
def test_texts_are_attributes_that_come_and_go(device, tmp_path, monkeypatch):
    """Equal to a dictionary, on through checkpoints; what no event has any more is forgotten."""
    monkeypatch.setattr("suricate.stream.attributes.TEXTS", 16)
    made, size = texts(4), 12
    chunks = [{name: part[i : i + 30] for name, part in made.items()} for i in range(0, 400, 30)]
    options = {"size": str(size), "slide": "1", "attributes": TEXT_RULES, "graph": {"device": device}}
    for stop in (15, 30, 100):
        job = st.Window(chunks, checkpoint=tmp_path, checkpoint_every=1, **options)
        for w in job:
            w.graph.check()
            assert texts_of(w.graph) == right_texts(made, w.end, size)
            if job.slides == stop:
                break
    assert w.end == 60
    assert len(job.contents.intake.attributes.texts["city"]) < 0.8 * len(set(made["city"]))


def test_texts_of_files_and_what_is_refused(tmp_path):
    (tmp_path / "a.csv").write_text('src,dst,time,zip,by\n0,1,1,01234,"a ""b"""\n1,2,2,99,\n0,1,3,5 N,c\n')
    options = {"size": "9s", "slide": "1s", "attributes": {"zip": "last", "by": "first"}}
    columns = {"device": "cpu", "edge_columns": {"zip": str}}
    *_, w = st.Window(st.scan(tmp_path / "a.csv"), graph=columns, **options)
    assert w.graph.edge_columns.at("zip", [0, 1], [1, 2]).tolist() == ["5 N", "99"]
    assert w.graph.edge_columns.at("by", [0, 1], [1, 2]).tolist() == ['a "b"', ""]
    both = {"src": [0, 0], "dst": [1, 2], "x": ["u", None]}
    job = st.Window(
        st.source(both, on_error="skip"), size=2, slide=1, attributes={"x": "last"}, graph={"device": "cpu"}
    )
    assert [w.graph.edge_columns["x"].tolist() for w in job] == [["u"]]
    assert job.skipped == 1
    for chunks, rule, text in [
        ([both], "max", "texts have the rules first and last"),
        ([{**both, "x": ["1", "2"]}, both], "last", "edge_columns of the graph says str"),
        ([{**both, "x": ["u", "v"]}, {**both, "x": [1, 2]}], "last", "texts so far"),
        ([{**both, "x": [1.5, object()]}], "last", "such attributes are numbers"),
    ]:
        with pytest.raises(su.errors.DTypeError, match=text):
            list(st.Window(chunks, size=2, slide=1, attributes={"x": rule}, graph={"device": "cpu"}))
