"""How loops become LLVM code: Numba's lowering, without what it writes for objects that loops never make.

Loops hold no references (``suricate.cpu.jit``): variables need no release at their end, and arrays are read by their
fields. What users wait for is mostly the amount of LLVM code, so an access to an array of numbers is three instructions
instead of twenty, an array is passed as its address and shape, and the wrapper that a call from Python enters reads
arrays and tuples where NumPy and CPython keep them, which saves time at every call, too. What is not handled here goes
the way that Numba gives it.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import itertools
from collections.abc import Callable
from typing import Any

import llvmlite.binding
import numpy as np
from llvmlite import ir as llvm
from numba.core import cgutils, config, errors, ir
from numba.core import types as numba_types
from numba.core.callwrapper import PyCallWrapper
from numba.core.compiler_machinery import register_pass
from numba.core.datamodel.models import ArrayModel, PrimitiveModel
from numba.core.funcdesc import default_mangler
from numba.core.imputils import user_function
from numba.core.lowering import Lower
from numba.core.typed_passes import NativeLowering
from numba.extending import register_model

types: Any = numba_types
_BIT, _BYTE, _INT, _WORD = (llvm.IntType(bits) for bits in (1, 8, 32, 64))
_POINTER = _BYTE.as_pointer()
_ARRAY_TYPE = "suricate_type_of_arrays"  #: the symbol of NumPy's type of arrays
#: where CPython and NumPy keep these fields of objects, arrays, data types and types, in bytes
_PLACES = -8, 0, 0, 8, 16, 40, 24, 152
TYPE, SIZE, DATA, NDIM, SHAPE, DTYPE, ITEMSIZE, FLAGS = (object.__basicsize__ + at for at in _PLACES)
TUPLES = 26  #: the bit of tuples among the flags of a type
_error_context = vars(errors)["new_error_context"]
_NUMBERS = (types.Integer, types.Float, types.Boolean)


def _are_fields_known() -> bool:
    """Return whether the fields are where they are read; if not, Numba's own code reads arguments."""

    def word(of: int, at: int, kind: Any = ctypes.c_ssize_t) -> Any:
        return kind.from_address(of + at).value

    array, items = np.empty((2, 3), "S6"), ("item", None)  # aligned to 1, so that no field is like another
    own, pair = id(array), id(items)
    head = word(own, TYPE), word(own, DATA), word(own, NDIM, ctypes.c_int), word(own, DTYPE), word(pair, SIZE)
    if head != (id(np.ndarray), array.ctypes.data, 2, id(array.dtype), 2):
        return False
    shape = word(own, SHAPE)  # an address, as its neighbours are what they should be
    read = word(shape, 0), word(shape, 8), word(id(array.dtype), ITEMSIZE), word(pair, tuple.__basicsize__)
    flags = word(id(tuple), FLAGS, ctypes.c_ulong)
    return read == (2, 3, 6, id(items[0])) and flags == tuple.__flags__ and bool(flags >> TUPLES & 1)


IS_KNOWN = _are_fields_known()


def _is_read_directly(kind: Any) -> bool:
    """Return whether ``array[i]`` and ``array[i] = value`` of this type are an address and an access to memory."""
    return (
        type(kind) is types.Array and kind.ndim == 1 and kind.layout == "C" and kind.aligned
        and isinstance(kind.dtype, _NUMBERS)
    )  # fmt: skip


class _Passed(types.Type):
    """An array as it is passed: its address and its shape, since the rest follows from its type."""

    def __init__(self, array: Any) -> None:
        self.array = array
        super().__init__(f"passed({array})")


@register_model(_Passed)
class _PassedModel(ArrayModel):
    """How LLVM code passes an array; as a value it is what Numba makes of arrays."""

    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind.array)
        self._size = np.dtype(str(kind.array.dtype)).itemsize
        self._data, self._shape, self._strides = map(self.get_field_position, ("data", "shape", "strides"))

    def get_argument_type(self) -> Any:
        return (self._models[self._data].get_argument_type(), *([_WORD] * self._fe_type.ndim))

    def as_argument(self, builder: Any, value: Any) -> Any:
        shape = (builder.extract_value(value, (self._shape, i)) for i in range(self._fe_type.ndim))
        return (builder.extract_value(value, self._data), *shape)

    def from_argument(self, builder: Any, value: Any) -> Any:
        data, *shape = value
        struct = self.get_value_type()(None)
        strides = list(itertools.accumulate(shape[:0:-1], builder.mul, initial=_WORD(self._size)))[::-1]
        for i, (size, stride) in enumerate(zip(shape, strides, strict=True)):
            struct = builder.insert_value(struct, size, (self._shape, i))
            struct = builder.insert_value(struct, stride, (self._strides, i))
        fields = {"nitems": functools.reduce(builder.mul, shape), "itemsize": _WORD(self._size), "data": data}
        for name, each in fields.items():
            struct = builder.insert_value(struct, each, self.get_field_position(name))
        return struct


class _Ready(types.Type):
    """What is passed as it is."""


@register_model(_Ready)
class _ReadyModel(PrimitiveModel):
    """The model of an argument that the caller has taken apart already."""

    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _POINTER)

    def as_argument(self, builder: Any, value: Any) -> Any:
        return value


_READY = _Ready("ready")


def _passed(kind: Any) -> Any:
    """Return the type as which a value of type ``kind`` is passed to a function."""
    if type(kind) is types.Array and kind.layout == "C" and kind.ndim and isinstance(kind.dtype, _NUMBERS):
        return _Passed(kind)
    if type(kind) in (types.UniTuple, types.NamedUniTuple):
        rest = (kind.instance_class,) if type(kind) is types.NamedUniTuple else ()
        return type(kind)(_passed(kind.dtype), kind.count, *rest)
    if type(kind) in (types.Tuple, types.NamedTuple):
        rest = (kind.instance_class,) if type(kind) is types.NamedTuple else ()
        return type(kind)(tuple(map(_passed, kind)), *rest)
    return kind


def _is_borrowed(kind: Any) -> bool:
    """Return whether an argument of this type is unpacked without a reference that must be released."""
    if isinstance(kind, types.BaseTuple):
        return all(map(_is_borrowed, kind))
    return isinstance(kind, (*_NUMBERS, types.NoneType, _Passed))


class _Lowering(Lower):
    """Numba's lowering of a function whose variables hold no references."""

    def init(self) -> None:
        super().init()
        context = self.context
        longer = context.enable_nrt, context.enable_debuginfo, context.enable_boundscheck, self.generator_info
        self._is_short = not (any(longer) or config.DEBUG_JIT)
        passed = tuple(map(_passed, self.fndesc.argtypes))
        self._is_borrowing = IS_KNOWN and self._is_short and all(map(_is_borrowed, passed))
        if self._is_borrowing or (self._is_short and self.flags.no_cpython_wrapper):
            self.fndesc.argtypes = passed

    def lower_block(self, block: Any) -> None:
        if not self._is_short:
            super().lower_block(block)
            return
        self.pre_block(block)
        for step in block.body:
            self.loc = step.loc
            try:
                self._lower_step(step)
            except Exception:
                with _error_context('lowering "{inst}" at {loc}', inst=step, loc=step.loc):
                    raise
        self.post_block(block)

    def _lower_step(self, step: Any) -> None:
        kind = type(step)
        if kind is ir.Assign:
            name = step.target.name
            self.storevar(self._assigned(self.typeof(name), step), name)
        elif kind in (ir.SetItem, ir.StaticSetItem) and self._is_written_directly(step):
            self._write(step, step.index if kind is ir.SetItem else step.index_var)
        elif kind is ir.Jump:
            self.builder.branch(self.blkmap[step.target])
        else:
            self.lower_inst(step)

    def _assigned(self, kind: Any, step: Any) -> Any:
        value = step.value
        if type(value) is not ir.Expr:
            return self.lower_assign(kind, step)
        if value.op in ("getitem", "static_getitem"):
            index = value.index if value.op == "getitem" else value.index_var
            array = self.typeof(value.value.name)
            if index is not None and _is_read_directly(array) and isinstance(self.typeof(index.name), types.Integer):
                found = self.context.unpack_value(self.builder, array.dtype, self._address(value.value, index))
                return self.context.cast(self.builder, found, array.dtype, kind)
        elif value.op == "getattr":
            of = self.typeof(value.value.name)
            if isinstance(of, types.BaseNamedTuple) and value.attr in of.fields:
                place = of.fields.index(value.attr)
                field = self.builder.extract_value(self.loadvar(value.value.name), place)
                return self.context.cast(self.builder, field, of[place], kind)
        return self.lower_expr(kind, value)

    def _is_written_directly(self, step: Any) -> bool:
        array, index, value = self.fndesc.calltypes[step].args
        return (
            _is_read_directly(array) and array.mutable and isinstance(index, types.Integer)
            and isinstance(value, _NUMBERS) and self.typeof(step.target.name) == array
        )  # fmt: skip

    def _write(self, step: Any, index: Any) -> None:
        array, _, given = self.fndesc.calltypes[step].args
        value = self.context.cast(self.builder, self.loadvar(step.value.name), self.typeof(step.value.name), given)
        value = self.context.cast(self.builder, value, given, array.dtype)
        self.context.pack_value(self.builder, array.dtype, value, self._address(step.target, index))

    def _address(self, array: Any, index: Any) -> Any:
        """Return the pointer to ``array[index]``; a negative index counts from the end, as in Python."""
        kind, given = self.typeof(array.name), self.typeof(index.name)
        builder, view = self.builder, self.loadvar(array.name)
        signed = given.signed
        at = self.context.cast(builder, self.loadvar(index.name), given, types.intp if signed else types.uintp)
        model = self.context.data_model_manager[kind]
        if signed and not (isinstance(at, llvm.Constant) and isinstance(at.constant, int) and at.constant >= 0):
            size = builder.extract_value(view, [model.get_field_position("shape"), 0])
            negative = builder.icmp_signed("<", at, at.type(0))
            at = builder.select(negative, builder.add(at, size), at)
        return builder.gep(builder.extract_value(view, model.get_field_position("data")), [at])

    def storevar(self, value: Any, name: str, argidx: Any = None) -> None:
        if not self._is_short:
            super().storevar(value, name, argidx)
        elif name in self._singly_assigned_vars:
            self._blk_local_varmap[name] = value
        else:
            self.builder.store(value, self.getvar(name))

    def delvar(self, name: str) -> None:
        if not self._is_short:
            super().delvar(name)
        elif name not in self._blk_local_varmap:
            self._singly_assigned_vars.discard(name)

    def alloca_lltype(self, name: str, lltype: Any, datamodel: Any = None) -> Any:
        if not self._is_short:
            return super().alloca_lltype(name, lltype, datamodel)
        return cgutils.alloca_once(self.builder, lltype, name=name, zfill=False)

    def create_cpython_wrapper(self, release_gil: bool = False) -> None:
        if not self._is_borrowing:
            super().create_cpython_wrapper(release_gil)
            return
        module = self.context.create_module("wrapper")
        kind = self.call_conv.get_function_type(self.fndesc.restype, self.fndesc.argtypes)
        function = llvm.Function(module, kind, name=self.fndesc.llvm_func_name)
        _Wrapper(self.context, module, function, self.fndesc, self.env, self.call_helper, release_gil).build()
        self.library.add_ir_module(module)


class _Wrapper(PyCallWrapper):
    """The function that CPython calls: it unpacks the arguments, which it borrows, and calls the loop."""

    def build_wrapper(self, api: Any, builder: Any, closure: Any, args: Any, kws: Any) -> None:
        self.builder, self.api = builder, api
        builder.function.attributes.update(("noinline", "optnone"))
        self.refused, self.failed = (builder.append_basic_block(name) for name in ("refused", "failed"))
        kinds = self.fndesc.argtypes
        self._demand(_is_tuple, args, _WORD(len(kinds)))
        environment = self.get_env(api, builder)
        given = [self._value(kind, self._item(args, place)) for place, kind in enumerate(kinds)]
        with builder.goto_block(self.refused):
            api.err_set_string("PyExc_TypeError", f"{self.fndesc.qualname}: not the arguments that it was compiled for")
            builder.branch(self.failed)
        with builder.goto_block(self.failed):
            builder.ret(api.get_null_object())
        state = api.save_thread() if self.release_gil else None
        status, result = self.context.call_conv.call_function(
            builder, self.func, self.fndesc.restype, [_READY] * len(given), given, attrs=("noinline",)
        )
        if state is not None:
            api.restore_thread(state)
        with builder.if_then(status.is_ok, likely=True):
            with builder.if_then(status.is_none):
                api.return_none()
            builder.ret(api.from_native_return(self._simplified_return_type(), result, environment))
        self.context.call_conv.raise_error(builder, api, status)
        builder.ret(api.get_null_object())

    def _value(self, kind: Any, of: Any) -> Any:
        """Return the values, or nested tuples of them, as which the Python object ``of`` of type ``kind`` is passed."""
        if isinstance(kind, types.BaseTuple):
            self._demand(_is_tuple, of, _WORD(len(kind)))
            return tuple(self._value(each, self._item(of, place)) for place, each in enumerate(kind))
        if isinstance(kind, _Passed):
            return self._passed(kind, of)
        if isinstance(kind, types.Integer):
            found = cgutils.alloca_once(self.builder, _WORD)
            self._demand(_read_signed if kind.signed else _read_unsigned, of, found, otherwise=self.failed)
            return self.builder.trunc(self.builder.load(found), self.context.get_value_type(kind))
        native = self.api.to_native_value(kind, of)
        with self.builder.if_then(native.is_error, likely=False):
            self.builder.branch(self.failed)
        return self.context.data_model_manager[kind].as_argument(self.builder, native.value)

    def _passed(self, kind: Any, of: Any) -> Any:
        builder, size = self.builder, 1 + kind.array.ndim
        read = cgutils.alloca_once(builder, llvm.ArrayType(_WORD, size))
        words = builder.bitcast(read, _WORD.as_pointer())
        self._demand(_read_array, of, words, _WORD(kind.array.ndim), _WORD(np.dtype(str(kind.array.dtype)).itemsize))
        data, *shape = (builder.load(builder.gep(words, [_WORD(i)])) for i in range(size))
        return builder.inttoptr(data, self.context.get_data_type(kind.array.dtype).as_pointer()), *shape

    def _item(self, of: Any, place: int) -> Any:
        """Return item ``place`` of the tuple ``of``."""
        return _field(self.builder, of, tuple.__basicsize__ + 8 * place, self.api.pyobj)

    def _demand(self, question: Callable[..., None], *given: Any, otherwise: Any = None) -> None:
        """Let the call fail unless ``question``, a function of this module from then on, is true of ``given``."""
        module, name = self.builder.module, f"suricate{question.__name__}"
        function = module.globals.get(name)
        if function is None:
            function = llvm.Function(module, llvm.FunctionType(_BIT, [each.type for each in given]), name)
            function.linkage = "private"
            function.attributes.add("noinline")
            question(llvm.IRBuilder(function.append_basic_block()), *function.args)
        following = self.builder.append_basic_block()
        self.builder.cbranch(self.builder.call(function, given), following, otherwise or self.refused)
        self.builder.position_at_end(following)


def _field(builder: Any, of: Any, offset: int, kind: Any = _POINTER) -> Any:
    """Return what is stored ``offset`` bytes after the address ``of``."""
    at = builder.gep(builder.bitcast(of, _POINTER), [_WORD(offset)])
    return builder.load(builder.bitcast(at, kind.as_pointer()))


def _called(builder: Any, name: str, result: Any, *given: Any) -> Any:
    """Call the function ``name`` of CPython."""
    kind = llvm.FunctionType(result, [each.type for each in given])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), given)


def _read_array(builder: Any, of: Any, into: Any, ndim: Any, itemsize: Any) -> None:
    """Write a function that stores address and shape of an array, and returns whether ``of`` is such an array."""
    arrays = llvm.GlobalVariable(builder.module, _BYTE, _ARRAY_TYPE)
    kind = _field(builder, of, TYPE)
    with builder.if_then(builder.icmp_unsigned("!=", kind, arrays), likely=False):
        derived = _called(builder, "PyType_IsSubtype", _INT, kind, arrays)
        with builder.if_then(builder.icmp_signed("==", derived, _INT(0)), likely=False):
            builder.ret(_BIT(0))
    same = builder.icmp_signed("==", builder.sext(_field(builder, of, NDIM, _INT), _WORD), ndim)
    same = builder.and_(
        same, builder.icmp_signed("==", _field(builder, _field(builder, of, DTYPE), ITEMSIZE, _WORD), itemsize)
    )
    with builder.if_then(builder.not_(same), likely=False):
        builder.ret(_BIT(0))
    builder.store(_field(builder, of, DATA, _WORD), into)
    shape, rest = _field(builder, of, SHAPE, _WORD.as_pointer()), builder.gep(into, [_WORD(1)])
    with cgutils.for_range(builder, ndim) as loop:
        builder.store(builder.load(builder.gep(shape, [loop.index])), builder.gep(rest, [loop.index]))
    builder.ret(_BIT(1))


def _read_integer(call: str, builder: Any, of: Any, into: Any) -> None:
    """Write a function that stores the integer ``of``; it returns whether it is one, else the error is set."""
    number = _called(builder, "PyNumber_Long", _POINTER, of)
    with builder.if_then(cgutils.is_null(builder, number), likely=False):
        builder.ret(_BIT(0))
    value = _called(builder, call, _WORD, number)
    _called(builder, "Py_DecRef", llvm.VoidType(), number)
    builder.store(value, into)
    with builder.if_then(builder.icmp_signed("!=", value, _WORD(-1)), likely=True):
        builder.ret(_BIT(1))
    builder.ret(cgutils.is_null(builder, _called(builder, "PyErr_Occurred", _POINTER)))


def _read_signed(builder: Any, of: Any, into: Any) -> None:
    _read_integer("PyLong_AsLongLong", builder, of, into)


def _read_unsigned(builder: Any, of: Any, into: Any) -> None:
    _read_integer("PyLong_AsUnsignedLongLong", builder, of, into)


def _is_tuple(builder: Any, of: Any, size: Any) -> None:
    """Write a function that returns whether the Python object ``of`` is a tuple of ``size`` items."""
    flags = _field(builder, _field(builder, of, TYPE), FLAGS, _WORD)
    tuple_ = builder.trunc(builder.lshr(flags, _WORD(TUPLES)), _BIT)
    builder.ret(builder.and_(tuple_, builder.icmp_signed("==", _field(builder, of, SIZE, _WORD), size)))


def make_known(context: Any, loaded: Any) -> None:
    """Let functions compiled later call ``loaded``, Numba's result for a kernel read from disk, by usual arguments."""
    made = user_function(loaded.fndesc, [loaded.library])
    context._defns[loaded.entry_point].append(made, tuple(loaded.signature.args))


def _mangled(*given: Any, **options: Any) -> str:
    """Return the symbol of a function; Numba's own has the types of all its arguments in full, at each use."""
    name = default_mangler(*given, **options)
    return f"{name[:60]}_{hashlib.sha256(name.encode()).hexdigest()[:24]}"


@register_pass(mutates_CFG=True, analysis_only=False)
class ShortLowering(NativeLowering):
    """Numba's pass from typed code to LLVM code, by :class:`_Lowering`."""

    _name = "suricate_lowering"

    @property
    def lowering_class(self) -> Any:
        """The class that writes the code."""
        return _Lowering

    def run_pass(self, state: Any) -> Any:
        """Write the code of the function that is compiled in ``state``; callers know it by its usual arguments."""
        usual = tuple(state.typemap[f"arg.{name}"] for name in state.func_ir.arg_names)

        def insert_user_function(function: Any, description: Any, libs: Any = ()) -> None:
            context._defns[function].append(user_function(description, libs), usual)

        context = state.targetctx
        context.mangler = _mangled
        context.insert_user_function = insert_user_function
        try:
            return super().run_pass(state)
        finally:
            del context.insert_user_function, context.mangler


llvmlite.binding.add_symbol(_ARRAY_TYPE, id(np.ndarray))
