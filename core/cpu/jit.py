"""Decorators of compiled CPU loops. They compile what is called, and little else, since users wait for the first call.

``@kernel`` is for loops that Python calls, ``@inner`` for the functions that such loops call. An inner function is
inlined by LLVM; ``@njit(inline="always")`` would type its body again at every call, which takes several times as long
to compile and runs no faster. Neither may allocate: they are compiled without Numba's reference counts, which would
cost more than the work on an edge. A loop that does allocate is an ``@allocating_kernel``.

Machine code is kept on disk (``suricate.base.cache``) under a digest of all that it was made from
(``suricate.cpu.code_key``).
"""

from __future__ import annotations

import dis
import gc
import mmap
import os
import pickle
import re
from collections.abc import Callable
from types import CodeType
from typing import Any, TypeVar

import llvmlite.binding
from llvmlite.binding import parse_bitcode
from numba import njit
from numba.core import caching, event
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, compile_result
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher
from numba.core.serialize import dumps
from numba.core.typed_passes import NativeLowering
from numba.core.typing.templates import builtin_registry
from numba.extending import register_jitable

from suricate.base import cache
from suricate.base.forks import awaited
from suricate.base.notice import NOTICE
from suricate.cpu import shortcuts
from suricate.cpu.code_key import NoKeyError, digests_of
from suricate.cpu.lowering import ShortLowering, make_known

Function = TypeVar("Function", bound=Callable[..., Any])

#: Numba's passes over closures, ``with``, literal arguments and arrays made by expressions, and for loops in parallel
UNNEEDED = frozenset(
    {
        "DumpParforDiagnostics", "FindLiterallyCalls", "InlineClosureLikes", "InlineInlinables",
        "LiteralPropagationSubPipelinePass", "LiteralUnroll", "MakeFunctionToJitFunction", "NopythonRewrites",
        "WithLifting",
    }
)  # fmt: skip
TO_LOAD, TO_COMPILE = 2 << 20, 64 << 20  #: bytes that a kernel takes at most
_LITERAL = frozenset({"literal_unroll", "literally"})

_modules: set[str] = set()  # whose compilation is announced
_inner: set[Any] = set()  # functions that are inlined


def kernel(function: Callable[..., Any]) -> Any:
    """Compile ``function``, a loop that Python calls, on its first call; it releases the GIL and must not allocate."""
    return _kept(njit(nogil=True, no_cfunc_wrapper=True, _nrt=False, pipeline_class=_KernelCompiler)(function))


def allocating_kernel(function: Callable[..., Any]) -> Any:
    """Compile ``function`` as :func:`kernel` does, but allow it to make arrays."""
    return _kept(njit(nogil=True)(function))


class EntryPoints(dict[Any, Any]):
    """A dictionary of compiled kernels, whose owner chooses a key for each combination of kernel and argument types.

    A kernel that is called by way of Numba looks up the types of all its arguments each time: 0.1 us per array. That an
    array is contiguous is part of its type. The code at a key is for the types of the arguments with which
    :meth:`look_up` was called: arguments of other types are refused, or misread.
    """

    def look_up(self, key: Any, kernel: Any, arguments: tuple[Any, ...]) -> Any:
        """Compile ``kernel`` for the types of ``arguments``; keep the code at ``key`` and return it, to be called.

        Under ``NUMBA_DISABLE_JIT=1`` that is ``kernel`` itself.
        """
        compiled = hasattr(kernel, "py_func")
        self[key] = kernel.compile(tuple(map(kernel.typeof_pyval, arguments))) if compiled else kernel
        return self[key]


def _kept(compiled: Any) -> Any:
    if hasattr(compiled, "py_func"):  # not with NUMBA_DISABLE_JIT
        _modules.add(compiled.py_func.__module__)
        compiled._cache = MachineCode(compiled)
    return compiled


def inner(function: Function) -> Function:
    """Have LLVM inline ``function`` into the kernels that call it; called from Python it runs uncompiled."""
    _modules.add(function.__module__)
    if function in _inner:  # by another instance of a template: a second registration would change digests
        return function
    _inner.add(function)
    register_jitable(
        forceinline=True, nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True, _nrt=False,
        pipeline_class=_InnerCompiler,
    )(function)  # fmt: skip
    kind = next(kind for known, kind in reversed(builtin_registry.globals) if known is function)
    kind.templates[0]._impl_cache = _Implementations()
    return function


class _Implementations(dict[Any, Any]):
    """Numba's cache of the compiled versions of one inner function, with a shorter key than Numba's own.

    The key has the argument types and only those options that an inner function inherits from its caller. With all
    options in the key, Numba would compile the function twice: for callers that are kernels, and for callers that are
    inner.
    """

    def __getitem__(self, key: Any) -> Any:
        return super().__getitem__(_with_inherited(*key))

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(_with_inherited(*key), value)


def _with_inherited(context: Any, args: Any, kws: Any, flags: Any) -> tuple[Any, ...]:
    """Return the key of a compiled inner function: target context, argument types, and the options it inherits."""
    return context, args, kws, *([] if flags is None else [flags.error_model, repr(flags.fastmath)])


class _InnerLibrary(JITCodeLibrary):
    """The LLVM code of an inner function. It is linked into kernels, and no machine code is made of it alone."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        """Do nothing, where Numba would optimise the code: that happens in each kernel that includes the function."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Return 0 as the address of the function ``name``: it has no machine code of its own."""
        return 0

    def add_ir_module(self, ir_module: Any) -> None:
        """Add the code ``ir_module``, and take it apart, since its parts refer to each other."""
        super().add_ir_module(ir_module)
        _take_apart(ir_module)

    @property
    def codegen(self) -> Any:
        """A stand-in that ignores the environment, which :func:`_set_environments` passes on to the kernels."""
        return _NowhereYet


class _KernelLibrary(JITCodeLibrary):
    """The code of a kernel, its inner functions and the wrapper that unpacks its arguments, all optimised at once.

    Numba optimises each function, then all cheaply, so that it can remove reference counts, then all. Here are none.
    """

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def add_ir_module(self, ir_module: Any) -> None:
        """Add the code ``ir_module``, and take it apart, since its parts refer to each other."""
        super().add_ir_module(ir_module)
        _take_apart(ir_module)

    def _optimize_final_module(self) -> None:
        made = self._codegen._module_pass_manager()
        passes, *builder = made if isinstance(made, tuple) else (made,)  # one before Numba 0.62
        passes.run(self._final_module, *builder)


def _take_apart(module: Any) -> None:
    """Leave no circles of references in a ``module`` of llvmlite; the garbage collector would have to find them."""
    for function in module.functions:
        for block in function.blocks:
            block.instructions.clear()
            block.terminator = None
        function.blocks.clear()


class _LoadedLibrary(JITCodeLibrary):
    """The code of a kernel read from disk; ``bitcode`` is parsed only when another kernel inlines it."""

    bitcode: bytes
    _shared_module: Any

    @classmethod
    def of(cls, codegen: Any, saved: tuple[Any, ...], symbols: set[str]) -> _LoadedLibrary:
        """Return the library made from ``saved``, the tuple into which Numba serialises one."""
        name, _, (machine_code, bitcode) = saved
        library = cls(codegen, name)
        library.bitcode = bitcode
        library.enable_object_caching()
        library._set_compiled_object(machine_code)
        library._finalize_final_module()
        vars(codegen)["_engine"]._defined_symbols.update(symbols)
        return library

    def _get_module_for_linking(self) -> Any:
        self._shared_module = self._shared_module or parse_bitcode(self.bitcode)
        return self._shared_module


class _NowhereYet:
    """Takes the place of a code generator for functions without machine code: it ignores Numba's environments."""

    @staticmethod
    def set_env(name: str, environment: Any) -> None:
        """Ignore the ``environment`` of the function ``name``."""


class _KernelCompiler(Compiler):
    """A Numba compiler that skips passes over closures, ``with`` and literal arguments for functions that have none."""

    library_type: type[JITCodeLibrary] = _KernelLibrary
    lowering = ShortLowering  #: the keys of machine code cover the source file of this class, too

    def __init__(self, typing: Any, target: Any, library: Any, *given: Any) -> None:
        if library is None:
            library = self.library_type(target.codegen(), "kernel")
            library.enable_object_caching()
        super().__init__(typing, target, library, *given)

    def compile_extra(self, func: Any) -> Any:
        """Compile the function ``func``, and let go of what was needed for it."""
        try:
            return super().compile_extra(func)
        finally:
            self.state.pipeline = None

    def define_pipelines(self) -> Any:
        """Return Numba's passes, without those in ``UNNEEDED`` if the function is plain (see :func:`_is_plain`)."""
        pipelines = super().define_pipelines()
        unneeded = UNNEEDED if _is_plain(self.state.func_id.code) else frozenset[str]()
        if not self.state.flags.nrt:
            unneeded |= {"IRLegalization"}  # which writes where variables end
        for one in pipelines:
            steps = [each for each in one.passes if each[0].__name__ not in unneeded]
            one.passes[:] = [(self.lowering, text) if kind is NativeLowering else (kind, text) for kind, text in steps]
        return pipelines


class _InnerCompiler(_KernelCompiler):
    """The compiler of inner functions, whose libraries contain no machine code."""

    library_type = _InnerLibrary


def _is_plain(code: CodeType) -> bool:
    """Return whether a function with the byte code ``code`` has no closures, no ``with`` and no literal arguments."""
    if _LITERAL & {*code.co_names} or any(isinstance(constant, CodeType) for constant in code.co_consts):
        return False
    return not any("WITH" in step.opname for step in dis.get_instructions(code))


def _set_environments(compiled: Any) -> None:
    """Report Numba's environments of all inner functions that ``compiled`` includes to the kernel's code generator."""
    if not isinstance(compiled.library, _InnerLibrary):
        for environment in compiled._find_referenced_environments():
            compiled.library.codegen.set_env(environment.env_name, environment)


class MachineCode(caching._Cache):
    """The on-disk cache of one compiled function, in which Numba looks before it compiles, and saves afterwards."""

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher
        self._enabled = True
        function = dispatcher.py_func
        self._name = re.sub(r"[^\w.]", "", f"{function.__module__}.{function.__qualname__}")[-100:]

    @property
    def cache_path(self) -> str | None:
        """The folder in which machine code is stored, None if there is none."""
        return None if (folder := cache.cache_folder()) is None else str(folder)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled function for the argument types ``sig``; None if it is not on disk or cannot be loaded.

        ``target_context`` is Numba's description of the processor to compile for. Raises ``MemoryError`` if there is
        too little memory to load the function, or to compile it next.
        """
        target_context.refresh()
        names = self._entries(sig, target_context.codegen())
        found = cache.find(names[0], names[1:]) if names else None
        _demand_memory(TO_COMPILE if found is None else TO_LOAD)
        if found is None:
            return None
        try:
            loaded = _rebuilt(target_context, *pickle.loads(found[1]))
            make_known(target_context, loaded)
            return loaded
        except MemoryError:
            raise
        except Exception:  # whatever unpickling raises: what it names may be gone
            cache.drop(found[0])
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Write ``data``, Numba's result of compiling for the argument types ``sig``, to disk, if it can be cached."""
        names = self._entries(sig, data.codegen)
        if names and not data.library.has_dynamic_globals and all(one.can_cache for one in data.lifted):
            cache.note_use(names[0], names[1:])
            cache.put(names[0], dumps((_symbols(data.library._get_module_for_linking()), *data._reduce())))

    def _entries(self, sig: Any, codegen: Any) -> list[str]:
        """Return the names of the entry: this machine's own, and portable ones; empty if there is none."""
        if not self._enabled:
            return []
        try:
            return [f"{self._name}-{digest}.nbc" for digest in digests_of(self._dispatcher, sig, codegen.magic_tuple())]
        except NoKeyError:
            return []

    def enable(self) -> None:
        """Resume reading and writing the function's machine code on disk."""
        self._enabled = True

    def disable(self) -> None:
        """Stop reading and writing the function's machine code on disk."""
        self._enabled = False

    def flush(self) -> None:
        """Do nothing: cached entries never become out of date, since their names contain a digest of their sources."""


def _demand_memory(size: int) -> None:
    """Raise ``MemoryError`` unless ``size`` bytes can be had: LLVM ends the process where it gets none."""
    try:
        mmap.mmap(-1, size).close()
    except OSError as error:
        raise MemoryError(f"{size >> 20} MiB, to load or compile a loop, cannot be had") from error


def _symbols(module: Any) -> set[str]:
    """Return the names of all functions and global variables that the LLVM module ``module`` defines."""
    return {
        each.name for kind in (module.functions, module.global_variables) for each in kind if not each.is_declaration
    }


def _rebuilt(
    context: Any, symbols: set[str], saved: Any, fndesc: Any, environment: Any, signature: Any, objectmode: bool,
    lifted: Any, annotation: str, reload_init: Any, referenced_envs: Any,
) -> Any:  # fmt: skip
    """Return the compiled function from the fields that :meth:`MachineCode.save_overload` has pickled."""
    for function in reload_init:
        function()
    library = _LoadedLibrary.of(context.codegen(), saved, symbols)
    result = compile_result(
        target_context=context, typing_context=context.typing_context, library=library, environment=environment,
        entry_point=context.get_executable(library, fndesc, environment), fndesc=fndesc, type_annotation=annotation,
        signature=signature, objectmode=objectmode, lifted=lifted, reload_init=reload_init,
        referenced_envs=referenced_envs,
    )  # fmt: skip
    for each in referenced_envs:
        library.codegen.set_env(each.env_name, each)
    return result


class _LastLocator(caching._SourceFileBackedLocatorMixin, caching._CacheLocator):
    """Where Numba caches functions with plain ``@njit(cache=True)`` if it can use no other folder."""

    def __init__(self, function: Any, file: str) -> None:
        self._py_file, self._lineno = file, function.__code__.co_firstlineno
        self._folder = os.path.join(str(cache.private_folder()), "numba", self.get_suitable_cache_subpath(file))

    def get_cache_path(self) -> str:
        """Return the private folder for functions of one source file."""
        return self._folder

    @classmethod
    def from_function(cls, function: Any, file: str) -> Any:
        """Return a locator for ``function`` in the source file ``file``; None if no private folder can be made."""
        return None if cache.private_folder() is None else super().from_function(function, file)


class _Listener(event.Listener):
    """Reports compilations of suricate's loops to ``NOTICE``; without garbage collection, which saves a seventh."""

    def __init__(self) -> None:
        self._depth = 0
        self._collects = False

    def on_start(self, event: Any) -> None:
        if event.data["dispatcher"].py_func.__module__ in _modules:
            self._depth += 1
            NOTICE.start()
            if self._depth == 1:
                self._collects = gc.isenabled()
                gc.disable()
                shortcuts.begin()

    def on_end(self, event: Any) -> None:
        if event.data["dispatcher"].py_func.__module__ in _modules:
            self._depth -= 1
            if self._depth == 0:  # first of all, whatever fails or is interrupted then
                shortcuts.end()
                if self._collects:
                    gc.enable()
            NOTICE.end()
        compiled = event.data["dispatcher"].overloads.get(tuple(event.data["args"]))
        if compiled is not None:  # it did not fail
            _set_environments(compiled)


def _free_pass_managers() -> None:
    """Make pass managers of llvmlite 0.46 and later free their LLVM objects: 3 MB per kernel would leak."""
    managers: Any = getattr(llvmlite.binding, "newpassmanagers", None)  # 0.43 has none
    for one in (managers.ModulePassManager, managers.FunctionPassManager) if managers else ():
        if one._dispose is llvmlite.binding.ffi.ObjectRef._dispose:
            one._dispose = managers.NewPassManager._dispose


def _acquire_compiler(_: float) -> bool:
    """Before a fork, acquire Numba's compiler lock, so that no compilation is half done in the child; return True."""
    global_compiler_lock.acquire()
    return True


awaited(_acquire_compiler, global_compiler_lock.release)
caching.CacheImpl._locator_classes.append(_LastLocator)
event.register("numba:compile", _Listener())
_free_pass_managers()
