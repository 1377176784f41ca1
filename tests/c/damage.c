/* Looks at damaged copies of a file, and links them.
 * usage: damage LIBRARY PROGRESS FIRST LAST TRUNCATIONS FLAG... FILE
 * Case n below TRUNCATIONS cuts the file; the others change bytes, as n says. PROGRESS is a file that gets lines of a case and a word:
 * "describe" and "link" when that begins, then the result. So whoever finds the process dead knows what it died of. A case that takes
 * more than LIMIT seconds kills the process. */
#define _POSIX_C_SOURCE 200809L
#include <cudalink.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIMIT 30

static unsigned long long state;

static unsigned long long next(void) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

/* One byte, or a block of up to 64, set to other values or to all ones or zeros. */
static void change(unsigned char *data, size_t size) {
  size_t changes = 1 + next() % 3;
  while (changes--) {
    size_t at = next() % size, length = next() % 2 ? 1 : 1 + next() % 64, i;
    unsigned long long fill = next() % 4;
    for (i = at; i < at + length && i < size; i++) data[i] = fill == 0 ? 0 : fill == 1 ? 0xFF : (unsigned char)next();
  }
}

static void tell(FILE *progress, long n, const char *word) {
  fprintf(progress, "%ld %s\n", n, word);
  fflush(progress);
}

int main(int argc, char **argv) {
  cl_linker_options options = CL_LINKER_OPTIONS_INIT;
  long n, first = atol(argv[3]), last = atol(argv[4]), truncations = atol(argv[5]);
  unsigned char *original, *copy;
  size_t size, described;
  FILE *file = fopen(argv[argc - 1], "rb"), *progress = fopen(argv[2], "wb");

  if (!file || !progress) return 2;
  fseek(file, 0, SEEK_END);
  size = (size_t)ftell(file);
  rewind(file);
  original = malloc(size);
  if (!original || fread(original, 1, size, file) != size) return 2;
  options.library_path = argv[1];
  options.flags = (const char *const *)argv + 6;
  options.flag_count = (size_t)argc - 7;

  for (n = first; n < last; n++) {
    cl_linker *linker;
    cl_result result;
    size_t length = n < truncations ? size * (size_t)n / (size_t)truncations : size;
    copy = malloc(length ? length : 1); /* its own block, so that a memory checker sees a byte too many */
    if (!copy) return 2;
    memcpy(copy, original, length);
    state = 0x9E3779B97F4A7C15ull * ((unsigned long long)n + 1);
    if (n >= truncations) change(copy, length);

    alarm(LIMIT);
    tell(progress, n, "describe");
    if (cl_input_describe(copy, length, "damaged", NULL, 0, &described) != CL_RESULT_OK) return 3;
    tell(progress, n, "link");
    cl_linker_create(&options, &linker);
    result = cl_linker_add(linker, CL_INPUT_AUTO, copy, length, "damaged");
    free(copy);
    if (result == CL_RESULT_OK) result = cl_linker_complete(linker);
    tell(progress, n, cl_result_string(result));
    cl_linker_destroy(linker);
  }
  return 0;
}
