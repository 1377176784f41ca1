/* forked BACKEND LIBRARY_OR_- EXPECTED INPUT...
 *
 * Links in this process, then in a child that was forked after that. Exits with 0 only if the first link succeeds and the child's gives the
 * result that is EXPECTED by its name, such as "driver_error", within a minute.
 */
#define _GNU_SOURCE
#include "common.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static cl_result link_files(const char *backend, const char *library, int count, char **files) {
  cl_linker_options options = CL_LINKER_OPTIONS_INIT;
  cl_linker *linker;
  cl_result result;
  int at;
  options.arch = ARCH;
  options.backend = backend_named(backend);
  options.library_path = strcmp(library, "-") == 0 ? NULL : library;
  result = cl_linker_create(&options, &linker);
  for (at = 0; result == CL_RESULT_OK && at < count; at++) {
    result = cl_linker_add_file(linker, CL_INPUT_AUTO, files[at]);
  }
  if (result == CL_RESULT_OK) {
    result = cl_linker_complete(linker);
  }
  printf("%s %s\n", cl_result_string(result), cl_linker_get_message(linker));
  fflush(stdout);
  cl_linker_destroy(linker);
  return result;
}

int main(int argc, char **argv) {
  pid_t process;
  int status = 0;
  if (argc < 5) {
    die("usage", "forked BACKEND LIBRARY_OR_- EXPECTED INPUT...");
  }
  if (link_files(argv[1], argv[2], argc - 4, argv + 4) != CL_RESULT_OK) {
    return 2;
  }
  process = fork();
  if (process < 0) {
    die("fork", "failed");
  }
  if (process == 0) {
    alarm(60);
    _exit(strcmp(cl_result_string(link_files(argv[1], argv[2], argc - 4, argv + 4)), argv[3]) != 0);
  }
  if (waitpid(process, &status, 0) != process) {
    die("waitpid", "failed");
  }
  if (WIFSIGNALED(status)) {
    printf("the child ended by signal %d (%s)\n", WTERMSIG(status), strsignal(WTERMSIG(status)));
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : 1;
}
