/*
 * Links with two libraries in turn, from several threads of one process:
 *
 *   side_by_side raw LIBRARY OUT INPUT...                          what LIBRARY gives when it is called directly
 *   side_by_side A EXPECTED-A B EXPECTED-B HOST-LIBRARY INPUT...   links with A and B through cudalink, and compares
 *
 * HOST-LIBRARY is "-", or an nvJitLink that the host has open for all (RTLD_GLOBAL) before it uses cudalink, and links with itself before and after.
 * The inputs are LTO-IR for sm_80.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cudalink.h"

enum { THREADS = 6, ROUNDS = 4 };

struct bytes {
    char *data;
    size_t size;
};

static void check(int good, const char *what)
{
    if (!good) {
        fprintf(stderr, "failed: %s\n", what);
        exit(1);
    }
}

static struct bytes read_file(const char *path)
{
    struct bytes bytes;
    FILE *file = fopen(path, "rb");
    check(file && !fseek(file, 0, SEEK_END), path);
    bytes.size = (size_t)ftell(file);
    rewind(file);
    bytes.data = malloc(bytes.size);
    check(fread(bytes.data, 1, bytes.size, file) == bytes.size, path);
    fclose(file);
    return bytes;
}

static int same(struct bytes a, struct bytes b)
{
    return a.size == b.size && memcmp(a.data, b.data, a.size) == 0;
}

static const struct bytes *inputs;
static int input_count;

/* Looks each function up in `library`, which may be RTLD_DEFAULT. */
static struct bytes link_raw(void *library)
{
    int (*create)(void **, unsigned, const char **), (*destroy)(void **), (*complete)(void *), (*get_size)(void *, size_t *), (*get)(void *, char *);
    int (*add)(void *, int, const void *, size_t, const char *);
    *(void **)&create = dlsym(library, "nvJitLinkCreate");
    *(void **)&add = dlsym(library, "nvJitLinkAddData");
    *(void **)&complete = dlsym(library, "nvJitLinkComplete");
    *(void **)&get_size = dlsym(library, "nvJitLinkGetLinkedCubinSize");
    *(void **)&get = dlsym(library, "nvJitLinkGetLinkedCubin");
    *(void **)&destroy = dlsym(library, "nvJitLinkDestroy");
    check(create && add && complete && get_size && get && destroy, "an entry point of the library");
    void *handle = NULL;
    const char *options[] = {"-arch=sm_80", "-lto"};
    struct bytes output = {NULL, 0};
    check(create(&handle, 2, options) == 0, "nvJitLinkCreate");
    for (int i = 0; i < input_count; i++)
        check(add(handle, 3, inputs[i].data, inputs[i].size, "input") == 0, "nvJitLinkAddData");
    check(complete(handle) == 0, "nvJitLinkComplete");
    check(get_size(handle, &output.size) == 0, "nvJitLinkGetLinkedCubinSize");
    output.data = malloc(output.size);
    check(get(handle, output.data) == 0, "nvJitLinkGetLinkedCubin");
    destroy(&handle);
    return output;
}

static struct bytes link_by_cudalink(const char *library)
{
    cl_linker_options options = CL_LINKER_OPTIONS_INIT;
    cl_linker *linker;
    struct bytes output = {NULL, 0};
    options.arch = "sm_80";
    options.library_path = library;
    check(cl_linker_create(&options, &linker) == CL_RESULT_OK, "cl_linker_create");
    for (int i = 0; i < input_count; i++)
        check(cl_linker_add(linker, CL_INPUT_LTOIR, inputs[i].data, inputs[i].size, "input") == CL_RESULT_OK, "cl_linker_add");
    cl_result result = cl_linker_complete(linker);
    check(result == CL_RESULT_OK, cl_linker_get_message(linker));
    check(cl_linker_get_output(linker, CL_OUTPUT_CUBIN, NULL, 0, &output.size) == CL_RESULT_OK, "the size of the output");
    output.data = malloc(output.size);
    check(cl_linker_get_output(linker, CL_OUTPUT_CUBIN, output.data, output.size, &output.size) == CL_RESULT_OK, "the output");
    cl_linker_destroy(linker);
    return output;
}

static const char *libraries[2];
static struct bytes expected[2];
static pthread_barrier_t all_ready;

/* Half of the threads begin with the one library, half with the other. */
static void *alternate(void *index)
{
    pthread_barrier_wait(&all_ready);
    for (int round = 0; round < ROUNDS; round++) {
        int which = (int)(((size_t)index + (size_t)round) % 2);
        struct bytes output = link_by_cudalink(libraries[which]);
        check(same(output, expected[which]), which ? "the second library's output is another one's" : "the first library's output is another one's");
        free(output.data);
    }
    return NULL;
}

int main(int count, char **arguments)
{
    int raw = count > 1 && strcmp(arguments[1], "raw") == 0;
    int first = raw ? 4 : 6;
    check(count > first, "usage");
    struct bytes *all = calloc((size_t)(count - first), sizeof *all);
    for (input_count = 0; first + input_count < count; input_count++)
        all[input_count] = read_file(arguments[first + input_count]);
    inputs = all;

    if (raw) {
        void *library = dlopen(arguments[2], RTLD_NOW | RTLD_LOCAL);
        check(library != NULL, arguments[2]);
        struct bytes output = link_raw(library);
        FILE *file = fopen(arguments[3], "wb");
        check(file && fwrite(output.data, 1, output.size, file) == output.size && fclose(file) == 0, arguments[3]);
        return 0;
    }

    for (int i = 0; i < 2; i++) {
        libraries[i] = arguments[1 + 2 * i];
        expected[i] = read_file(arguments[2 + 2 * i]);
    }
    check(!same(expected[0], expected[1]), "the two libraries give the same, so nothing can be told apart");
    int host = strcmp(arguments[5], "-") != 0;
    struct bytes before = {NULL, 0};
    if (host) {
        check(dlopen(arguments[5], RTLD_NOW | RTLD_GLOBAL) != NULL, arguments[5]);
        before = link_raw(RTLD_DEFAULT);
        check(!same(before, expected[0]) && !same(before, expected[1]), "the host's library gives the same as another");
    }
    pthread_t threads[THREADS];
    pthread_barrier_init(&all_ready, NULL, THREADS);
    for (size_t i = 0; i < THREADS; i++)
        check(pthread_create(&threads[i], NULL, alternate, (void *)i) == 0, "pthread_create");
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    if (host)
        check(same(before, link_raw(RTLD_DEFAULT)), "the host's own link has changed");
    else
        check(dlsym(RTLD_DEFAULT, "nvJitLinkCreate") == NULL, "the host sees the functions of a library that is not its own");
    printf("%d links\n", THREADS * ROUNDS);
    return 0;
}
