/* Threads with linkers of their own, from the first use of the library on: each gets what one thread alone gets. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"

#include <pthread.h>

enum { THREADS = 8, LINKS = 6, PAIRS = 3 };

static const char *const PAIR[PAIRS][2] = {
    {"kernel.ptx", "helper.ptx"}, {"kernel.cubin", "helper.cubin"}, {"kernel.ltoir", "helper.ltoir"}};

typedef struct output {
  unsigned char *bytes;
  size_t size;
} output;

static const char *library, *folder;
static pthread_barrier_t start;

static output link_pair(size_t pair) {
  cl_linker *linker = new_linker(library);
  output linked;
  add_fixture(linker, folder, PAIR[pair][0]);
  add_fixture(linker, folder, PAIR[pair][1]);
  CHECK_RESULT(OK, cl_linker_complete(linker));
  linked.bytes = cubin_of(linker, &linked.size);
  cl_linker_destroy(linker);
  return linked;
}

static void fail_to_link(void) {
  cl_linker *linker = new_linker(library);
  CHECK_RESULT(OK, cl_linker_add(linker, CL_INPUT_PTX, MISTAKEN_PTX, sizeof MISTAKEN_PTX, "mistaken.ptx"));
  CHECK_RESULT(COMPILE_FAILED, cl_linker_complete(linker));
  CHECK(strstr(cl_linker_get_message(linker), "mistake") != NULL);
  cl_linker_destroy(linker);
}

static void *work(void *argument) {
  output *outputs = argument;
  size_t at;
  pthread_barrier_wait(&start);
  for (at = 0; at < LINKS; at++) {
    outputs[at] = link_pair(at % PAIRS);
    fail_to_link();
  }
  return NULL;
}

int main(int argc, char **argv) {
  static output outputs[THREADS][LINKS];
  pthread_t threads[THREADS];
  size_t thread, at;
  CHECK(argc == 4);
  library = argv[1];
  folder = argv[3];
  CHECK(pthread_barrier_init(&start, NULL, THREADS) == 0);
  for (thread = 0; thread < THREADS; thread++) {
    CHECK(pthread_create(&threads[thread], NULL, work, outputs[thread]) == 0);
  }
  for (thread = 0; thread < THREADS; thread++) {
    CHECK(pthread_join(threads[thread], NULL) == 0);
  }
  for (at = 0; at < LINKS; at++) {
    output alone = link_pair(at % PAIRS);
    CHECK(contains(alone.bytes, alone.size, ".text.kernel"));
    for (thread = 0; thread < THREADS; thread++) {
      const output *linked = &outputs[thread][at];
      CHECK(linked->size == alone.size && memcmp(linked->bytes, alone.bytes, alone.size) == 0);
      free(linked->bytes);
    }
    free(alone.bytes);
  }
  CHECK(pthread_barrier_destroy(&start) == 0);
  return 0;
}
