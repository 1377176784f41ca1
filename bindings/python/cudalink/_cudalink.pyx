# cython: language_level=3, freethreading_compatible=True
"""The C interface as Python objects."""
import atexit
import json
import os
import threading

cimport cython
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AsString, PyBytes_FromStringAndSize
from libc.stdint cimport int32_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free

from cudalink.capi cimport *

from cudalink._types import CudalinkError, Diagnostic, LibraryInfo, Logs, error_class

__all__ = ["Linker", "Output", "describe", "library_version", "query_library"]

BACKENDS = {None: CL_BACKEND_AUTO, "auto": CL_BACKEND_AUTO, "nvjitlink": CL_BACKEND_NVJITLINK, "driver": CL_BACKEND_DRIVER}
OUTPUTS = {"cubin": CL_OUTPUT_CUBIN, "ptx": CL_OUTPUT_PTX, "ltoir": CL_OUTPUT_LTOIR}
OPTIMIZATIONS = {None: CL_OPTIMIZATION_UNSET, 0: CL_OPTIMIZATION_O0, 1: CL_OPTIMIZATION_O1, 2: CL_OPTIMIZATION_O2, 3: CL_OPTIMIZATION_O3}
FAST_COMPILES = {None: CL_FAST_COMPILE_UNSET, "min": CL_FAST_COMPILE_MIN, "mid": CL_FAST_COMPILE_MID, "max": CL_FAST_COMPILE_MAX}
MEMBERS = {None: CL_ARCHIVE_MEMBERS_ALL, "all": CL_ARCHIVE_MEMBERS_ALL, "needed": CL_ARCHIVE_MEMBERS_NEEDED}
KINDS = {
    None: CL_INPUT_AUTO, "auto": CL_INPUT_AUTO, "cubin": CL_INPUT_CUBIN, "ptx": CL_INPUT_PTX, "ltoir": CL_INPUT_LTOIR,
    "fatbin": CL_INPUT_FATBIN, "object": CL_INPUT_OBJECT, "library": CL_INPUT_LIBRARY,
}


# nvJitLink does not survive that its process ends while it links. So the interpreter waits at its end for the links that run, and other threads
# start none then. It is counted and waited for in C, where no signal handler of Python comes between.
cdef extern from *:
    """
    #include <unistd.h>
    static int cudalink_running, cudalink_ending, cudalink_forks;
    /* The number of forks so far, or -1 where no link may start any more. */
    static int cudalink_enter(int is_main) {
      __atomic_add_fetch(&cudalink_running, 1, __ATOMIC_SEQ_CST);
      if (!is_main && __atomic_load_n(&cudalink_ending, __ATOMIC_SEQ_CST)) {
        __atomic_sub_fetch(&cudalink_running, 1, __ATOMIC_SEQ_CST);
        return -1;
      }
      return __atomic_load_n(&cudalink_forks, __ATOMIC_SEQ_CST);
    }
    /* A child does not count what its parent started. */
    static void cudalink_leave(int forks) {
      if (forks == __atomic_load_n(&cudalink_forks, __ATOMIC_SEQ_CST)) __atomic_sub_fetch(&cudalink_running, 1, __ATOMIC_SEQ_CST);
    }
    static void cudalink_wait(void) {
      __atomic_store_n(&cudalink_ending, 1, __ATOMIC_SEQ_CST);
      while (__atomic_load_n(&cudalink_running, __ATOMIC_SEQ_CST) > 0) usleep(1000);
    }
    static void cudalink_forked(void) {
      __atomic_add_fetch(&cudalink_forks, 1, __ATOMIC_SEQ_CST);
      __atomic_store_n(&cudalink_running, 0, __ATOMIC_SEQ_CST);
      __atomic_store_n(&cudalink_ending, 0, __ATOMIC_SEQ_CST);
    }
    """
    int cudalink_enter(int is_main) noexcept nogil
    void cudalink_leave(int forks) noexcept nogil
    void cudalink_wait() noexcept nogil
    void cudalink_forked() noexcept nogil


def wait_for_links():
    with nogil:
        cudalink_wait()


def forget_links():
    """A child has none of the threads."""
    cudalink_forked()


atexit.register(wait_for_links)
os.register_at_fork(after_in_child=forget_links)


cdef str text(const char *pointer):
    """A text of the library; None for NULL."""
    return None if pointer is NULL else (<bytes>pointer).decode("utf-8", "backslashreplace")


cdef bytes c_text(str name, value):
    """A str for C."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be str, not {type(value).__name__}")
    if "\0" in value:
        raise ValueError(f"{name} must not contain a null character")
    return value.encode()


cdef bytes c_path(str name, value):
    """A path for C."""
    encoded = os.fsencode(value)
    if b"\0" in encoded:
        raise ValueError(f"{name} must not contain a null character")
    return encoded


cdef bint is_path(data) except? -1:
    """Whether an input is a path, and no buffer."""
    if isinstance(data, str) and "\n" in data:
        raise TypeError("a str is a path; PTX is passed as bytes: text.encode()")
    return isinstance(data, (str, os.PathLike))


cdef one_of(str name, value, dict choices):
    """The number of a choice; a bool is none of the integers."""
    if not isinstance(value, bool) and (value is None or isinstance(value, (str, int))) and value in choices:
        return choices[value]
    given = ", ".join(repr(choice) for choice in choices)
    if value is None or isinstance(value, (str, int)) and not isinstance(value, bool):
        raise error(CL_RESULT_BAD_OPTION_VALUE, f"{name} must be one of {given}, not {value!r}")
    raise TypeError(f"{name} must be one of {given}, not {type(value).__name__}")


cdef cl_tristate tristate(str name, value) except? 99:
    if value is None:
        return CL_TRISTATE_UNSET
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True, False or None, not {type(value).__name__}")
    return CL_TRISTATE_ON if value else CL_TRISTATE_OFF


cdef int32_t number(str name, value, int32_t smallest) except? -99:
    """A number; 0 has a value of its own in C, where 0 is not asked for."""
    if value is None:
        return 0
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} must be int or None, not {type(value).__name__}")
    value = value.__index__()
    if not smallest <= value < 2 ** 31:
        raise error(CL_RESULT_BAD_OPTION_VALUE, f"{name} must be {smallest} or more, and fit 32 bits: {value}")
    return CL_ZERO if value == 0 else value


cdef uint64_t limit(str name, value) except? 1:
    """A limit; 0 in C is the default."""
    if value is None:
        return 0
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} must be int or None, not {type(value).__name__}")
    value = value.__index__()
    if not 1 <= value < 2 ** 64:
        raise error(CL_RESULT_BAD_OPTION_VALUE, f"{name} must be 1 or more, and fit 64 bits: {value}")
    return value


cdef class Texts:
    """The texts of one option, as C takes them, for as long as this lives."""
    cdef list owned
    cdef const char **pointers
    cdef size_t count

    def __cinit__(self, str name, value):
        if value is None:
            value = ()
        elif isinstance(value, str):
            value = (value,)
        elif isinstance(value, (bytes, bytearray)):
            raise TypeError(f"{name} must be str or a sequence of str, not {type(value).__name__}")
        self.owned = [c_text(name, item) for item in value]
        self.count = len(self.owned)
        self.pointers = <const char **>calloc(self.count + 1, sizeof(char *))
        if self.pointers is NULL:
            raise MemoryError
        for index in range(self.count):
            self.pointers[index] = PyBytes_AsString(self.owned[index])

    def __dealloc__(self):
        free(self.pointers)


cdef tuple read_diagnostics(const cl_linker *linker):
    cdef cl_diagnostic found
    # Findings of one answer share its text, which may be as long as all of them.
    cdef const char *last_text = NULL
    backend_text = None
    diagnostics = []
    for index in range(cl_linker_diagnostic_count(linker)):
        found = cl_diagnostic_init()
        if cl_linker_get_diagnostic(linker, index, &found) == CL_RESULT_OK:
            if found.backend_text is not last_text:
                last_text = found.backend_text
                backend_text = text(last_text)
            diagnostics.append(Diagnostic(
                "error" if found.severity == CL_SEVERITY_ERROR else "warning", text(cl_result_string(found.result)), text(found.input),
                text(found.symbol), text(found.message), text(found.hint), text(found.backend_call), backend_text,
                found.backend_code, found.line or None))
    return tuple(diagnostics)


cdef str read_log(const cl_linker *linker, cl_log_kind kind):
    cdef size_t size = 0
    cdef bytes log
    cdef char *target
    if cl_linker_get_log(linker, kind, NULL, 0, &size) != CL_RESULT_OK or size == 0:
        return ""
    log = PyBytes_FromStringAndSize(NULL, size)
    target = PyBytes_AsString(log)
    cl_linker_get_log(linker, kind, target, size, &size)
    return log[:-1].decode("utf-8", "backslashreplace")


cdef error(cl_result result, str message, tuple diagnostics=(), logs=Logs()):
    name = text(cl_result_string(result))
    return error_class(result)(message or name, name, result, diagnostics, logs)


class Output:
    """What a link gave: `data` is what its `kind` says, and `cubin`, `ptx` or `ltoir` is the same by name."""

    __slots__ = ("kind", "data", "diagnostics", "logs", "_plan", "_described")

    def __init__(self, kind, data, diagnostics, logs, plan, described):
        self.kind = kind
        self.data = data
        self.diagnostics = diagnostics
        self.logs = logs
        self._plan = plan
        self._described = described

    def __repr__(self):
        return f"<cudalink.Output {self.kind} of {len(self.data)} bytes>"

    def _as(self, kind):
        if self.kind != kind:
            raise error(CL_RESULT_OUTPUT_NOT_AVAILABLE, f"the output is {self.kind}; Linker(output='{kind}') gives {kind}")
        return self.data

    @property
    def cubin(self):
        """The CUDA binary, for the driver to load."""
        return self._as("cubin")

    @property
    def ptx(self):
        """The PTX text, as bytes without the NUL that C wants."""
        return self._as("ptx")

    @property
    def ltoir(self):
        """The LTO-IR, which later links take."""
        return self._as("ltoir")

    @property
    def kernels(self):
        """The names of the kernels in a cubin or in PTX; LTO-IR does not tell them."""
        return tuple(json.loads(self._described)["kernels"])

    @property
    def undefined(self):
        """The symbols that a relocatable cubin leaves to a later link; LTO-IR does not tell them."""
        return tuple(json.loads(self._described)["undefined"])

    @property
    def plan(self):
        """The backend, its library, the options as they were passed, and each decision with its reason."""
        return json.loads(self._plan)


cdef class Exclusive:
    """A lock that its own thread cannot take twice: what Python runs within a call, a signal handler or a finalizer, is refused another one."""
    cdef object lock
    cdef bint taken

    def __cinit__(self):
        self.lock = threading.RLock()

    def __enter__(self):
        self.lock.acquire()
        if self.taken:
            self.lock.release()
            raise error(CL_RESULT_INVALID_STATE, "the linker is in a call of this thread, which was interrupted")
        self.taken = True

    def __exit__(self, *exception):
        self.taken = False
        self.lock.release()


cdef class Linker:
    """Linker(arch=None, *, library_path=None, backend=None, output="cubin", lto=None, relocatable=None, debug=None, lineinfo=None, ftz=None,
    prec_div=None, prec_sqrt=None, fma=None, optimize_unused_variables=None, nvvm_latest=None, no_cache=None, device_stack_protector=None, time=None,
    verbose=None, optimization=None, fast_compile=None, max_register_count=None, split_compile=None, split_compile_extended=None,
    jump_table_density=None, kernels_used=None, variables_used=None, ptxas_options=None, flags=None, pass_through=None, nvvm_options=None,
    required_kernels=None, archive_members=None, max_unpacked_bytes=None)

    One link: inputs are added, linked once, and read.

    The options are the fields of `cl_linker_options`, by their names; None asks for nothing. Threads may share a linker: it does one thing
    after the other. While any linker links or a library is queried, no other thread may set `os.environ`, and a child that is forked meanwhile must
    neither link nor query. A linker that failed in `add` or `link`
    has failed for good; what it told can still be read, after `close` too.
    """
    cdef cl_linker *linker
    cdef Exclusive lock
    cdef str output
    cdef tuple found
    cdef object written
    cdef str planned
    cdef object __weakref__

    def __cinit__(self, *arguments, **keywords):
        self.lock = Exclusive()
        self.output = "cubin"
        self.found = ()
        self.written = Logs()
        self.planned = ""

    def __init__(
        self, arch=None, *, library_path=None, backend=None, output="cubin", lto=None, relocatable=None, debug=None, lineinfo=None,
        ftz=None, prec_div=None, prec_sqrt=None, fma=None, optimize_unused_variables=None, nvvm_latest=None, no_cache=None,
        device_stack_protector=None, time=None, verbose=None, optimization=None, fast_compile=None, max_register_count=None,
        split_compile=None, split_compile_extended=None, jump_table_density=None, kernels_used=None, variables_used=None,
        ptxas_options=None, flags=None, pass_through=None, nvvm_options=None, required_kernels=None, archive_members=None,
        max_unpacked_bytes=None,
    ):
        cdef cl_linker_options options = cl_linker_options_init()
        cdef bytes c_arch, c_library
        cdef Texts c_kernels = Texts("kernels_used", kernels_used)
        cdef Texts c_variables = Texts("variables_used", variables_used)
        cdef Texts c_ptxas = Texts("ptxas_options", ptxas_options)
        cdef Texts c_flags = Texts("flags", flags)
        cdef Texts c_pass = Texts("pass_through", pass_through)
        cdef Texts c_nvvm = Texts("nvvm_options", nvvm_options)
        cdef Texts c_required = Texts("required_kernels", required_kernels)
        cdef cl_result result
        if arch is not None:
            c_arch = c_text("arch", arch)
            options.arch = c_arch
        if library_path is not None:
            c_library = c_path("library_path", library_path)
            options.library_path = c_library
        options.backend = one_of("backend", backend, BACKENDS)
        options.output = one_of("output", output, OUTPUTS)
        options.lto = tristate("lto", lto)
        options.relocatable = tristate("relocatable", relocatable)
        options.debug = tristate("debug", debug)
        options.lineinfo = tristate("lineinfo", lineinfo)
        options.ftz = tristate("ftz", ftz)
        options.prec_div = tristate("prec_div", prec_div)
        options.prec_sqrt = tristate("prec_sqrt", prec_sqrt)
        options.fma = tristate("fma", fma)
        options.optimize_unused_variables = tristate("optimize_unused_variables", optimize_unused_variables)
        options.nvvm_latest = tristate("nvvm_latest", nvvm_latest)
        options.no_cache = tristate("no_cache", no_cache)
        options.device_stack_protector = tristate("device_stack_protector", device_stack_protector)
        options.time = tristate("time", time)
        options.verbose = tristate("verbose", verbose)
        options.optimization = one_of("optimization", optimization, OPTIMIZATIONS)
        options.fast_compile = one_of("fast_compile", fast_compile, FAST_COMPILES)
        options.max_register_count = number("max_register_count", max_register_count, 1)
        options.split_compile = number("split_compile", split_compile, 0)
        options.split_compile_extended = number("split_compile_extended", split_compile_extended, 0)
        options.jump_table_density = number("jump_table_density", jump_table_density, 0)
        options.kernels_used, options.kernels_used_count = c_kernels.pointers, c_kernels.count
        options.variables_used, options.variables_used_count = c_variables.pointers, c_variables.count
        options.ptxas_options, options.ptxas_options_count = c_ptxas.pointers, c_ptxas.count
        options.flags, options.flag_count = c_flags.pointers, c_flags.count
        options.pass_through, options.pass_through_count = c_pass.pointers, c_pass.count
        options.nvvm_options, options.nvvm_options_count = c_nvvm.pointers, c_nvvm.count
        options.required_kernels, options.required_kernels_count = c_required.pointers, c_required.count
        options.archive_members = one_of("archive_members", archive_members, MEMBERS)
        options.max_unpacked_bytes = limit("max_unpacked_bytes", max_unpacked_bytes)
        with self.lock:
            if self.linker is not NULL:
                raise error(CL_RESULT_INVALID_STATE, "the linker is open already")
            self.output = output
            result = cl_linker_create(&options, &self.linker)
            if result != CL_RESULT_OK:
                raise self.failure(result)

    def __dealloc__(self):
        cl_linker_destroy(self.linker)

    cdef failure(self, cl_result result):
        """The exception for a call that failed. A call that was only refused leaves what is known of the link as it is."""
        self.note()
        return error(result, text(cl_linker_get_message(self.linker)), self.found, self.written)

    cdef note(self):
        """Keeps what the linker tells, so that it can be read when it is closed."""
        found = read_diagnostics(self.linker)
        written = Logs(read_log(self.linker, CL_LOG_ERROR), read_log(self.linker, CL_LOG_INFO))
        planned = read_log(self.linker, CL_LOG_PLAN)
        with cython.critical_section(self):
            self.found = found
            self.written = written
            self.planned = planned

    cdef check_open(self):
        if self.linker is NULL:
            raise error(CL_RESULT_INVALID_STATE, "the linker is closed")

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def add(self, data, kind=None, name=None):
        """Adds an input: a path (str or os.PathLike), or any contiguous buffer, which is copied before this returns.

        `kind` is "cubin", "ptx", "ltoir", "fatbin", "object" or "library", and is checked; None looks. `name` is what messages call a
        buffer; a file is called by its path.
        """
        cdef cl_input_kind c_kind = one_of("kind", kind, KINDS)
        cdef bytes c_name = None
        cdef const char *pointer = NULL
        cdef cl_linker *linker
        cdef cl_result result
        cdef Py_buffer view
        if is_path(data):
            if name is not None:
                raise TypeError("a file is called by its path; name is for buffers")
            c_name = c_path("path", data)
            pointer = c_name
            with self.lock:
                self.check_open()
                linker = self.linker
                with nogil:
                    result = cl_linker_add_file(linker, c_kind, pointer)
                if result != CL_RESULT_OK:
                    raise self.failure(result)
            return
        if name is not None:
            c_name = c_text("name", name)
            pointer = c_name
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            with self.lock:
                self.check_open()
                linker = self.linker
                with nogil:
                    result = cl_linker_add(linker, c_kind, view.buf, view.len, pointer)
                if result != CL_RESULT_OK:
                    raise self.failure(result)
        finally:
            PyBuffer_Release(&view)

    def link(self):
        """Links what was added, once, and gives the output. nvJitLink is searched for here."""
        cdef cl_linker *linker
        cdef cl_result result
        cdef size_t size = 0
        cdef cl_output_kind kind
        cdef bytes data
        cdef char *target
        cdef bint is_main = threading.get_ident() == threading.main_thread().ident
        cdef int forks
        with nogil:
            forks = cudalink_enter(is_main)
        if forks < 0:
            # The interpreter is ending. That ends this thread too, as it would at its next step.
            raise SystemExit
        try:
            with self.lock:
                self.check_open()
                linker = self.linker
                kind = OUTPUTS[self.output]
                with nogil:
                    result = cl_linker_complete(linker)
                if result != CL_RESULT_OK:
                    raise self.failure(result)
                self.note()
                result = cl_linker_get_output(linker, kind, NULL, 0, &size)
                if result == CL_RESULT_OK:
                    data = PyBytes_FromStringAndSize(NULL, size)
                    target = PyBytes_AsString(data)
                    result = cl_linker_get_output(linker, kind, target, size, &size)
                if result != CL_RESULT_OK:
                    raise error(result, None)
                if kind == CL_OUTPUT_PTX:
                    data = data[:-1]
                return Output(self.output, data, self.found, self.written, self.planned, read_log(linker, CL_LOG_OUTPUT))
        finally:
            cudalink_leave(forks)

    def close(self):
        """Frees the linker; it may be called again."""
        cdef cl_linker *linker
        with self.lock:
            linker = self.linker
            with cython.critical_section(self):
                self.linker = NULL
            with nogil:
                cl_linker_destroy(linker)

    @property
    def closed(self):
        """Whether `close` was called."""
        with cython.critical_section(self):
            return self.linker is NULL

    @property
    def diagnostics(self):
        """What was found up to the last call that linked or failed."""
        with cython.critical_section(self):
            return self.found

    @property
    def logs(self):
        """The backend's logs up to the last call that linked or failed."""
        with cython.critical_section(self):
            return self.written

    @property
    def plan(self):
        """As in `Output`; None before `link`."""
        with cython.critical_section(self):
            planned = self.planned
        return json.loads(planned) if planned else None

    @property
    def handle(self):
        """The address of the `cl_linker`, for calls in C that Python's lock does not know of; 0 when it is closed."""
        with cython.critical_section(self):
            return <size_t>self.linker


def describe(data, name=None):
    """Describes an input, a path or a buffer, as `cl_input_describe` does; damaged ones too."""
    cdef bytes c_name = None
    cdef const char *pointer = NULL
    cdef Py_buffer view
    cdef size_t size = 0
    cdef cl_result result
    cdef bytes description
    cdef char *target = NULL
    if is_path(data):
        name = os.fsdecode(data) if name is None else name
        try:
            with open(data, "rb") as file:
                data = file.read()
        except OSError as problem:
            result = CL_RESULT_FILE_NOT_FOUND if isinstance(problem, FileNotFoundError) else CL_RESULT_IO_ERROR
            raise error(result, f"'{name}' cannot be read: {problem.strerror}") from problem
    if name is not None:
        c_name = c_text("name", name)
        pointer = c_name
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        with nogil:
            result = cl_input_describe(view.buf, view.len, pointer, NULL, 0, &size)
        if result == CL_RESULT_OK:
            description = PyBytes_FromStringAndSize(NULL, size)
            target = PyBytes_AsString(description)
            with nogil:
                result = cl_input_describe(view.buf, view.len, pointer, target, size, &size)
    finally:
        PyBuffer_Release(&view)
    if result != CL_RESULT_OK:
        raise error(result, None)
    return json.loads(description[:size - 1])


def query_library(library_path=None, backend=None):
    """Says which library links: the nvJitLink that is named, or the first of the search; the CUDA driver where there is none or it is asked for."""
    cdef cl_linker_options options = cl_linker_options_init()
    cdef cl_library_info info = cl_library_info_init()
    cdef bytes c_library, message
    cdef cl_result result
    options.backend = one_of("backend", backend, BACKENDS)
    if library_path is not None:
        c_library = c_path("library_path", library_path)
        options.library_path = c_library
    message = PyBytes_FromStringAndSize(NULL, 1 << 16)
    info.message, info.message_capacity = PyBytes_AsString(message), len(message)
    with nogil:
        result = cl_library_query(&options, &info)
    if result != CL_RESULT_OK:
        raise error(result, message[:message.index(b"\0")].decode("utf-8", "backslashreplace"))
    version = (info.version_major, info.version_minor) if info.version_major else None
    found = "driver" if info.backend == CL_BACKEND_DRIVER else "nvjitlink"
    return LibraryInfo(text(info.path), text(info.found_by), version, bool(info.has_version), bool(info.has_linked_ltoir), found)


def library_version():
    """The version of libcudalink."""
    return text(cudalink_version_string())
