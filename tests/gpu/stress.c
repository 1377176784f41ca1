/* stress BACKEND LIBRARY_OR_- THREADS LINKS INPUT...
 *
 * Each of THREADS threads links the inputs LINKS times; a tenth of it, and 20 links at least, come first and warm everything up. Prints the
 * memory after that and at the end. BACKEND is nvjitlink, driver (each thread has a context current, as an application has) or
 * driver-without-context (cudalink makes one for each link).
 *
 * Exits with 0 only if every link gave the kernel and memory did not grow with the links.
 * - What malloc handed out: the least that a link can leak is one of its own allocations, a copy of an input (1 KB or more), the cubin (3 KB
 *   or more) or the linker, with all that it holds; so 512 bytes a link are too much. 3 MB are left to nvJitLink, which frees 2 MB of its own
 *   now and then, and to what malloc caches for each thread (70 to 340 KB on 4 threads, for 40 links as for 1,440).
 * - Resident memory, for what is mapped past malloc: the least is a page of 4 KB a link; so 1 KB a link is too much. It goes up and down by
 *   5 MB by itself, so 16 MB are left to that.
 * A thousand links on each of 8 threads are enough to see either.
 */
#define _GNU_SOURCE
#include "common.h"

#include <malloc.h>
#include <pthread.h>
#include <unistd.h>

enum { LEAST_WARM_UP = 20, LEAK_IN_USE = 512, SLACK_IN_USE = 3 << 20, LEAK_RESIDENT = 1 << 10, SLACK_RESIDENT = 16 << 20, MESSAGE = 2048 };

static cl_backend backend;
static const char *library;
static long links, warm_up;
static int input_count;
static char **input_names;
static bytes *inputs;
static void *context;
static int (*set_context)(void *);

/* The threads wait for these in this order; memory is read while all of them live. */
static pthread_barrier_t warm, warm_is_measured, done, done_is_measured;
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
  pthread_barrier_wait(&warm_is_measured);
  for (at = warm_up; at < links; at++) {
    link_once();
  }
  pthread_barrier_wait(&done);
  pthread_barrier_wait(&done_is_measured);
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

typedef struct memory {
  /* Resident and of this process alone, not of a file. */
  long resident;
  /* Handed out by malloc and not given back. */
  long in_use;
} memory;

static memory memory_now(void) {
  memory now;
  struct mallinfo2 info;
  long size = 0, resident = 0, shared = 0;
  FILE *file;
  malloc_trim(0);
  file = fopen("/proc/self/statm", "r");
  if (file == NULL || fscanf(file, "%ld %ld %ld", &size, &resident, &shared) != 3) {
    die("/proc/self/statm", "cannot be read");
  }
  fclose(file);
  info = mallinfo2();
  now.resident = (resident - shared) * sysconf(_SC_PAGESIZE);
  now.in_use = (long)(info.uordblks + info.hblkhd);
  return now;
}

int main(int argc, char **argv) {
  pthread_t *threads;
  long count, measured, in_use, resident;
  memory before, after;
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
  pthread_barrier_init(&warm, NULL, (unsigned)count + 1);
  pthread_barrier_init(&warm_is_measured, NULL, (unsigned)count + 1);
  pthread_barrier_init(&done, NULL, (unsigned)count + 1);
  pthread_barrier_init(&done_is_measured, NULL, (unsigned)count + 1);
  for (at = 0; at < count; at++) {
    if (pthread_create(&threads[at], NULL, work, NULL) != 0) {
      die("pthread_create", "failed");
    }
  }
  pthread_barrier_wait(&warm);
  before = memory_now();
  pthread_barrier_wait(&warm_is_measured);
  pthread_barrier_wait(&done);
  after = memory_now();
  pthread_barrier_wait(&done_is_measured);
  for (at = 0; at < count; at++) {
    pthread_join(threads[at], NULL);
  }
  measured = (links - warm_up) * count;
  in_use = after.in_use - before.in_use;
  resident = after.resident - before.resident;
  printf("%s: %ld threads x %ld links: %ld failures; after %ld links a thread and at the end: in use %ld and %ld KB, resident %ld and %ld KB\n",
         argv[1], count, links, failures, warm_up, before.in_use / 1024, after.in_use / 1024, before.resident / 1024, after.resident / 1024);
  if (failures != 0) {
    printf("first failure: %s\n", first_message);
  }
  printf("grown: in use by %ld bytes a link, resident by %ld\n", in_use / measured, resident / measured);
  return failures == 0 && in_use <= measured * LEAK_IN_USE + SLACK_IN_USE && resident <= measured * LEAK_RESIDENT + SLACK_RESIDENT ? 0 : 1;
}
