/* Does one thing wrong, to show that what looks for it does: the test's name says what. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
  const char *fault = argc == 2 ? argv[1] : "";
  volatile char *memory = calloc(1, 16);
  if (memory == NULL) {
    return 3;
  }
  if (strcmp(fault, "reads out of bounds") == 0) {
    printf("%d\n", memory[argc + 14]);
  } else if (strcmp(fault, "overflows") == 0) {
    printf("%d\n", 0x7FFFFFFF - 1 + argc);
  }
  if (strcmp(fault, "leaks") != 0) {
    free((void *)memory);
  }
  memory = NULL;
  return 0;
}
