/* Threads that are alive at the end and have each used a thread-local variable of a library that was
 * opened at run time, of the size that nvJitLink has. Built with LIBRARY, it is that library. */
#define _XOPEN_SOURCE 600
#include <stddef.h>

#ifdef LIBRARY
extern long *touch(void);
static __thread long block[5];
long *touch(void) {
  block[0] = 1;
  return block;
}
#else
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 500 };

static long *(*touch)(void);
static pthread_barrier_t all_have;

static void *use_and_stay(void *unused) {
  (void)touch();
  pthread_barrier_wait(&all_have);
  pause();
  return unused;
}

int main(int argc, char **argv) {
  void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
  void *symbol = library != NULL ? dlsym(library, "touch") : NULL;
  pthread_t thread;
  int i;
  if (symbol == NULL || pthread_barrier_init(&all_have, NULL, THREADS + 1) != 0) {
    return 3;
  }
  memcpy(&touch, &symbol, sizeof touch);
  for (i = 0; i < THREADS; i++) {
    if (pthread_create(&thread, NULL, use_and_stay, NULL) != 0) {
      return 4;
    }
  }
  pthread_barrier_wait(&all_have);
  return 0;
}
#endif
