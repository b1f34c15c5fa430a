"""What Python and C++ must agree on is written once: sources define none of it, structs and packers have one list."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from suricate.backends.slabhash import layout, programs
from suricate.backends.slabhash.programs import COUNTERS, DELETION, INSERTION, LAUNCH, LAYOUT, MOVE, QUERY, SCRATCH
from suricate.backends.slabhash.store import SlabHashStore
from suricate.cuda import program
from suricate.cuda.structs import Struct
from suricate.intake.ingest import CONSTANTS, COPIES, STATUS, UNVALIDATED_STRUCT

STRUCTS = (MOVE, SCRATCH, INSERTION, DELETION, QUERY)
SOURCES = [*programs.FOLDER.glob("*.cu*"), *(file for folder in program.HEADERS for file in folder.glob("*.cu*"))]
NAMES = (*COUNTERS, *LAYOUT, *LAUNCH, *CONSTANTS, *program.SENTINELS, *program.STATUSES)
GENERATED = (*STRUCTS, STATUS, COPIES, UNVALIDATED_STRUCT)


def code(source: Path) -> str:
    """The text of a source without comments."""
    return re.sub(r"//.*", "", source.read_text())


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.name)
def test_no_source_defines_what_is_generated(source: Path) -> None:
    text = code(source)
    for name in NAMES:
        assert not re.search(rf"#\s*define\s+{name}\b", text), name
        assert not re.search(rf"\bconst(expr)?\b[^;(){{}}]*\b{name}\s*(=|\{{)", text), name
    for name in (struct.name for struct in GENERATED):
        assert not re.search(rf"\bstruct\s+{name}\b", text), name
    assert not re.search(r"\benum\b", text)
    assert not re.search(r"\btypedef\b[^;]*\bbits_t\b", text)


@pytest.mark.parametrize("source", sorted(programs.FOLDER.glob("*.cu*")), ids=lambda source: source.name)
def test_no_source_repeats_a_number_of_the_layout(source: Path) -> None:
    """A flag, a hash factor or the size of a block appears in a kernel by name only."""
    numbers = {int(word, 16) for word in re.findall(r"0x([0-9A-Fa-f]+)", code(source))}
    flags = {layout.SEVERAL, layout.SEVERAL - 1, layout.QUEUED_FLAG, layout.QUEUED_FLAG - 1}
    assert not numbers & flags
    if source.name != "reweigh.cuh":  # which has a hash of its own, that the host never sees
        assert not numbers & {layout.HASH_FACTOR, layout.MIX_FACTOR}
    assert not re.search(r"\b256\b", code(source))


def test_every_program_has_every_name() -> None:
    text = programs.programs(SlabHashStore(4, weight_dtype=np.dtype("f4")))[0].text
    for name in (*COUNTERS, *LAYOUT, *LAUNCH, *program.SENTINELS, *program.STATUSES):
        values = [getattr(where, name) for where in (layout, programs, program.types) if hasattr(where, name)]
        assert values, name
        written = re.search(rf"\b{name} = ([\d.]+)", text)
        assert written, name
        assert float(written[1].rstrip(".")) == values[0]


def test_counters_are_distinct() -> None:
    """The enum has a place for each; SPENT takes two words, at an even place."""
    places = [getattr(layout, name) for name in COUNTERS] + [layout.SPENT + 1]
    assert len(set(places)) == len(places)
    assert max(places) < layout.NUM_COUNTERS
    assert layout.SPENT % 2 == 0


@pytest.mark.parametrize("struct", STRUCTS, ids=lambda struct: struct.name)
def test_swapped_fields_change_the_text_and_the_packer(struct: Struct) -> None:
    """C++ and Python follow the same list: whoever swaps two fields swaps them on both sides."""
    names = list(struct.own)
    for i in range(len(names) - 1):
        swapped = [*names[:i], names[i + 1], names[i], *names[i + 2 :]]
        other = Struct(struct.name, {name: struct.own[name] for name in swapped}, base=struct.base)
        assert other.declaration != struct.declaration
        assert list(other.fields)[-len(names) :] == swapped
        given = {name: number for number, name in enumerate(names, 1)}
        for one in (struct, other):
            packed = one.own_packer.pack(*one.values(**given))
            base = bytes(one.base.size if one.base else 0)
            read = np.frombuffer(base + packed, one.dtype)[0]
            assert {name: read[name] for name in names} == given


@pytest.mark.parametrize("struct", STRUCTS, ids=lambda struct: struct.name)
def test_values_are_given_by_name(struct: Struct) -> None:
    given = dict.fromkeys(struct.own, 1)
    with pytest.raises(TypeError):
        struct.values(*given.values())
    with pytest.raises(TypeError):
        struct.values(**dict.fromkeys([*given][1:], 1))
    with pytest.raises(TypeError):
        struct.values(**given, another=1)
