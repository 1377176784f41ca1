/* How a getter uses the caller's buffer: asked for the size, too small, exact, larger. */
#include "check.h"

enum { FILLER = 0xA5, ROOM = 16 };

typedef struct getter {
  const char *what;
  cl_result (*get)(const struct getter *getter, void *buffer, size_t capacity, size_t *size_out);
  const cl_linker *linker;
  uint32_t kind;
} getter;

static cl_result output(const getter *getter, void *buffer, size_t capacity, size_t *size_out) {
  return cl_linker_get_output(getter->linker, getter->kind, buffer, capacity, size_out);
}

static cl_result log_text(const getter *getter, void *buffer, size_t capacity, size_t *size_out) {
  return cl_linker_get_log(getter->linker, getter->kind, buffer, capacity, size_out);
}

static cl_result description(const getter *getter, void *buffer, size_t capacity, size_t *size_out) {
  (void)getter;
  return cl_input_describe("text", 4, "name", buffer, capacity, size_out);
}

static int all_filler(const unsigned char *bytes, size_t size) {
  while (size > 0 && bytes[size - 1] == FILLER) {
    size--;
  }
  return size == 0;
}

/* A getter into a buffer of `capacity` bytes, followed by ROOM bytes that it must leave alone. */
static unsigned char *get(const getter *getter, cl_result expected, size_t capacity, size_t *size_out) {
  unsigned char *buffer = allocate(capacity + ROOM);
  memset(buffer, FILLER, capacity + ROOM);
  check_result(expected, getter->get(getter, buffer, capacity, size_out), getter->what, __FILE__, __LINE__);
  CHECK(all_filler(buffer + capacity, ROOM));
  return buffer;
}

static void follows_the_protocol(const getter *getter, int is_text) {
  size_t needed = 77, small[3], size, at;
  unsigned char *buffer;
  printf("%s\n", getter->what);
  CHECK(getter->get(getter, NULL, 0, &needed) == CL_RESULT_OK && needed > 0 && needed != 77);

  small[0] = 0;
  small[1] = needed / 2;
  small[2] = needed - 1;
  for (at = 0; at < 3; at++) {
    size = 0;
    buffer = get(getter, CL_RESULT_BUFFER_TOO_SMALL, small[at], &size);
    CHECK(size == needed && all_filler(buffer, small[at]));
    free(buffer);
    free(get(getter, CL_RESULT_BUFFER_TOO_SMALL, small[at], NULL));
  }

  size = 0;
  buffer = get(getter, CL_RESULT_OK, needed, &size);
  CHECK(size == needed && (!is_text || strlen((char *)buffer) + 1 == needed));
  if (!is_text) {
    CHECK(!all_filler(buffer + needed - ROOM, ROOM));
  }
  free(buffer);

  size = 0;
  buffer = get(getter, CL_RESULT_OK, needed + 100, &size);
  CHECK(size == needed && all_filler(buffer + needed, 100));
  free(buffer);
  free(get(getter, CL_RESULT_OK, needed, NULL));

  size = 77;
  CHECK(getter->get(getter, NULL, needed, &size) == CL_RESULT_NULL_ARGUMENT);
  CHECK(size == 0);
  CHECK(getter->get(getter, NULL, 0, NULL) == CL_RESULT_NULL_ARGUMENT);
}

static void a_kind_that_is_none_is_refused(const cl_linker *linker) {
  static const uint32_t NO_OUTPUT[] = {0, 4, UINT32_MAX}, NO_LOG[] = {0, 5, UINT32_MAX};
  size_t at, size;
  for (at = 0; at < 3; at++) {
    size = 77;
    CHECK_RESULT(INVALID_ARGUMENT, cl_linker_get_output(linker, NO_OUTPUT[at], NULL, 0, &size));
    CHECK(size == 0);
    size = 77;
    CHECK_RESULT(INVALID_ARGUMENT, cl_linker_get_log(linker, NO_LOG[at], NULL, 0, &size));
    CHECK(size == 0);
  }
  size = 77;
  CHECK_RESULT(OUTPUT_NOT_AVAILABLE, cl_linker_get_output(linker, CL_OUTPUT_PTX, NULL, 0, &size));
  CHECK(size == 0);
}

int main(int argc, char **argv) {
  static const cl_log_kind LOGS[] = {CL_LOG_ERROR, CL_LOG_INFO, CL_LOG_PLAN, CL_LOG_OUTPUT};
  static char described[256];
  cl_linker *linker;
  getter getter = {"cl_linker_get_output", output, NULL, CL_OUTPUT_CUBIN};
  size_t at;
  CHECK(argc == 4);
  getter.linker = linker = new_linker(argv[1]);
  add_fixture(linker, argv[3], "kernel.ptx");
  add_fixture(linker, argv[3], "helper.ptx");
  CHECK_RESULT(OK, cl_linker_complete(linker));
  follows_the_protocol(&getter, 0);
  a_kind_that_is_none_is_refused(linker);
  getter.what = "cl_linker_get_log";
  getter.get = log_text;
  for (at = 0; at < sizeof LOGS / sizeof *LOGS; at++) {
    getter.kind = LOGS[at];
    follows_the_protocol(&getter, 1);
  }
  CHECK_RESULT(OK, cl_linker_get_log(linker, CL_LOG_OUTPUT, described, sizeof described, NULL));
  CHECK(strstr(described, "\"kind\":\"cubin\"") && strstr(described, "\"kernels\":[\"kernel\"],\"undefined\":[]"));
  getter.what = "cl_input_describe";
  getter.get = description;
  follows_the_protocol(&getter, 1);
  CHECK(strcmp(cl_linker_get_message(linker), "") == 0);
  cl_linker_destroy(linker);
  return 0;
}
