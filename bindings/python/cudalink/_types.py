"""What the extension hands out, and what it raises."""
from __future__ import annotations

import errno
from typing import NamedTuple

__all__ = [
    "ArgumentError", "CudalinkError", "Diagnostic", "InputError", "InputFileError", "InputFileNotFoundError", "InternalError",
    "LibraryError", "LibraryInfo", "LinkError", "Logs", "OptionError", "OutOfMemoryError", "StateError", "error_class",
]

class Diagnostic(NamedTuple):
    """One finding about a link; the fields are those of `cl_diagnostic`."""

    severity: str
    result: str
    input: str | None
    symbol: str | None
    message: str
    hint: str | None
    backend_call: str | None
    backend_text: str | None
    backend_code: int
    line: int | None


class Logs(NamedTuple):
    """What the backend wrote."""

    error: str = ""
    info: str = ""


class LibraryInfo(NamedTuple):
    """The library that would be used. `version` is None if the library does not tell it; `backend` is "nvjitlink" or "driver"."""

    path: str
    found_by: str
    version: tuple[int, int] | None
    has_version: bool
    has_linked_ltoir: bool
    backend: str


class CudalinkError(Exception):
    """What cudalink refused or could not do.

    `result` is the class of the mistake, such as "missing_arch", and `code` its number; `message` is a sentence, and the text of the
    exception is that with a hint in a line of its own, if there is one; `diagnostics` and `logs` are the linker's.
    """

    def __init__(self, message: str, result: str, code: int, diagnostics: tuple[Diagnostic, ...] = (), logs: Logs = Logs()) -> None:
        super().__init__(message, result, code, diagnostics, logs)
        self.message = message
        self.result = result
        self.code = code
        self.diagnostics = diagnostics
        self.logs = logs

    def __str__(self) -> str:
        # A call that is refused after a failure tells the findings of that, and not its hint.
        hints = ["\nhint: " + found.hint for found in self.diagnostics if found.hint and found.message == self.message]
        return self.message + "".join(hints[:1])

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.message!r}, {self.result!r})"


class ArgumentError(CudalinkError, ValueError):
    """An argument that the C interface refused."""


class StateError(CudalinkError, RuntimeError):
    """A call that does not fit the linker's state, such as `add` after `link`."""


class OptionError(CudalinkError, ValueError):
    """An option that is unknown, has a wrong value, contradicts another one, or is not in the library's version."""


class LibraryError(CudalinkError, RuntimeError):
    """No nvJitLink or driver that can be used."""


class InputFileError(CudalinkError, OSError):
    """An input file that could not be read. `filename` is the file; `errno` is known only of one that is not there."""

    def __init__(self, message: str, result: str, code: int, diagnostics: tuple[Diagnostic, ...] = (), logs: Logs = Logs()) -> None:
        super().__init__(message, result, code, diagnostics, logs)
        self.args = (message, result, code, diagnostics, logs)
        self.errno = errno.ENOENT if isinstance(self, FileNotFoundError) else None
        self.strerror = message
        self.filename = diagnostics[-1].input if diagnostics else None


class InputFileNotFoundError(InputFileError, FileNotFoundError):
    """An input file that is not there."""


class InputError(CudalinkError, ValueError):
    """Inputs that cannot be linked."""


class LinkError(CudalinkError, RuntimeError):
    """A link that failed, or an output that there is none of."""


class OutOfMemoryError(CudalinkError, MemoryError):
    """No memory."""


class InternalError(CudalinkError, RuntimeError):
    """A fault of cudalink or of the backend."""


def error_class(code: int) -> type[CudalinkError]:
    """The class for a `cl_result`: by its number, or else by the range that it is in."""
    special = {3: StateError, 44: InputFileNotFoundError, 45: InputFileError, 90: OutOfMemoryError}
    ranges = ((20, ArgumentError), (40, OptionError), (60, LibraryError), (70, InputError), (90, LinkError))
    return special.get(code) or next((kind for end, kind in ranges if code < end), InternalError)
