/* An input that there is no memory to copy is refused; the process goes on. */
#define _DEFAULT_SOURCE
#include "check.h"

#include <sys/mman.h>
#include <sys/resource.h>

int main(int argc, char **argv) {
  const size_t size = (size_t)1 << 30;
  cl_linker *linker;
  struct rlimit limit;
  void *data;
  CHECK(argc == 4);
  linker = new_linker(argv[1]);
  data = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  CHECK(data != MAP_FAILED);
  limit.rlim_cur = limit.rlim_max = size + size / 2;
  CHECK(setrlimit(RLIMIT_AS, &limit) == 0 && malloc(size) == NULL);
  CHECK_RESULT(OUT_OF_MEMORY, cl_linker_add(linker, CL_INPUT_AUTO, data, size, "large"));
  CHECK(strstr(cl_linker_get_message(linker), "large") != NULL);
  cl_linker_destroy(linker);
  return 0;
}
