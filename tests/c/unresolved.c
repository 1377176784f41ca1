/* A function that is defined nowhere has one class on every release, and is named. */
#include "check.h"

int main(int argc, char **argv) {
  static const char *const FILES[] = {"kernel.ptx", "kernel.cubin", "kernel.ltoir"};
  size_t at;
  CHECK(argc == 4);
  for (at = 0; at < sizeof FILES / sizeof *FILES; at++) {
    cl_linker *linker = new_linker(argv[1]);
    printf("%s\n", FILES[at]);
    add_fixture(linker, argv[3], FILES[at]);
    CHECK_RESULT(UNRESOLVED_SYMBOL, cl_linker_complete(linker));
    CHECK(strstr(cl_linker_get_message(linker), "helper") != NULL);
    cl_linker_destroy(linker);
  }
  return 0;
}
