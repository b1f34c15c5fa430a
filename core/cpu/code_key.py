"""Digests of everything from which a compiled CPU function was made; machine code is stored on disk under them.

A digest covers the byte code of the function and of all that it refers to: functions that it calls, with their options,
the bodies of ``@overload`` and ``@intrinsic``, and the values of constants, wherever they come from. So an edit of a
function changes the digests of the functions that include it, and of no others. NumPy, Numba, llvmlite and Python's own
library are covered by their versions; the options of Numba and the processor, too. For a value of an
unknown type, the source files of its type and of the function that uses it are covered as a whole.

Only the names in byte code are cached: constants are read when a function is compiled.
"""

from __future__ import annotations

import dis
import enum
import hashlib
import platform
import sys
import types
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import llvmlite
import numba
import numpy as np
from llvmlite import ir
from llvmlite.binding import get_host_cpu_name
from numba.core import config
from numba.core import types as numba_types
from numba.core.dispatcher import Dispatcher
from numba.core.serialize import dumps
from numba.core.typing.templates import builtin_registry
from numba.extending import _Intrinsic

STABLE = frozenset({"builtins", "llvmlite", "math", "numba", "numpy", *sys.stdlib_module_names} - {"__main__"})
WITHOUT_EFFECT = frozenset(
    {
        "ALWAYS_WARN_UNINIT_VAR", "ANNOTATE", "CHROME_TRACE", "COLOR_SCHEME", "DEVELOPER_MODE", "DIFF_IR",
        "DISABLE_INTEL_SVML", "DISABLE_JIT", "DISABLE_PERFORMANCE_WARNINGS", "FULL_TRACEBACKS", "FUNCTION_CACHE_SIZE",
        "GDB_BINARY", "HIGHLIGHT_DUMPS", "HTML", "LLVM_PASS_TIMINGS", "PARALLEL_DIAGNOSTICS", "SHOW_HELP",
        "THREADING_LAYER", "THREADING_LAYER_PRIORITY", "TRACE",
    }
)  # fmt: skip  #: options of Numba that do not change code, besides those of CUDA, dumps, caches and thread counts
#: what code of a release is compiled for: a processor's name in LLVM, with no features besides its own
BASELINE = "x86-64-v3"
V3 = {"+avx", "+avx2", "+bmi", "+bmi2", "+f16c", "+fma", "+lzcnt", "+movbe", "+popcnt", "+sse4.2"}
#: options that the target holds; whether there is a library of vector mathematics, which keys name apart
PROCESSOR, SVML = ("CPU_NAME", "CPU_FEATURES"), "USING_SVML"
_NEITHER = ("CUDA", "DUMP", "CACHE", "NUM_THREADS")
_CONTENT = (np.ndarray, np.generic, np.dtype, tuple, list, dict, set, frozenset)
_DISPATCHER: Any = Dispatcher
_TUPLES: Any = vars(numba_types)["BaseTuple"]
_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis))


class NoKeyError(Exception):
    """Raised for a function or type of which no digest can be made; its machine code is then not stored on disk."""


class _Names(NamedTuple):
    """The names that a piece of byte code reads: ``used``, the globals; ``attributes``, attributes of any object."""

    used: tuple[str, ...]
    attributes: tuple[str, ...]


def digests_of(dispatcher: Dispatcher, signature: Any, target: tuple[Any, ...]) -> list[str]:
    """Return hex digests of all that determines the machine code of a function for given argument types.

    The first is this machine's own. Others are *portable*: other builds of the same versions make them, too. They have
    the baseline that code was compiled for in place of the processor: what ``target`` names, and :data:`BASELINE`,
    without Intel's SVML, if the processor includes it.

    Args:
        dispatcher: the compiled function.
        signature: the argument types, as Numba passes them to a cache.
        target: what Numba compiles for: target triple, processor name and processor features.

    Raises:
        NoKeyError: an object that the function refers to, or a type of the signature, cannot be digested.
    """
    walk = _Walk()
    walk.add("options", *_options())
    walk.signature(signature)
    walk.value(dispatcher)
    walk.operators()
    triple, *processor = map(str, target or ("",))
    code, portable = walk.digest.hexdigest(), ("portable", triple, *portable_versions().values())
    svml = str(vars(config).get(SVML, False))
    keys = [("own", triple, *processor, svml, *_versions()), (*portable, *processor, svml)]
    if processor and includes_baseline(processor[-1]):
        keys.append((*portable, BASELINE, "", "False"))
    return [hashlib.sha256("\0".join((code, *key)).encode()).hexdigest()[:40] for key in keys]


def includes_baseline(features: str) -> bool:
    """Return whether the ``features`` of a processor, as Numba reports them, include those of :data:`BASELINE`."""
    return {*features.split(",")} >= V3


def portable_versions() -> dict[str, str]:
    """Return, by name, the versions that code from another machine must have been made with."""
    numpy = ".".join(np.__version__.split(".")[:2])
    tag = f"{sys.implementation.cache_tag}{getattr(sys, 'abiflags', '')}"  # with "t" without a GIL
    return {"python": tag, "numba": numba.__version__, "llvmlite": llvmlite.__version__, "numpy": numpy}


@cache
def _versions() -> tuple[str, ...]:
    return numba.__version__, llvmlite.__version__, np.__version__, sys.version, platform.machine()


def tools() -> tuple[str, ...]:
    """Return what machine code depends on besides sources: versions, options of Numba, and the processor."""
    return (
        *_versions(),
        *_options(),
        str(vars(config).get(SVML)),
        str(config.CPU_NAME),
        str(config.CPU_FEATURES),
        str(get_host_cpu_name()),
    )


def _options() -> Iterator[str]:
    """Yield ``name=value`` for every Numba option that may change the generated code."""
    for name, value in sorted(vars(config).items()):
        if not name.isupper() or name[0] == "_" or name in WITHOUT_EFFECT or name in (*PROCESSOR, SVML):
            continue
        if any(part in name for part in _NEITHER):
            continue
        if not name.startswith("DEBUG_") or name == "DEBUG_NRT":
            yield f"{name}={value!r}"


class _Walk:
    """Adds a function, and all objects reachable from it, to a SHA-256 digest."""

    def __init__(self) -> None:
        self.digest = hashlib.sha256()
        self._numbers: dict[int, tuple[int, Any]] = {}  # holds what it met, so that an id stands for one thing

    def add(self, *parts: str) -> None:
        self.digest.update("".join(f"{len(part)}:{part}" for part in parts).encode("utf-8", "surrogatepass"))

    def value(self, value: Any, names: _Names | None = None) -> None:
        """Add the object ``value``, to which a function refers; of a module only ``names`` (None: all)."""
        if type(value) in _PLAIN:
            self.add(type(value).__name__, repr(value))
            return
        if isinstance(value, types.ModuleType):
            self._module(value, names)
        elif isinstance(value, _CONTENT):  # whether two of them are one object differs from process to process
            self._content(value)
        elif (known := self._numbers.get(id(value))) is not None:
            self.add("again", str(known[0]))
        else:
            self._numbers[id(value)] = len(self._numbers), value
            self._new(value)
            if callable(value):
                self._overloads(value)

    def _content(self, value: Any) -> None:
        if isinstance(value, np.ndarray):
            self.add("array", repr(value.dtype.descr), str(value.shape))
            self.digest.update(np.ascontiguousarray(value).tobytes())
        elif isinstance(value, (np.generic, np.dtype)):
            self.add(type(value).__name__, repr(value), str(getattr(value, "dtype", "")))
        elif isinstance(value, (set, frozenset)):
            self.add("set", *sorted(map(repr, value)))
        elif isinstance(value, dict):
            self.add("dict", str(len(value)))
            for item in value.items():
                self._content(item)
        else:
            self.add(type(value).__qualname__, str(len(value)), *getattr(value, "_fields", ()))
            for each in value:
                self.value(each)

    def _new(self, value: Any) -> None:
        if isinstance(value, _DISPATCHER):
            self.add("dispatcher", repr(value.locals))
            compiler = value._compiler.pipeline_class
            self.value(compiler)
            self.value(getattr(compiler, "lowering", None))
            for name, option in sorted(value.targetoptions.items()):
                self.add(name)
                self.value(option)
            self.value(value.py_func)
        elif isinstance(value, _Intrinsic):
            self.add("intrinsic", value._name)
            self.value(value._defn)
        elif isinstance(value, types.FunctionType):
            self._function(value)
        elif isinstance(value, enum.Enum):
            self.add("member", type(value).__qualname__, value.name)
            self.value(value.value)
        elif isinstance(value, numba_types.Type):
            self._type(value)
        elif isinstance(value, type):
            self._class(value)
        elif isinstance(value, ir.Type):  # keeps its text from the first time that it is printed
            self.add("ir", str(value))
        elif _is_stable(value) and isinstance(getattr(value, "__name__", None), str):
            self.add("known", getattr(value, "__module__", None) or type(value).__module__, value.__name__)
        else:
            self._unknown(value)

    def _module(self, module: types.ModuleType, names: _Names | None) -> None:
        """Add the module's name, and the values of its attributes in ``names`` (None: of all)."""
        self.add("module", module.__name__)
        if module.__name__.partition(".")[0] in STABLE:
            return
        for name in names.attributes if names else sorted(vars(module)):
            if name in vars(module):
                self.add(name)
                self.value(vars(module)[name], names)

    def _function(self, function: types.FunctionType) -> None:
        self.add("function", function.__module__ or "", function.__qualname__)
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            self.add(name)
            try:
                self.value(cell.cell_contents, _names(function.__code__))
            except ValueError:  # not set yet
                self.add("empty")
        if not _is_stable(function):
            self.value(function.__defaults__)
            self.value(function.__kwdefaults__)
            self._code(function.__code__, function)

    def _code(self, code: types.CodeType, function: types.FunctionType | None) -> None:
        """Add the byte code ``code`` and the globals that it reads in the module of ``function`` (None: no globals)."""
        self.add(code.co_code.hex(), *code.co_varnames, *code.co_freevars, *code.co_cellvars, *code.co_names)
        self.add(str(code.co_flags), str(code.co_argcount), str(code.co_kwonlyargcount), str(code.co_posonlyargcount))
        if config.DEBUGINFO_DEFAULT or config.BOUNDSCHECK:  # machine code says then where it comes from
            self.add(code.co_filename, str(list(code.co_lines())))
        document = None if function is None else function.__doc__
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                self._code(constant, function)
            elif constant is not None and constant is document:
                self.add("docstring")
            else:
                self.value(constant)
        names = _names(code)
        for name in names.used if function else ():
            assert function is not None
            if name in function.__globals__:
                self.add(name)
                self.value(function.__globals__[name], names)
            else:
                self.add("builtin", name)

    def _class(self, kind: Any) -> None:
        self.add("class", kind.__module__, kind.__qualname__)
        if _is_stable(kind) or issubclass(kind, BaseException):  # Numba keeps exceptions by their names
            return
        if issubclass(kind, enum.Enum):
            for member in kind:
                self.value(member)
        elif issubclass(kind, tuple) and hasattr(kind, "_fields"):
            self.add(*kind._fields)
            self.value(kind._field_defaults)
        else:
            self._file(kind.__module__)

    def _unknown(self, value: Any) -> None:
        kind = type(value)
        self.add("unknown", kind.__module__, kind.__qualname__)
        self._file(kind.__module__)
        self._file(getattr(value, "__module__", None) or "")
        for name, each in sorted(getattr(value, "__dict__", {}).items()):
            self.add(name)
            self.value(each)
        try:
            self.digest.update(dumps(value))
        except Exception as error:  # whatever a class raises
            raise NoKeyError(repr(kind)) from error

    def _file(self, module: str) -> None:
        """Add the digest of the source file of the module named ``module``, if it has one."""
        file = getattr(sys.modules.get(module), "__file__", None)
        if file is not None and Path(file).is_file():
            self.digest.update(hashlib.sha256(Path(file).read_bytes()).digest())

    def signature(self, given: Any) -> None:
        """Add the argument types of the signature ``given``, and its result type if that is known."""
        returned = getattr(given, "return_type", None)
        for each in (*getattr(given, "args", given), *([] if returned is None else [returned])):
            self._type(each)

    def _type(self, kind: Any) -> None:
        self.add("type", type(kind).__name__)
        if isinstance(kind, numba_types.Dispatcher):
            self.value(kind.dispatcher)
        elif isinstance(kind, _TUPLES):
            self.value(getattr(kind, "instance_class", None))
            for each in kind.types:
                self._type(each)
        elif " at 0x" in str(kind):
            raise NoKeyError(str(kind))
        else:
            self.add(str(kind))
            if not _is_stable(type(kind)):
                self._file(type(kind).__module__)

    def _overloads(self, function: Any) -> None:
        """Add the function bodies that packages other than Numba registered for ``function`` by ``@overload``."""
        for template in _REGISTERED.of(function):
            self._template(template)

    def operators(self) -> None:
        """Add what packages other than Numba registered for operators and methods: byte code does not name it."""
        for template in _REGISTERED.nameless():
            self._template(template)

    def _template(self, template: Any) -> None:
        self.add("overload", str(getattr(template, "_attr", "")))
        for name, option in sorted(template._jit_options.items()):
            self.add(name)
            self.value(option)
        self.value(template._overload_func)


def _is_stable(value: Any) -> bool:
    """Return whether ``value`` comes from NumPy, Numba, llvmlite or Python, whose versions are in the digest."""
    module = getattr(value, "__module__", None) or type(value).__module__
    return isinstance(module, str) and module.partition(".")[0] in STABLE


def attributes_of(function: Any) -> frozenset[str]:
    """Return the names of all attributes that ``function`` reads, or a function that it calls, directly or not."""
    left: list[tuple[Any, _Names | None]] = [(function, None)]  # with the names read by what refers to it
    seen, found = set[tuple[int, int]](), set[str]()
    while left:
        one, names = left.pop()
        one = getattr(one, "py_func", one)
        if isinstance(one, types.ModuleType) and names and one.__name__.partition(".")[0] not in STABLE:
            key, scope, reads = (id(one), id(names)), vars(one), names.attributes
        elif isinstance(one, types.FunctionType) and not _is_stable(one):
            names = _names(one.__code__)
            key, scope, reads = (id(one), 0), one.__globals__, names.used
            found.update(names.attributes)
            left += [(cell.cell_contents, names) for cell in one.__closure__ or () if key not in seen]
        else:
            continue
        left += [(scope[name], names) for name in reads if name in scope and key not in seen]
        seen.add(key)
    return frozenset(found)


_by_code: dict[int, tuple[types.CodeType, _Names]] = {}


def _names(code: types.CodeType) -> _Names:
    """Return the names of the globals and attributes that the byte code ``code`` reads."""
    held = _by_code.get(id(code))
    if held is None:
        used, attributes = set(), set()
        for step in dis.get_instructions(code):
            if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                used.add(step.argval)
            elif step.argval in code.co_names:
                attributes.add(step.argval)
        held = _by_code[id(code)] = code, _Names(tuple(sorted(used)), tuple(sorted(attributes)))
    return held[1]


class _Registered:
    """What packages other than Numba registered by ``@overload``, ``@overload_attribute`` and ``@overload_method``."""

    def __init__(self) -> None:
        self._by_function: dict[int, list[Any]] = {}
        self._nameless: list[Any] = []
        self._functions = self._attributes = 0  # of Numba's registry, read so far

    def of(self, function: Any) -> list[Any]:
        """Return Numba's template classes for what was registered for ``function`` by ``@overload``."""
        self._read()
        return self._by_function.get(id(function), [])

    def nameless(self) -> list[Any]:
        """Return Numba's template classes for what code uses without a global name: operators, attributes, methods."""
        self._read()
        return self._nameless

    def _read(self) -> None:
        functions, attributes = builtin_registry.globals, builtin_registry.attributes
        for function, kind in functions[self._functions :]:
            for template in getattr(kind, "templates", ()):
                overload = getattr(template, "_overload_func", None)
                if overload is None or (_is_stable(function) and _is_stable(overload)):
                    continue
                self._by_function.setdefault(id(function), []).append(template)
                if getattr(function, "__module__", None) in ("_operator", "builtins"):
                    self._nameless.append(template)
        named = (one for one in attributes[self._attributes :] if hasattr(one, "_overload_func"))
        self._nameless += [one for one in named if not _is_stable(one._overload_func)]
        self._functions, self._attributes = len(functions), len(attributes)


_REGISTERED = _Registered()
