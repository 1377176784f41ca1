/* round_trips HOW LIBRARY PROCESSES TRIPS KERNEL.ltoir HELPER.ltoir
 *
 * Incremental LTO: KERNEL becomes LTO-IR by -r -lto, that and HELPER become LTO-IR by -r -lto, and that becomes a cubin by -lto. In each of
 * PROCESSES processes TRIPS times. HOW is cudalink, whose policy turns nvJitLink's cache off there, or raw: nvJitLink alone, cache and all.
 * Prints failures, and the processes that crashed. Exits with 0 only if there is neither.
 */
#define _GNU_SOURCE
#include "common.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *library_path;
static bytes kernel, helper;

/* Links up to two inputs, the first of which it frees if asked to. Gives no data on failure, which it has told. */
typedef bytes linking(const char *const *flags, size_t flag_count, int to_ltoir, const bytes *first, const bytes *second);

static const bytes NOTHING = {NULL, 0};

static bytes link_by_cudalink(const char *const *flags, size_t flag_count, int to_ltoir, const bytes *first, const bytes *second) {
  cl_linker_options options = CL_LINKER_OPTIONS_INIT;
  cl_output_kind kind = to_ltoir ? CL_OUTPUT_LTOIR : CL_OUTPUT_CUBIN;
  cl_linker *linker;
  cl_result result;
  bytes output = NOTHING;
  size_t size = 0;
  options.backend = CL_BACKEND_NVJITLINK;
  options.library_path = library_path;
  options.output = kind;
  options.flags = flags;
  options.flag_count = flag_count;
  result = cl_linker_create(&options, &linker);
  if (result == CL_RESULT_OK) {
    result = cl_linker_add(linker, CL_INPUT_LTOIR, first->data, first->size, "first");
  }
  if (result == CL_RESULT_OK && second != NULL) {
    result = cl_linker_add(linker, CL_INPUT_LTOIR, second->data, second->size, "second");
  }
  if (result == CL_RESULT_OK) {
    result = cl_linker_complete(linker);
  }
  if (result == CL_RESULT_OK) {
    result = cl_linker_get_output(linker, kind, NULL, 0, &size);
  }
  if (result == CL_RESULT_OK) {
    output = new_bytes(size);
    result = cl_linker_get_output(linker, kind, output.data, output.size, NULL);
  }
  if (result != CL_RESULT_OK) {
    fprintf(stderr, "%s: %s\n", cl_result_string(result), cl_linker_get_message(linker));
  }
  cl_linker_destroy(linker);
  return output;
}

/* nvJitLink.h: the entry points, of which the getters have one of each kind for LTO-IR and for cubins. */
static int (*create)(void **, unsigned, const char **), (*destroy)(void **), (*complete)(void *);
static int (*add_data)(void *, int, const void *, size_t, const char *);
static int (*size_of[2])(void *, size_t *), (*get[2])(void *, void *);

static void open_raw(void) {
  void *library = dlopen(library_path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    die(library_path, dlerror());
  }
  entry(library, "nvJitLinkCreate", &create);
  entry(library, "nvJitLinkDestroy", &destroy);
  entry(library, "nvJitLinkAddData", &add_data);
  entry(library, "nvJitLinkComplete", &complete);
  entry(library, "nvJitLinkGetLinkedCubinSize", &size_of[0]);
  entry(library, "nvJitLinkGetLinkedCubin", &get[0]);
  entry(library, "nvJitLinkGetLinkedLTOIRSize", &size_of[1]);
  entry(library, "nvJitLinkGetLinkedLTOIR", &get[1]);
}

static bytes link_raw(const char *const *flags, size_t flag_count, int to_ltoir, const bytes *first, const bytes *second) {
  enum { LTOIR = 3 };
  const char *copies[8];
  bytes output = NOTHING;
  void *handle = NULL;
  size_t size = 0;
  int code;
  memcpy(copies, flags, flag_count * sizeof *flags);
  code = create(&handle, (unsigned)flag_count, copies);
  if (code == 0) {
    code = add_data(handle, LTOIR, first->data, first->size, "first");
  }
  if (code == 0 && second != NULL) {
    code = add_data(handle, LTOIR, second->data, second->size, "second");
  }
  if (code == 0) {
    code = complete(handle);
  }
  if (code == 0) {
    code = size_of[to_ltoir](handle, &size);
  }
  if (code == 0) {
    output = new_bytes(size);
    code = get[to_ltoir](handle, output.data);
  }
  if (code != 0) {
    fprintf(stderr, "nvJitLink answered %d\n", code);
  }
  destroy(&handle);
  return output;
}

/* Whether one round trip gives the kernel. */
static int round_trip(linking *link) {
  static const char *const flags[] = {"-arch=" ARCH, "-r", "-lto"};
  static const char *const last_flags[] = {"-arch=" ARCH, "-lto"};
  bytes one = link(flags, 3, 1, &kernel, NULL), two = NOTHING, cubin = NOTHING;
  int found;
  if (one.data != NULL) {
    two = link(flags, 3, 1, &one, &helper);
  }
  if (two.data != NULL) {
    cubin = link(last_flags, 2, 0, &two, NULL);
  }
  found = cubin.data != NULL && contains(cubin.data, cubin.size, ".text.kernel");
  free(one.data);
  free(two.data);
  free(cubin.data);
  return found;
}

/* What one process does. Its exit status says whether something failed; how often goes through the pipe. */
static int child(linking *link, long trips, int pipe_end) {
  long at, failures = 0;
  if (link == link_raw) {
    open_raw();
  }
  for (at = 0; at < trips; at++) {
    failures += !round_trip(link);
  }
  if (write(pipe_end, &failures, sizeof failures) != (ssize_t)sizeof failures) {
    die("write", "failed");
  }
  return failures != 0;
}

int main(int argc, char **argv) {
  linking *link;
  long processes, trips, at, failures = 0, crashes = 0, told;
  int ends[2], status;
  if (argc != 7) {
    die("usage", "round_trips cudalink|raw LIBRARY PROCESSES TRIPS KERNEL.ltoir HELPER.ltoir");
  }
  link = strcmp(argv[1], "raw") == 0 ? link_raw : link_by_cudalink;
  library_path = argv[2];
  processes = atol(argv[3]);
  trips = atol(argv[4]);
  kernel = read_input(argv[5]);
  helper = read_input(argv[6]);
  if (processes < 1 || trips < 1 || pipe(ends) != 0) {
    die("usage", "a process and a round trip at least");
  }
  for (at = 0; at < processes; at++) {
    pid_t process = fork();
    if (process < 0) {
      die("fork", "failed");
    }
    if (process == 0) {
      close(ends[0]);
      exit(child(link, trips, ends[1]));
    }
  }
  close(ends[1]);
  while (read(ends[0], &told, sizeof told) == (ssize_t)sizeof told) {
    failures += told;
  }
  while (wait(&status) > 0) {
    if (WIFSIGNALED(status)) {
      fprintf(stderr, "a process ended by signal %d (%s)\n", WTERMSIG(status), strsignal(WTERMSIG(status)));
    }
    /* 1 is a process that has told its failures. */
    crashes += WIFSIGNALED(status) || WEXITSTATUS(status) > 1;
  }
  printf("%s: %ld processes x %ld round trips: %ld failures, %ld crashed processes\n", argv[1], processes, trips, failures, crashes);
  return failures == 0 && crashes == 0 ? 0 : 1;
}
