/*
 * Does what its arguments say, one call of cudalink each, and prints a line about each: steps [STEP ARGUMENT...]...
 * So a test can write any order of calls down, and see what became of each.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cudalink.h"

static void fail(const char *what, const char *on)
{
    fprintf(stderr, "%s %s\n", what, on);
    exit(1);
}

static char *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END))
        fail("cannot read", path);
    *size = (size_t)ftell(file);
    rewind(file);
    char *bytes = malloc(*size + 1);
    if (!bytes || fread(bytes, 1, *size, file) != *size)
        fail("cannot read", path);
    fclose(file);
    return bytes;
}

/* Everything that is handed over is overwritten and freed as soon as the call returns. */
static cl_result add(cl_linker *linker, const char *path, const char *name)
{
    size_t size;
    char *data = read_file(path, &size);
    char *own_name = strdup(name);
    cl_result result = cl_linker_add(linker, CL_INPUT_AUTO, data, size, own_name);
    memset(data, '#', size);
    memset(own_name, '#', strlen(name));
    free(data);
    free(own_name);
    return result;
}

static cl_result get(const cl_linker *linker, cl_output_kind kind)
{
    size_t size = 12345;
    cl_result result = cl_linker_get_output(linker, kind, NULL, 0, &size);
    char *buffer = malloc(size + 1);
    if (!buffer)
        fail("no", "memory");
    if (result == CL_RESULT_OK)
        result = cl_linker_get_output(linker, kind, buffer, size, &size);
    free(buffer);
    printf("%zu bytes, ", size);
    return result;
}

static void print_log(const cl_linker *linker, cl_log_kind kind)
{
    char text[65536];
    cl_result result = cl_linker_get_log(linker, kind, text, sizeof text, NULL);
    printf("%s: %s\n", cl_result_string(result), result == CL_RESULT_OK ? text : "");
}

static void query(const cl_linker_options *options)
{
    char message[65536];
    cl_library_info info = CL_LIBRARY_INFO_INIT;
    info.message = message;
    info.message_capacity = sizeof message;
    cl_result result = cl_library_query(options, &info);
    if (result != CL_RESULT_OK)
        printf("%s: %s\n", cl_result_string(result), message);
    else
        printf("ok: %u.%u %s, by %s\n", info.version_major, info.version_minor, info.path, info.found_by);
}

/* How many lines of the process's memory map name an nvJitLink. */
static int mapped(void)
{
    char line[8192];
    int count = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps))
        count += strstr(line, "libnvJitLink") != NULL;
    return count;
}

int main(int count, char **arguments)
{
    cl_linker_options options = CL_LINKER_OPTIONS_INIT;
    const char *flags[32];
    cl_linker *linker = NULL;
    options.flags = flags;
    for (int at = 1; at < count;) {
        const char *step = arguments[at++];
#define NEXT (at < count ? arguments[at++] : (fail("an argument is missing after", step), ""))
#define IS(name) (strcmp(step, name) == 0)
        if (IS("library"))
            options.library_path = NEXT;
        else if (IS("flag"))
            flags[options.flag_count++] = NEXT;
        else if (IS("want-ltoir"))
            options.output = CL_OUTPUT_LTOIR;
        else if (IS("rename")) {
            const char *from = NEXT;
            if (rename(from, NEXT))
                fail("cannot rename", from);
        } else if (IS("open")) {
            const char *path = NEXT;
            if (!dlopen(path, RTLD_NOW | RTLD_GLOBAL))
                fail("cannot open", path);
        } else {
            printf("%s ", step);
            if (IS("mapped"))
                printf("%d\n", mapped());
            else if (IS("query"))
                query(&options);
            else if (IS("message"))
                printf("%s\n", cl_linker_get_message(linker));
            else if (IS("error-log"))
                print_log(linker, CL_LOG_ERROR);
            else if (IS("info-log"))
                print_log(linker, CL_LOG_INFO);
            else if (IS("destroy")) {
                cl_linker_destroy(linker);
                linker = NULL;
                printf("\n");
            } else {
                cl_result result = CL_RESULT_INTERNAL;
                if (IS("create"))
                    result = cl_linker_create(&options, &linker);
                else if (IS("add")) {
                    const char *path = NEXT;
                    result = add(linker, path, NEXT);
                } else if (IS("complete"))
                    result = cl_linker_complete(linker);
                else if (IS("get-cubin"))
                    result = get(linker, CL_OUTPUT_CUBIN);
                else if (IS("get-ltoir"))
                    result = get(linker, CL_OUTPUT_LTOIR);
                else
                    fail("unknown step", step);
                printf("%s\n", cl_result_string(result));
            }
        }
        fflush(stdout);
    }
    return 0;
}
