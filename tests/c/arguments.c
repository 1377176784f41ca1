/* NULL, sizes, kinds and texts that are none: refused by name of the mistake, and the linker goes on as if nothing was said. */
#include "check.h"

static const char PTX[] = PTX_HEAD, NO_UTF8[] = "\xC3(";

static void null_pointers(cl_linker *linker) {
  cl_diagnostic diagnostic = CL_DIAGNOSTIC_INIT;
  char byte;
  size_t size = 77;
  CHECK_RESULT(NULL_ARGUMENT, cl_linker_create(NULL, NULL));
  CHECK_RESULT(NULL_ARGUMENT, cl_linker_add(NULL, CL_INPUT_PTX, PTX, sizeof PTX, "unit"));
  CHECK_RESULT(NULL_ARGUMENT, cl_linker_add(linker, CL_INPUT_PTX, NULL, 1, "unit"));
  CHECK_RESULT(NULL_ARGUMENT, cl_linker_add_file(NULL, CL_INPUT_PTX, "unit"));
  CHECK_RESULT(NULL_ARGUMENT, cl_linker_add_file(linker, CL_INPUT_PTX, NULL));
  CHECK_RESULT(NULL_ARGUMENT, cl_linker_complete(NULL));
  cl_linker_destroy(NULL);
  CHECK_RESULT(NULL_ARGUMENT, cl_linker_get_output(NULL, CL_OUTPUT_CUBIN, &byte, 1, &size));
  CHECK(size == 0);
  size = 77;
  CHECK_RESULT(NULL_ARGUMENT, cl_linker_get_log(NULL, CL_LOG_ERROR, &byte, 1, &size));
  CHECK(size == 0);
  CHECK_RESULT(NULL_ARGUMENT, cl_linker_get_log(linker, CL_LOG_ERROR, NULL, 0, NULL));
  size = 77;
  CHECK_RESULT(NULL_ARGUMENT, cl_linker_get_log(linker, CL_LOG_ERROR, NULL, 1, &size));
  CHECK(size == 0);
  CHECK(strcmp(cl_linker_get_message(NULL), "") == 0);
  CHECK(cl_linker_diagnostic_count(NULL) == 0);
  CHECK_RESULT(NULL_ARGUMENT, cl_linker_get_diagnostic(NULL, 0, &diagnostic));
  CHECK_RESULT(NULL_ARGUMENT, cl_linker_get_diagnostic(linker, 0, NULL));
  CHECK_RESULT(NULL_ARGUMENT, cl_library_query(NULL, NULL));
  size = 77;
  CHECK_RESULT(NULL_ARGUMENT, cl_input_describe(NULL, 1, "unit", &byte, 1, &size));
  CHECK(size == 0);
  CHECK_RESULT(NULL_ARGUMENT, cl_input_describe(PTX, sizeof PTX, "unit", NULL, 0, NULL));
  size = 77;
  CHECK_RESULT(NULL_ARGUMENT, cl_input_describe(PTX, sizeof PTX, "unit", NULL, 1, &size));
  CHECK(size == 0);
}

static void sizes_kinds_and_texts(cl_linker *linker) {
  static const cl_input_kind NO_KIND[] = {7, 10, 255, UINT32_MAX};
  const size_t too_large = (size_t)PTRDIFF_MAX + 1;
  cl_diagnostic diagnostic = CL_DIAGNOSTIC_INIT;
  char buffer[256];
  size_t at, size;
  CHECK_RESULT(INVALID_ARGUMENT, cl_linker_add(linker, CL_INPUT_PTX, PTX, too_large, "unit"));
  CHECK_RESULT(INVALID_ARGUMENT, cl_linker_add(linker, CL_INPUT_PTX, PTX, SIZE_MAX, "unit"));
  for (at = 0; at < sizeof NO_KIND / sizeof *NO_KIND; at++) {
    CHECK_RESULT(INVALID_ARGUMENT, cl_linker_add(linker, NO_KIND[at], PTX, sizeof PTX, "unit"));
    CHECK_RESULT(INVALID_ARGUMENT, cl_linker_add_file(linker, NO_KIND[at], "/no/such/file"));
  }
  CHECK_RESULT(INVALID_ARGUMENT, cl_linker_add(linker, CL_INPUT_PTX, PTX, sizeof PTX, NO_UTF8));
  CHECK_RESULT(INVALID_ARGUMENT, cl_linker_add_file(linker, CL_INPUT_PTX, NO_UTF8));
  CHECK_RESULT(INVALID_ARGUMENT, cl_linker_get_diagnostic(linker, 0, &diagnostic));
  CHECK_RESULT(INVALID_ARGUMENT, cl_linker_get_diagnostic(linker, SIZE_MAX, &diagnostic));
  size = 77;
  CHECK_RESULT(INVALID_ARGUMENT, cl_input_describe(PTX, too_large, "unit", buffer, sizeof buffer, &size));
  CHECK(size == 0);
  size = 77;
  CHECK_RESULT(INVALID_ARGUMENT, cl_input_describe(PTX, sizeof PTX, NO_UTF8, buffer, sizeof buffer, &size));
  CHECK(size == 0);
}

static void null_of_size_zero_is_empty(const char *library) {
  cl_linker *linker = new_linker(library);
  char buffer[256];
  CHECK_RESULT(EMPTY_INPUT, cl_linker_add(linker, CL_INPUT_AUTO, NULL, 0, NULL));
  CHECK(strstr(cl_linker_get_message(linker), "'input 1'") != NULL);
  cl_linker_destroy(linker);
  CHECK_RESULT(OK, cl_input_describe(NULL, 0, NULL, buffer, sizeof buffer, NULL));
  CHECK(strstr(buffer, "\"empty_input\"") != NULL && strstr(buffer, "\"size\":0") != NULL);
}

/* A create that is refused, with a word that its message must have. */
static void refused(cl_result expected, const cl_linker_options *options, const char *word) {
  cl_library_info info = CL_LIBRARY_INFO_INIT;
  cl_linker *linker = NULL;
  cl_result result = cl_linker_create(options, &linker);
  printf("%s: %s\n", cl_result_string(result), cl_linker_get_message(linker));
  CHECK(result == expected && linker != NULL && strstr(cl_linker_get_message(linker), word) != NULL);
  cl_linker_destroy(linker);
  CHECK(cl_library_query(options, &info) == expected);
}

static void options_that_are_refused(void) {
  const char *texts[2] = {NULL, NULL};
  const cl_linker_options init = CL_LINKER_OPTIONS_INIT;
  cl_linker_options options;
  size_t at;
#define LIST(field, count, text) {&options.field, &options.count, #field, text}
  const struct {
    const char *const **list;
    size_t *count;
    const char *name, *text;
  } lists[] = {
      LIST(kernels_used, kernels_used_count, "kernel"),       LIST(variables_used, variables_used_count, "variable"),
      LIST(ptxas_options, ptxas_options_count, "-v"),         LIST(nvvm_options, nvvm_options_count, "-v"),
      LIST(flags, flag_count, "-g"),                          LIST(pass_through, pass_through_count, "-one-of-no-table"),
  };
  for (at = 0; at < sizeof lists / sizeof *lists; at++) {
    options = init;
    *lists[at].count = 1;
    refused(CL_RESULT_NULL_ARGUMENT, &options, lists[at].name);
    texts[0] = lists[at].text;
    *lists[at].list = texts;
    *lists[at].count = 2;
    refused(CL_RESULT_NULL_ARGUMENT, &options, lists[at].name);
  }
  options = init, options.backend = 3, refused(CL_RESULT_INVALID_ARGUMENT, &options, "backend");
  options = init, options.output = 4, refused(CL_RESULT_INVALID_ARGUMENT, &options, "output");
  options = init, options.lto = 3, refused(CL_RESULT_INVALID_ARGUMENT, &options, "lto");
  options = init, options.verbose = UINT32_MAX, refused(CL_RESULT_INVALID_ARGUMENT, &options, "verbose");
  options = init, options.optimization = 5, refused(CL_RESULT_INVALID_ARGUMENT, &options, "optimization");
  options = init, options.fast_compile = 4, refused(CL_RESULT_INVALID_ARGUMENT, &options, "fast_compile");
  options = init, options.max_register_count = -2, refused(CL_RESULT_BAD_OPTION_VALUE, &options, "max_register_count");
  options = init, options.arch = NO_UTF8, refused(CL_RESULT_INVALID_ARGUMENT, &options, "arch");
  options = init, options.library_path = NO_UTF8, refused(CL_RESULT_INVALID_ARGUMENT, &options, "library_path");
  options = init, options.arch = "SM_80", refused(CL_RESULT_BAD_ARCH, &options, "SM_80");
}

int main(int argc, char **argv) {
  cl_linker *linker;
  CHECK(argc == 4);
  linker = new_linker(argv[1]);
  null_pointers(linker);
  sizes_kinds_and_texts(linker);
  CHECK(cl_linker_diagnostic_count(linker) == 0);
  CHECK_RESULT(OK, cl_linker_add(linker, CL_INPUT_PTX, PTX, sizeof PTX, "unit"));
  CHECK_RESULT(OK, cl_linker_complete(linker));
  cl_linker_destroy(linker);
  CHECK_RESULT(OK, cl_linker_create(NULL, &linker));
  cl_linker_destroy(linker);
  null_of_size_zero_is_empty(argv[1]);
  options_that_are_refused();
  return 0;
}
