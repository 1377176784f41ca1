/* Links files through the C interface.
 * usage: link LIBRARY OUTPUT cubin|ptx|ltoir OPTION... KIND:FILE...
 * Writes the output and prints "ok", or prints the result and the message. */
#include <cudalink.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kinds[] = { "auto", "cubin", "ptx", "ltoir", "fatbin", "object", "library" };

static int fail(cl_linker *linker, cl_result result) {
  printf("%s %s\n", cl_result_string(result), cl_linker_get_message(linker));
  cl_linker_destroy(linker);
  return 0;
}

int main(int argc, char **argv) {
  cl_linker_options options = CL_LINKER_OPTIONS_INIT;
  cl_linker *linker;
  cl_result result;
  const char *flags[16];
  size_t size;
  void *output;
  FILE *file;
  int i;

  options.library_path = argv[1];
  options.output = strcmp(argv[3], "ptx") == 0 ? CL_OUTPUT_PTX : strcmp(argv[3], "ltoir") == 0 ? CL_OUTPUT_LTOIR : CL_OUTPUT_CUBIN;
  options.flags = flags;
  for (i = 4; i < argc && argv[i][0] == '-'; i++) flags[options.flag_count++] = argv[i];

  result = cl_linker_create(&options, &linker);
  if (result != CL_RESULT_OK) return fail(linker, result);
  for (; i < argc; i++) {
    cl_input_kind kind = CL_INPUT_AUTO;
    char *path = strchr(argv[i], ':');
    *path++ = 0;
    while (strcmp(kinds[kind], argv[i]) != 0) kind++;
    result = cl_linker_add_file(linker, kind, path);
    if (result != CL_RESULT_OK) return fail(linker, result);
  }
  result = cl_linker_complete(linker);
  if (result != CL_RESULT_OK) return fail(linker, result);
  result = cl_linker_get_output(linker, options.output, NULL, 0, &size);
  if (result != CL_RESULT_OK) return fail(linker, result);
  output = malloc(size);
  result = cl_linker_get_output(linker, options.output, output, size, &size);
  if (result != CL_RESULT_OK) return fail(linker, result);
  cl_linker_destroy(linker);

  file = fopen(argv[2], "wb");
  if (!file || fwrite(output, 1, size, file) != size || fclose(file) != 0) return 1;
  free(output);
  puts("ok");
  return 0;
}
