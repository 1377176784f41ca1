"""Links CUDA device code at run time, the same way on every nvJitLink from 12.0 on.

    with cudalink.Linker(arch="sm_90") as linker:
        linker.add("kernel.ptx")
        linker.add(ltoir, name="helper")
        cubin = linker.link().cubin
"""
from pathlib import Path as _Path

from . import _cudalink
from ._cudalink import Linker, Output, describe, query_library
from ._types import (
    ArgumentError,
    CudalinkError,
    Diagnostic,
    InputError,
    InputFileError,
    InputFileNotFoundError,
    InternalError,
    LibraryError,
    LibraryInfo,
    LinkError,
    Logs,
    OptionError,
    OutOfMemoryError,
    StateError,
)

__version__ = _cudalink.library_version()
__all__ = [
    "ArgumentError", "CudalinkError", "Diagnostic", "InputError", "InputFileError", "InputFileNotFoundError", "InternalError",
    "LibraryError", "LibraryInfo", "LinkError", "Linker", "Logs", "OptionError", "OutOfMemoryError", "Output", "StateError",
    "__version__", "describe", "get_cmake_dir", "get_include", "get_library_dir", "query_library",
]

_FOLDER = _Path(__file__).resolve().parent


def get_include() -> str:
    """The folder of `cudalink.h`."""
    return str(_FOLDER / "include" / "cudalink")


def get_library_dir() -> str:
    """The folder of `libcudalink.so.0.1`, and of a script under the name `libcudalink.so` for the linker's -lcudalink.

    A program that is linked with it needs the folder in its rpath, or in LD_LIBRARY_PATH."""
    return str(_FOLDER / "lib")


def get_cmake_dir() -> str:
    """The folder for CMake's `cudalink_DIR`."""
    return str(_FOLDER / "lib" / "cmake" / "cudalink")
