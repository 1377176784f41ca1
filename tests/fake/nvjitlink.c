/*
 * A stub nvJitLink. It links nothing: it writes each call into the file that the environment variable FAKE_LOG names,
 * one line a call, and answers as it was compiled to. What is not defined is left out, or answers success:
 *
 *   PLAIN                 exports nvJitLinkCreate, ...
 *   SUFFIXED_12_0         exports __nvJitLinkCreate_12_0, ...
 *   SUFFIXED_12_2         exports the names of _12_0, _12_1 and _12_2
 *   MAJOR, MINOR          exports nvJitLinkVersion
 *   VERSION               the number that nvJitLinkVersion answers
 *   LINKED_LTOIR          exports GetLinkedLTOIR and GetLinkedLTOIRSize
 *   NO_COMPLETE           does not export Complete
 *   CREATE, ADD, COMPLETE, GET   the number that this call answers; after a failure the error log says LOG
 *   LOG                   the error log after a failure; without it the log is empty
 *   INFO                  the info log; without it the log is empty
 *   EMPTY                 the size getters of the output answer 0; without it the output is a real image of its kind
 *   FIXTURES              the folder of those images
 *   CRASHING_DESTROY      destroy aborts if create read -lto and failed, as 12.0 to 12.6 do
 *
 * Like the real one it keeps the address of a name, not the name, and writes one byte where it says that the log has size 0.
 */
#ifndef ENTRY
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef VERSION
#define VERSION 0
#endif
#ifndef CREATE
#define CREATE 0
#endif
#ifndef ADD
#define ADD 0
#endif
#ifndef COMPLETE
#define COMPLETE 0
#endif
#ifndef GET
#define GET 0
#endif
#ifndef LOG
#define LOG ""
#endif
#ifndef INFO
#define INFO ""
#endif

struct handle {
    const char *names[16];
    int name_count, failed, lto, number;
};

/* A cubin with the kernel `kernel`, PTX that ends in a NUL, and LTO-IR. */
#define IMAGE(name, file)                                                                                             \
    __asm__(".pushsection .rodata\n" #name ": .incbin \"" FIXTURES file "\"\n.byte 0\n" #name "_end:\n.popsection");   \
    extern const unsigned char name[] __attribute__((visibility("hidden")));                                          \
    extern const unsigned char name##_end[] __attribute__((visibility("hidden")));
IMAGE(cubin, "/wide/whole.cubin")
IMAGE(ptx, "/12.0/kernel.ptx")
IMAGE(ltoir, "/12.0/helper.ltoir")
#ifdef EMPTY
#define SIZE_OF(name) 0
#else
#define SIZE_OF(name) (size_t)(name##_end - name)
#endif
static int handle_count;

/* One write a line, so that threads do not mix. */
static void record(const char *format, ...)
{
    char line[4096];
    const char *path = getenv("FAKE_LOG");
    int file = path ? open(path, O_WRONLY | O_CREAT | O_APPEND, 0666) : -1;
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line - 1, format, arguments);
    va_end(arguments);
    line[length++] = '\n';
    if (file >= 0 && write(file, line, (size_t)length) != length)
        abort();
    if (file >= 0)
        close(file);
}

static const char *list(const char *const *texts, int count)
{
    static __thread char joined[2048];
    joined[0] = 0;
    for (int i = 0; i < count; i++)
        snprintf(joined + strlen(joined), sizeof joined - strlen(joined), " %s", texts[i]);
    return joined;
}

/* FNV-1a. */
static uint64_t hash(const unsigned char *bytes, size_t size)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3u;
    return hash;
}

static int answer(struct handle *handle, int code)
{
    handle->failed |= code != 0;
    return code;
}

static size_t error_log_size(const struct handle *handle)
{
    return handle->failed && sizeof LOG > 1 ? sizeof LOG : 0;
}

__attribute__((constructor)) static void loaded(void)
{
    record("loaded");
}

#ifdef MAJOR
int nvJitLinkVersion(unsigned *major, unsigned *minor)
{
    record("Version");
    *major = MAJOR;
    *minor = MINOR;
    return VERSION;
}
#endif

#ifdef PLAIN
#define ENTRY(name) nvJitLink##name
#define SUFFIX ""
#include "nvjitlink.c"
#undef ENTRY
#undef SUFFIX
#endif
#if defined(SUFFIXED_12_0) || defined(SUFFIXED_12_2)
#define ENTRY(name) __nvJitLink##name##_12_0
#define SUFFIX "_12_0"
#include "nvjitlink.c"
#undef ENTRY
#undef SUFFIX
#endif
#ifdef SUFFIXED_12_2
#define ENTRY(name) __nvJitLink##name##_12_1
#define SUFFIX "_12_1"
#include "nvjitlink.c"
#undef ENTRY
#undef SUFFIX
#define ENTRY(name) __nvJitLink##name##_12_2
#define SUFFIX "_12_2"
#include "nvjitlink.c"
#endif

#else
/* The entry points, once for each way to spell them. A line begins with the name that was called and the handle's number. */

int ENTRY(Create)(struct handle **handle, uint32_t count, const char **options)
{
    *handle = calloc(1, sizeof **handle);
    (*handle)->number = __sync_add_and_fetch(&handle_count, 1);
    for (uint32_t i = 0; i < count; i++)
        (*handle)->lto |= strcmp(options[i], "-lto") == 0;
    record("Create" SUFFIX " %d%s", (*handle)->number, list(options, (int)count));
    return answer(*handle, CREATE);
}

int ENTRY(Destroy)(struct handle **handle)
{
    record("Destroy" SUFFIX " %d%s", (*handle)->number, list((*handle)->names, (*handle)->name_count));
#ifdef CRASHING_DESTROY
    if ((*handle)->lto && (*handle)->failed)
        abort();
#endif
    free(*handle);
    *handle = NULL;
    return 0;
}

int ENTRY(AddData)(struct handle *handle, int type, const void *data, size_t size, const char *name)
{
    const char *bytes = data;
    int nuls = 0;
    while ((size_t)nuls < size && bytes[size - 1 - (size_t)nuls] == 0)
        nuls++;
    record("AddData" SUFFIX " %d type %d size %zu nuls %d hash %016llx name %s", handle->number, type, size, nuls,
           (unsigned long long)hash(data, size), name);
    handle->names[handle->name_count++] = name;
    return answer(handle, ADD);
}

#ifndef NO_COMPLETE
int ENTRY(Complete)(struct handle *handle)
{
    record("Complete" SUFFIX " %d%s", handle->number, list(handle->names, handle->name_count));
    return answer(handle, COMPLETE);
}
#endif

#define GETTER(what, text, length, code)                               \
    int ENTRY(Get##what##Size)(struct handle *handle, size_t *size)     \
    {                                                                   \
        record("Get" #what "Size" SUFFIX " %d", handle->number);        \
        *size = (length);                                               \
        return 0;                                                       \
    }                                                                   \
    int ENTRY(Get##what)(struct handle *handle, char *buffer)           \
    {                                                                   \
        size_t size = (length);                                         \
        record("Get" #what SUFFIX " %d", handle->number);               \
        memcpy(buffer, (text), size > 0 ? size : 1);                    \
        return answer(handle, (code));                                  \
    }

GETTER(LinkedCubin, cubin, SIZE_OF(cubin) - (SIZE_OF(cubin) > 0), GET)
GETTER(LinkedPtx, ptx, SIZE_OF(ptx), GET)
#ifdef LINKED_LTOIR
GETTER(LinkedLTOIR, ltoir, SIZE_OF(ltoir) - (SIZE_OF(ltoir) > 0), GET)
#endif
GETTER(ErrorLog, LOG, error_log_size(handle), 0)
GETTER(InfoLog, INFO, sizeof INFO == 1 ? 0 : sizeof INFO, 0)
#undef GETTER
#endif
