/* stress BACKEND LIBRARY_OR_- THREADS LINKS INPUT...
 *
 * Each of THREADS threads links the inputs LINKS times; a tenth of it, and 20 links at least, come first and warm everything up. Prints the
 * memory after that and at the end. BACKEND is nvjitlink, driver (each thread has a context current, as an application has) or
 * driver-without-context (cudalink makes one for each link).
 *
 * Exits with 0 only if every link gave the kernel and the memory grew by less than a leak would make it grow. The least that a link could
 * leak is one of its own allocations: the linker (about 600 bytes), a copy of an input (1 KB in the fixtures), the cubin (3 KB), and for the
 * driver two logs of 256 KB; so 512 bytes a link are too much. 1 MB a thread is left to malloc, whose arenas do not settle at once.
 */
#define _GNU_SOURCE
#include "common.h"

#include <malloc.h>
#include <pthread.h>
#include <unistd.h>

enum { LEAST_WARM_UP = 20, LEAK_PER_LINK = 512, SLACK_PER_THREAD = 1 << 20, MESSAGE = 2048 };

static cl_backend backend;
static const char *library;
static long links, warm_up;
static int input_count;
static char **input_names;
static bytes *inputs;
static void *context;
static int (*set_context)(void *);

static pthread_barrier_t warm, measured;
static pthread_mutex_t failures_lock = PTHREAD_MUTEX_INITIALIZER;
static long failures;
static char first_message[MESSAGE];

static void failed(const char *class, const char *message) {
  pthread_mutex_lock(&failures_lock);
  if (failures++ == 0) {
    snprintf(first_message, sizeof first_message, "%s: %s", class, message);
  }
  pthread_mutex_unlock(&failures_lock);
}

static void link_once(void) {
  cl_linker_options options = CL_LINKER_OPTIONS_INIT;
  cl_linker *linker;
  cl_result result;
  size_t size = 0;
  int at;
  options.arch = ARCH;
  options.backend = backend;
  options.library_path = library;
  result = cl_linker_create(&options, &linker);
  for (at = 0; result == CL_RESULT_OK && at < input_count; at++) {
    result = cl_linker_add(linker, CL_INPUT_AUTO, inputs[at].data, inputs[at].size, input_names[at]);
  }
  if (result == CL_RESULT_OK) {
    result = cl_linker_complete(linker);
  }
  if (result == CL_RESULT_OK) {
    result = cl_linker_get_output(linker, CL_OUTPUT_CUBIN, NULL, 0, &size);
  }
  if (result == CL_RESULT_OK) {
    bytes cubin = new_bytes(size);
    result = cl_linker_get_output(linker, CL_OUTPUT_CUBIN, cubin.data, cubin.size, NULL);
    if (result == CL_RESULT_OK && !contains(cubin.data, cubin.size, ".text.kernel")) {
      failed("no kernel", "the cubin has no .text.kernel");
    }
    free(cubin.data);
  }
  if (result != CL_RESULT_OK) {
    failed(cl_result_string(result), cl_linker_get_message(linker));
  }
  cl_linker_destroy(linker);
}

static void *work(void *unused) {
  long at;
  if (set_context != NULL && set_context(context) != 0) {
    die("cuCtxSetCurrent", "failed");
  }
  for (at = 0; at < warm_up; at++) {
    link_once();
  }
  pthread_barrier_wait(&warm);
  pthread_barrier_wait(&measured);
  for (at = warm_up; at < links; at++) {
    link_once();
  }
  return unused;
}

/* A context of the first device for the threads, from the driver that cudalink finds too. */
static void make_context(void) {
  void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  int (*init)(unsigned), (*retain)(void **, int);
  if (driver == NULL) {
    die("no CUDA driver was found", dlerror());
  }
  entry(driver, "cuInit", &init);
  entry(driver, "cuDevicePrimaryCtxRetain", &retain);
  entry(driver, "cuCtxSetCurrent", &set_context);
  if (init(0) != 0 || retain(&context, 0) != 0) {
    die("no context", "cuInit or cuDevicePrimaryCtxRetain failed");
  }
}

/* Resident memory, without what malloc holds and nobody uses. */
static long resident_bytes(void) {
  long size = 0, resident = 0;
  FILE *file;
  malloc_trim(0);
  file = fopen("/proc/self/statm", "r");
  if (file == NULL || fscanf(file, "%ld %ld", &size, &resident) != 2) {
    die("/proc/self/statm", "cannot be read");
  }
  fclose(file);
  return resident * sysconf(_SC_PAGESIZE);
}

int main(int argc, char **argv) {
  pthread_t *threads;
  long count, before, after, allowed;
  int at;
  if (argc < 6) {
    die("usage", "stress BACKEND LIBRARY_OR_- THREADS LINKS INPUT...");
  }
  backend = backend_named(argv[1]);
  library = strcmp(argv[2], "-") == 0 ? NULL : argv[2];
  count = atol(argv[3]);
  links = atol(argv[4]);
  warm_up = links / 10 > LEAST_WARM_UP ? links / 10 : LEAST_WARM_UP;
  if (count < 1 || links <= warm_up) {
    die("usage", "a thread at least, and more links than the warm-up takes");
  }
  input_count = argc - 5;
  input_names = argv + 5;
  inputs = (bytes *)new_bytes((size_t)input_count * sizeof *inputs).data;
  for (at = 0; at < input_count; at++) {
    inputs[at] = read_input(input_names[at]);
  }
  if (strcmp(argv[1], "driver") == 0) {
    make_context();
  }
  threads = (pthread_t *)new_bytes((size_t)count * sizeof *threads).data;
  if (pthread_barrier_init(&warm, NULL, (unsigned)count + 1) != 0 || pthread_barrier_init(&measured, NULL, (unsigned)count + 1) != 0) {
    die("pthread_barrier_init", "failed");
  }
  for (at = 0; at < count; at++) {
    if (pthread_create(&threads[at], NULL, work, NULL) != 0) {
      die("pthread_create", "failed");
    }
  }
  pthread_barrier_wait(&warm);
  before = resident_bytes();
  pthread_barrier_wait(&measured);
  for (at = 0; at < count; at++) {
    pthread_join(threads[at], NULL);
  }
  after = resident_bytes();
  allowed = (links - warm_up) * count * LEAK_PER_LINK + count * SLACK_PER_THREAD;
  printf("%s: %ld threads x %ld links: %ld failures; memory %ld KB after %ld links a thread, %ld KB at the end, grown by %ld KB of %ld KB allowed\n",
         argv[1], count, links, failures, before / 1024, warm_up, after / 1024, (after - before) / 1024, allowed / 1024);
  if (failures != 0) {
    printf("first failure: %s\n", first_message);
  }
  return failures == 0 && after - before <= allowed ? 0 : 1;
}
