from collections.abc import Iterable
from os import PathLike
from types import TracebackType
from typing import Any, Literal, Self

from typing_extensions import Buffer

from ._types import Diagnostic, LibraryInfo, Logs

__all__ = ["Linker", "Output", "describe", "library_version", "query_library"]

_Kind = Literal["auto", "cubin", "ptx", "ltoir", "fatbin", "object", "library"]
_OutputKind = Literal["cubin", "ptx", "ltoir"]
_Texts = str | Iterable[str] | None

class Output:
    kind: _OutputKind
    data: bytes
    diagnostics: tuple[Diagnostic, ...]
    logs: Logs
    @property
    def cubin(self) -> bytes: ...
    @property
    def ptx(self) -> bytes: ...
    @property
    def ltoir(self) -> bytes: ...
    @property
    def kernels(self) -> tuple[str, ...]: ...
    @property
    def undefined(self) -> tuple[str, ...]: ...
    @property
    def plan(self) -> dict[str, Any]: ...

class Linker:
    def __init__(
        self,
        arch: str | None = None,
        *,
        library_path: str | PathLike[str] | None = None,
        backend: Literal["auto", "nvjitlink", "driver"] | None = None,
        output: _OutputKind = "cubin",
        lto: bool | None = None,
        relocatable: bool | None = None,
        debug: bool | None = None,
        lineinfo: bool | None = None,
        ftz: bool | None = None,
        prec_div: bool | None = None,
        prec_sqrt: bool | None = None,
        fma: bool | None = None,
        optimize_unused_variables: bool | None = None,
        nvvm_latest: bool | None = None,
        no_cache: bool | None = None,
        device_stack_protector: bool | None = None,
        time: bool | None = None,
        verbose: bool | None = None,
        optimization: Literal[0, 1, 2, 3] | None = None,
        fast_compile: Literal["min", "mid", "max"] | None = None,
        max_register_count: int | None = None,
        split_compile: int | None = None,
        split_compile_extended: int | None = None,
        jump_table_density: int | None = None,
        kernels_used: _Texts = None,
        variables_used: _Texts = None,
        ptxas_options: _Texts = None,
        flags: _Texts = None,
        pass_through: _Texts = None,
        nvvm_options: _Texts = None,
        required_kernels: _Texts = None,
        archive_members: Literal["all", "needed"] | None = None,
        max_unpacked_bytes: int | None = None,
    ) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None, /
    ) -> None: ...
    def add(self, data: Buffer | str | PathLike[str], kind: _Kind | None = None, name: str | None = None) -> None: ...
    def link(self) -> Output: ...
    def close(self) -> None: ...
    @property
    def closed(self) -> bool: ...
    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]: ...
    @property
    def logs(self) -> Logs: ...
    @property
    def plan(self) -> dict[str, Any] | None: ...
    @property
    def handle(self) -> int: ...

def describe(data: Buffer | str | PathLike[str], name: str | None = None) -> dict[str, Any]: ...
def query_library(
    library_path: str | PathLike[str] | None = None, backend: Literal["auto", "nvjitlink", "driver"] | None = None
) -> LibraryInfo: ...
def library_version() -> str: ...
