# cython: language_level=3
"""Links without the GIL: nothing here is a Python object between the inputs and the cubin."""
from libc.stdlib cimport free, malloc

from cudalink.capi cimport *


cdef cl_result link_ptx(cl_linker *linker, const void **units, size_t *sizes, size_t count, void **cubin, size_t *size) noexcept nogil:
    cdef cl_result result = CL_RESULT_OK
    cdef size_t index
    for index in range(count):
        result = cl_linker_add(linker, CL_INPUT_PTX, units[index], sizes[index], NULL)
        if result != CL_RESULT_OK:
            return result
    result = cl_linker_complete(linker)
    if result == CL_RESULT_OK:
        result = cl_linker_get_output(linker, CL_OUTPUT_CUBIN, NULL, 0, size)
    if result == CL_RESULT_OK:
        cubin[0] = malloc(size[0])
        result = cl_linker_get_output(linker, CL_OUTPUT_CUBIN, cubin[0], size[0], size) if cubin[0] else CL_RESULT_OUT_OF_MEMORY
    return result


def link(str arch, bytes kernel, bytes helper):
    """Links two units of PTX into a cubin."""
    cdef bytes c_arch = arch.encode()
    cdef cl_linker_options options = cl_linker_options_init()
    cdef cl_linker *linker = NULL
    cdef const void *units[2]
    cdef size_t sizes[2]
    cdef void *cubin = NULL
    cdef size_t size = 0
    cdef cl_result result
    options.arch = c_arch
    units[0], units[1] = <const char *>kernel, <const char *>helper
    sizes[0], sizes[1] = len(kernel), len(helper)
    with nogil:
        result = cl_linker_create(&options, &linker)
        if result == CL_RESULT_OK:
            result = link_ptx(linker, units, sizes, 2, &cubin, &size)
    try:
        if result != CL_RESULT_OK:
            raise RuntimeError("%s: %s" % (cl_result_string(result).decode(), cl_linker_get_message(linker).decode()))
        return (<char *>cubin)[:size]
    finally:
        free(cubin)
        cl_linker_destroy(linker)
