/* What the C tests share. Each program is called with an nvJitLink, its release, and a folder of fixtures; or with a stub of one,
 * a stub that fails, and that folder. */
#ifndef CHECK_H
#define CHECK_H

#include <cudalink.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition) check((condition), #condition, __FILE__, __LINE__)
#define CHECK_RESULT(expected, call) check_result(CL_RESULT_##expected, (call), #call, __FILE__, __LINE__)

static inline void check(int holds, const char *text, const char *file, int line) {
  if (!holds) {
    fprintf(stderr, "%s:%d: this does not hold: %s\n", file, line, text);
    exit(1);
  }
}

static inline void check_result(cl_result expected, cl_result result, const char *call, const char *file, int line) {
  if (result != expected) {
    fprintf(stderr, "%s:%d: %s answered %s, not %s\n", file, line, call, cl_result_string(result), cl_result_string(expected));
    exit(1);
  }
}

/* Size 0 counts too. */
static inline void *allocate(size_t size) {
  void *memory = malloc(size ? size : 1);
  CHECK(memory != NULL);
  return memory;
}

static inline char *join(const char *folder, const char *name) {
  size_t size = strlen(folder) + strlen(name) + 2;
  char *path = allocate(size);
  snprintf(path, size, "%s/%s", folder, name);
  return path;
}

static inline unsigned char *read_file(const char *folder, const char *name, size_t *size) {
  char *path = join(folder, name);
  FILE *file = fopen(path, "rb");
  unsigned char *bytes;
  long end;
  CHECK(file != NULL);
  CHECK(fseek(file, 0, SEEK_END) == 0 && (end = ftell(file)) > 0 && fseek(file, 0, SEEK_SET) == 0);
  *size = (size_t)end;
  bytes = allocate(*size);
  CHECK(fread(bytes, 1, *size, file) == *size);
  fclose(file);
  free(path);
  return bytes;
}

static inline cl_linker *new_linker_by(cl_backend backend, const char *library) {
  cl_linker_options options = CL_LINKER_OPTIONS_INIT;
  cl_linker *linker;
  options.backend = backend;
  options.library_path = library;
  options.arch = "sm_80";
  CHECK_RESULT(OK, cl_linker_create(&options, &linker));
  return linker;
}

static inline cl_linker *new_linker(const char *library) { return new_linker_by(CL_BACKEND_AUTO, library); }

/* Adds a fixture from memory; the name is the file's. */
static inline void add_fixture(cl_linker *linker, const char *folder, const char *name) {
  size_t size;
  unsigned char *bytes = read_file(folder, name, &size);
  CHECK_RESULT(OK, cl_linker_add(linker, CL_INPUT_AUTO, bytes, size, name));
  free(bytes);
}

/* The least PTX that is one. */
#define PTX_HEAD ".version 8.0\n.target sm_80\n"

/* PTX that no release compiles. */
#define MISTAKEN_PTX PTX_HEAD ".address_size 64\n.visible .entry kernel() { mistake; }\n"

/* The cubin of a complete linker, in memory of exactly its size. */
static inline unsigned char *cubin_of(const cl_linker *linker, size_t *size) {
  unsigned char *cubin;
  CHECK_RESULT(OK, cl_linker_get_output(linker, CL_OUTPUT_CUBIN, NULL, 0, size));
  cubin = allocate(*size);
  CHECK_RESULT(OK, cl_linker_get_output(linker, CL_OUTPUT_CUBIN, cubin, *size, NULL));
  return cubin;
}

static inline int contains(const unsigned char *bytes, size_t size, const char *text) {
  size_t length = strlen(text), at;
  for (at = 0; at + length <= size; at++) {
    if (memcmp(bytes + at, text, length) == 0) {
      return 1;
    }
  }
  return 0;
}

#endif
