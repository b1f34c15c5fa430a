"""Structs that Python packs are laid out as C++ lays them out: checked against ctypes."""

from __future__ import annotations

import ctypes

import pytest

from suricate.cuda.structs import Struct, constants, enum

TYPES = {
    "uint32_t": ctypes.c_uint32,
    "uint8_t": ctypes.c_uint8,
    "long long": ctypes.c_longlong,
    "double": ctypes.c_double,
}


@pytest.mark.parametrize(
    "fields",
    [
        {"a": "uint8_t", "b": "double", "c": "uint32_t"},
        {"a": "uint32_t*", "b": "uint8_t", "c": "uint8_t", "d": "long long", "e": "uint8_t"},
        {"a": "uint32_t"},
    ],
)
def test_layout_is_that_of_the_platform(fields):
    members = [(name, ctypes.c_void_p if kind.endswith("*") else TYPES[kind]) for name, kind in fields.items()]
    native = type("Native", (ctypes.Structure,), {"_fields_": members})
    ours = Struct("Ours", fields)
    assert ours.size == ctypes.sizeof(native) == ours.dtype.itemsize
    filled = native.from_buffer_copy(ours.packer.pack(*range(1, len(fields) + 1)))
    assert [getattr(filled, name) for name in fields] == list(range(1, len(fields) + 1))
    assert [ours.dtype.fields[name][1] for name in fields] == [getattr(native, name).offset for name in fields]


def test_a_struct_extends_another():
    base = Struct("Base", {"a": "uint32_t", "b": "uint32_t"})
    both = Struct("Both", {"c": "double"}, base=base)
    assert both.declaration.splitlines()[0] == "struct Both : Base {"
    assert "uint32_t a" not in both.declaration
    assert both.packer.pack(1, 2, 0.5) == base.packer.pack(1, 2) + Struct("C", {"c": "double"}).packer.pack(0.5)


def test_a_base_keeps_its_tail_padding():
    base = Struct("Base", {"a": "double", "b": "uint32_t"})
    assert Struct("Both", {"c": "uint32_t"}, base=base).dtype.fields["c"][1] == base.size == 16


def test_constants_and_enums():
    assert constants({"A": 3, "B": 1.5, "C": 1 << 40}).splitlines() == [
        "[[maybe_unused]] constexpr uint32_t A = 3u;",
        "[[maybe_unused]] constexpr float B = 1.5f;",
        "[[maybe_unused]] constexpr uint64_t C = 1099511627776ull;",
    ]
    assert enum("", {"X": 0, "Y": 5}) == "enum { X = 0, Y = 5 };"
