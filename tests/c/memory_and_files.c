/* A link gives the same cubin from memory and from files, and needs nothing of the caller's memory after a call. */
#include "check.h"

static const struct {
  const char *kernel, *helper;
  cl_input_kind kind, helper_kind;
} PAIRS[] = {
    {"kernel.ptx", "helper.ptx", CL_INPUT_PTX, CL_INPUT_PTX},
    {"kernel.ltoir", "helper.ltoir", CL_INPUT_LTOIR, CL_INPUT_LTOIR},
    {"kernel.cubin", "helper.cubin", CL_INPUT_CUBIN, CL_INPUT_CUBIN},
    {"kernel.fatbin", "helper.fatbin", CL_INPUT_FATBIN, CL_INPUT_FATBIN},
    {"kernel.o", "helper.o", CL_INPUT_OBJECT, CL_INPUT_OBJECT},
    {"kernel.o", "libhelper.a", CL_INPUT_OBJECT, CL_INPUT_LIBRARY},
    {"kernel.ptx", "helper.cubin", CL_INPUT_PTX, CL_INPUT_CUBIN},
};

/* Name and bytes are overwritten and freed as soon as the call returns. */
static void add_and_wipe(cl_linker *linker, cl_input_kind kind, const char *folder, const char *file) {
  size_t size;
  unsigned char *bytes = read_file(folder, file, &size);
  char *name = join(folder, file);
  CHECK_RESULT(OK, cl_linker_add(linker, kind, bytes, size, name));
  memset(bytes, 0xA5, size);
  memset(name, 'x', strlen(name));
  free(bytes);
  free(name);
}

static unsigned char *link_memory(const char *library, const char *folder, size_t pair, size_t *size) {
  cl_linker_options options = CL_LINKER_OPTIONS_INIT;
  char *path = join(library, ""), *arch = join("sm_80", "");
  cl_linker *linker;
  unsigned char *cubin;
  path[strlen(library)] = arch[strlen("sm_80")] = '\0';
  options.library_path = path;
  options.arch = arch;
  CHECK_RESULT(OK, cl_linker_create(&options, &linker));
  memset(path, 'x', strlen(path));
  memset(arch, 'x', strlen(arch));
  memset(&options, 0xA5, sizeof options);
  free(path);
  free(arch);
  add_and_wipe(linker, PAIRS[pair].kind, folder, PAIRS[pair].kernel);
  add_and_wipe(linker, PAIRS[pair].helper_kind, folder, PAIRS[pair].helper);
  CHECK_RESULT(OK, cl_linker_complete(linker));
  CHECK(strcmp(cl_linker_get_message(linker), "") == 0);
  CHECK(cl_linker_diagnostic_count(linker) == 0);
  cubin = cubin_of(linker, size);
  cl_linker_destroy(linker);
  return cubin;
}

static unsigned char *link_files(const char *library, const char *folder, size_t pair, size_t *size) {
  cl_linker *linker = new_linker(library);
  char *kernel = join(folder, PAIRS[pair].kernel), *helper = join(folder, PAIRS[pair].helper);
  unsigned char *cubin;
  CHECK_RESULT(OK, cl_linker_add_file(linker, CL_INPUT_AUTO, kernel));
  CHECK_RESULT(OK, cl_linker_add_file(linker, PAIRS[pair].helper_kind, helper));
  CHECK_RESULT(OK, cl_linker_complete(linker));
  cubin = cubin_of(linker, size);
  cl_linker_destroy(linker);
  free(kernel);
  free(helper);
  return cubin;
}

int main(int argc, char **argv) {
  const unsigned em_cuda = 190;
  size_t pair;
  CHECK(argc == 4);
  for (pair = 0; pair < sizeof PAIRS / sizeof *PAIRS; pair++) {
    size_t size, size_of_files;
    unsigned char *cubin = link_memory(argv[1], argv[3], pair, &size);
    unsigned char *of_files = link_files(argv[1], argv[3], pair, &size_of_files);
    printf("%s + %s\n", PAIRS[pair].kernel, PAIRS[pair].helper);
    CHECK(memcmp(cubin, "\177ELF", 4) == 0 && cubin[18] + 256u * cubin[19] == em_cuda);
    CHECK(contains(cubin, size, ".text.kernel"));
    CHECK(size == size_of_files && memcmp(cubin, of_files, size) == 0);
    free(cubin);
    free(of_files);
  }
  return 0;
}
