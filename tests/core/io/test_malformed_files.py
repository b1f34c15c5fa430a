"""Malformed files and bad arguments: every error names the line and the reason."""

from __future__ import annotations

import gzip
import inspect
import io as iolib
import re
import tarfile
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from suricate import io
from suricate.errors import FileFormatError, ParameterError
from suricate.io import files
from suricate.io.options import FirstRow
from suricate.io.parsing.parse_loops import NAIVE, NO_TIME, ZONED, parse_iso
from suricate.io.sources.scan import scan
from suricate.io.times import parse

pytestmark = pytest.mark.usefixtures("reader")

MTX = "%%MatrixMarket matrix coordinate pattern general\n"
BAD = {
    "letters": ("a.txt", "0 1\n2 x3\n", 2, "id 'x3' is not a whole number"),
    "letters after digits": ("a.txt", "0 1\n\n2 3x\n", 3, "id '3x' is not a whole number"),
    "fraction": ("a.txt", "0 1.0\n", 1, "id '1.0' is not a whole number"),
    "missing column": ("a.txt", "0 1\n# c\n2\n3 4\n", 3, "missing column (1 of 2 columns)"),
    "missing weight": ("a.txt", "0 1 5\n2 3\n4 5 6\n", 2, "missing column (2 of 3 columns)"),
    "extra column": ("a.txt", "0 1\n2 3 4\n", 2, "more than 2 columns: '4'"),
    "negative id": ("a.txt", "0 1\n2 -3\n", 2, "id '-3' is negative"),
    "id too large": ("a.txt", "0 1\n4294967294 0\n", 2, "id '4294967294' is too large"),
    "id of 64 bits": ("a.txt", "0 1\n0 18446744073709551616\n", 2, "id '18446744073709551616' is too large"),
    "end inside a line": ("a.txt", "0 1 5\n2 3", 2, "the file ends in the middle of a line (2 of 3 columns)"),
    "end after a blank": ("a.txt", "0 1\n2 ", 2, "the file ends in the middle of a line (1 of 2 columns)"),
    "NaN": ("a.txt", "0 1 5\n2 3 NaN\n", 2, "weight 'NaN' is not finite"),
    "infinity": ("a.txt", "0 1 5\n2 3 -inf\n", 2, "weight '-inf' is not finite"),
    "thousands of digits": ("a.txt", "0 1\n2 " + "9" * 5000 + "\n", 2, "is too large"),
    "thousands of zeros": ("a.txt", "0 1\n2 " + "0" * 5000 + "5294967295\n", 2, "is too large"),
    "long weight": ("a.txt", "0 1 5\n2 3 " + "9" * 5000 + "\n", 2, "is not between"),
    "long time": ("a.csv", "u,v,t\n2,3," + "9" * 5000 + "\n", 2, "is not a whole number of 64 bits"),
    "long comment": ("a.txt", "# Nodes: " + "9" * 5000 + "\n0 1\n", 2, "vertices are declared: at most"),
    "long mtx": ("m.mtx", f"%%MatrixMarket matrix coordinate real general\n{'9' * 5000} 3 1\n", 2, "vertices are"),
    "long entries": ("m.mtx", f"%%MatrixMarket matrix coordinate real general\n3 3 {'9' * 5000}\n", 2, "entries are"),
    "long gr": ("g.gr", f"p sp {'9' * 5000} 1\n", 1, "vertices are declared: at most"),
    "long arcs": ("g.gr", f"p sp 3 {'9' * 5000}\n", 1, "arcs are declared: at most"),
    "no vertices": ("g.gr", "p sp 0 1\na 1 1 1\n", 2, "the number of vertices is declared as 0"),
    "overflow": ("a.txt", "0 1 5\n2 3 1e999\n", 2, "weight '1e999' is not between"),
    "weight": ("a.txt", "0 1 5\n2 3 1.5.5\n", 2, "weight '1.5.5' is not a number"),
    "time": ("temporal.txt", "0 1 5\n2 3 1.5\n", 2, "time '1.5' is not a whole number"),
    "binary": ("a.txt", b"\x7fELF\x02\x01\x00\x00\n", 1, "not a text file"),
    "binary later": ("a.txt", b"0 1\n\x00\x01 2\n", 2, "not a text file"),
    "one column": ("a.txt", "5\n6\n", 1, "missing column (1 of 2 columns)"),
    "five columns": ("a.txt", "1 2 3 4 5\n", 1, "5 columns"),
    "csv text": ("a.csv", "src,dst\n1,2\n3,bob\n", 3, "id 'bob' is not a whole number (relabel='text'"),
    "csv missing": ("a.csv", "src,dst,w\n1,2,3\n3,4\n5,6,7\n", 3, "missing column (2 of 3 columns)"),
    "csv extra": ("a.csv", "src,dst\n1,2,3\n", 2, "more than 2 columns"),
    "csv twice": ("a.csv", "src,src,dst\n1,2,3\n", 1, "2 columns have the name 'src'"),
    "lines of old Macs": ("a.txt", "0 1\n1 2\r2 3\r", 2, "a carriage return within the line"),
    "csv empty": ("a.csv", "src,dst,w\n1,,3\n", 2, "column 2 (dst) is empty"),
    "csv empty at the end": ("a.csv", "src,dst,w\n1,2,\n", 2, "column 3 (weight) is empty"),
    "csv end": ("a.csv", "src,dst\n1,2\n3,", 3, "the file ends in the middle of a line (1 of 2 columns)"),
    "csv quote": ("a.csv", 'src,dst\n1,"2\n', 2, "a quoted field is not closed on its line"),
    "csv blanks": ("a.csv", "src,dst\n1 2,3\n", 2, "expected ',' before '2'"),
    "csv header": ("a.csv", "a,b\n1,2\n", 1, "no column for src and dst among a, b: give columns="),
    "mtx empty": ("a.mtx", "", 1, "the first line must be '%%MatrixMarket"),
    "mtx banner": ("a.mtx", "1 1 1\n", 1, "the first line must be '%%MatrixMarket"),
    "mtx array": ("a.mtx", "%%MatrixMarket matrix array real general\n", 1, "'array' matrices are not read here"),
    "mtx complex": ("a.mtx", "%%MatrixMarket matrix coordinate complex general\n", 1, "'complex' matrices"),
    "mtx skew": ("a.mtx", "%%MatrixMarket matrix coordinate real skew-symmetric\n", 1, "'skew-symmetric' matrices"),
    "mtx no sizes": ("a.mtx", MTX + "% c\n", 3, "the line 'ROWS COLUMNS ENTRIES' is missing"),
    "mtx bad sizes": ("a.mtx", MTX + "% c\n3 3\n", 3, "expected 'ROWS COLUMNS ENTRIES'"),
    "mtx too few": ("a.mtx", MTX + "3 3 2\n1 2\n", 2, "the header declares 2 edges, the file has 1"),
    "mtx too many": ("a.mtx", MTX + "3 3 1\n1 2\n2 3\n", 2, "the header declares 1 edges, the file has 2"),
    "mtx id": ("a.mtx", MTX + "3 3 2\n1 2\n2 4\n", 4, "id '4' is too large"),
    "mtx column": ("a.mtx", MTX + "3 2 2\n3 2\n2 3\n", 4, "id '3' is too large"),
    "mtx zero": ("a.mtx", MTX + "3 3 2\n1 2\n0 1\n", 4, "id '0' is below 1"),
    "mtx integer": ("a.mtx", MTX.replace("pattern", "integer") + "3 3 1\n1 2 2.5\n", 3, "is not a whole number"),
    "gr no header": ("a.gr", "c x\na 1 2 3\n", 2, "expected 'p sp VERTICES ARCS'"),
    "gr empty": ("a.gr", "c x\n", 2, "the line 'p sp VERTICES ARCS' is missing"),
    "gr count": ("a.gr", "c x\np sp 3 2\na 1 2 3\n", 2, "the header declares 2 edges, the file has 1"),
    "gr id": ("a.gr", "p sp 3 2\na 1 2 3\nc\na 1 4 3\n", 4, "id '4' is too large"),
    "gr no weight": ("a.gr", "p sp 3 1\na 1 2\n", 2, "missing column (2 of 3 columns)"),
    "gr letter": ("a.gr", "p sp 3 1\ne 1 2 3\n", 2, "a line must start with one of a"),
    "metis no header": ("a.graph", "% c\n", 2, "the line 'VERTICES EDGES [FORMAT [WEIGHTS]]' is missing"),
    "metis header": ("a.graph", "% c\n3 2 5\n", 2, "expected 'VERTICES EDGES [FORMAT [WEIGHTS]]'"),
    "metis count": ("a.graph", "3 2\n2\n1\n", 1, "the header declares 2 edges, the file has 1"),
    "metis rows": ("a.graph", "2 1\n2\n1\n1\n", 1, "the header declares 2 vertices, there are more rows"),
    "metis id": ("a.graph", "3 2\n2\n1 4\n", 3, "id '4' is not from 1 to 3"),
    "metis zero": ("a.graph", "3 2\n2\n% c\n1 0\n", 4, "id '0' is not from 1 to 3"),
    "metis text": ("a.graph", "3 2\n2\n1 x3\n", 3, "'x3' is not a whole number"),
    "metis no weight": ("a.graph", "2 1 1\n2 5\n1\n", 3, "a row ends before its weights"),
    "metis no vertex weight": ("a.graph", "2 1 10 2\n7\n", 2, "a row ends before its weights"),
    "metis weight": (
        "a.graph",
        "2 1 1\n2 99999999999999999999\n1 1\n",
        2,
        "weight '99999999999999999999' is too large",
    ),
    "metis one end": ("a.graph", "3 1\n2\n", None, "listed at one of their ends only"),
    "metis two halves": ("a.graph", "4 1\n2\n\n\n3\n", None, "listed at one of their ends only"),
    "metis two weights": ("a.graph", "2 1 1\n2 5\n1 6\n", None, "or with another weight at the other end"),
    "zip": ("a.txt", b"PK\x03\x04 0 1\n", 1, "not a text file: a ZIP archive"),
    "compress": ("a.txt.Z", b"\x1f\x9d\x90\n", 1, "not a text file: compressed by compress (.Z)"),
    "Brotli": ("a.txt.br", b"\x8b\x05\x80hello\xff\x03", 1, "not a text file: compressed as .br"),
    "UTF-32": ("a.txt", "0 1\n".encode("utf-32"), 1, "not a text file: text in UTF-32"),
    "UTF-16": ("a.txt", "0 1\n".encode("utf-16"), 1, "not a text file: text in UTF-16"),
    "data of NetworkX": ("a.txt", "0 1 {}\n", 1, "weight '{}' is not a number; columns={'src': 0, 'dst': 1}"),
    "ISO time": ("a.csv", "u,v,t\n1,2,2024-02-29\n1,2,2023-02-29\n", 3, "'2023-02-29' is no time of ISO 8601"),
    "gr second header": ("a.gr", "p sp 3 1\np sp 3 1\n", 2, "a line must start with one of a"),
}


@pytest.mark.parametrize("case", BAD)
@pytest.mark.parametrize("chunk", [6, 1 << 20])
def test_malformed_files(put, monkeypatch, case, chunk):
    name, content, line, reason = BAD[case]
    monkeypatch.setattr(files, "CHUNK", chunk)
    path = put(content, name)
    with pytest.raises(FileFormatError) as caught:
        io.read(path)
    assert caught.value.line == line
    assert caught.value.reason.startswith(reason) or reason in caught.value.reason
    assert caught.value.path == path


@pytest.mark.parametrize(
    ("token", "dtype"), [("3000000000", "int32"), ("-1", "uint32"), ("1e39", "float32"), ("2.5", "int32")]
)
def test_weight_outside_the_dtype_asked_for(put, token, dtype):
    with pytest.raises(FileFormatError, match=":4: weight") as caught:
        io.read(put(f"# c\n0 1 1\n\n1 2 {token}\n"), weight_dtype=dtype)
    assert ("weight_dtype='float64' takes it" in str(caught.value)) == (token in ("3000000000", "-1"))


def test_a_tar_archive_is_named(put):
    data = iolib.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("a.txt"))
    with pytest.raises(FileFormatError, match="a tar archive"):
        io.read(put(gzip.compress(data.getvalue()), "a.tar.gz"), relabel=True)


@pytest.mark.parametrize("line", [1, 3, 5, 9])
def test_the_first_error_of_a_file_is_the_one_that_is_named(put, monkeypatch, line):
    monkeypatch.setattr(files, "CHUNK", 8)
    content = "".join("0 1\n" if k < line else f"{k} x\n" for k in range(1, 40)) + "2\r3\n"
    with pytest.raises(FileFormatError, match=f":{line}: id 'x' is not a whole number"):
        io.read(put(content))


def test_missing_file_and_folder(tmp_path):
    with pytest.raises(FileNotFoundError):
        io.read(tmp_path / "none.txt")
    with pytest.raises(OSError, match="directory"):
        io.read(tmp_path)


def test_a_line_without_end(put, monkeypatch):
    monkeypatch.setattr(files, "MAX_LINE", 1000)
    monkeypatch.setattr(files, "CHUNK", 256)
    with pytest.raises(FileFormatError, match=":2: not a text file"):
        io.read(put("0 1\n" + "7" * 2000))


@pytest.mark.parametrize("name", ["a.txt", "a.csv"])
@pytest.mark.parametrize("content", ["", "# nothing\n", "\n\n"])
def test_empty_files_are_empty_graphs(put, name, content):
    file = io.read(put(content, name))
    assert (len(file), file.num_vertices, file.src.dtype) == (0, 0, np.uint32)
    assert len(io.read(put(content, name), relabel=True).labels) == 0


@given(
    st.binary(max_size=300),
    st.sampled_from(["a.txt", "a.csv", "a.mtx", "a.gr", "a.txt.gz"]),
    st.sampled_from([False, True, "text"]),
)
def test_garbage_is_refused_or_read_but_never_a_crash(tmp_path_factory, content, name, relabel):
    path = tmp_path_factory.mktemp("garbage") / name
    path.write_bytes(content)
    try:
        file = io.read(path, relabel=relabel)
    except FileFormatError:
        return
    assert all(len(part) == 0 or part.max() < file.num_vertices for part in (file.src, file.dst))


edge_lines = st.lists(
    st.one_of(
        st.tuples(st.integers(-3, 60), st.integers(0, 60)).map(lambda e: f"{e[0]}\t{e[1]}"),
        st.sampled_from(["", "  ", "# c", "5", "7 x", "1 2 3", "% c", " 4  5 "]),
    )
)


@given(edge_lines, st.booleans())
def test_the_first_bad_line_is_the_one_reported(tmp_path_factory, lines, newline):
    path = tmp_path_factory.mktemp("lines") / "e.txt"
    path.write_text("\n".join(["0 0", *lines]) + "\n" * newline)
    expected, bad = [(0, 0)], None
    for number, line in enumerate(lines, 2):
        tokens = line.split()
        if not tokens or tokens[0][0] in "#%":
            continue
        if len(tokens) != 2 or not all(token.isdigit() for token in tokens):
            bad = number
            break
        expected.append((int(tokens[0]), int(tokens[1])))
    if bad is None:
        file = io.read(path)
        assert list(zip(file.src.tolist(), file.dst.tolist(), strict=True)) == expected
    else:
        with pytest.raises(FileFormatError) as caught:
            io.read(path)
        assert caught.value.line == bad


# -- arguments ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("time", ["2024-13-01", "2024-05-17T25:00", "soon", "17", "2024-05-17T13:45:00.1234567891", ""])
def test_bad_times_in_iso_8601(put, time):
    with pytest.raises(FileFormatError, match=":3: "):
        io.read(put(f"u,v,t\n1,2,2024-05-17\n1,2,{time}\n", "e.csv"))


BAD_ARGUMENTS = {
    "relabel": ("foo", 1, None),
    "columns": ([0, 1], {"src": 0, "dst": 1.5}, {"src": -1, "dst": 0}, {"src": True, "dst": 1}),
    "delimiter": ("", "ab", "\n", '"', "é", 5),
    "first_id": (1.5, -1, True, 2**64, "1"),
    "num_vertices": (float("nan"), -1, 2**32, True, "9"),
    "weight_dtype": ("foo", "int64", "float16", 3.5),
    "directed": ("no", 1),
    "sort_by_time": ("no", 1),
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, bad in BAD_ARGUMENTS.items() for value in bad])
def test_bad_arguments(put, name, value):
    with pytest.raises(ParameterError, match=name):
        io.read(put("src,dst\n1,2\n", "e.csv"), **{name: value})


def test_one_column_for_two_roles(put):
    with pytest.raises(FileFormatError, match="column 0 cannot be both src and dst"):
        io.read(put("1 2\n"), columns={"src": 0, "dst": 0})


@given(
    st.datetimes(),
    st.sampled_from(["-%m-%d", "%m%d"]),
    st.sampled_from(
        ["", "T%H:%M", " %H:%M:%S", "t%H:%M:%S.%f", "T%H%M", "T%H%M%S,%f789", "T%H:%M:%S.%f7000", "T%H%M:%S"]
    ),
    st.sampled_from(["", "Z", "+05", "-0930", "+13:45", "+24:00", "+1:0", "z", "+01:00[Europe/Paris]", "[Z]", "Z[]"]),
    st.integers(0, 40),
    st.sampled_from("0123456789-:T +Zx[]."),
)
def test_times_are_parsed_alike_by_python_and_by_the_loop(time, date, form, zone, place, sign):
    text = f"{time.year:04}" + time.strftime(f"{date}{form}") + (zone if form else "")
    for spelled in (text, text[:place] + sign + text[place + 1 :], text[:place]):
        with np.errstate(over="ignore"):
            seconds, nanoseconds, kind = parse_iso(np.frombuffer(spelled.encode(), np.uint8), 0, len(spelled))
        try:
            right = parse(spelled)
        except ValueError:
            assert kind == NO_TIME
        else:
            assert (seconds, nanoseconds, kind == ZONED, kind == NAIVE) == (*right, not right.zoned)


ADVISED = {
    "negative": ("a.txt", "0 1\n-2 3\n"),
    "text": ("a.txt", "0 1\n1 bob\n"),
    "zero": ("a.txt", "0 1\n1 02\n"),
    "events": ("a.txt", "I 0 1\n"),
    "KONECT": ("a.txt", "% bip unweighted\n% 2 2 2\n-1 2\n"),
    "large": ("a.txt", f"0 1\n{2**64} 2\n"),
    "both ends": ("a.txt", f"-1 1\n{2**63} 2\n"),
    "fraction": ("a.csv", "u,v,t\n1,2,3\n1,2,3.x\n"),
    "encoding": ("a.csv", b"u,v\na,b\n\xe9,b\n"),
}


@pytest.mark.parametrize("case", BAD | ADVISED)
def test_messages_advise_options_that_the_function_has(put, case):
    name, content, *_ = (BAD | ADVISED)[case]
    path = put(content, name)

    def scanned(path):
        source = scan(path)
        source.want((), names=True, first=FirstRow())
        list(source.read())

    calls = ((io.read, io.read), (io.read, partial(io.read, relabel=True)), (scan, scanned), (io.read_events,) * 2)
    for function, call in calls:
        try:
            call(path)
        except (FileFormatError, ParameterError) as error:
            message = str(error).removeprefix(str(path))
        else:
            continue
        advised = set(re.findall(r"\b([a-z_]+)=", message)) - ({"encoding"} if "text in UTF-" in message else set())
        assert advised <= set(inspect.signature(function).parameters), message
        assert function is io.read or "relabel" not in message
