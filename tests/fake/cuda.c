/*
 * A stub CUDA driver, libcuda.so.1. It links nothing, and ends the process if it is not called as cuda.h says: calls before cuInit or in
 * a fork, a link without a context, options or logs that do not stay as they were until destroy has returned, a state that is used
 * after destroy or never destroyed, a context that is not popped or not released.
 *
 * -D cuLinkCreate_v2=lacking  leaves that entry point out
 *
 * The environment says how it answers:
 *   FAKE_CUDA_LOG      the file that each call is written into, one line a call
 *   FAKE_CUDA_VERSION  what cuDriverGetVersion tells; without it 13000
 *   FAKE_CUDA_FAIL     calls that fail and the number that they answer, such as cuLinkComplete=999,cuGetErrorName=1; * is every call
 *   FAKE_CUDA_ERROR    the error log of a link call that fails
 *   FAKE_CUDA_INFO     the info log of a link
 *   FAKE_CUDA_FLOOD    fills both logs; 0 leaves room for a NUL, 1 does not
 *   FAKE_CUDA_OUTPUT   the file that a link gives; without it a cubin for sm_80, and if it is empty nothing
 *   FAKE_CUDA_CURRENT  the host has a context of its own on every thread
 *
 * PTX with the word "mistake" is refused. Like the real one it writes the sizes of the logs into the option values, and into the logs up to
 * the end of destroy.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SUCCESS = 0, INVALID_VALUE = 1, NOT_INITIALIZED = 3, INVALID_DEVICE = 101, INVALID_PTX = 218 };
/* CUjit_option */
enum { INFO_LOG = 3, INFO_LOG_SIZE = 4, ERROR_LOG = 5, ERROR_LOG_SIZE = 6 };
enum { INPUT_PTX = 1, MOST_OPTIONS = 32 };

struct link {
    int number;
    void *context;
    unsigned count;
    unsigned *options, options_at_create[MOST_OPTIONS];
    void **values, *values_at_create[MOST_OPTIONS];
    size_t info_capacity, error_capacity;
    char *output;
    size_t output_size;
    const char *error;
    int failed, complete;
};

static int initialized_in, link_count, live_links, retained;
static char primary, of_the_host;
static __thread void *contexts[8];
static __thread int context_count = -1;

static void broken(const char *call, const char *how)
{
    fprintf(stderr, "the stub driver was misused: %s: %s\n", call, how);
    abort();
}

/* One write a line, so that threads do not mix. */
__attribute__((format(printf, 1, 2))) static void record(const char *format, ...)
{
    char line[8192];
    const char *path = getenv("FAKE_CUDA_LOG");
    int file = path ? open(path, O_WRONLY | O_CREAT | O_APPEND, 0666) : -1;
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line - 1, format, arguments);
    va_end(arguments);
    if (length > (int)sizeof line - 2)
        length = (int)sizeof line - 2;
    line[length++] = '\n';
    if (file >= 0 && write(file, line, (size_t)length) != length)
        abort();
    if (file >= 0)
        close(file);
}

/* FNV-1a. */
static uint64_t hash(const unsigned char *bytes, size_t size)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3u;
    return hash;
}

/* What FAKE_CUDA_FAIL says of a call. */
static int told(const char *call)
{
    const char *list = getenv("FAKE_CUDA_FAIL");
    if (list && list[0] == '*')
        return atoi(list + 2);
    for (const char *at = list; at; at = strchr(at, ','), at += at != NULL) {
        size_t length = strlen(call);
        if (strncmp(at, call, length) == 0 && at[length] == '=')
            return atoi(at + length + 1);
    }
    return SUCCESS;
}

/* Where no driver works, it hangs: nothing but these calls may be made there. */
static int begin(const char *call)
{
    int needs_init = strcmp(call, "cuInit") && strcmp(call, "cuDriverGetVersion") && strcmp(call, "cuGetErrorName");
    while (needs_init && initialized_in && initialized_in != getpid())
        pause();
    int code = told(call);
    if (needs_init && !initialized_in && !code)
        broken(call, "before cuInit");
    return code;
}

static void **stack(void)
{
    if (context_count < 0) {
        context_count = getenv("FAKE_CUDA_CURRENT") != NULL;
        contexts[0] = &of_the_host;
    }
    return contexts;
}

static void *current(void)
{
    stack();
    return context_count ? contexts[context_count - 1] : NULL;
}

static int is_of_the_log(unsigned option)
{
    return option >= INFO_LOG && option <= ERROR_LOG_SIZE;
}

static void *value_of(const struct link *link, unsigned option)
{
    for (unsigned i = 0; i < link->count; i++)
        if (link->options[i] == option)
            return link->values_at_create[i];
    broken("cuLinkCreate", "without a log, or the size of one");
    return NULL;
}

static void write_log(struct link *link, unsigned log, size_t capacity, const char *text)
{
    const char *flood = getenv("FAKE_CUDA_FLOOD");
    char *buffer = value_of(link, log);
    size_t length = strlen(text);
    if (flood) {
        length = flood[0] == '1' ? capacity : capacity - 1;
        memset(buffer, 'x', length);
    } else {
        memcpy(buffer, text, length);
    }
    if (length < capacity)
        buffer[length] = 0;
    for (unsigned i = 0; i < link->count; i++)
        if (link->options[i] == log + 1)
            link->values[i] = link->values_at_create[i] = (void *)(uintptr_t)length;
}

static void write_logs(struct link *link)
{
    const char *info = getenv("FAKE_CUDA_INFO");
    write_log(link, INFO_LOG, link->info_capacity, info ? info : "");
    write_log(link, ERROR_LOG, link->error_capacity, link->failed && link->error ? link->error : "");
}

/* Everything that was given to create is there and as it was. */
static int in_link(const char *call, struct link *link, int code)
{
    if (link->number <= 0)
        broken(call, "after destroy");
    if (!current() || current() != link->context)
        broken(call, "without the context of the link");
    if (memcmp(link->options, link->options_at_create, link->count * sizeof *link->options))
        broken(call, "the options have changed");
    if (memcmp(link->values, link->values_at_create, link->count * sizeof *link->values))
        broken(call, "the values of the options have changed");
    if (link->failed && strcmp(call, "cuLinkDestroy"))
        broken(call, "after a failure");
    link->failed |= code != SUCCESS;
    write_logs(link);
    return code;
}

static char *output(size_t *size)
{
    const char *path = getenv("FAKE_CUDA_OUTPUT");
    *size = 0;
    if (path && !path[0])
        return NULL;
    FILE *file = fopen(path ? path : FIXTURES "/wide/whole.cubin", "rb");
    if (!file || fseek(file, 0, SEEK_END))
        broken("cuLinkComplete", "there is no output to give");
    *size = (size_t)ftell(file);
    rewind(file);
    char *bytes = malloc(*size);
    if (!bytes || fread(bytes, 1, *size, file) != *size)
        abort();
    fclose(file);
    return bytes;
}

__attribute__((constructor)) static void loaded(void)
{
    record("loaded");
}

/* A child is left alone: what it was born with is its parent's. */
__attribute__((destructor)) static void at_exit(void)
{
    if (initialized_in != getpid())
        return;
    if (live_links)
        broken("cuLinkDestroy", "was not called for every link");
    if (retained)
        broken("cuDevicePrimaryCtxRelease", "was not called as often as retain");
    if (current() != (getenv("FAKE_CUDA_CURRENT") ? (void *)&of_the_host : NULL))
        broken("cuCtxPopCurrent", "was not called as often as push");
}

int cuInit(unsigned flags)
{
    record("cuInit");
    int code = begin("cuInit");
    if (flags)
        broken("cuInit", "with flags");
    if (initialized_in && initialized_in != getpid())
        return NOT_INITIALIZED;
    if (!code)
        initialized_in = getpid();
    return code;
}

int cuDriverGetVersion(int *version)
{
    record("cuDriverGetVersion");
    int code = begin("cuDriverGetVersion");
    const char *number = getenv("FAKE_CUDA_VERSION");
    if (!code)
        *version = number ? atoi(number) : 13000;
    return code;
}

int cuGetErrorName(int error, const char **name)
{
    static const struct {
        int code;
        const char *name;
    } NAMES[] = {
        {1, "CUDA_ERROR_INVALID_VALUE"}, {2, "CUDA_ERROR_OUT_OF_MEMORY"}, {3, "CUDA_ERROR_NOT_INITIALIZED"}, {100, "CUDA_ERROR_NO_DEVICE"},
        {218, "CUDA_ERROR_INVALID_PTX"}, {999, "CUDA_ERROR_UNKNOWN"},
    };
    record("cuGetErrorName");
    int code = begin("cuGetErrorName");
    for (size_t i = 0; !code && i < sizeof NAMES / sizeof *NAMES; i++)
        if (NAMES[i].code == error) {
            *name = NAMES[i].name;
            return SUCCESS;
        }
    *name = NULL;
    return code ? code : INVALID_VALUE;
}

int cuDeviceGetCount(int *count)
{
    record("cuDeviceGetCount");
    int code = begin("cuDeviceGetCount");
    *count = code ? 0 : 2;
    return code;
}

int cuDeviceGet(int *device, int ordinal)
{
    record("cuDeviceGet %d", ordinal);
    int code = begin("cuDeviceGet");
    if (ordinal < 0 || ordinal > 1)
        return INVALID_DEVICE;
    *device = 70 + ordinal;
    return code;
}

int cuDeviceGetName(char *name, int size, int device)
{
    record("cuDeviceGetName %d", device);
    int code = begin("cuDeviceGetName");
    if (!code)
        snprintf(name, (size_t)size, "Stub %d", device - 70);
    return code;
}

int cuDeviceGetAttribute(int *value, unsigned attribute, int device)
{
    record("cuDeviceGetAttribute %u %d", attribute, device);
    int code = begin("cuDeviceGetAttribute");
    /* CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR: 8.0 and 12.1. */
    if (attribute != 75 && attribute != 76)
        return INVALID_VALUE;
    if (!code)
        *value = attribute == 75 ? (device == 70 ? 8 : 12) : device - 70;
    return code;
}

int cuDevicePrimaryCtxRetain(void **context, int device)
{
    record("cuDevicePrimaryCtxRetain %d", device);
    int code = begin("cuDevicePrimaryCtxRetain");
    if (device != 70)
        broken("cuDevicePrimaryCtxRetain", "not of the first device");
    if (!code) {
        __sync_add_and_fetch(&retained, 1);
        *context = &primary;
    }
    return code;
}

int cuDevicePrimaryCtxRelease_v2(int device)
{
    record("cuDevicePrimaryCtxRelease %d", device);
    int code = begin("cuDevicePrimaryCtxRelease");
    if (device != 70 || __sync_sub_and_fetch(&retained, 1) < 0)
        broken("cuDevicePrimaryCtxRelease", "of what is not retained");
    return code;
}

int cuCtxGetCurrent(void **context)
{
    record("cuCtxGetCurrent");
    int code = begin("cuCtxGetCurrent");
    if (!code)
        *context = current();
    return code;
}

int cuCtxPushCurrent_v2(void *context)
{
    record("cuCtxPushCurrent");
    int code = begin("cuCtxPushCurrent");
    if (context != &primary || retained < 1)
        broken("cuCtxPushCurrent", "a context that is not retained");
    if (!code)
        stack()[context_count++] = context;
    return code;
}

int cuCtxPopCurrent_v2(void **context)
{
    record("cuCtxPopCurrent");
    int code = begin("cuCtxPopCurrent");
    if (current() != &primary)
        broken("cuCtxPopCurrent", "what was not pushed");
    *context = stack()[--context_count];
    return code;
}

int cuLinkCreate_v2(unsigned count, unsigned *options, void **values, struct link **state)
{
    char told_options[1024] = "";
    int number = __sync_add_and_fetch(&link_count, 1);
    if (count > MOST_OPTIONS)
        broken("cuLinkCreate", "with too many options");
    for (unsigned i = 0; i < count; i++)
        if (!is_of_the_log(options[i]))
            sprintf(told_options + strlen(told_options), " %u=%zu", options[i], (size_t)values[i]);
    record("cuLinkCreate %d%s", number, told_options);
    int code = begin("cuLinkCreate");
    if (!current())
        broken("cuLinkCreate", "without a context");
    struct link *link = calloc(1, sizeof *link);
    if (!link)
        abort();
    link->number = number;
    link->context = current();
    link->count = count;
    link->options = options;
    link->values = values;
    memcpy(link->options_at_create, options, count * sizeof *options);
    memcpy(link->values_at_create, values, count * sizeof *values);
    link->info_capacity = (size_t)value_of(link, INFO_LOG_SIZE);
    link->error_capacity = (size_t)value_of(link, ERROR_LOG_SIZE);
    link->error = getenv("FAKE_CUDA_ERROR");
    in_link("cuLinkCreate", link, code);
    if (code) {
        free(link);
        return code;
    }
    __sync_add_and_fetch(&live_links, 1);
    *state = link;
    return SUCCESS;
}

int cuLinkAddData_v2(struct link *link, unsigned type, void *data, size_t size, const char *name, unsigned count, unsigned *options,
                     void **values)
{
    int nuls = 0;
    while ((size_t)nuls < size && ((char *)data)[size - 1 - (size_t)nuls] == 0)
        nuls++;
    record("cuLinkAddData %d type %u size %zu nuls %d hash %016llx name %zu %.200s", link->number, type, size, nuls,
           (unsigned long long)hash(data, size), strlen(name), name);
    int code = begin("cuLinkAddData");
    if (count || options || values)
        broken("cuLinkAddData", "with options");
    if (link->complete)
        broken("cuLinkAddData", "after complete");
    if (!code && type == INPUT_PTX && memmem(data, size, "mistake", 7)) {
        link->error = "ptxas application ptx input, line 4; error   : Not a name of any known instruction: 'mistake'";
        code = INVALID_PTX;
    }
    return in_link("cuLinkAddData", link, code);
}

int cuLinkComplete(struct link *link, void **cubin, size_t *size)
{
    record("cuLinkComplete %d", link->number);
    int code = in_link("cuLinkComplete", link, begin("cuLinkComplete"));
    if (link->complete++)
        broken("cuLinkComplete", "twice");
    if (!code) {
        link->output = output(&link->output_size);
        *cubin = link->output;
        *size = link->output_size;
    }
    return code;
}

int cuLinkDestroy(struct link *link)
{
    record("cuLinkDestroy %d", link->number);
    int code = begin("cuLinkDestroy");
    in_link("cuLinkDestroy", link, SUCCESS);
    /* Who reads the output after this sees that it is gone. */
    if (link->output)
        memset(link->output, '#', link->output_size);
    free(link->output);
    link->number = -1;
    free(link);
    __sync_sub_and_fetch(&live_links, 1);
    return code;
}
