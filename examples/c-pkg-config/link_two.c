/* Links two files of PTX or LTO-IR and says what came out. With cudalink installed where pkg-config finds it:
 *
 *   cc -o link_two link_two.c $(pkg-config --cflags --libs cudalink) -Wl,-rpath,$(pkg-config --variable=libdir cudalink)
 *   ./link_two sm_80 kernel.ptx helper.ptx
 */
#include <cudalink.h>

#include <stdio.h>
#include <stdlib.h>

/* What went wrong, and what to do about it. */
static void print_findings(const cl_linker *linker) {
  size_t index;
  for (index = 0; index < cl_linker_diagnostic_count(linker); index++) {
    cl_diagnostic finding = CL_DIAGNOSTIC_INIT;
    cl_linker_get_diagnostic(linker, index, &finding);
    fprintf(stderr, "%s: %s\n", cl_result_string(finding.result), finding.message);
    if (finding.hint != NULL) fprintf(stderr, "  %s\n", finding.hint);
  }
}

/* The output as JSON: its kind, size and architecture. */
static void print_output(const void *cubin, size_t size) {
  static char description[1 << 16];
  if (cl_input_describe(cubin, size, "output", description, sizeof description, NULL) == CL_RESULT_OK) puts(description);
}

int main(int argc, char **argv) {
  cl_linker_options options = CL_LINKER_OPTIONS_INIT;
  cl_linker *linker = NULL;
  void *cubin = NULL;
  size_t size = 0;
  cl_result result;
  if (argc != 4) {
    fprintf(stderr, "usage: %s ARCH FILE FILE\n", argv[0]);
    return 2;
  }
  options.arch = argv[1];
  result = cl_linker_create(&options, &linker);
  if (result == CL_RESULT_OK) result = cl_linker_add_file(linker, CL_INPUT_AUTO, argv[2]);
  if (result == CL_RESULT_OK) result = cl_linker_add_file(linker, CL_INPUT_AUTO, argv[3]);
  if (result == CL_RESULT_OK) result = cl_linker_complete(linker);
  if (result == CL_RESULT_OK) result = cl_linker_get_output(linker, CL_OUTPUT_CUBIN, NULL, 0, &size);
  if (result == CL_RESULT_OK && (cubin = malloc(size)) == NULL) result = CL_RESULT_OUT_OF_MEMORY;
  if (result == CL_RESULT_OK) result = cl_linker_get_output(linker, CL_OUTPUT_CUBIN, cubin, size, NULL);

  if (result == CL_RESULT_OK) print_output(cubin, size);
  else print_findings(linker);
  free(cubin);
  cl_linker_destroy(linker);
  return result == CL_RESULT_OK ? 0 : 1;
}
