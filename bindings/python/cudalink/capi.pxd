"""The C interface of cudalink. Each declaration is explained in cudalink.h, which `cudalink.get_include()` finds."""
from libc.stdint cimport int32_t, uint32_t, uint64_t

cdef extern from "cudalink.h":
    ctypedef int32_t cl_result
    ctypedef uint32_t cl_backend
    ctypedef uint32_t cl_output_kind
    ctypedef uint32_t cl_tristate
    ctypedef uint32_t cl_optimization
    ctypedef uint32_t cl_fast_compile
    ctypedef uint32_t cl_archive_members
    ctypedef uint32_t cl_input_kind
    ctypedef uint32_t cl_log_kind
    ctypedef uint32_t cl_severity

    ctypedef struct cl_linker:
        pass

    ctypedef struct cl_linker_options:
        size_t struct_size
        const char *arch
        const char *library_path
        cl_backend backend
        cl_output_kind output
        cl_tristate lto
        cl_tristate relocatable
        cl_tristate debug
        cl_tristate lineinfo
        cl_tristate ftz
        cl_tristate prec_div
        cl_tristate prec_sqrt
        cl_tristate fma
        cl_tristate optimize_unused_variables
        cl_tristate nvvm_latest
        cl_tristate no_cache
        cl_tristate device_stack_protector
        cl_tristate time
        cl_tristate verbose
        cl_optimization optimization
        cl_fast_compile fast_compile
        int32_t max_register_count
        int32_t split_compile
        int32_t split_compile_extended
        int32_t jump_table_density
        const char *const *kernels_used
        size_t kernels_used_count
        const char *const *variables_used
        size_t variables_used_count
        const char *const *ptxas_options
        size_t ptxas_options_count
        const char *const *flags
        size_t flag_count
        const char *const *pass_through
        size_t pass_through_count
        const char *const *nvvm_options
        size_t nvvm_options_count
        const char *const *required_kernels
        size_t required_kernels_count
        cl_archive_members archive_members
        uint32_t reserved
        uint64_t max_unpacked_bytes

    ctypedef struct cl_diagnostic:
        size_t struct_size
        cl_severity severity
        int32_t result
        const char *input
        const char *symbol
        const char *message
        const char *hint
        const char *backend_call
        const char *backend_text
        int32_t backend_code
        uint32_t line

    ctypedef struct cl_library_info:
        size_t struct_size
        char *message
        size_t message_capacity
        size_t message_size
        const char *path
        const char *found_by
        uint32_t version_major
        uint32_t version_minor
        uint32_t has_version
        uint32_t has_linked_ltoir
        cl_backend backend
        uint32_t reserved

    enum:
        CL_RESULT_OK
        CL_RESULT_NULL_ARGUMENT
        CL_RESULT_INVALID_ARGUMENT
        CL_RESULT_INVALID_STATE
        CL_RESULT_BAD_STRUCT_SIZE
        CL_RESULT_BUFFER_TOO_SMALL
        CL_RESULT_UNKNOWN_OPTION
        CL_RESULT_BAD_OPTION_VALUE
        CL_RESULT_INCOMPATIBLE_OPTIONS
        CL_RESULT_MISSING_ARCH
        CL_RESULT_BAD_ARCH
        CL_RESULT_UNSUPPORTED_OPTION
        CL_RESULT_UNSUPPORTED_ARCH
        CL_RESULT_LIBRARY_NOT_FOUND
        CL_RESULT_LIBRARY_UNUSABLE
        CL_RESULT_DRIVER_NOT_FOUND
        CL_RESULT_DRIVER_ERROR
        CL_RESULT_FILE_NOT_FOUND
        CL_RESULT_IO_ERROR
        CL_RESULT_NO_INPUTS
        CL_RESULT_EMPTY_INPUT
        CL_RESULT_BAD_INPUT
        CL_RESULT_UNRECOGNIZED_INPUT
        CL_RESULT_WRONG_INPUT_KIND
        CL_RESULT_INPUT_TOO_NEW
        CL_RESULT_ARCH_MISMATCH
        CL_RESULT_NO_DEVICE_CODE
        CL_RESULT_NOT_RELOCATABLE
        CL_RESULT_NOT_LTOIR
        CL_RESULT_DUPLICATE_SYMBOL
        CL_RESULT_UNRESOLVED_SYMBOL
        CL_RESULT_MISSING_KERNEL
        CL_RESULT_COMPILE_FAILED
        CL_RESULT_LINK_FAILED
        CL_RESULT_OUTPUT_NOT_AVAILABLE
        CL_RESULT_OVER_LIMIT
        CL_RESULT_OUT_OF_MEMORY
        CL_RESULT_INTERNAL
        CL_RESULT_PANIC

    enum:
        CL_ZERO
        CUDALINK_VERSION_NUMBER
        CL_INPUT_AUTO
        CL_INPUT_CUBIN
        CL_INPUT_PTX
        CL_INPUT_LTOIR
        CL_INPUT_FATBIN
        CL_INPUT_OBJECT
        CL_INPUT_LIBRARY
        CL_LOG_ERROR
        CL_LOG_INFO
        CL_LOG_PLAN
        CL_LOG_OUTPUT
        CL_SEVERITY_ERROR
        CL_SEVERITY_WARNING
        CL_TRISTATE_UNSET
        CL_TRISTATE_ON
        CL_TRISTATE_OFF
        CL_OUTPUT_CUBIN
        CL_OUTPUT_PTX
        CL_OUTPUT_LTOIR
        CL_BACKEND_AUTO
        CL_BACKEND_NVJITLINK
        CL_BACKEND_DRIVER
        CL_OPTIMIZATION_UNSET
        CL_OPTIMIZATION_O0
        CL_OPTIMIZATION_O1
        CL_OPTIMIZATION_O2
        CL_OPTIMIZATION_O3
        CL_FAST_COMPILE_UNSET
        CL_FAST_COMPILE_MIN
        CL_FAST_COMPILE_MID
        CL_FAST_COMPILE_MAX
        CL_ARCHIVE_MEMBERS_ALL
        CL_ARCHIVE_MEMBERS_NEEDED

    cl_result cl_linker_create(const cl_linker_options *options, cl_linker **linker_out) noexcept nogil
    cl_result cl_linker_add(cl_linker *linker, cl_input_kind kind, const void *data, size_t size, const char *name) noexcept nogil
    cl_result cl_linker_add_file(cl_linker *linker, cl_input_kind kind, const char *path) noexcept nogil
    cl_result cl_linker_complete(cl_linker *linker) noexcept nogil
    void cl_linker_destroy(cl_linker *linker) noexcept nogil
    cl_result cl_linker_get_output(const cl_linker *linker, cl_output_kind kind, void *buffer, size_t capacity, size_t *size_out) noexcept nogil
    cl_result cl_linker_get_log(const cl_linker *linker, cl_log_kind kind, char *buffer, size_t capacity, size_t *size_out) noexcept nogil
    const char *cl_linker_get_message(const cl_linker *linker) noexcept nogil
    size_t cl_linker_diagnostic_count(const cl_linker *linker) noexcept nogil
    cl_result cl_linker_get_diagnostic(const cl_linker *linker, size_t index, cl_diagnostic *diagnostic_out) noexcept nogil
    cl_result cl_library_query(const cl_linker_options *options, cl_library_info *info_out) noexcept nogil
    cl_result cl_input_describe(const void *data, size_t size, const char *name, char *buffer, size_t capacity, size_t *size_out) noexcept nogil
    const char *cl_result_string(int32_t result) noexcept nogil
    uint32_t cudalink_version_number() noexcept nogil
    const char *cudalink_version_string() noexcept nogil

# The initialisers of the header are braces, which Cython cannot assign.
cdef extern from *:
    """
    #include <cudalink.h>
    static inline cl_linker_options cl_linker_options_init(void) { cl_linker_options value = CL_LINKER_OPTIONS_INIT; return value; }
    static inline cl_diagnostic cl_diagnostic_init(void) { cl_diagnostic value = CL_DIAGNOSTIC_INIT; return value; }
    static inline cl_library_info cl_library_info_init(void) { cl_library_info value = CL_LIBRARY_INFO_INIT; return value; }
    """
    cl_linker_options cl_linker_options_init() noexcept nogil
    cl_diagnostic cl_diagnostic_init() noexcept nogil
    cl_library_info cl_library_info_init() noexcept nogil
