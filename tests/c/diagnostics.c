/* What a finding says, and that its strings stay where they are until the linker is destroyed. */
#include "check.h"

static cl_diagnostic only_finding(const cl_linker *linker, cl_result expected) {
  cl_diagnostic diagnostic = CL_DIAGNOSTIC_INIT;
  CHECK(cl_linker_diagnostic_count(linker) == 1);
  CHECK_RESULT(OK, cl_linker_get_diagnostic(linker, 0, &diagnostic));
  CHECK(diagnostic.severity == CL_SEVERITY_ERROR && diagnostic.result == expected);
  CHECK(strcmp(diagnostic.message, cl_linker_get_message(linker)) == 0);
  return diagnostic;
}

static void of_the_backend(const char *library) {
  cl_linker *linker = new_linker(library);
  cl_diagnostic first, again = CL_DIAGNOSTIC_INIT;
  char *message, *text, *call;
  int round;
  CHECK_RESULT(OK, cl_linker_add(linker, CL_INPUT_PTX, MISTAKEN_PTX, sizeof MISTAKEN_PTX, "mistaken.ptx"));
  CHECK_RESULT(COMPILE_FAILED, cl_linker_complete(linker));
  first = only_finding(linker, CL_RESULT_COMPILE_FAILED);
  CHECK(first.backend_code != 0 && strncmp(first.backend_call, "nvJitLink", 9) == 0);
  CHECK(strstr(first.backend_text, "ptxas") != NULL && strstr(first.message, "ptxas") != NULL);
  CHECK(strcmp(first.input, "mistaken.ptx") == 0 && first.line == 4);
  message = join("", first.message);
  text = join("", first.backend_text);
  call = join("", first.backend_call);
  for (round = 0; round < 100; round++) {
    CHECK_RESULT(INVALID_STATE, cl_linker_complete(linker));
    CHECK_RESULT(OK, cl_linker_get_diagnostic(linker, 0, &again));
    CHECK(again.message == first.message && again.backend_text == first.backend_text && again.backend_call == first.backend_call);
  }
  CHECK(strcmp(message + 1, first.message) == 0);
  CHECK(strcmp(text + 1, first.backend_text) == 0);
  CHECK(strcmp(call + 1, first.backend_call) == 0);
  cl_linker_destroy(linker);
  free(message);
  free(text);
  free(call);
}

static void of_an_input(const char *library) {
  cl_linker *linker = new_linker(library);
  cl_diagnostic diagnostic;
  CHECK_RESULT(WRONG_INPUT_KIND, cl_linker_add(linker, CL_INPUT_CUBIN, PTX_HEAD, sizeof PTX_HEAD, "unit.cubin"));
  diagnostic = only_finding(linker, CL_RESULT_WRONG_INPUT_KIND);
  CHECK(strcmp(diagnostic.input, "unit.cubin") == 0 && diagnostic.symbol == NULL && diagnostic.line == 0);
  CHECK(strstr(diagnostic.message, "unit.cubin") && strstr(diagnostic.message, "as cubin") && strstr(diagnostic.message, "is ptx"));
  CHECK(diagnostic.backend_call == NULL && diagnostic.backend_text == NULL && diagnostic.backend_code == 0);
  cl_linker_destroy(linker);
}

static void of_one_answer(const char *library) {
  static const char calls[] =
      ".version 8.0\n.target sm_80\n.address_size 64\n.extern .func f();\n.extern .func g();\n"
      ".visible .entry kernel() { call.uni f; call.uni g; ret; }";
  cl_linker *linker = new_linker(library);
  cl_diagnostic one = CL_DIAGNOSTIC_INIT, other = CL_DIAGNOSTIC_INIT;
  CHECK_RESULT(OK, cl_linker_add(linker, CL_INPUT_PTX, calls, sizeof calls, "calls.ptx"));
  CHECK_RESULT(UNRESOLVED_SYMBOL, cl_linker_complete(linker));
  CHECK(cl_linker_diagnostic_count(linker) == 2);
  CHECK_RESULT(OK, cl_linker_get_diagnostic(linker, 0, &one));
  CHECK_RESULT(OK, cl_linker_get_diagnostic(linker, 1, &other));
  CHECK(strcmp(one.symbol, other.symbol) != 0 && one.backend_code == other.backend_code);
  CHECK(one.backend_text != NULL && one.backend_text == other.backend_text && one.backend_call == other.backend_call);
  cl_linker_destroy(linker);
}

static void of_the_options(const char *library, const char *folder) {
  cl_linker_options options = CL_LINKER_OPTIONS_INIT;
  cl_linker *linker;
  cl_diagnostic diagnostic;
  options.library_path = library;
  CHECK_RESULT(OK, cl_linker_create(&options, &linker));
  add_fixture(linker, folder, "kernel.ptx");
  CHECK_RESULT(MISSING_ARCH, cl_linker_complete(linker));
  diagnostic = only_finding(linker, CL_RESULT_MISSING_ARCH);
  CHECK(diagnostic.input == NULL && diagnostic.symbol == NULL && diagnostic.backend_call == NULL);
  CHECK(diagnostic.hint != NULL && strstr(diagnostic.hint, "arch") != NULL);
  cl_linker_destroy(linker);
}

int main(int argc, char **argv) {
  CHECK(argc == 4);
  of_the_backend(argv[1]);
  of_one_answer(argv[1]);
  of_an_input(argv[1]);
  of_the_options(argv[1], argv[3]);
  return 0;
}
