"""`Linker`, `LinkerOptions` and `ObjectCode` with the names and defaults of cuda.core 1.2, linked by cudalink.

    from cudalink.compat import Linker, LinkerOptions      # was: from cuda.core import Linker, LinkerOptions

Where cuda.core is installed `ObjectCode` is its class, and what a link raises is both a `CudalinkError` and what cuda.core raises:
`cuda.bindings.nvjitlink.nvJitLinkError`, whose `status` is nvJitLink's answer or 0, and `CUDAError`. `LinkerOptions.incremental` and the
output "ltoir" are those of the release after 1.2.

What differs is on purpose: an option that is False is off, a tuple is as good as a list, -lto follows the inputs as well, a second
`link` says what is wrong, and logs can be read after a failure.
"""
from __future__ import annotations

import contextlib
import copy
import dataclasses
import importlib
import os
import threading
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from . import _cudalink, _types
from ._types import CudalinkError, StateError

__all__ = ["Linker", "LinkerOptions", "ObjectCode"]

_CODE_TYPES = ("cubin", "ptx", "ltoir", "fatbin", "object", "library")
_TARGETS = ("cubin", "ptx", "ltoir")

try:
    from cuda.core import ObjectCode  # type: ignore[import-not-found, import-untyped, unused-ignore]
except ImportError:

    @dataclass(frozen=True)
    class ObjectCode:  # type: ignore[no-redef]
        """Code of one type: bytes, or the path of a file."""

        code: bytes | str | os.PathLike[str]
        code_type: str
        name: str = ""
        symbol_mapping: dict[str, str] = dataclasses.field(default_factory=dict)

        @classmethod
        def _of(cls, code_type: str, module: Any, name: str, symbol_mapping: dict[str, str] | None) -> ObjectCode:
            if not isinstance(module, (bytes, str, os.PathLike)):
                raise TypeError("expected bytes or a path, not %s" % type(module).__name__)
            return cls(module, code_type, name, dict(symbol_mapping or {}))

    def _maker(code_type: str) -> Any:
        def make(cls: Any, module: Any, *, name: str = "", symbol_mapping: dict[str, str] | None = None) -> ObjectCode:
            return cls._of(code_type, module, name, symbol_mapping)

        make.__doc__ = "%s, as bytes or in a file." % code_type
        return classmethod(make)

    for _code_type in _CODE_TYPES:
        setattr(ObjectCode, "from_" + _code_type, _maker(_code_type))


def _installed(module: str, name: str) -> tuple[Any, ...]:
    try:
        return (getattr(importlib.import_module(module), name),)
    except (ImportError, AttributeError):
        return ()


_THEIRS = (*_installed("cuda.bindings.nvjitlink", "nvJitLinkError"), *_installed("cuda.core._utils.cuda_utils", "CUDAError"))


# For each class of errors one that is ours and theirs.
_OF_BOTH: dict[type, Any] = {
    ours: type(ours.__name__, (ours, *_THEIRS), {
        "__module__": ours.__module__,
        "__reduce__": lambda self: (_error_of_both, (type(self).__bases__[0], self.args)),
        "status": property(lambda self: next((found.backend_code for found in self.diagnostics if found.backend_code), 0)),
    })
    for ours in vars(_types).values() if isinstance(ours, type) and issubclass(ours, CudalinkError)
}


def _error_of_both(ours: type, arguments: tuple[Any, ...]) -> Any:
    return _OF_BOTH[ours](*arguments)


@contextlib.contextmanager
def _errors_of_both() -> Iterator[None]:
    try:
        yield
    except CudalinkError as error:
        raise _error_of_both(type(error), error.args).with_traceback(error.__traceback__) from error.__cause__


@dataclass
class LinkerOptions:
    """The options of cuda.core's class. None asks for nothing."""

    name: str | None = "<default linker>"
    arch: str | None = None
    max_register_count: int | None = None
    time: bool | None = None
    verbose: bool | None = None
    link_time_optimization: bool | None = None
    ptx: bool | None = None
    optimization_level: int | None = None
    debug: bool | None = None
    lineinfo: bool | None = None
    ftz: bool | None = None
    prec_div: bool | None = None
    prec_sqrt: bool | None = None
    fma: bool | None = None
    kernels_used: str | Sequence[str] | None = None
    variables_used: str | Sequence[str] | None = None
    optimize_unused_variables: bool | None = None
    ptxas_options: str | Sequence[str] | None = None
    split_compile: int | None = None
    split_compile_extended: int | None = None
    no_cache: bool | None = None
    numba_debug: bool | None = None
    incremental: bool | None = None

    def __post_init__(self) -> None:
        if self.numba_debug is not None:
            message = "numba_debug is not supported by any linking backend and is ignored; it is an option of compilers"
            warnings.warn(message, DeprecationWarning, stacklevel=3)

    def as_bytes(self, backend: str = "nvjitlink") -> list[bytes]:
        """The options in nvJitLink's spelling."""
        if backend != "nvjitlink":
            raise ValueError("as_bytes() only supports 'nvjitlink' backend, got %r" % backend)
        flags: list[str] = []
        for field, spelling in _SPELLINGS.items():
            value = getattr(self, field)
            if spelling.endswith("="):
                values = [] if value is None else [value] if isinstance(value, (str, int)) else value
                flags += [spelling + (str(item).lower() if isinstance(item, bool) else str(item)) for item in values]
            elif field == "optimization_level":
                flags += [] if value is None else ["%s%d" % (spelling, value)]
            elif value:
                flags.append(spelling)
        return [flag.encode() for flag in flags]


_SPELLINGS = {
    "arch": "-arch=", "max_register_count": "-maxrregcount=", "time": "-time", "verbose": "-verbose", "link_time_optimization": "-lto",
    "ptx": "-ptx", "optimization_level": "-O", "debug": "-g", "lineinfo": "-lineinfo", "ftz": "-ftz=", "prec_div": "-prec-div=",
    "prec_sqrt": "-prec-sqrt=", "fma": "-fma=", "kernels_used": "-kernels-used=", "variables_used": "-variables-used=",
    "optimize_unused_variables": "-optimize-unused-variables", "ptxas_options": "-Xptxas=", "split_compile": "-split-compile=",
    "split_compile_extended": "-split-compile-extended=", "no_cache": "-no-cache", "incremental": "-r",
}
_RENAMED = {"link_time_optimization": "lto", "optimization_level": "optimization", "incremental": "relocatable"}
# In cuda.core False asks for nothing, where here it would ask for the opposite.
_SWITCHES = (
    "time", "verbose", "link_time_optimization", "debug", "lineinfo", "optimize_unused_variables", "no_cache", "incremental",
)
# Every nvJitLink ignores it: "Too big maxrregcount value specified -1, will be ignored".
_NO_REGISTER_LIMIT = -1


def _current_arch() -> str | None:
    """The architecture of the current device, as cuda.core takes it; None, which is refused with what is missing, without cuda.core."""
    try:
        from cuda.core import Device
    except ImportError:
        return None
    return "sm_%s" % Device().arch


class Linker:
    """Links object codes into one: `Linker(*object_codes, options=None).link("cubin")`."""

    def __init__(self, *object_codes: ObjectCode, options: LinkerOptions | dict[str, Any] | None = None) -> None:
        if not object_codes:
            raise ValueError("At least one ObjectCode object must be provided")
        for code in object_codes:
            if not isinstance(code, ObjectCode):
                raise TypeError("Expected type ObjectCode, but got %s" % type(code).__name__)
            if code.code_type not in _CODE_TYPES:
                raise ValueError("an ObjectCode of type %r cannot be linked" % code.code_type)
        if isinstance(options, dict):
            options = LinkerOptions(**options)
        elif options is None:
            options = LinkerOptions()
        elif not isinstance(options, LinkerOptions):
            raise TypeError("The Linker options must be provided as an object of type LinkerOptions or as a dict with valid Linker "
                            "options. The provided object is %r." % (options,))
        if options.incremental and options.ptx:
            raise ValueError("incremental and ptx output options cannot be used together")
        self._codes: tuple[ObjectCode, ...] = object_codes
        self._options = copy.copy(options)
        self._keywords: dict[str, Any] = {"arch": options.arch or _current_arch()}
        for field in dataclasses.fields(LinkerOptions):
            value = getattr(options, field.name)
            if field.name in ("name", "arch", "ptx", "numba_debug") or field.name in _SWITCHES and not value:
                continue
            if field.name == "max_register_count" and value == _NO_REGISTER_LIMIT:
                continue
            self._keywords[_RENAMED.get(field.name, field.name)] = value
        self._target: Any = "ptx" if options.ptx else "cubin"
        self._lock = threading.Lock()
        self._linked = False
        with _errors_of_both():
            self._linker = self._filled(self._target)

    def _filled(self, target: Any) -> _cudalink.Linker:
        linker = _cudalink.Linker(output=target, **self._keywords)
        for code in self._codes:
            in_memory = isinstance(code.code, (bytes, bytearray))
            linker.add(code.code, kind=code.code_type, name=(code.name or None) if in_memory else None)
        return linker

    def _check_target(self, target: str) -> None:
        """Whether the options and the inputs allow it, in the words of cuda.core."""
        kinds = {code.code_type for code in self._codes}
        if target not in _TARGETS:
            raise ValueError("Unsupported target type: %s" % target)
        if self._options.ptx and target != "ptx":
            raise ValueError("the option ptx asks for PTX, and target_type for %s" % target)
        if target == "ptx" and self._options.incremental:
            raise ValueError("PTX output is not supported for incremental linking")
        if target == "ltoir" and not self._options.link_time_optimization and "ltoir" not in kinds:
            raise ValueError("LTOIR output requires link_time_optimization=True")
        if target == "ltoir" and kinds & {"ptx", "cubin"}:
            raise ValueError('LTOIR output is not supported with "ptx" or "cubin" inputs')

    def link(self, target_type: str) -> ObjectCode:
        """Links into "cubin", "ptx" or "ltoir", once."""
        target = str(target_type)
        self._check_target(target)
        with self._lock, _errors_of_both():
            if self.is_closed:
                raise StateError("Linker has been closed", "invalid_state", 3)
            if self._linked:
                raise StateError("the linker has linked, or failed to; make a new one for another link", "invalid_state", 3)
            self._linked = True
            if target != self._target:
                self._linker.close()
                self._linker, self._target = self._filled(target), target
            output = self._linker.link()
        return getattr(ObjectCode, "from_" + target)(output.data, name=self._options.name or "")

    def close(self) -> None:
        """Frees the linker; it may be called again. The logs can still be read."""
        self._linker.close()

    @property
    def is_closed(self) -> bool:
        """Whether `close` was called."""
        return self._linker.closed

    @property
    def handle(self) -> int:
        """The address of the `cl_linker`; 0 when it is closed."""
        return self._linker.handle

    def get_error_log(self) -> str:
        """The backend's error log, also after a failed `link` and after `close`."""
        return self._linker.logs.error

    def get_info_log(self) -> str:
        """The backend's info log, also after `close`."""
        return self._linker.logs.info

    @classmethod
    def which_backend(cls) -> str:
        """The backend that would be used; an exception if there is none."""
        return "nvJitLink" if _cudalink.query_library().backend == "nvjitlink" else "driver"
