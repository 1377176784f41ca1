/* What a compiled caller relies on: where each field is, what each constant is, and what each result is called.
 * A field is appended by a new line at the end of its structure and a new size there; no other line ever changes. */
#include <cudalink.h>

#include <stdio.h>
#include <string.h>

#define FIELD(type, field, offset, size)                                              \
  _Static_assert(offsetof(type, field) == (offset), #type "." #field " has moved");   \
  _Static_assert(sizeof(((type *)0)->field) == (size), #type "." #field " has another size");
#define SIZE(type, size) _Static_assert(sizeof(type) == (size), #type " has another size");
#define VALUE(constant, value) _Static_assert((constant) == (value), #constant " has another value");

FIELD(cl_linker_options, struct_size, 0, 8)
FIELD(cl_linker_options, arch, 8, 8)
FIELD(cl_linker_options, library_path, 16, 8)
FIELD(cl_linker_options, backend, 24, 4)
FIELD(cl_linker_options, output, 28, 4)
FIELD(cl_linker_options, lto, 32, 4)
FIELD(cl_linker_options, relocatable, 36, 4)
FIELD(cl_linker_options, debug, 40, 4)
FIELD(cl_linker_options, lineinfo, 44, 4)
FIELD(cl_linker_options, ftz, 48, 4)
FIELD(cl_linker_options, prec_div, 52, 4)
FIELD(cl_linker_options, prec_sqrt, 56, 4)
FIELD(cl_linker_options, fma, 60, 4)
FIELD(cl_linker_options, optimize_unused_variables, 64, 4)
FIELD(cl_linker_options, nvvm_latest, 68, 4)
FIELD(cl_linker_options, no_cache, 72, 4)
FIELD(cl_linker_options, device_stack_protector, 76, 4)
FIELD(cl_linker_options, time, 80, 4)
FIELD(cl_linker_options, verbose, 84, 4)
FIELD(cl_linker_options, optimization, 88, 4)
FIELD(cl_linker_options, fast_compile, 92, 4)
FIELD(cl_linker_options, max_register_count, 96, 4)
FIELD(cl_linker_options, split_compile, 100, 4)
FIELD(cl_linker_options, split_compile_extended, 104, 4)
FIELD(cl_linker_options, jump_table_density, 108, 4)
FIELD(cl_linker_options, kernels_used, 112, 8)
FIELD(cl_linker_options, kernels_used_count, 120, 8)
FIELD(cl_linker_options, variables_used, 128, 8)
FIELD(cl_linker_options, variables_used_count, 136, 8)
FIELD(cl_linker_options, ptxas_options, 144, 8)
FIELD(cl_linker_options, ptxas_options_count, 152, 8)
FIELD(cl_linker_options, flags, 160, 8)
FIELD(cl_linker_options, flag_count, 168, 8)
FIELD(cl_linker_options, pass_through, 176, 8)
FIELD(cl_linker_options, pass_through_count, 184, 8)
FIELD(cl_linker_options, nvvm_options, 192, 8)
FIELD(cl_linker_options, nvvm_options_count, 200, 8)
FIELD(cl_linker_options, required_kernels, 208, 8)
FIELD(cl_linker_options, required_kernels_count, 216, 8)
FIELD(cl_linker_options, archive_members, 224, 4)
FIELD(cl_linker_options, reserved, 228, 4)
FIELD(cl_linker_options, max_unpacked_bytes, 232, 8)
SIZE(cl_linker_options, 240)

FIELD(cl_diagnostic, struct_size, 0, 8)
FIELD(cl_diagnostic, severity, 8, 4)
FIELD(cl_diagnostic, result, 12, 4)
FIELD(cl_diagnostic, input, 16, 8)
FIELD(cl_diagnostic, symbol, 24, 8)
FIELD(cl_diagnostic, message, 32, 8)
FIELD(cl_diagnostic, hint, 40, 8)
FIELD(cl_diagnostic, backend_call, 48, 8)
FIELD(cl_diagnostic, backend_text, 56, 8)
FIELD(cl_diagnostic, backend_code, 64, 4)
FIELD(cl_diagnostic, line, 68, 4)
SIZE(cl_diagnostic, 72)

FIELD(cl_library_info, struct_size, 0, 8)
FIELD(cl_library_info, message, 8, 8)
FIELD(cl_library_info, message_capacity, 16, 8)
FIELD(cl_library_info, message_size, 24, 8)
FIELD(cl_library_info, path, 32, 8)
FIELD(cl_library_info, found_by, 40, 8)
FIELD(cl_library_info, version_major, 48, 4)
FIELD(cl_library_info, version_minor, 52, 4)
FIELD(cl_library_info, has_version, 56, 4)
FIELD(cl_library_info, has_linked_ltoir, 60, 4)
FIELD(cl_library_info, backend, 64, 4)
FIELD(cl_library_info, reserved, 68, 4)
SIZE(cl_library_info, 72)

SIZE(cl_result, 4)
SIZE(cl_input_kind, 4)
SIZE(cl_output_kind, 4)
SIZE(cl_log_kind, 4)
SIZE(cl_backend, 4)
SIZE(cl_tristate, 4)
SIZE(cl_optimization, 4)
SIZE(cl_fast_compile, 4)
SIZE(cl_severity, 4)

VALUE(CL_INPUT_AUTO, 0)
VALUE(CL_INPUT_CUBIN, 1)
VALUE(CL_INPUT_PTX, 2)
VALUE(CL_INPUT_LTOIR, 3)
VALUE(CL_INPUT_FATBIN, 4)
VALUE(CL_INPUT_OBJECT, 5)
VALUE(CL_INPUT_LIBRARY, 6)
VALUE(CL_OUTPUT_CUBIN, 1)
VALUE(CL_OUTPUT_PTX, 2)
VALUE(CL_OUTPUT_LTOIR, 3)
VALUE(CL_LOG_ERROR, 1)
VALUE(CL_LOG_INFO, 2)
VALUE(CL_LOG_PLAN, 3)
VALUE(CL_LOG_OUTPUT, 4)
VALUE(CL_ARCHIVE_MEMBERS_ALL, 0)
VALUE(CL_ARCHIVE_MEMBERS_NEEDED, 1)
VALUE(CL_BACKEND_AUTO, 0)
VALUE(CL_BACKEND_NVJITLINK, 1)
VALUE(CL_BACKEND_DRIVER, 2)
VALUE(CL_TRISTATE_UNSET, 0)
VALUE(CL_TRISTATE_ON, 1)
VALUE(CL_TRISTATE_OFF, 2)
VALUE(CL_OPTIMIZATION_UNSET, 0)
VALUE(CL_OPTIMIZATION_O0, 1)
VALUE(CL_OPTIMIZATION_O1, 2)
VALUE(CL_OPTIMIZATION_O2, 3)
VALUE(CL_OPTIMIZATION_O3, 4)
VALUE(CL_FAST_COMPILE_UNSET, 0)
VALUE(CL_FAST_COMPILE_MIN, 1)
VALUE(CL_FAST_COMPILE_MID, 2)
VALUE(CL_FAST_COMPILE_MAX, 3)
VALUE(CL_SEVERITY_ERROR, 1)
VALUE(CL_SEVERITY_WARNING, 2)
VALUE(CL_ZERO, -1)

#define RESULTS(ROW)                                                                  \
  ROW(CL_RESULT_OK, 0, "ok")                                                          \
  ROW(CL_RESULT_NULL_ARGUMENT, 1, "null_argument")                                    \
  ROW(CL_RESULT_INVALID_ARGUMENT, 2, "invalid_argument")                              \
  ROW(CL_RESULT_INVALID_STATE, 3, "invalid_state")                                    \
  ROW(CL_RESULT_BAD_STRUCT_SIZE, 4, "bad_struct_size")                                \
  ROW(CL_RESULT_BUFFER_TOO_SMALL, 5, "buffer_too_small")                              \
  ROW(CL_RESULT_UNKNOWN_OPTION, 20, "unknown_option")                                 \
  ROW(CL_RESULT_BAD_OPTION_VALUE, 21, "bad_option_value")                             \
  ROW(CL_RESULT_INCOMPATIBLE_OPTIONS, 22, "incompatible_options")                     \
  ROW(CL_RESULT_MISSING_ARCH, 23, "missing_arch")                                     \
  ROW(CL_RESULT_BAD_ARCH, 24, "bad_arch")                                             \
  ROW(CL_RESULT_UNSUPPORTED_OPTION, 25, "unsupported_option")                         \
  ROW(CL_RESULT_UNSUPPORTED_ARCH, 26, "unsupported_arch")                             \
  ROW(CL_RESULT_LIBRARY_NOT_FOUND, 40, "library_not_found")                           \
  ROW(CL_RESULT_LIBRARY_UNUSABLE, 41, "library_unusable")                             \
  ROW(CL_RESULT_DRIVER_NOT_FOUND, 42, "driver_not_found")                             \
  ROW(CL_RESULT_DRIVER_ERROR, 43, "driver_error")                                     \
  ROW(CL_RESULT_FILE_NOT_FOUND, 44, "file_not_found")                                 \
  ROW(CL_RESULT_IO_ERROR, 45, "io_error")                                             \
  ROW(CL_RESULT_NO_INPUTS, 60, "no_inputs")                                           \
  ROW(CL_RESULT_EMPTY_INPUT, 61, "empty_input")                                       \
  ROW(CL_RESULT_BAD_INPUT, 62, "bad_input")                                           \
  ROW(CL_RESULT_UNRECOGNIZED_INPUT, 63, "unrecognized_input")                         \
  ROW(CL_RESULT_WRONG_INPUT_KIND, 64, "wrong_input_kind")                             \
  ROW(CL_RESULT_INPUT_TOO_NEW, 65, "input_too_new")                                   \
  ROW(CL_RESULT_ARCH_MISMATCH, 66, "arch_mismatch")                                   \
  ROW(CL_RESULT_NO_DEVICE_CODE, 67, "no_device_code")                                 \
  ROW(CL_RESULT_NOT_RELOCATABLE, 68, "not_relocatable")                               \
  ROW(CL_RESULT_NOT_LTOIR, 69, "not_ltoir")                                           \
  ROW(CL_RESULT_DUPLICATE_SYMBOL, 70, "duplicate_symbol")                             \
  ROW(CL_RESULT_UNRESOLVED_SYMBOL, 71, "unresolved_symbol")                           \
  ROW(CL_RESULT_MISSING_KERNEL, 72, "missing_kernel")                                 \
  ROW(CL_RESULT_COMPILE_FAILED, 73, "compile_failed")                                 \
  ROW(CL_RESULT_LINK_FAILED, 74, "link_failed")                                       \
  ROW(CL_RESULT_OUTPUT_NOT_AVAILABLE, 75, "output_not_available")                     \
  ROW(CL_RESULT_OVER_LIMIT, 78, "over_limit")                                         \
  ROW(CL_RESULT_OUT_OF_MEMORY, 90, "out_of_memory")                                   \
  ROW(CL_RESULT_INTERNAL, 98, "internal")                                             \
  ROW(CL_RESULT_PANIC, 99, "panic")

#define RESULT_VALUE(constant, value, name) VALUE(constant, value)
RESULTS(RESULT_VALUE)

static int wrong(int32_t result, const char *name) {
  const char *answer = cl_result_string(result);
  if (strcmp(answer, name) == 0) {
    return 0;
  }
  fprintf(stderr, "cl_result_string(%ld) is %s, not %s\n", (long)result, answer, name);
  return 1;
}

#define RESULT_CASE(constant, value, name) case value:
static int is_a_result(int32_t number) {
  switch (number) {
    RESULTS(RESULT_CASE) return 1;
    default: return 0;
  }
}

int main(void) {
  static const int32_t FAR[] = {INT32_MIN, INT32_MAX};
  char version[32];
  int failures = 0;
  int32_t number;
#define RESULT_NAME(constant, value, name) failures += wrong(constant, name);
  RESULTS(RESULT_NAME)
  for (number = -300; number < 300; number++) {
    failures += is_a_result(number) ? 0 : wrong(number, "unknown");
  }
  failures += wrong(FAR[0], "unknown") + wrong(FAR[1], "unknown");
  number = CUDALINK_VERSION_NUMBER;
  snprintf(version, sizeof version, "%d.%d.%d", (int)number / 10000, (int)number / 100 % 100, (int)number % 100);
  if (cudalink_version_number() != CUDALINK_VERSION_NUMBER || strcmp(cudalink_version_string(), version) != 0) {
    fprintf(stderr, "the header is %s, the library %s\n", version, cudalink_version_string());
    failures++;
  }
  return failures > 0;
}
