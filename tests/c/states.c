/* Every call in every state: what does not fit the state answers so, changes nothing, and reaches no library.
 * The libraries are stubs that write each call as a line into the file that FAKE_LOG names. */
#include "check.h"

static const char PTX[] = PTX_HEAD;

/* How many calls of that name reached a library; all but the loading and the question for its version with "". */
static int calls(const char *name) {
  FILE *log = fopen(getenv("FAKE_LOG"), "r");
  char line[4096];
  int count = 0;
  while (log != NULL && fgets(line, sizeof line, log) != NULL) {
    count += strncmp(line, name, strlen(name)) == 0 && strncmp(line, "loaded", 6) != 0 && strncmp(line, "Version", 7) != 0;
  }
  if (log != NULL) {
    fclose(log);
  }
  return count;
}

static void output_is_refused(const cl_linker *linker) {
  char buffer[64], untouched[64];
  size_t size = 77;
  memset(buffer, 0xA5, sizeof buffer);
  memset(untouched, 0xA5, sizeof untouched);
  CHECK_RESULT(INVALID_STATE, cl_linker_get_output(linker, CL_OUTPUT_CUBIN, buffer, sizeof buffer, &size));
  CHECK(size == 0 && memcmp(buffer, untouched, sizeof buffer) == 0);
}

static void every_log_can_be_read(const cl_linker *linker) {
  cl_log_kind kind;
  char buffer[4096];
  for (kind = CL_LOG_ERROR; kind <= CL_LOG_OUTPUT; kind++) {
    CHECK_RESULT(OK, cl_linker_get_log(linker, kind, buffer, sizeof buffer, NULL));
  }
}

/* The steps of a linker that has taken its last one. */
static void steps_are_refused(cl_linker *linker) {
  const size_t count = cl_linker_diagnostic_count(linker);
  CHECK_RESULT(INVALID_STATE, cl_linker_add(linker, CL_INPUT_PTX, PTX, sizeof PTX, "late"));
  CHECK(strlen(cl_linker_get_message(linker)) > 0);
  CHECK_RESULT(INVALID_STATE, cl_linker_add(linker, CL_INPUT_AUTO, "no input", 8, "late"));
  CHECK_RESULT(INVALID_STATE, cl_linker_add_file(linker, CL_INPUT_AUTO, "/no/such/file"));
  CHECK_RESULT(INVALID_STATE, cl_linker_complete(linker));
  CHECK(cl_linker_diagnostic_count(linker) == count);
}

/* What holds for a linker that failed with `expected`, whatever step failed. */
static void failed_for_good(cl_linker *linker, int32_t expected) {
  const int before = calls("");
  cl_diagnostic diagnostic = CL_DIAGNOSTIC_INIT;
  char *message = join("", cl_linker_get_message(linker));
  int round;
  CHECK(strlen(message) > 1);
  for (round = 0; round < 2; round++) {
    output_is_refused(linker);
    every_log_can_be_read(linker);
    CHECK(cl_linker_diagnostic_count(linker) == 1);
    CHECK_RESULT(OK, cl_linker_get_diagnostic(linker, 0, &diagnostic));
    CHECK(diagnostic.result == expected && strcmp(diagnostic.message, message + 1) == 0);
    if (round == 0) {
      CHECK(strcmp(cl_linker_get_message(linker), message + 1) == 0);
      steps_are_refused(linker);
    }
  }
  CHECK(calls("") == before);
  cl_linker_destroy(linker);
  free(message);
}

static void before_complete(const char *library) {
  cl_linker *linker = new_linker(library);
  size_t size;
  int added;
  for (added = 0; added < 2; added++) {
    output_is_refused(linker);
    every_log_can_be_read(linker);
    CHECK_RESULT(OK, cl_linker_get_log(linker, CL_LOG_PLAN, NULL, 0, &size));
    CHECK(size == 1);
    CHECK(strcmp(cl_linker_get_message(linker), "") == 0);
    CHECK(cl_linker_diagnostic_count(linker) == 0);
    CHECK_RESULT(OK, cl_linker_add(linker, CL_INPUT_AUTO, PTX, sizeof PTX, NULL));
  }
  CHECK(calls("") == 0);
  cl_linker_destroy(linker);
}

static void after_complete(const char *library) {
  cl_linker *linker = new_linker(library);
  static char first[4096], buffer[4096];
  int round, before;
  CHECK_RESULT(OK, cl_linker_add(linker, CL_INPUT_PTX, PTX, sizeof PTX, "unit"));
  CHECK_RESULT(OK, cl_linker_complete(linker));
  CHECK_RESULT(OK, cl_linker_get_output(linker, CL_OUTPUT_CUBIN, first, sizeof first, NULL));
  before = calls("");
  CHECK(before > 0);
  for (round = 0; round < 2; round++) {
    CHECK_RESULT(OK, cl_linker_get_output(linker, CL_OUTPUT_CUBIN, buffer, sizeof buffer, NULL));
    CHECK(memcmp(buffer, first, sizeof buffer) == 0);
    every_log_can_be_read(linker);
    CHECK(cl_linker_diagnostic_count(linker) == 0);
    steps_are_refused(linker);
  }
  CHECK(calls("") == before);
  cl_linker_destroy(linker);
}

static void a_failed_create(const char *library) {
  const char *flag = "-no-such-option";
  cl_linker_options options = CL_LINKER_OPTIONS_INIT;
  cl_linker *linker = NULL;
  options.library_path = library;
  options.arch = "sm_80";
  options.flags = &flag;
  options.flag_count = 1;
  CHECK_RESULT(UNKNOWN_OPTION, cl_linker_create(&options, &linker));
  CHECK(linker != NULL && strstr(cl_linker_get_message(linker), flag) != NULL);
  failed_for_good(linker, CL_RESULT_UNKNOWN_OPTION);
}

static void a_failed_add(const char *library) {
  cl_linker *linker = new_linker(library);
  CHECK_RESULT(OK, cl_linker_add(linker, CL_INPUT_PTX, PTX, sizeof PTX, "unit"));
  CHECK_RESULT(WRONG_INPUT_KIND, cl_linker_add(linker, CL_INPUT_CUBIN, PTX, sizeof PTX, "second"));
  CHECK(strstr(cl_linker_get_message(linker), "second") != NULL);
  failed_for_good(linker, CL_RESULT_WRONG_INPUT_KIND);
  linker = new_linker(library);
  CHECK_RESULT(FILE_NOT_FOUND, cl_linker_add_file(linker, CL_INPUT_AUTO, "/no/such/file"));
  CHECK(strstr(cl_linker_get_message(linker), "/no/such/file") != NULL);
  failed_for_good(linker, CL_RESULT_FILE_NOT_FOUND);
}

static void a_failed_complete(const char *library, const char *failing_library) {
  cl_linker *linker = new_linker(library);
  char log[128];
  CHECK_RESULT(NO_INPUTS, cl_linker_complete(linker));
  failed_for_good(linker, CL_RESULT_NO_INPUTS);
  linker = new_linker(failing_library);
  CHECK_RESULT(OK, cl_linker_add(linker, CL_INPUT_PTX, PTX, sizeof PTX, "unit"));
  CHECK_RESULT(LINK_FAILED, cl_linker_complete(linker));
  CHECK_RESULT(OK, cl_linker_get_log(linker, CL_LOG_ERROR, log, sizeof log, NULL));
  CHECK(strcmp(log, "told to fail") == 0);
  CHECK_RESULT(OK, cl_linker_get_log(linker, CL_LOG_INFO, log, sizeof log, NULL));
  CHECK(strcmp(log, "told too") == 0);
  failed_for_good(linker, CL_RESULT_LINK_FAILED);
}

int main(int argc, char **argv) {
  CHECK(argc == 4 && getenv("FAKE_LOG") != NULL);
  before_complete(argv[1]);
  a_failed_create(argv[1]);
  a_failed_add(argv[1]);
  CHECK(calls("") == 0);
  after_complete(argv[1]);
  a_failed_complete(argv[1], argv[2]);
  CHECK(calls("Create") == 2 && calls("Destroy") == 2);
  return 0;
}
