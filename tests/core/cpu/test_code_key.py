"""Digests of what machine code is made from: what changes them, and what must not."""

from __future__ import annotations

import os
import subprocess
import sys
from types import ModuleType

import numpy as np
import pytest
from llvmlite import ir
from numba import types
from numba.core import config

from suricate.cpu import code_key
from suricate.cpu.code_key import digests_of
from suricate.cpu.jit import inner, kernel

HELPERS = """
import enum
from typing import NamedTuple
import numpy as np
from numba import types
from numba.extending import intrinsic, overload, overload_attribute
from suricate.cpu.jit import inner
WIDTH = 3
TABLE = np.array([1, 2])
class Pair(NamedTuple):
    left: int
    right: int
class Twins(Pair):
    pass
class Kind(enum.IntEnum):
    FEW = 1
PAIR, TWINS = Pair(1, 2), Twins(0, 0)
def build(builder, value):
    return builder.add(value, value.type(1))
@intrinsic
def above(typing_context, x):
    def codegen(context, builder, signature, arguments):
        return build(builder, arguments[0])
    return types.int64(types.int64), codegen
def special(x):
    pass
@overload(special)
def _special(x):
    return lambda x: x + 1
@inner
def deepest(x, by=WIDTH):
    return x + WIDTH + by
@inner
def other(x):
    return x
"""
LOOP = """
import numpy as np
import {helpers} as helpers
from {helpers} import PAIR, TABLE, TWINS, Kind, above, deepest, special
from suricate.cpu.jit import inner, kernel
SETS = frozenset(("a", "b", "c"))
@inner
def deep(x):
    '''Say what it does.'''
    return deepest(x) + helpers.WIDTH
@kernel
def loop(x):
    kinds = x in (1, 2)
    return deep(x) + TABLE[0] + PAIR.left + TWINS.left + above(x) + special(x) + Kind.FEW + np.int32(2) + kinds
@kernel
def apart(x):
    return x + 1
"""


def modules(helpers: str = HELPERS, loop: str = LOOP, *, name: str = "code_key_helpers") -> ModuleType:
    """Return the module of the loop over these texts."""
    for each, text in ((name, helpers), ("code_key_loop", loop.format(helpers=name))):
        module = sys.modules[each] = ModuleType(each)
        module.__file__ = f"<{each}>"
        exec(compile(text, f"<{each}>", "exec"), vars(module))
    return module


@pytest.fixture(autouse=True)
def no_modules_left():
    yield
    for name in ("code_key_helpers", "code_key_loop"):
        sys.modules.pop(name, None)


def digest(module: ModuleType, name: str = "loop", signature=(types.int64,), target=("x86", "cpu", "+avx")) -> str:
    return digest_of(getattr(module, name), signature, target)


def digest_of(function, signature, target) -> str:
    return digests_of(function, signature, target)[0]


EDITS = {
    "a constant of another module": ("WIDTH = 3", "WIDTH = 4"),
    "an array": ("np.array([1, 2])", "np.array([2, 2])"),
    "its dtype": ("np.array([1, 2])", "np.array([1, 2], np.int32)"),
    "a field": ("Pair(1, 2)", "Pair(3, 2)"),
    "names of fields": ("    left: int\n    right: int", "    right: int\n    left: int"),
    "a member": ("FEW = 1", "FEW = 2"),
    "what an intrinsic calls": ("value.type(1)", "value.type(2)"),
    "an intrinsic": ("build(builder, arguments[0])", "build(builder, build(builder, arguments[0]))"),
    "an overload": ("lambda x: x + 1", "lambda x: x + 2"),
    "an inner function": ("return x + WIDTH + by", "return x - WIDTH + by"),
    "a default": ("by=WIDTH", "by=1"),
}


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_of_what_a_loop_includes_changes_its_digest_only(edit):
    before, after = EDITS[edit]
    assert before in HELPERS
    old = modules()
    digests = digest(old), digest(old, "apart")
    new = modules(HELPERS.replace(before, after))
    assert digest(new) != digests[0]
    assert digest(new, "apart") == digests[1]


@pytest.mark.parametrize(
    ("before", "after"),
    [("x in (1, 2)", "x in (1, 3)"), ("deepest(x) +", "deepest(x) -"), ("np.int32(2)", "np.int64(2)")],
)
def test_an_edit_of_its_own_module_changes_it(before, after):
    old = digest(modules())
    assert digest(modules(loop=LOOP.replace(before, after))) != old


@pytest.mark.parametrize(
    ("text", "before", "after"),
    [
        ("helpers", "def other(x):\n    return x", "def other(x):\n    return x + 1"),
        ("helpers", "WIDTH = 3", "WIDTH = 3  # words\n\n"),
        ("loop", "Say what it does.", "Say it better."),
        ("loop", "@kernel\ndef apart(x):\n    return x + 1", "@kernel\ndef apart(x):\n    return x + 2"),
    ],
)
def test_an_edit_of_something_else_does_not(text, before, after):
    old = digest(modules())
    helpers, loop = (
        (HELPERS.replace(before, after), LOOP) if text == "helpers" else (HELPERS, LOOP.replace(before, after))
    )
    assert (helpers, loop) != (HELPERS, LOOP)
    assert digest(modules(helpers, loop)) == old


def test_constants_count_as_they_are_now(monkeypatch):
    module = modules()
    old = digest(module)
    monkeypatch.setattr(sys.modules["code_key_helpers"], "WIDTH", 5)
    assert digest(module) != old


def test_options_and_types_and_the_processor_change_it(monkeypatch):
    module = modules()
    digests = {digest(module), digest(module, signature=(types.int32,)), digest(module, target=("x86", "cpu", ""))}
    digests.add(digest(module, signature=(types.Array(types.int64, 1, "C"),)))
    digests.add(digest(module, signature=(types.Array(types.int64, 1, "A"),)))
    digests.add(digest(module, signature=(types.Array(types.int64, 1, "C", readonly=True),)))
    for option, value in (("OPT", 1), ("BOUNDSCHECK", 1), ("LOOP_VECTORIZE", 0)):
        with monkeypatch.context() as patch:
            patch.setattr(config, option, value)
            digests.add(digest(module))
    module.loop.targetoptions["fastmath"] = True
    digests.add(digest(module))
    with monkeypatch.context() as patch:
        patch.setattr(code_key, "_versions", lambda: ("another numba",))
        digests.add(digest(module))
    assert len(digests) == 11


def test_thread_counts_and_dumps_do_not(monkeypatch):
    module = modules()
    old = digest(module)
    for option in ("NUMBA_NUM_THREADS", "DUMP_ASSEMBLY", "CACHE_DIR", "DEBUG_CACHE"):
        monkeypatch.setattr(config, option, 7)
    assert digest(module) == old


def made(factor, table):
    @kernel
    def scaled(x):
        return factor * x + table[0]

    return scaled


def test_closures_count():
    digests = {digest_of(made(*given), (types.int64,), ()) for given in ((1, (2,)), (1, (3,)), (2, (2,)), (1.0, (2,)))}
    assert len(digests) == 4
    assert digest_of(made(1, (2,)), (types.int64,), ()) in digests


def test_types_of_llvm_count_whether_they_have_been_printed_or_not():
    word = ir.IntType(77)
    before = digest_of(made(word, (2,)), (types.int64,), ())
    assert str(word) == "i77"  # which it keeps
    assert digest_of(made(word, (2,)), (types.int64,), ()) == before
    assert digest_of(made(ir.IntType(78), (2,)), (types.int64,), ()) != before


def test_functions_that_several_modules_declare_as_inner_count_once():
    module = modules()
    old = digest(module)
    inner(sys.modules["code_key_helpers"].deepest)
    assert digest(module) == old


class Odd:
    """No type that Numba knows."""

    def __init__(self, content):
        self.content = content


ODD = Odd(1)


@kernel
def takes_odd(x):
    return ODD.content + x


def test_what_is_not_known_counts_by_its_file_and_content(monkeypatch):
    old = digest_of(takes_odd, (types.int64,), ())
    ODD.content = 2
    changed = digest_of(takes_odd, (types.int64,), ())
    monkeypatch.setattr(sys.modules[__name__], "__file__", code_key.__file__)
    assert len({old, changed, digest_of(takes_odd, (types.int64,), ())}) == 3


def test_a_type_that_hides_what_it_stands_for_has_no_digest():
    class Hidden(types.Type):
        def __init__(self):
            super().__init__("<function f at 0x7f0123456789>")

    with pytest.raises(code_key.NoKeyError):
        digest_of(takes_odd, (Hidden(),), ())


SCRIPT = """
import sys
sys.path.insert(0, {folder!r})
import code_key_loop
from numba import types
from suricate.cpu.code_key import digests_of
print(*digests_of(code_key_loop.loop, (types.int64,), ()))
"""


@pytest.mark.slow
def test_every_process_computes_the_same(tmp_path):
    (tmp_path / "code_key_helpers.py").write_text(HELPERS)
    (tmp_path / "code_key_loop.py").write_text(LOOP.format(helpers="code_key_helpers"))
    script = SCRIPT.format(folder=str(tmp_path))
    found = set()
    for seed in ("1", "2"):  # the second process loads byte code
        run = [sys.executable, "-c", script]
        environment = os.environ | {"PYTHONHASHSEED": seed}
        found.add(subprocess.run(run, env=environment, capture_output=True, text=True, check=True).stdout)
    assert len(found) == 1


def test_a_loop_runs_what_it_includes_now():
    assert modules().loop(1) == 10 + 1 + 1 + 2 + 2 + 1 + 2 + 1
    assert modules(HELPERS.replace("lambda x: x + 1", "lambda x: x + 2")).loop(np.int64(1)) == 21
