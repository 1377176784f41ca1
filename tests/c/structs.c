/* struct_size: a caller compiled with an older or a newer header than the library's. No byte outside the structure is touched:
 * each one ends where a page ends that must not be read or written. */
#define _DEFAULT_SOURCE
#include "check.h"

#include <sys/mman.h>
#include <unistd.h>

enum { FILLER = 0xA5, NEWER = 64 };

/* `size` bytes of `value`, followed by a page that cannot be touched. */
static void *before_a_wall(size_t size, int value) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(pages != MAP_FAILED && size <= page && mprotect(pages + page, page, PROT_NONE) == 0);
  return memset(pages + page - size, value, size);
}

static void *copy_before_a_wall(const void *from, size_t known, size_t size) {
  return memcpy(before_a_wall(size, 0), from, known);
}

static int all(const void *bytes, size_t size, int value) {
  const unsigned char *at = bytes;
  while (size > 0 && at[size - 1] == value) {
    size--;
  }
  return size == 0;
}

static void the_macros_initialise_to_zero(void) {
  const cl_linker_options options = CL_LINKER_OPTIONS_INIT;
  const cl_diagnostic diagnostic = CL_DIAGNOSTIC_INIT;
  const cl_library_info info = CL_LIBRARY_INFO_INIT;
  CHECK(options.struct_size == sizeof options && all((char *)&options + sizeof(size_t), sizeof options - sizeof(size_t), 0));
  CHECK(diagnostic.struct_size == sizeof diagnostic && all((char *)&diagnostic + sizeof(size_t), sizeof diagnostic - sizeof(size_t), 0));
  CHECK(info.struct_size == sizeof info && all((char *)&info + sizeof(size_t), sizeof info - sizeof(size_t), 0));
}

/* Creates with a copy of the options that says it has `size` bytes, and has them. */
static cl_result create(const cl_linker_options *options, size_t size, unsigned char last) {
  const size_t known = size < sizeof *options ? size : sizeof *options;
  unsigned char *copy = copy_before_a_wall(options, known, size < sizeof(size_t) ? sizeof(size_t) : size);
  cl_linker *linker = NULL;
  cl_result result;
  memcpy(copy, &size, sizeof size);
  if (size > sizeof *options) {
    copy[size - 1] = last;
  }
  result = cl_linker_create((cl_linker_options *)(void *)copy, &linker);
  CHECK(linker != NULL && (strcmp(cl_linker_get_message(linker), "") == 0) == (result == CL_RESULT_OK));
  cl_linker_destroy(linker);
  return result;
}

static void options_of_other_sizes(void) {
  const char *flag = "-no-such-option";
  cl_linker_options options = CL_LINKER_OPTIONS_INIT;
  size_t size;
  options.arch = "sm_80";
  CHECK(create(&options, sizeof options, 0) == CL_RESULT_OK);
  CHECK(create(&options, sizeof options + NEWER, 0) == CL_RESULT_OK);
  CHECK(create(&options, sizeof options + NEWER, 1) == CL_RESULT_BAD_STRUCT_SIZE);
  CHECK(create(&options, sizeof options + sizeof(size_t), 0x80) == CL_RESULT_BAD_STRUCT_SIZE);
  for (size = 0; size < sizeof(size_t); size++) {
    CHECK(create(&options, size, 0) == CL_RESULT_BAD_STRUCT_SIZE);
  }
  /* What an older caller does not have is not asked for. */
  options.flags = &flag;
  options.flag_count = 1;
  CHECK(create(&options, sizeof options, 0) == CL_RESULT_UNKNOWN_OPTION);
  CHECK(create(&options, offsetof(cl_linker_options, flags), 0) == CL_RESULT_OK);
}

/* No structure ends within a field, and half a pointer must not be followed. */
static void a_size_that_cuts_a_pointer_is_refused(void) {
  cl_linker_options options = CL_LINKER_OPTIONS_INIT;
  options.arch = "sm_80";
  CHECK(create(&options, offsetof(cl_linker_options, arch) + 4, 0) == CL_RESULT_BAD_STRUCT_SIZE);
  CHECK(create(&options, sizeof options - 1, 0) == CL_RESULT_BAD_STRUCT_SIZE);
}

static void a_size_beyond_belief_is_not_read(void) {
  cl_linker_options *options = before_a_wall(sizeof *options, 0);
  cl_linker *linker;
  options->struct_size = SIZE_MAX;
  CHECK_RESULT(BAD_STRUCT_SIZE, cl_linker_create(options, &linker));
  cl_linker_destroy(linker);
}

/* A diagnostic in `size` bytes; what is there before is not looked at. */
static unsigned char *diagnostic_of_size(const cl_linker *linker, size_t size, cl_result expected) {
  unsigned char *memory = before_a_wall(size < sizeof(size_t) ? sizeof(size_t) : size, FILLER);
  memcpy(memory, &size, sizeof size);
  CHECK(cl_linker_get_diagnostic(linker, 0, (cl_diagnostic *)(void *)memory) == expected);
  CHECK(memcmp(memory, &size, sizeof size) == 0);
  return memory;
}

static void diagnostics_of_other_sizes(const char *library) {
  cl_linker *linker = new_linker(library);
  const size_t older = offsetof(cl_diagnostic, message), head = sizeof(size_t);
  const unsigned char *exact, *longer;
  size_t size;
  CHECK_RESULT(NO_INPUTS, cl_linker_complete(linker));
  exact = diagnostic_of_size(linker, sizeof(cl_diagnostic), CL_RESULT_OK);
  CHECK(((const cl_diagnostic *)(const void *)exact)->result == CL_RESULT_NO_INPUTS);
  CHECK(memcmp(diagnostic_of_size(linker, older, CL_RESULT_OK) + head, exact + head, older - head) == 0);
  longer = diagnostic_of_size(linker, sizeof(cl_diagnostic) + NEWER, CL_RESULT_OK);
  CHECK(memcmp(longer + head, exact + head, sizeof(cl_diagnostic) - head) == 0);
  CHECK(all(longer + sizeof(cl_diagnostic), NEWER, 0));
  for (size = 0; size < head; size++) {
    diagnostic_of_size(linker, size, CL_RESULT_BAD_STRUCT_SIZE);
  }
  CHECK(all(diagnostic_of_size(linker, older + 4, CL_RESULT_BAD_STRUCT_SIZE) + head, older + 4 - head, FILLER));
  cl_linker_destroy(linker);
}

/* A library_info in `size` bytes of zeros, but for the last if that is beyond what the library knows. */
static unsigned char *info_of_size(const char *library, size_t size, unsigned char last, cl_result expected) {
  unsigned char *memory = before_a_wall(size < sizeof(size_t) ? sizeof(size_t) : size, 0);
  cl_linker_options options = CL_LINKER_OPTIONS_INIT;
  options.library_path = library;
  memcpy(memory, &size, sizeof size);
  if (size > sizeof(cl_library_info)) {
    memory[size - 1] = last;
  }
  CHECK(cl_library_query(&options, (cl_library_info *)(void *)memory) == expected);
  CHECK(memcmp(memory, &size, sizeof size) == 0);
  return memory;
}

static void infos_of_other_sizes(const char *library) {
  const size_t older = offsetof(cl_library_info, found_by), head = sizeof(size_t);
  const unsigned char *exact = info_of_size(library, sizeof(cl_library_info), 0, CL_RESULT_OK), *longer;
  size_t size;
  CHECK(((const cl_library_info *)(const void *)exact)->path != NULL);
  CHECK(memcmp(info_of_size(library, older, 0, CL_RESULT_OK) + head, exact + head, older - head) == 0);
  longer = info_of_size(library, sizeof(cl_library_info) + NEWER, 0, CL_RESULT_OK);
  CHECK(memcmp(longer + head, exact + head, sizeof(cl_library_info) - head) == 0);
  CHECK(all(longer + sizeof(cl_library_info), NEWER, 0));
  longer = info_of_size(library, sizeof(cl_library_info) + NEWER, 1, CL_RESULT_BAD_STRUCT_SIZE);
  CHECK(all(longer + head, sizeof(cl_library_info) + NEWER - 1 - head, 0));
  for (size = 0; size < head; size++) {
    info_of_size(library, size, 0, CL_RESULT_BAD_STRUCT_SIZE);
  }
  info_of_size(library, older + 4, 0, CL_RESULT_BAD_STRUCT_SIZE);
}

int main(int argc, char **argv) {
  CHECK(argc == 4);
  the_macros_initialise_to_zero();
  options_of_other_sizes();
  a_size_beyond_belief_is_not_read();
  diagnostics_of_other_sizes(argv[1]);
  infos_of_other_sizes(argv[1]);
  a_size_that_cuts_a_pointer_is_refused();
  return 0;
}
