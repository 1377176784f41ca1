/* Links through a CUDA driver: the stub of tests/fake/cuda.c, which ends the process if it is misused. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 8, LINKS = 10, LONG = 100000 };

static const char *folder;
static pthread_barrier_t start;
static unsigned char *expected;
static size_t expected_size;

static cl_linker *driver_linker(void) { return new_linker_by(CL_BACKEND_DRIVER, NULL); }

static void link_pair(void) {
  cl_linker *linker = driver_linker();
  unsigned char *cubin;
  size_t size;
  add_fixture(linker, folder, "kernel.ptx");
  add_fixture(linker, folder, "helper.cubin");
  CHECK_RESULT(OK, cl_linker_complete(linker));
  cubin = cubin_of(linker, &size);
  CHECK(size == expected_size && memcmp(cubin, expected, size) == 0);
  free(cubin);
  cl_linker_destroy(linker);
}

static void fail_to_link(const char *name) {
  cl_linker *linker = driver_linker();
  CHECK_RESULT(OK, cl_linker_add(linker, CL_INPUT_PTX, MISTAKEN_PTX, sizeof MISTAKEN_PTX, name));
  CHECK_RESULT(COMPILE_FAILED, cl_linker_complete(linker));
  CHECK(strstr(cl_linker_get_message(linker), "'mistake'") != NULL);
  cl_linker_destroy(linker);
}

static void query(const char *library) {
  cl_linker_options options = CL_LINKER_OPTIONS_INIT;
  cl_library_info info = CL_LIBRARY_INFO_INIT;
  options.backend = CL_BACKEND_DRIVER;
  options.library_path = library;
  CHECK_RESULT(OK, cl_library_query(&options, &info));
  CHECK(info.backend == CL_BACKEND_DRIVER && info.version_major == 13 && info.version_minor == 0);
  CHECK(info.path[0] == '/' && strstr(info.path, "/libcuda.so.1") != NULL && strstr(info.found_by, "loader") != NULL);
  CHECK(info.has_version == 0 && info.has_linked_ltoir == 0 && info.message_size == 1);
}

/* Runs it in a child, which must come to its end. */
static void in_a_fork(void (*work)(void)) {
  int status;
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    alarm(20);
    work();
    _exit(0);
  }
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void refused_in_a_fork(void) {
  cl_linker *linker = driver_linker();
  cl_diagnostic diagnostic = CL_DIAGNOSTIC_INIT;
  add_fixture(linker, folder, "kernel.ptx");
  CHECK_RESULT(DRIVER_ERROR, cl_linker_complete(linker));
  CHECK_RESULT(OK, cl_linker_get_diagnostic(linker, 0, &diagnostic));
  CHECK(diagnostic.backend_call == NULL && strstr(diagnostic.message, "forked") != NULL);
  CHECK(strstr(diagnostic.hint, "fork") != NULL);
  cl_linker_destroy(linker);
}

static void *work(void *unused) {
  int at;
  pthread_barrier_wait(&start);
  for (at = 0; at < LINKS; at++) {
    link_pair();
    fail_to_link("mistaken.ptx");
  }
  return unused;
}

int main(int argc, char **argv) {
  pthread_t threads[THREADS];
  char *long_name = allocate(LONG + 1), *wide;
  int thread;
  CHECK(argc == 4);
  folder = argv[3];
  wide = join(folder, "../wide");
  expected = read_file(wide, "whole.cubin", &expected_size);

  query(argv[1]);
  /* Nothing is initialised yet, so a child may do it. */
  in_a_fork(link_pair);

  CHECK(pthread_barrier_init(&start, NULL, THREADS) == 0);
  for (thread = 0; thread < THREADS; thread++) {
    CHECK(pthread_create(&threads[thread], NULL, work, NULL) == 0);
  }
  for (thread = 0; thread < THREADS; thread++) {
    CHECK(pthread_join(threads[thread], NULL) == 0);
  }
  CHECK(pthread_barrier_destroy(&start) == 0);

  in_a_fork(refused_in_a_fork);
  link_pair();

  memset(long_name, 'n', LONG);
  long_name[LONG] = 0;
  fail_to_link(long_name);
  free(long_name);
  free(wide);
  free(expected);
  return 0;
}
