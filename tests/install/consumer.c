/* A program of somebody else, who knows cudalink by pkg-config only. usage: consumer NVJITLINK FILE... */
#include <cudalink.h>

#include <stdio.h>

int main(int argc, char **argv) {
  cl_linker_options options = CL_LINKER_OPTIONS_INIT;
  cl_linker *linker;
  size_t size = 0;
  int at;
  options.arch = "sm_80";
  options.library_path = argv[1];
  cl_linker_create(&options, &linker);
  for (at = 2; at < argc; at++) {
    cl_linker_add_file(linker, CL_INPUT_AUTO, argv[at]);
  }
  if (cl_linker_complete(linker) != CL_RESULT_OK || cl_linker_get_output(linker, CL_OUTPUT_CUBIN, NULL, 0, &size) != CL_RESULT_OK) {
    printf("%s\n", cl_linker_get_message(linker));
    return 1;
  }
  printf("linked %lu bytes with cudalink %s\n", (unsigned long)size, cudalink_version_string());
  cl_linker_destroy(linker);
  return 0;
}
