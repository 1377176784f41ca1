/* What the programs here share: inputs in memory, and a driver's context where one is asked for. */
#ifndef COMMON_H
#define COMMON_H

#include <cudalink.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARCH "sm_90"

static inline void die(const char *what, const char *why) {
  fprintf(stderr, "%s: %s\n", what, why ? why : "");
  exit(2);
}

typedef struct bytes {
  unsigned char *data;
  size_t size;
} bytes;

static inline bytes new_bytes(size_t size) {
  bytes made;
  made.size = size;
  made.data = malloc(size ? size : 1);
  if (made.data == NULL) {
    die("malloc", "no memory");
  }
  return made;
}

static inline bytes read_input(const char *path) {
  FILE *file = fopen(path, "rb");
  bytes input;
  long end = -1;
  if (file == NULL || fseek(file, 0, SEEK_END) != 0 || (end = ftell(file)) <= 0 || fseek(file, 0, SEEK_SET) != 0) {
    die(path, "cannot be read");
  }
  input = new_bytes((size_t)end);
  if (fread(input.data, 1, input.size, file) != input.size) {
    die(path, "cannot be read");
  }
  fclose(file);
  return input;
}

static inline cl_backend backend_named(const char *name) {
  if (strncmp(name, "driver", 6) == 0) {
    return CL_BACKEND_DRIVER;
  }
  if (strcmp(name, "nvjitlink") == 0) {
    return CL_BACKEND_NVJITLINK;
  }
  die(name, "is neither driver nor nvjitlink");
  return CL_BACKEND_AUTO;
}

/* An entry point; the process ends without it. */
static inline void entry(void *library, const char *name, void *function) {
  void *address = dlsym(library, name);
  if (address == NULL) {
    die(name, dlerror());
  }
  memcpy(function, &address, sizeof address);
}

static inline int contains(const unsigned char *data, size_t size, const char *text) {
  size_t length = strlen(text), at;
  for (at = 0; at + length <= size; at++) {
    if (memcmp(data + at, text, length) == 0) {
      return 1;
    }
  }
  return 0;
}

#endif
