/* cl_input_describe says as JSON what an input is, and of what cannot be linked why. */
#include "check.h"

static void described(const void *data, size_t size, const char *name, const char *kind, const char *result) {
  char json[1024], expected[128];
  CHECK_RESULT(OK, cl_input_describe(data, size, name, json, sizeof json, NULL));
  printf("%s\n", json);
  CHECK(json[0] == '{' && json[strlen(json) - 1] == '}');
  snprintf(expected, sizeof expected, "\"name\":\"%s\"", name ? name : "input");
  CHECK(strstr(json, expected) != NULL);
  snprintf(expected, sizeof expected, "\"kind\":%s", kind);
  CHECK(strstr(json, expected) != NULL);
  snprintf(expected, sizeof expected, "\"size\":%lu,", (unsigned long)size);
  CHECK(strstr(json, expected) != NULL);
  snprintf(expected, sizeof expected, "\"result\":\"%s\"", result);
  CHECK(strstr(json, expected) != NULL);
  CHECK((strstr(json, "\"message\":\"\"") != NULL) == (strcmp(result, "ok") == 0));
}

int main(int argc, char **argv) {
  static const char *const FILES[][2] = {
      {"kernel.ptx", "\"ptx\""},       {"kernel.ltoir", "\"ltoir\""}, {"kernel.cubin", "\"cubin\""},
      {"kernel.fatbin", "\"fatbin\""}, {"kernel.o", "\"object\""},    {"libhelper.a", "\"library\""},
  };
  size_t at, size;
  CHECK(argc == 4);
  for (at = 0; at < sizeof FILES / sizeof *FILES; at++) {
    unsigned char *bytes = read_file(argv[3], FILES[at][0], &size);
    described(bytes, size, FILES[at][0], FILES[at][1], "ok");
    free(bytes);
  }
  described("", 0, "nothing", "null", "empty_input");
  described("text", 4, NULL, "null", "unrecognized_input");
  described(PTX_HEAD "\0text", sizeof PTX_HEAD + 5, "cut", "", "bad_input");
  return 0;
}
