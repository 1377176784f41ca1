/*
 * cudalink: links CUDA device code at run time, the same way on every nvJitLink from 12.0 on and on the CUDA driver.
 *
 *   cl_linker_options options = CL_LINKER_OPTIONS_INIT;
 *   cl_linker *linker;
 *   options.arch = "sm_90";
 *   cl_linker_create(&options, &linker);
 *   cl_linker_add_file(linker, CL_INPUT_AUTO, "kernel.ptx");
 *   if (cl_linker_complete(linker) == CL_RESULT_OK) { ... cl_linker_get_output(...) ... }
 *   else puts(cl_linker_get_message(linker));
 *   cl_linker_destroy(linker);
 *
 * Ownership. A linker owns everything that it hands out, and is freed by cl_linker_destroy alone. What a call is given stays the
 *   caller's, and is copied if it is needed longer than the call.
 * Threads. Any thread may call anything; one linker is used by one thread at a time, and different linkers are independent. A
 *   function that takes a const cl_linker may be called by several threads at once while no other function uses that linker.
 *   While cl_linker_complete or cl_library_query runs, no thread may call setenv, and a child that is forked meanwhile must not
 *   call either.
 * Results. Every function that can fail returns a cl_result, CL_RESULT_OK or one class for one mistake, whatever library is
 *   underneath. cl_linker_get_message says in a sentence what the last call that failed, but for getters, found and needs. A getter that fails writes
 *   nothing but its size_out.
 * Texts. UTF-8, and ending in a NUL. Sizes are in bytes, and count the NUL of a text.
 * Side effects. Nothing is written to stdout or stderr by cudalink (nvJitLink writes some messages of its own there, and
 *   Rust prints a fault of cudalink itself before it becomes CL_RESULT_PANIC), no process is started, and no library is searched
 *   for or opened before the first call that needs it. A link of a cubin also opens the CUDA driver, if there is one, for its
 *   version; it is initialised only where it links itself. libcudalink and the libraries that it opened stay loaded until the
 *   process ends.
 */

#ifndef CUDALINK_H
#define CUDALINK_H

#include <stddef.h>
#include <stdint.h>

/** For the fields whose 0 means "not asked for": the value that nvJitLink calls 0. In split_compile and split_compile_extended it
 * means all processors, in jump_table_density 0 percent. */
#define CL_ZERO (-1)

/** Initialises a cl_linker_options: nothing is asked for. */
#define CL_LINKER_OPTIONS_INIT \
  { sizeof(cl_linker_options), NULL, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, \
    NULL, 0, NULL, 0, NULL, 0, NULL, 0, NULL, 0, NULL, 0, NULL, 0, 0, 0, 0 }

/** Initialises a cl_diagnostic. */
#define CL_DIAGNOSTIC_INIT { sizeof(cl_diagnostic), 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0 }

/** Initialises a cl_library_info. */
#define CL_LIBRARY_INFO_INIT { sizeof(cl_library_info), NULL, 0, 0, NULL, NULL, 0, 0, 0, 0, 0, 0 }

/**
 * The version of the header's library as one number: `major * 10000 + minor * 100 + patch`.
 * Compare it with `cudalink_version_number()`, which answers for the library that was loaded.
 */
#define CUDALINK_VERSION_NUMBER 100

/**
 * What a call answered. One class for one mistake, whatever library or version is underneath.
 *
 * Values are pinned: gaps stay, and a number is never given a second meaning.
 * 1-19 are the caller's call, 20-39 the options, 40-59 the environment, 60-89 the inputs and the link, 90-99 the process.
 */
enum cl_result
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * Done.
   */
  CL_RESULT_OK = 0,
  /**
   * A pointer that must point to something is NULL.
   */
  CL_RESULT_NULL_ARGUMENT = 1,
  /**
   * An argument has a value that is not one of those listed for it.
   */
  CL_RESULT_INVALID_ARGUMENT = 2,
  /**
   * The call does not fit the linker's state, such as `add` after `complete`.
   */
  CL_RESULT_INVALID_STATE = 3,
  /**
   * `struct_size` is too small to be any version of the structure, or the part that this library does not know is not zero.
   */
  CL_RESULT_BAD_STRUCT_SIZE = 4,
  /**
   * The buffer is too small; nothing was written but the size that is needed.
   */
  CL_RESULT_BUFFER_TOO_SMALL = 5,
  /**
   * No such option.
   */
  CL_RESULT_UNKNOWN_OPTION = 20,
  /**
   * The option's value is not one that it takes.
   */
  CL_RESULT_BAD_OPTION_VALUE = 21,
  /**
   * Two options, or an option and the output asked for, exclude each other.
   */
  CL_RESULT_INCOMPATIBLE_OPTIONS = 22,
  /**
   * No target architecture was given.
   */
  CL_RESULT_MISSING_ARCH = 23,
  /**
   * The text is no architecture at all, such as `80`, `sm_8` or `SM_80`.
   */
  CL_RESULT_BAD_ARCH = 24,
  /**
   * The library found does not have the option in its version, or the CUDA driver has no such option; the message says who has it.
   */
  CL_RESULT_UNSUPPORTED_OPTION = 25,
  /**
   * The library found does not know the architecture.
   */
  CL_RESULT_UNSUPPORTED_ARCH = 26,
  /**
   * No nvJitLink was found, and the CUDA driver cannot do the job; the message lists every place that was tried.
   */
  CL_RESULT_LIBRARY_NOT_FOUND = 40,
  /**
   * The library that was named cannot be used; the message keeps the loader's reason.
   */
  CL_RESULT_LIBRARY_UNUSABLE = 41,
  /**
   * No CUDA driver was found.
   */
  CL_RESULT_DRIVER_NOT_FOUND = 42,
  /**
   * The CUDA driver answered with an error of its own.
   */
  CL_RESULT_DRIVER_ERROR = 43,
  /**
   * The input file does not exist.
   */
  CL_RESULT_FILE_NOT_FOUND = 44,
  /**
   * The input file could not be read.
   */
  CL_RESULT_IO_ERROR = 45,
  /**
   * Nothing was added before `complete`.
   */
  CL_RESULT_NO_INPUTS = 60,
  /**
   * The input holds nothing.
   */
  CL_RESULT_EMPTY_INPUT = 61,
  /**
   * The input is damaged.
   */
  CL_RESULT_BAD_INPUT = 62,
  /**
   * The input is nothing that can be linked.
   */
  CL_RESULT_UNRECOGNIZED_INPUT = 63,
  /**
   * The input is of another kind than was declared.
   */
  CL_RESULT_WRONG_INPUT_KIND = 64,
  /**
   * The input was made by a newer CUDA release than the library found can read.
   */
  CL_RESULT_INPUT_TOO_NEW = 65,
  /**
   * The input holds no code for the target architecture.
   */
  CL_RESULT_ARCH_MISMATCH = 66,
  /**
   * There is no device code in the inputs.
   */
  CL_RESULT_NO_DEVICE_CODE = 67,
  /**
   * The input is a finished cubin, which a link would drop.
   */
  CL_RESULT_NOT_RELOCATABLE = 68,
  /**
   * The output asked for needs LTO-IR, and the input has none.
   */
  CL_RESULT_NOT_LTOIR = 69,
  /**
   * A symbol is defined twice, or declared as something else than it is.
   */
  CL_RESULT_DUPLICATE_SYMBOL = 70,
  /**
   * A symbol is used and defined nowhere.
   */
  CL_RESULT_UNRESOLVED_SYMBOL = 71,
  /**
   * A kernel that the inputs define is missing from the output.
   */
  CL_RESULT_MISSING_KERNEL = 72,
  /**
   * ptxas or NVVM refused the code; the diagnostic keeps its text.
   */
  CL_RESULT_COMPILE_FAILED = 73,
  /**
   * The link failed for a reason that has no class of its own.
   */
  CL_RESULT_LINK_FAILED = 74,
  /**
   * The output was not asked for, or there is none.
   */
  CL_RESULT_OUTPUT_NOT_AVAILABLE = 75,
  /**
   * A limit was reached, of the caller's or of ours; the message names it.
   */
  CL_RESULT_OVER_LIMIT = 78,
  /**
   * No memory.
   */
  CL_RESULT_OUT_OF_MEMORY = 90,
  /**
   * A fault of cudalink or of the backend that the caller did not cause.
   */
  CL_RESULT_INTERNAL = 98,
  /**
   * A fault of cudalink that was caught at the boundary; the linker can only be destroyed.
   */
  CL_RESULT_PANIC = 99,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum cl_result cl_result;
#else
typedef int32_t cl_result;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * One link: inputs are added, completed once, and read. Opaque.
 *
 * A linker is used by one thread at a time; different linkers are independent. A linker that failed in `add` or `complete`
 * has failed for good: its message, logs and diagnostics can be read, and it must be destroyed.
 */
typedef struct cl_linker cl_linker;

/**
 * Who links. The plan says who did, and why. One of `CL_BACKEND_AUTO`, `CL_BACKEND_NVJITLINK`, `CL_BACKEND_DRIVER`.
 */
typedef uint32_t cl_backend;

/**
 * What a link gives. One of `CL_OUTPUT_CUBIN`, `CL_OUTPUT_PTX`, `CL_OUTPUT_LTOIR`.
 */
typedef uint32_t cl_output_kind;

/**
 * A setting that can be left alone. One of `CL_TRISTATE_UNSET`, `CL_TRISTATE_ON`, `CL_TRISTATE_OFF`.
 */
typedef uint32_t cl_tristate;

/**
 * An optimization level. One of `CL_OPTIMIZATION_UNSET`, `CL_OPTIMIZATION_O0` ... `CL_OPTIMIZATION_O3`.
 */
typedef uint32_t cl_optimization;

/**
 * How much run time to give away for compile time. One of `CL_FAST_COMPILE_UNSET`, `..._MIN`, `..._MID`, `..._MAX`.
 */
typedef uint32_t cl_fast_compile;

/**
 * Which members of an archive are linked. One of `CL_ARCHIVE_MEMBERS_ALL`, `CL_ARCHIVE_MEMBERS_NEEDED`.
 */
typedef uint32_t cl_archive_members;

/**
 * What to link and how.
 *
 * Initialise it with `CL_LINKER_OPTIONS_INIT`, then set what you need. Zero means "not asked for" in every field.
 * Everything that it points to is copied by the call that takes it, and stays the caller's.
 * Later versions add fields at the end; `struct_size` tells which version the caller was compiled with.
 *
 * An option can be set by its field or in nvJitLink's spelling through `flags`. Both are checked by the same table, which
 * knows since when each option exists: an option that the library found does not have is `CL_RESULT_UNSUPPORTED_OPTION`.
 * The same option twice with two values is `CL_RESULT_INCOMPATIBLE_OPTIONS`.
 */
typedef struct cl_linker_options {
  /**
   * `sizeof(cl_linker_options)`, set by `CL_LINKER_OPTIONS_INIT`.
   */
  size_t struct_size;
  /**
   * The architecture to link for, such as "sm_90", "sm_90a" or "sm_100f"; for PTX output also "compute_90". Required. (`-arch=`)
   */
  const char *arch;
  /**
   * The nvJitLink to use and no other; NULL searches for one, see `cl_library_query`. Not looked at where `backend` is `CL_BACKEND_DRIVER`, which
   * the plan tells.
   */
  const char *library_path;
  /**
   * Who links.
   */
  cl_backend backend;
  /**
   * What the link gives: `CL_OUTPUT_CUBIN` unless set. (`-ptx`)
   */
  cl_output_kind output;
  /**
   * Optimize at link time. Unset: if the inputs hold LTO-IR or the output needs it. (`-lto`)
   */
  cl_tristate lto;
  /**
   * Link incrementally: give another relocatable object, with symbols left undefined. nvJitLink 13.0. (`-r`)
   */
  cl_tristate relocatable;
  /**
   * Generate debug information. (`-g`)
   */
  cl_tristate debug;
  /**
   * Generate line information. (`-lineinfo`)
   */
  cl_tristate lineinfo;
  /**
   * Flush denormal numbers to zero. (`-ftz=`)
   */
  cl_tristate ftz;
  /**
   * Precise division. (`-prec-div=`)
   */
  cl_tristate prec_div;
  /**
   * Precise square root. (`-prec-sqrt=`)
   */
  cl_tristate prec_sqrt;
  /**
   * Contract a multiplication and an addition. (`-fma=`)
   */
  cl_tristate fma;
  /**
   * Remove variables that device code does not use. (`-optimize-unused-variables`)
   */
  cl_tristate optimize_unused_variables;
  /**
   * Use the newest NVVM for every architecture. nvJitLink 13.5. (`-nvvm-latest`)
   */
  cl_tristate nvvm_latest;
  /**
   * Do not use nvJitLink's own cache; before there is none, and nothing to do. nvJitLink 12.5. (`-no-cache`)
   */
  cl_tristate no_cache;
  /**
   * Documented by NVIDIA since 12.6 and accepted by no nvJitLink up to 13.5. (`-device-stack-protector`)
   */
  cl_tristate device_stack_protector;
  /**
   * Put timings into the info log. (`-time`)
   */
  cl_tristate time;
  /**
   * Put more into the info log. (`-verbose`)
   */
  cl_tristate verbose;
  /**
   * Optimization level. (`-O`)
   */
  cl_optimization optimization;
  /**
   * Trade run time for compile time. nvJitLink 12.5. `..._MIN` and `..._MID` only from 12.9 on. (`-Ofc=`)
   */
  cl_fast_compile fast_compile;
  /**
   * Registers that a thread may use. (`-maxrregcount=`)
   */
  int32_t max_register_count;
  /**
   * Threads of one link; `CL_ZERO` for all processors. nvJitLink 12.3. (`-split-compile=`)
   */
  int32_t split_compile;
  /**
   * The same, more aggressive, with LTO only. nvJitLink 12.3. (`-split-compile-extended=`)
   */
  int32_t split_compile_extended;
  /**
   * Percent of cases that make a switch a jump table, 1 to 101 or `CL_ZERO`, with LTO only. nvJitLink 12.3. (`-jump-table-density=`)
   */
  int32_t jump_table_density;
  /**
   * Kernels to keep: every one whose symbol contains one of the texts. Others may be removed. (`-kernels-used=`)
   */
  const char *const *kernels_used;
  /**
   * How many there are.
   */
  size_t kernels_used_count;
  /**
   * Variables to keep: every one whose symbol contains one of the texts. Others may be removed. (`-variables-used=`)
   */
  const char *const *variables_used;
  /**
   * How many there are.
   */
  size_t variables_used_count;
  /**
   * Options for ptxas, one each. (`-Xptxas=`)
   */
  const char *const *ptxas_options;
  /**
   * How many there are.
   */
  size_t ptxas_options_count;
  /**
   * Options in nvJitLink's spelling, such as "-arch=sm_90" or "-lto".
   */
  const char *const *flags;
  /**
   * How many there are.
   */
  size_t flag_count;
  /**
   * Flags that nvJitLink gets as they are, for what cudalink does not know. Nothing checks them beyond that they are none of the
   * options above, and there are strings that make nvJitLink end the process. The CUDA driver takes none: `CL_RESULT_UNSUPPORTED_OPTION`.
   */
  const char *const *pass_through;
  /**
   * How many there are.
   */
  size_t pass_through_count;
  /**
   * Options for NVVM, one each. (`-Xnvvm=`)
   */
  const char *const *nvvm_options;
  /**
   * How many there are.
   */
  size_t nvvm_options_count;
  /**
   * Kernels that the output must have, or the link fails with `CL_RESULT_MISSING_KERNEL`.
   */
  const char *const *required_kernels;
  /**
   * How many there are.
   */
  size_t required_kernels_count;
  /**
   * Which members of an archive are linked: all unless set.
   */
  cl_archive_members archive_members;
  /**
   * Zero.
   */
  uint32_t reserved;
  /**
   * Bytes that the packed code of the inputs may have together once unpacked, of a link and so of one input; 0 is 8 GiB,
   * which no device library that we know reaches. More is `CL_RESULT_OVER_LIMIT`. Counted is what a link has unpacked:
   * of each fatbin the image that is linked, and all of those that are unpacked because the library cannot.
   */
  uint64_t max_unpacked_bytes;
} cl_linker_options;

/**
 * What an input is. One of `CL_INPUT_AUTO`, `CL_INPUT_CUBIN` ... `CL_INPUT_LIBRARY`.
 */
typedef uint32_t cl_input_kind;

/**
 * A log. One of `CL_LOG_ERROR`, `CL_LOG_INFO`, `CL_LOG_PLAN`, `CL_LOG_OUTPUT`.
 */
typedef uint32_t cl_log_kind;

/**
 * How much a diagnostic matters. One of `CL_SEVERITY_ERROR`, `CL_SEVERITY_WARNING`.
 */
typedef uint32_t cl_severity;

/**
 * One finding about a link. The strings belong to the linker and live until it is destroyed.
 */
typedef struct cl_diagnostic {
  /**
   * `sizeof(cl_diagnostic)`, set by `CL_DIAGNOSTIC_INIT`.
   */
  size_t struct_size;
  /**
   * Error or warning.
   */
  cl_severity severity;
  /**
   * The class of the mistake, a `cl_result`.
   */
  int32_t result;
  /**
   * The name of the input that it is about; NULL if it is about none.
   */
  const char *input;
  /**
   * The symbol that it is about; NULL if it is about none.
   */
  const char *symbol;
  /**
   * One sentence: the input, what was found, what is needed. Never NULL.
   */
  const char *message;
  /**
   * What to do about it; NULL if there is nothing to say.
   */
  const char *hint;
  /**
   * The backend's function that answered, such as "nvJitLinkComplete"; NULL if none did.
   */
  const char *backend_call;
  /**
   * The backend's text, whole; NULL if none answered. Findings of one answer share one text, and so this pointer.
   */
  const char *backend_text;
  /**
   * The backend's own result, unchanged; its meaning depends on the library's version. 0 if none answered.
   */
  int32_t backend_code;
  /**
   * The line of the input's text that it is about, counted from 1; 0 if it is about none.
   */
  uint32_t line;
} cl_diagnostic;

/**
 * Which library would be used, and why.
 *
 * Initialise it with `CL_LIBRARY_INFO_INIT`. The strings are static.
 */
typedef struct cl_library_info {
  /**
   * `sizeof(cl_library_info)`, set by `CL_LIBRARY_INFO_INIT`.
   */
  size_t struct_size;
  /**
   * In: where a failure's message is written, with a NUL, cut if it is longer. May be NULL.
   */
  char *message;
  /**
   * In: the bytes at `message`.
   */
  size_t message_capacity;
  /**
   * Out: the bytes that the whole message needs, with its NUL; 1 on success.
   */
  size_t message_size;
  /**
   * Out: the file, absolute and without links. NULL on failure.
   */
  const char *path;
  /**
   * Out: by which rule it was found, for a person. NULL on failure.
   */
  const char *found_by;
  /**
   * Out: the CUDA release, such as 13 and 5; both 0 if the library does not say. nvJitLink 12.0 to 12.2 have no function that tells,
   * so theirs is read from the names that they export. The driver tells the newest release that it runs.
   */
  uint32_t version_major;
  /**
   * Out: see `version_major`.
   */
  uint32_t version_minor;
  /**
   * Out: 1 if the library exports `nvJitLinkVersion`, else 0.
   */
  uint32_t has_version;
  /**
   * Out: 1 if the library exports `nvJitLinkGetLinkedLTOIR`, else 0. It works from 13.4 on.
   */
  uint32_t has_linked_ltoir;
  /**
   * Out: whose library it is, `CL_BACKEND_NVJITLINK` or `CL_BACKEND_DRIVER`. `CL_BACKEND_AUTO` on failure.
   */
  cl_backend backend;
  /**
   * Out: 0.
   */
  uint32_t reserved;
} cl_library_info;

/**
 * Whatever the bytes are. A kind that the bytes contradict is `CL_RESULT_WRONG_INPUT_KIND`.
 */
#define CL_INPUT_AUTO 0

/**
 * A CUDA binary: an ELF file for the machine EM_CUDA.
 */
#define CL_INPUT_CUBIN 1

/**
 * PTX text. NUL bytes at its end are not needed and do no harm.
 */
#define CL_INPUT_PTX 2

/**
 * LTO-IR, as `nvcc -dlto` and NVRTC's `-dlto` make it.
 */
#define CL_INPUT_LTOIR 3

/**
 * A fat binary: code for several architectures.
 */
#define CL_INPUT_FATBIN 4

/**
 * A host object that carries device code.
 */
#define CL_INPUT_OBJECT 5

/**
 * An archive (`ar`) of host objects.
 */
#define CL_INPUT_LIBRARY 6

/**
 * The backend's error log. Lines in it after a link that succeeded are no errors.
 */
#define CL_LOG_ERROR 1

/**
 * The backend's info log.
 */
#define CL_LOG_INFO 2

/**
 * The plan as JSON: backend, library, options as they were passed, each decision with its reason, and
 * of each image in the inputs what is used: of a fatbin that is one entry. Empty before `complete`.
 */
#define CL_LOG_PLAN 3

/**
 * What came out as JSON: `kind`, `size` in bytes, the `kernels` that it defines and the symbols that it leaves `undefined`. Of LTO-IR the last two
 * are not known, and empty.
 */
#define CL_LOG_OUTPUT 4

/**
 * The link failed because of it.
 */
#define CL_SEVERITY_ERROR 1

/**
 * The link went on.
 */
#define CL_SEVERITY_WARNING 2

/**
 * Not asked for: nvJitLink's default, or what the inputs call for.
 */
#define CL_TRISTATE_UNSET 0

/**
 * Asked for.
 */
#define CL_TRISTATE_ON 1

/**
 * Asked not to be.
 */
#define CL_TRISTATE_OFF 2

/**
 * A CUDA binary (an ELF file) for the driver to load. This is what a link gives unless something else is asked for.
 */
#define CL_OUTPUT_CUBIN 1

/**
 * PTX text, ending in one NUL that its size counts. Every input must be LTO-IR.
 */
#define CL_OUTPUT_PTX 2

/**
 * LTO-IR that later links take as an input. Needs nvJitLink 13.4.
 */
#define CL_OUTPUT_LTOIR 3

/**
 * What the variable `CUDALINK_BACKEND` says (`nvjitlink` or `driver`), else nvJitLink where it can do the job, else the CUDA driver. An nvJitLink
 * that is named is the only one asked: by `library_path`, which counts before that variable, or by the variable `CUDALINK_NVJITLINK`, which counts
 * after it. A plan by the driver that was not asked for tells why, and so does a warning.
 */
#define CL_BACKEND_AUTO 0

/**
 * nvJitLink.
 */
#define CL_BACKEND_NVJITLINK 1

/**
 * The CUDA driver's cuLink functions. They link cubins and PTX to a cubin, with the options that have a `CUjit_option`; all else, LTO-IR among
 * it, is `CL_RESULT_UNSUPPORTED_OPTION`. They need a GPU, and a context: the calling thread's current one is used, or else the primary context
 * of the first device is retained for the link, which takes far longer than the link does.
 */
#define CL_BACKEND_DRIVER 2

/**
 * nvJitLink's default, which is 3.
 */
#define CL_OPTIMIZATION_UNSET 0

/**
 * `-O0`
 */
#define CL_OPTIMIZATION_O0 1

/**
 * `-O1`; nvJitLink before 12.3, and the CUDA driver
 */
#define CL_OPTIMIZATION_O1 2

/**
 * `-O2`; nvJitLink before 12.3, and the CUDA driver
 */
#define CL_OPTIMIZATION_O2 3

/**
 * `-O3`
 */
#define CL_OPTIMIZATION_O3 4

/**
 * None.
 */
#define CL_FAST_COMPILE_UNSET 0

/**
 * `-Ofc=min`
 */
#define CL_FAST_COMPILE_MIN 1

/**
 * `-Ofc=mid`
 */
#define CL_FAST_COMPILE_MID 2

/**
 * `-Ofc=max`: the fastest compilation.
 */
#define CL_FAST_COMPILE_MAX 3

/**
 * All, as nvJitLink does.
 */
#define CL_ARCHIVE_MEMBERS_ALL 0

/**
 * Those that define a symbol that is undefined so far, until nothing changes. With LTO-IR among
 * the inputs these are all, for LTO-IR does not tell what it needs.
 */
#define CL_ARCHIVE_MEMBERS_NEEDED 1

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Makes a linker.
 *
 * Nothing is searched for or opened yet. `options` is copied; NULL asks for nothing.
 * On failure too `*linker_out` is a linker, so that its message can be read; it must be destroyed.
 *
 * Results: `CL_RESULT_NULL_ARGUMENT` (`linker_out`, or a list that has a count), `..._BAD_STRUCT_SIZE`, `..._INVALID_ARGUMENT`,
 * `..._UNKNOWN_OPTION`, `..._BAD_OPTION_VALUE`, `..._INCOMPATIBLE_OPTIONS`, `..._BAD_ARCH`. Any thread may call it.
 */
cl_result cl_linker_create(const struct cl_linker_options *options, struct cl_linker **linker_out);

/**
 * Adds one input from memory.
 *
 * `data` is copied, so the caller may free it when the call returns. `name` is what messages call the input; NULL calls it
 * "input N". The input is looked at here, and linked in `cl_linker_complete`.
 *
 * Results: `CL_RESULT_NULL_ARGUMENT`, `..._INVALID_ARGUMENT` (no such kind, or a name that is not UTF-8), `..._INVALID_STATE`; and, which make
 * the linker fail for good, `..._EMPTY_INPUT`, `..._BAD_INPUT`, `..._UNRECOGNIZED_INPUT`, `..._WRONG_INPUT_KIND`.
 */
cl_result cl_linker_add(struct cl_linker *linker,
                        cl_input_kind kind,
                        const void *data,
                        size_t size,
                        const char *name);

/**
 * Adds one input from a file, which is read now. Messages call it by `path`.
 *
 * Results: as for `cl_linker_add`, and `CL_RESULT_FILE_NOT_FOUND`, `..._IO_ERROR`, `..._OVER_LIMIT` (the files of a thin archive),
 * which make the linker fail for good.
 */
cl_result cl_linker_add_file(struct cl_linker *linker,
                             cl_input_kind kind,
                             const char *path);

/**
 * Links what was added. The library is searched for here, and opened if it is not yet; see `CL_BACKEND_AUTO` for who links. Where the CUDA driver
 * does, the calling thread's current context is used, and is current again when the call returns.
 *
 * Results that make the linker fail for good: `CL_RESULT_NO_INPUTS`, `..._MISSING_ARCH`, `..._INCOMPATIBLE_OPTIONS`,
 * `..._UNSUPPORTED_OPTION`, `..._UNSUPPORTED_ARCH`, `..._LIBRARY_NOT_FOUND`, `..._LIBRARY_UNUSABLE`, `..._DRIVER_NOT_FOUND`,
 * `..._DRIVER_ERROR` (also in a process forked after its parent used CUDA), `..._BAD_OPTION_VALUE` (the variable `CUDALINK_BACKEND`), and those of the
 * inputs and the link (60 to 78). `CL_RESULT_INVALID_STATE` if the linker is complete or has failed.
 */
cl_result cl_linker_complete(struct cl_linker *linker);

/**
 * Frees a linker and everything that it handed out. NULL is a no-op.
 */
void cl_linker_destroy(struct cl_linker *linker);

/**
 * Gives the output of a link that succeeded.
 *
 * `*size_out` is the size in bytes, whatever the capacity. With `buffer` NULL and `capacity` 0 that is all; otherwise the output is
 * written to `buffer`, which has `capacity` bytes and stays the caller's. `size_out` may be NULL if `buffer` is not.
 *
 * Results: `CL_RESULT_NULL_ARGUMENT`, `..._INVALID_ARGUMENT`, `..._INVALID_STATE` (not complete, or failed), `..._OUTPUT_NOT_AVAILABLE` (another kind was
 * asked for in the options), `..._BUFFER_TOO_SMALL` (nothing written). On failure but for the last `*size_out` is 0.
 * The call does not change the linker, nor its message.
 */
cl_result cl_linker_get_output(const struct cl_linker *linker,
                               cl_output_kind kind,
                               void *buffer,
                               size_t capacity,
                               size_t *size_out);

/**
 * Gives a log as text, ending in a NUL that the size counts.
 *
 * Sizes, buffers and results as for `cl_linker_get_output`. A log can be read in every state; before `complete` it is empty.
 */
cl_result cl_linker_get_log(const struct cl_linker *linker, cl_log_kind kind, char *buffer, size_t capacity, size_t *size_out);

/**
 * The last failure in one sentence; "" if there was none, and for NULL. Never NULL.
 *
 * The text belongs to the linker and lives until its next call that can fail, or its end.
 */
const char *cl_linker_get_message(const struct cl_linker *linker);

/**
 * How many findings there are: errors, and warnings of a link that succeeded too. 0 for NULL.
 */
size_t cl_linker_diagnostic_count(const struct cl_linker *linker);

/**
 * Gives the finding at `index`, counted from 0. `*diagnostic_out` must be initialised with `CL_DIAGNOSTIC_INIT`.
 *
 * Results: `CL_RESULT_NULL_ARGUMENT`, `..._INVALID_ARGUMENT` (no such index), `..._BAD_STRUCT_SIZE`.
 */
cl_result cl_linker_get_diagnostic(const struct cl_linker *linker, size_t index, struct cl_diagnostic *diagnostic_out);

/**
 * Says which library links: the nvJitLink that is found first, or the CUDA driver where there is none or `backend` asks for it. The library is
 * searched for and opened; nothing is linked or initialised.
 *
 * Of the options `backend` and `library_path` count. A link takes a later nvJitLink of the search, or the driver, where the first cannot do what
 * is asked, and says so in its plan. The driver is `libcuda.so.1` of the system's loader.
 *
 * The search for nvJitLink takes the first of these that can be used: `library_path` of the options; the variable `CUDALINK_NVJITLINK`;
 * an NVIDIA wheel in the site-packages that libcudalink itself is in; one in `$VIRTUAL_ENV`; `$CONDA_PREFIX`; `$CUDA_PATH`;
 * `$CUDA_HOME`; the system's loader; `/usr/local/cuda`; `/opt/cuda`. In each place it looks for `libnvJitLink.so.13`,
 * `libnvJitLink.so.12` and `libnvJitLink.so`. The first two are never passed over: what they name is used or is an error.
 * A library is opened once, by its absolute path, for itself only (`RTLD_LOCAL`), and never closed.
 *
 * `options` may be NULL. Results: `CL_RESULT_NULL_ARGUMENT` (`info_out`), `..._BAD_STRUCT_SIZE`, `..._LIBRARY_NOT_FOUND` (the message lists every
 * place tried), `..._LIBRARY_UNUSABLE` (the message keeps the loader's reason), `..._DRIVER_NOT_FOUND`, and those of `cl_linker_create`. Any thread may call it.
 */
cl_result cl_library_query(const struct cl_linker_options *options,
                           struct cl_library_info *info_out);

/**
 * Describes an input as one JSON object:
 *
 * - `name`; `kind`: "cubin", "ptx", "ltoir", "fatbin", "object", "library" or null; `size` in bytes; `has_ltoir`
 * - `members`, the names of an archive's members that have device code
 * - `parts`, every piece of device code in the order of the input: `kind`; `arch`, such as "sm_90a"; `cuda`, the release that made it, or the
 *   oldest that can read it; `relocatable`; `compressed`: "stored", "lz4" or "zstd"; `offset`, `size` and `unpacked_size` in bytes; `member`,
 *   the index in `members` of the one that it is in; `section` of a host object. What is not known is null.
 * - `warnings`, sentences; `result` and `message`, which say why it cannot be linked
 *
 * `data` is only read during the call. `name` may be NULL. Sizes and buffers as for `cl_linker_get_log`. What cannot be linked is described
 * as well as what can, so the call succeeds for damaged input too.
 *
 * Results: `CL_RESULT_NULL_ARGUMENT`, `..._INVALID_ARGUMENT`, `..._BUFFER_TOO_SMALL`. Any thread may call it.
 */
cl_result cl_input_describe(const void *data,
                            size_t size,
                            const char *name,
                            char *buffer,
                            size_t capacity,
                            size_t *size_out);

/**
 * The name of a result, such as "missing_arch"; "unknown" for a number that is none. Static; never NULL. Any thread may call it.
 */
const char *cl_result_string(int32_t result);

/**
 * The version of the loaded library, as `CUDALINK_VERSION_NUMBER` is made. Any thread may call it.
 */
uint32_t cudalink_version_number(void);

/**
 * The version of the loaded library as text, such as "0.1.0". Static; never NULL. Any thread may call it.
 */
const char *cudalink_version_string(void);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* CUDALINK_H */
