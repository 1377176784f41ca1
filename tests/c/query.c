/* What cl_library_query tells of a library, and how it gives the message of a failure. */
#define _DEFAULT_SOURCE
#include "check.h"

#define FILLER ((char)0xA5)
#define NO_LIBRARY "/no/such/libnvJitLink.so"

static void facts_of_the_library(const char *library, const char *release) {
  cl_linker_options options = CL_LINKER_OPTIONS_INIT;
  cl_library_info info = CL_LIBRARY_INFO_INIT, by_variable = CL_LIBRARY_INFO_INIT;
  char *real = realpath(library, NULL);
  unsigned major, minor;
  CHECK(real != NULL && sscanf(release, "%u.%u", &major, &minor) == 2);
  options.library_path = library;
  CHECK_RESULT(OK, cl_library_query(&options, &info));
  CHECK(strcmp(info.path, real) == 0 && strstr(info.found_by, "library_path") != NULL);
  CHECK(info.version_major == major && info.version_minor == minor);
  CHECK(info.has_version == (100 * major + minor >= 1203));
  CHECK(info.has_linked_ltoir == (100 * major + minor >= 1302));
  CHECK(info.backend == CL_BACKEND_NVJITLINK);
  CHECK(info.message_size == 1);

  CHECK(setenv("CUDALINK_NVJITLINK", library, 1) == 0);
  CHECK_RESULT(OK, cl_library_query(NULL, &by_variable));
  CHECK(strcmp(by_variable.path, info.path) == 0 && strstr(by_variable.found_by, "CUDALINK_NVJITLINK") != NULL);
  CHECK(setenv("CUDALINK_NVJITLINK", NO_LIBRARY, 1) == 0);
  CHECK_RESULT(LIBRARY_UNUSABLE, cl_library_query(NULL, &by_variable));
  CHECK(strcmp(info.path, real) == 0);
  free(real);
}

/* Queries with room for `capacity` bytes of message, and one more that must be left alone. */
static cl_library_info failing_query(const char *library, char *message, size_t capacity) {
  cl_linker_options options = CL_LINKER_OPTIONS_INIT;
  cl_library_info info = CL_LIBRARY_INFO_INIT;
  options.library_path = library;
  info.message = message;
  info.message_capacity = capacity;
  info.path = info.found_by = "old";
  info.version_major = info.version_minor = info.has_version = info.has_linked_ltoir = 77;
  if (message != NULL) {
    memset(message, FILLER, capacity + 1);
  }
  CHECK_RESULT(LIBRARY_UNUSABLE, cl_library_query(&options, &info));
  CHECK(info.path == NULL && info.found_by == NULL && info.version_major == 0 && info.version_minor == 0);
  CHECK(info.has_version == 0 && info.has_linked_ltoir == 0 && info.backend == CL_BACKEND_AUTO && info.reserved == 0);
  CHECK(info.message == message && info.message_capacity == capacity);
  CHECK(message == NULL || message[capacity] == FILLER);
  return info;
}

static void messages(void) {
  const size_t size = failing_query(NO_LIBRARY, NULL, 0).message_size;
  size_t capacities[6], at;
  char *whole = allocate(size + 1);
  CHECK(size > 1 && failing_query(NO_LIBRARY, whole, size).message_size == size);
  CHECK(strlen(whole) + 1 == size && strstr(whole, NO_LIBRARY) != NULL);
  capacities[0] = 0, capacities[1] = 1, capacities[2] = 2, capacities[3] = size - 1, capacities[4] = size, capacities[5] = size + 100;
  for (at = 0; at < 6; at++) {
    const size_t capacity = capacities[at], kept = capacity < size ? capacity : size;
    char *message = allocate(capacity + 1);
    CHECK(failing_query(NO_LIBRARY, message, capacity).message_size == size);
    if (capacity > 0) {
      CHECK(strlen(message) + 1 == kept && strncmp(message, whole, kept - 1) == 0);
    }
    free(message);
  }
  free(whole);
}

static void a_cut_message_ends_with_a_whole_character(void) {
  static const char NAME[] = "/no/such/\xC3\xA4";
  const size_t size = failing_query(NAME, NULL, 0).message_size;
  char *message = allocate(size + 1);
  const char *character;
  size_t before;
  failing_query(NAME, message, size);
  CHECK((character = strstr(message, "\xC3\xA4")) != NULL);
  before = (size_t)(character - message);
  failing_query(NAME, message, before + 2);
  CHECK(strlen(message) == before);
  free(message);
}

static void a_message_of_success(const char *library) {
  cl_linker_options options = CL_LINKER_OPTIONS_INIT;
  cl_library_info info = CL_LIBRARY_INFO_INIT;
  char message[2] = {FILLER, FILLER};
  options.library_path = library;
  info.message = message;
  info.message_capacity = 1;
  CHECK_RESULT(OK, cl_library_query(&options, &info));
  CHECK(message[0] == '\0' && message[1] == FILLER);
}

/* A file that is no library. */
static void a_text_file(const char *folder) {
  char *path = join(folder, "kernel.ptx");
  char message[1024];
  failing_query(path, message, sizeof message - 1);
  CHECK(strstr(message, "kernel.ptx") != NULL && strstr(message, "ELF") != NULL);
  free(path);
}

int main(int argc, char **argv) {
  CHECK(argc == 4);
  facts_of_the_library(argv[1], argv[2]);
  messages();
  a_message_of_success(argv[1]);
  a_text_file(argv[3]);
  a_cut_message_ends_with_a_whole_character();
  return 0;
}
