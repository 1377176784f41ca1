/*
 * cudalink for C++17 and later: cudalink.h with owned handles, owned strings, and exceptions for those who want them.
 *
 *   auto options = cudalink::options().arch("sm_90").debug();
 *   auto linker = cudalink::linker(options);
 *   linker.add_file("kernel.ptx").add(ptx_text, "helper.ptx").complete();
 *   std::vector<std::byte> cubin = linker.output();
 *
 * Two forms. What can fail is there twice. `complete()` throws cudalink::error; `try_complete()` throws nothing and returns the
 *   cl_result. What a `try_` form gives goes into an argument `..._out`, which is written on success only if nothing else is said.
 *   With -fno-exceptions there are the `try_` forms alone, and no memory ends the process. All units of a program are to be compiled
 *   alike in this.
 * Results. Each class of cl_result is the same mistake as in C, and the texts here name it as cudalink.h does. No memory is
 *   CL_RESULT_OUT_OF_MEMORY where the form is `try_`; where it throws, it is that class or std::bad_alloc.
 * Ownership. Everything that is given out is owned by the caller, apart from what linker::message and linker::get give. What a
 *   call is given stays the caller's, and is copied if it is needed longer than the call.
 * Threads. As in C: one linker is used by one thread at a time, but for its const functions; different linkers are independent.
 *   While complete or query runs, no thread may call setenv, and a child that is forked meanwhile must not call either.
 * Texts. UTF-8. A std::string ends at its first NUL for the C library, and comes back without the NUL. Sizes are in bytes.
 *
 * There is nothing to link beside libcudalink. C functions can be called too; each function here names the one it calls.
 */

#ifndef CUDALINK_HPP
#define CUDALINK_HPP

#include "cudalink.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#if __cplusplus < 201703L
#error "cudalink.hpp needs C++17; cudalink.h does with C++11"
#endif

namespace cudalink {

/** What an input is. A kind that the bytes contradict is CL_RESULT_WRONG_INPUT_KIND. */
enum class input_kind : std::uint32_t {
  /** Whatever the bytes are. */
  automatic = CL_INPUT_AUTO,
  /** A CUDA binary: an ELF file for the machine EM_CUDA. */
  cubin = CL_INPUT_CUBIN,
  /** PTX text. NUL bytes at its end are not needed and do no harm. */
  ptx = CL_INPUT_PTX,
  /** LTO-IR, as `nvcc -dlto` and NVRTC's `-dlto` make it. */
  ltoir = CL_INPUT_LTOIR,
  /** A fat binary: code for several architectures. */
  fatbin = CL_INPUT_FATBIN,
  /** A host object that carries device code. */
  object = CL_INPUT_OBJECT,
  /** An archive (`ar`) of host objects. */
  library = CL_INPUT_LIBRARY
};

/** What a link gives. */
enum class output_kind : std::uint32_t {
  /** A CUDA binary (an ELF file) for the driver to load. This is what a link gives unless something else is asked for. */
  cubin = CL_OUTPUT_CUBIN,
  /** PTX text. Every input must be LTO-IR. */
  ptx = CL_OUTPUT_PTX,
  /** LTO-IR that later links take as an input. Needs nvJitLink 13.4. */
  ltoir = CL_OUTPUT_LTOIR
};

/** A log. */
enum class log_kind : std::uint32_t {
  /** The backend's error log. Lines in it after a link that succeeded are no errors. */
  error = CL_LOG_ERROR,
  /** The backend's info log. */
  info = CL_LOG_INFO,
  /** The plan as JSON: backend, library, options as they were passed, and each decision with its reason. */
  plan = CL_LOG_PLAN,
  /** What came out as JSON: kind, size in bytes, kernels and undefined symbols; of LTO-IR the last two are not known. */
  output = CL_LOG_OUTPUT
};

/** How much a diagnostic matters. */
enum class severity_level : std::uint32_t {
  /** The link failed because of it. */
  error = CL_SEVERITY_ERROR,
  /** The link went on. */
  warning = CL_SEVERITY_WARNING
};

/** Who links. */
enum class backend_kind : std::uint32_t {
  /** What the variable `CUDALINK_BACKEND` says, else nvJitLink where it can do the job, else the CUDA driver; see cudalink.h. */
  automatic = CL_BACKEND_AUTO,
  /** nvJitLink. */
  nvjitlink = CL_BACKEND_NVJITLINK,
  /** The CUDA driver, which links cubins and PTX to a cubin and needs a GPU; see cudalink.h. */
  driver = CL_BACKEND_DRIVER
};

/** An optimization level. */
enum class optimization_level : std::uint32_t {
  /** Not asked for: nvJitLink's default, which is 3. */
  unset = CL_OPTIMIZATION_UNSET,
  /** `-O0` */
  o0 = CL_OPTIMIZATION_O0,
  /** `-O1`; nvJitLink before 12.3, and the CUDA driver */
  o1 = CL_OPTIMIZATION_O1,
  /** `-O2`; nvJitLink before 12.3, and the CUDA driver */
  o2 = CL_OPTIMIZATION_O2,
  /** `-O3` */
  o3 = CL_OPTIMIZATION_O3
};

/** How much run time to give away for compile time. */
enum class fast_compile_level : std::uint32_t {
  /** None. */
  unset = CL_FAST_COMPILE_UNSET,
  /** `-Ofc=min` */
  min = CL_FAST_COMPILE_MIN,
  /** `-Ofc=mid` */
  mid = CL_FAST_COMPILE_MID,
  /** `-Ofc=max`: the fastest compilation. */
  max = CL_FAST_COMPILE_MAX
};

/** Which members of an archive are linked. */
enum class archive_member_set : std::uint32_t {
  /** All, as nvJitLink does. */
  all = CL_ARCHIVE_MEMBERS_ALL,
  /**
   * Those that define a symbol that is undefined so far, until nothing changes. With LTO-IR among
   * the inputs these are all, for LTO-IR does not tell what it needs.
   */
  needed = CL_ARCHIVE_MEMBERS_NEEDED
};

/**
 * Bytes of somebody else: a pointer and a size, such as `{image, sizeof image}`, or anything contiguous that has data() and size(),
 * such as std::string, std::string_view, std::vector<char>, std::array<unsigned char, N> or std::span. It owns nothing, so what it was
 * made of must outlive it; a call that takes one is done with it when it returns.
 */
class bytes_view {
  template <class Range>
  using element = std::remove_cv_t<std::remove_reference_t<decltype(*std::declval<const Range &>().data())>>;
  template <class Range>
  using if_contiguous = std::enable_if_t<(std::is_integral_v<element<Range>> || std::is_same_v<element<Range>, std::byte>) &&
                                         std::is_convertible_v<decltype(std::declval<const Range &>().size()), std::size_t>>;

 public:
  /** `size` bytes at `data`, which may be null if there are none. */
  constexpr bytes_view(const void *data, std::size_t size) noexcept : data_(data), size_(size) {}

  /** All elements of a range of bytes or integers. */
  template <class Range, class = if_contiguous<Range>>
  constexpr bytes_view(const Range &range) noexcept
      : data_(range.data()), size_(static_cast<std::size_t>(range.size()) * sizeof(element<Range>)) {}

  /** The first byte. */
  constexpr const void *data() const noexcept { return data_; }

  /** How many bytes there are. */
  constexpr std::size_t size() const noexcept { return size_; }

 private:
  const void *data_;
  std::size_t size_;
};

/**
 * What to link and how: the fields of cl_linker_options, each by a setter of its name, which can be chained. It owns what it is given,
 * and can be copied. What is not set is not asked for.
 *
 * A switch is asked for by `debug()`, asked not to be by `debug(false)`, and left alone again by `debug(std::nullopt)`; so is a number.
 * A setter of a list replaces the list. Nothing is checked before a linker is made of it; setters throw nothing but std::bad_alloc.
 */
class options {
 public:
  /** A switch: on, off, or left alone. */
  using tristate = std::optional<bool>;
  /** A number, or none. 0 is what nvJitLink calls 0, as CL_ZERO is in C, and not "not asked for". */
  using number = std::optional<std::int32_t>;
  /** Texts, which may be empty. */
  using list = std::vector<std::string>;

  /** The architecture to link for, such as "sm_90", "sm_90a" or "sm_100f"; for PTX output also "compute_90". Required. (`-arch=`) */
  options &arch(std::string name) { return set(arch_, std::move(name)); }

  /** The nvJitLink to use and no other; an empty path, as unset, searches for one, see query. */
  options &library_path(const std::filesystem::path &file) { return set(library_path_, file.string()); }

  /** Who links. */
  options &backend(backend_kind kind) { return set(raw_.backend, static_cast<cl_backend>(kind)); }

  /** What the link gives: a cubin unless set. (`-ptx`) */
  options &output(output_kind kind) { return set(raw_.output, static_cast<cl_output_kind>(kind)); }

  /** Optimize at link time. Unset: if the inputs hold LTO-IR or the output needs it. (`-lto`) */
  options &lto(tristate on = true) { return set(raw_.lto, in_c(on)); }

  /** Link incrementally: give another relocatable object, with symbols left undefined. nvJitLink 13.0. (`-r`) */
  options &relocatable(tristate on = true) { return set(raw_.relocatable, in_c(on)); }

  /** Generate debug information. (`-g`) */
  options &debug(tristate on = true) { return set(raw_.debug, in_c(on)); }

  /** Generate line information. (`-lineinfo`) */
  options &lineinfo(tristate on = true) { return set(raw_.lineinfo, in_c(on)); }

  /** Flush denormal numbers to zero. (`-ftz=`) */
  options &ftz(tristate on = true) { return set(raw_.ftz, in_c(on)); }

  /** Precise division. (`-prec-div=`) */
  options &prec_div(tristate on = true) { return set(raw_.prec_div, in_c(on)); }

  /** Precise square root. (`-prec-sqrt=`) */
  options &prec_sqrt(tristate on = true) { return set(raw_.prec_sqrt, in_c(on)); }

  /** Contract a multiplication and an addition. (`-fma=`) */
  options &fma(tristate on = true) { return set(raw_.fma, in_c(on)); }

  /** Remove variables that device code does not use. (`-optimize-unused-variables`) */
  options &optimize_unused_variables(tristate on = true) { return set(raw_.optimize_unused_variables, in_c(on)); }

  /** Use the newest NVVM for every architecture. nvJitLink 13.5. (`-nvvm-latest`) */
  options &nvvm_latest(tristate on = true) { return set(raw_.nvvm_latest, in_c(on)); }

  /** Do not use nvJitLink's own cache; before there is none, and nothing to do. nvJitLink 12.5. (`-no-cache`) */
  options &no_cache(tristate on = true) { return set(raw_.no_cache, in_c(on)); }

  /** Documented by NVIDIA since 12.6 and accepted by no nvJitLink up to 13.5. (`-device-stack-protector`) */
  options &device_stack_protector(tristate on = true) { return set(raw_.device_stack_protector, in_c(on)); }

  /** Put timings into the info log. (`-time`) */
  options &time(tristate on = true) { return set(raw_.time, in_c(on)); }

  /** Put more into the info log. (`-verbose`) */
  options &verbose(tristate on = true) { return set(raw_.verbose, in_c(on)); }

  /** Optimization level. (`-O`) */
  options &optimization(optimization_level level) { return set(raw_.optimization, static_cast<cl_optimization>(level)); }

  /** Trade run time for compile time. nvJitLink 12.5. `min` and `mid` only from 12.9 on. (`-Ofc=`) */
  options &fast_compile(fast_compile_level level) { return set(raw_.fast_compile, static_cast<cl_fast_compile>(level)); }

  /** Registers that a thread may use. (`-maxrregcount=`) */
  options &max_register_count(number registers) { return set(raw_.max_register_count, in_c(registers)); }

  /** Threads of one link; 0 for all processors. nvJitLink 12.3. (`-split-compile=`) */
  options &split_compile(number threads) { return set(raw_.split_compile, in_c(threads)); }

  /** The same, more aggressive, with LTO only. nvJitLink 12.3. (`-split-compile-extended=`) */
  options &split_compile_extended(number threads) { return set(raw_.split_compile_extended, in_c(threads)); }

  /** Percent of cases that make a switch a jump table, 0 to 101, with LTO only. nvJitLink 12.3. (`-jump-table-density=`) */
  options &jump_table_density(number percent) { return set(raw_.jump_table_density, in_c(percent)); }

  /** Kernels to keep: every one whose symbol contains one of the texts. Others may be removed. (`-kernels-used=`) */
  options &kernels_used(list names) { return set(kernels_used_, std::move(names)); }

  /** Variables to keep: every one whose symbol contains one of the texts. Others may be removed. (`-variables-used=`) */
  options &variables_used(list names) { return set(variables_used_, std::move(names)); }

  /** Options for ptxas, one each. (`-Xptxas=`) */
  options &ptxas_options(list each) { return set(ptxas_options_, std::move(each)); }

  /** Options for NVVM, one each. (`-Xnvvm=`) */
  options &nvvm_options(list each) { return set(nvvm_options_, std::move(each)); }

  /** Options in nvJitLink's spelling, such as "-arch=sm_90" or "-lto". They are checked as those by setters are. */
  options &flags(list each) { return set(flags_, std::move(each)); }

  /**
   * Flags that nvJitLink gets as they are, for what cudalink does not know. Nothing checks them beyond that they are none of the
   * options above, and there are strings that make nvJitLink end the process.
   */
  options &pass_through(list each) { return set(pass_through_, std::move(each)); }

  /** Kernels that the output must have, or the link fails with CL_RESULT_MISSING_KERNEL. */
  options &required_kernels(list names) { return set(required_kernels_, std::move(names)); }

  /** Which members of an archive are linked: all unless set. */
  options &archive_members(archive_member_set members) { return set(raw_.archive_members, static_cast<cl_archive_members>(members)); }

  /**
   * Bytes that the packed code of the inputs may have together once unpacked, of a link and so of one input; 0 is the default.
   * More is CL_RESULT_OVER_LIMIT.
   */
  options &max_unpacked_bytes(std::uint64_t bytes) { return set(raw_.max_unpacked_bytes, bytes); }

 private:
  friend class c_options;

  template <class Field>
  options &set(Field &field, Field value) {
    field = std::move(value);
    return *this;
  }

  static cl_tristate in_c(tristate on) {
    return on ? (*on ? CL_TRISTATE_ON : CL_TRISTATE_OFF) : CL_TRISTATE_UNSET;
  }

  static std::int32_t in_c(number value) { return value ? (*value == 0 ? CL_ZERO : *value) : 0; }

  // The fields without a pointer; c_options adds those.
  cl_linker_options raw_ = CL_LINKER_OPTIONS_INIT;
  std::string arch_, library_path_;
  list kernels_used_, variables_used_, ptxas_options_, flags_, pass_through_, nvvm_options_, required_kernels_;
};

/**
 * Options as the structure of C, for a function of cudalink.h. It points into the options that it was made of, which must outlive it
 * unchanged. Making one throws nothing but std::bad_alloc.
 */
class c_options {
 public:
  /** The structure for `from`. */
  explicit c_options(const options &from) : raw_(from.raw_) {
    if (!from.arch_.empty()) raw_.arch = from.arch_.c_str();
    if (!from.library_path_.empty()) raw_.library_path = from.library_path_.c_str();
    point(raw_.kernels_used, raw_.kernels_used_count, from.kernels_used_);
    point(raw_.variables_used, raw_.variables_used_count, from.variables_used_);
    point(raw_.ptxas_options, raw_.ptxas_options_count, from.ptxas_options_);
    point(raw_.flags, raw_.flag_count, from.flags_);
    point(raw_.pass_through, raw_.pass_through_count, from.pass_through_);
    point(raw_.nvvm_options, raw_.nvvm_options_count, from.nvvm_options_);
    point(raw_.required_kernels, raw_.required_kernels_count, from.required_kernels_);
  }
  c_options(options &&) = delete;
  c_options(const c_options &) = delete;
  c_options &operator=(const c_options &) = delete;

  /** The structure, which lives as long as this object. Never null. */
  const cl_linker_options *get() const noexcept { return &raw_; }

 private:
  void point(const char *const *&field, std::size_t &count, const options::list &texts) {
    std::vector<const char *> pointers;
    for (const std::string &text : texts) pointers.push_back(text.c_str());
    field = pointers.data();
    count = pointers.size();
    arrays_.push_back(std::move(pointers)); // Moving a vector moves none of its elements.
  }

  cl_linker_options raw_;
  std::vector<std::vector<const char *>> arrays_;
};

/** One finding about a link: a cl_diagnostic that owns its texts. */
struct diagnostic {
  /** Error or warning. */
  severity_level severity = severity_level::error;
  /** The class of the mistake. */
  cl_result result = CL_RESULT_OK;
  /** The name of the input that it is about; empty if it is about none. */
  std::string input;
  /** The symbol that it is about; empty if it is about none. */
  std::string symbol;
  /** One sentence: the input, what was found, what is needed. */
  std::string message;
  /** What to do about it; empty if there is nothing to say. */
  std::string hint;
  /** The backend's function that answered, such as "nvJitLinkComplete"; empty if none did. */
  std::string backend_call;
  /** The backend's text, whole, and shared by the findings of one answer; null if none answered. */
  std::shared_ptr<const std::string> backend_text;
  /** The backend's own result, unchanged; its meaning depends on the library's version. 0 if none answered. */
  std::int32_t backend_code = 0;
  /** The line of the input's text that it is about, counted from 1; 0 if it is about none. */
  std::uint32_t line = 0;
};

/** Which library would be used, and why: a cl_library_info that owns its texts. */
struct library_info {
  /** The file, absolute and without links. */
  std::string path;
  /** By which rule it was found, for a person. */
  std::string found_by;
  /** Whose library it is, never `automatic`. */
  backend_kind backend = backend_kind::automatic;
  /** The CUDA release, such as 13 and 5; both 0 if the library does not say. For nvJitLink 12.0 to 12.2 it is read from the names that they export. */
  std::uint32_t version_major = 0;
  /** See `version_major`. */
  std::uint32_t version_minor = 0;
  /** Whether the library exports `nvJitLinkVersion`. */
  bool has_version = false;
  /** Whether the library exports `nvJitLinkGetLinkedLTOIR`. It works from 13.4 on. */
  bool has_linked_ltoir = false;
};

#ifdef __cpp_exceptions
/** What a function throws that has a `try_` form: the class, the sentence and the findings of one failure. It owns all of them. */
class error : public std::runtime_error {
 public:
  /**
   * what() will be the name of `result`, ": ", and `message`; and a line "hint: ..." if the one of
   * `diagnostics` that says the message has a hint.
   */
  error(cl_result result, const std::string &message, std::vector<diagnostic> diagnostics)
      : std::runtime_error(std::string(cl_result_string(result)) + ": " + message + hint_line(message, diagnostics)),
        result_(result),
        details_(std::make_shared<const details>(details{message, std::move(diagnostics)})) {}

  /** The class of the mistake; cl_result_string gives its name. */
  cl_result result() const noexcept { return result_; }

  /**
   * What was found and what is needed, in a sentence; what() is the same between the name of the class and the hint. Where C has no
   * sentence for the failure, as for a getter, it is the name of the C function that failed, whose text in cudalink.h says what the
   * class means there.
   */
  const std::string &message() const noexcept { return details_->message; }

  /** What linker::diagnostics gave after the failure; empty if no linker was there, or if a getter failed. */
  const std::vector<diagnostic> &diagnostics() const noexcept { return details_->diagnostics; }

 private:
  struct details {
    std::string message;
    std::vector<diagnostic> diagnostics;
  };

  static std::string hint_line(const std::string &message, const std::vector<diagnostic> &diagnostics) {
    for (const diagnostic &finding : diagnostics) {
      if (finding.message == message && !finding.hint.empty()) return "\nhint: " + finding.hint;
    }
    return {};
  }

  cl_result result_;
  // Shared, since copying an exception must not throw.
  std::shared_ptr<const details> details_;
};
#endif

namespace detail {

/** `call()`, which returns a cl_result; what it throws can only be for want of memory. */
template <class Call>
cl_result without_exceptions(Call call) noexcept {
#ifdef __cpp_exceptions
  try {
    return call();
  } catch (...) {
    return CL_RESULT_OUT_OF_MEMORY;
  }
#else
  return call();
#endif
}

/** Everything that a getter of C gives; `get` takes buffer, capacity and size_out. */
template <class Bytes, class Get>
cl_result read(Get get, Bytes &bytes_out) {
  std::size_t size = 0;
  cl_result result = get(nullptr, 0, &size);
  if (result != CL_RESULT_OK) return result;
  Bytes bytes(size, typename Bytes::value_type{});
  result = get(bytes.data(), size, &size);
  if (result == CL_RESULT_OK) bytes_out = std::move(bytes);
  return result;
}

/** The same for a text, without the NUL at its end. */
template <class Get>
cl_result read_text(Get get, std::string &text_out) {
  std::string text;
  const cl_result result = read(get, text);
  if (result != CL_RESULT_OK) return result;
  if (!text.empty()) text.pop_back();
  text_out = std::move(text);
  return result;
}

struct output_getter {
  const cl_linker *linker;
  output_kind kind;
  cl_result operator()(void *buffer, std::size_t capacity, std::size_t *size_out) const noexcept {
    return cl_linker_get_output(linker, static_cast<cl_output_kind>(kind), buffer, capacity, size_out);
  }
};

inline std::string owned(const char *text) { return text ? text : ""; }

/** Empty is NULL, which asks for a name that counts the inputs. */
inline const char *name_in_c(const std::string &name) noexcept { return name.empty() ? nullptr : name.c_str(); }

#ifdef __cpp_exceptions
/** Throws what a getter answered. */
inline void check(cl_result result, const char *c_function) {
  if (result != CL_RESULT_OK) throw error(result, c_function, {});
}
#endif

}  // namespace detail

/**
 * One link: inputs are added, completed once, and read. It can be moved and not copied, and frees what is in it at its end.
 *
 * A linker that failed in add, add_file or complete has failed for good: its message, logs and diagnostics can be read. One that holds
 * nothing, since it was moved from or made by default, answers CL_RESULT_NULL_ARGUMENT, no message and no diagnostics.
 */
class linker {
 public:
  /** Holds nothing yet; try_create makes a linker of it. */
  linker() noexcept = default;

  /**
   * Makes a linker (cl_linker_create), in place of the one that was held. Nothing is searched for or opened yet. On failure too it holds
   * a linker, so that its message can be read.
   *
   * Results: CL_RESULT_INVALID_ARGUMENT, UNKNOWN_OPTION, BAD_OPTION_VALUE, INCOMPATIBLE_OPTIONS, BAD_ARCH, OUT_OF_MEMORY (holds nothing).
   */
  [[nodiscard]] cl_result try_create(const options &from) noexcept {
    handle_.reset();
    return detail::without_exceptions([&] {
      cl_linker *made = nullptr;
      const cl_result result = cl_linker_create(c_options(from).get(), &made);
      handle_.reset(made);
      return result;
    });
  }

  /**
   * Adds one input from memory (cl_linker_add). The bytes are copied. `name` is what messages call the input; empty calls it "input N".
   * The input is looked at here, and linked in complete.
   *
   * Results: CL_RESULT_NULL_ARGUMENT, INVALID_ARGUMENT (no such kind, or a name that is not UTF-8), INVALID_STATE; and, which make the
   * linker fail for good, EMPTY_INPUT, BAD_INPUT, UNRECOGNIZED_INPUT, WRONG_INPUT_KIND.
   */
  [[nodiscard]] cl_result try_add(bytes_view bytes, const std::string &name, input_kind kind = input_kind::automatic) noexcept {
    return cl_linker_add(get(), static_cast<cl_input_kind>(kind), bytes.data(), bytes.size(), detail::name_in_c(name));
  }

  /** The same without a name. */
  [[nodiscard]] cl_result try_add(bytes_view bytes, input_kind kind = input_kind::automatic) noexcept {
    return cl_linker_add(get(), static_cast<cl_input_kind>(kind), bytes.data(), bytes.size(), nullptr);
  }

  /**
   * Adds one input from a file (cl_linker_add_file), which is read now. Messages call it by its path.
   *
   * Results: as for try_add, and CL_RESULT_FILE_NOT_FOUND, IO_ERROR, which make the linker fail for good.
   */
  [[nodiscard]] cl_result try_add_file(const std::filesystem::path &file, input_kind kind = input_kind::automatic) noexcept {
    return cl_linker_add_file(get(), static_cast<cl_input_kind>(kind), file.c_str());
  }

  /**
   * Links what was added (cl_linker_complete). The library is searched for here, and opened if it is not yet. Where the CUDA driver links, the
   * calling thread's current context is used, and is current again when the call returns.
   *
   * Results that make the linker fail for good: CL_RESULT_NO_INPUTS, MISSING_ARCH, INCOMPATIBLE_OPTIONS, UNSUPPORTED_OPTION,
   * UNSUPPORTED_ARCH, LIBRARY_NOT_FOUND, LIBRARY_UNUSABLE, DRIVER_NOT_FOUND, DRIVER_ERROR (also in a process forked after its parent used CUDA),
   * BAD_OPTION_VALUE (the variable CUDALINK_BACKEND), and those of the inputs and the link (60 to 75). INVALID_STATE if the linker is complete
   * or has failed.
   */
  [[nodiscard]] cl_result try_complete() noexcept { return cl_linker_complete(get()); }

  /**
   * Writes the output into the caller's buffer of `capacity` bytes (cl_linker_get_output). `size_out` is the size of the output in bytes,
   * whatever the capacity; with a null `buffer` and capacity 0 that is all. PTX ends in one NUL that its size counts.
   *
   * Results: CL_RESULT_NULL_ARGUMENT, INVALID_ARGUMENT, INVALID_STATE (not complete, or failed), OUTPUT_NOT_AVAILABLE (another kind was
   * asked for in the options), BUFFER_TOO_SMALL (nothing written). On failure but for the last `size_out` is 0. No getter changes the
   * linker, nor its message.
   */
  [[nodiscard]] cl_result try_output(output_kind kind, void *buffer, std::size_t capacity, std::size_t &size_out) const noexcept {
    return cl_linker_get_output(get(), static_cast<cl_output_kind>(kind), buffer, capacity, &size_out);
  }

  /** Gives the output in a vector. PTX ends in one NUL. Results as above. */
  [[nodiscard]] cl_result try_output(output_kind kind, std::vector<std::byte> &output_out) const noexcept {
    return detail::without_exceptions([&] { return detail::read(detail::output_getter{get(), kind}, output_out); });
  }

  /** Gives the output in a string: PTX without its NUL, other kinds byte for byte. Results as above. */
  [[nodiscard]] cl_result try_output(output_kind kind, std::string &output_out) const noexcept {
    return detail::without_exceptions([&] {
      const detail::output_getter output{get(), kind};
      return kind == output_kind::ptx ? detail::read_text(output, output_out) : detail::read(output, output_out);
    });
  }

  /**
   * Gives a log (cl_linker_get_log). A log can be read in every state; before complete it is empty.
   *
   * Results: CL_RESULT_NULL_ARGUMENT, INVALID_ARGUMENT.
   */
  [[nodiscard]] cl_result try_log(log_kind kind, std::string &log_out) const noexcept {
    return detail::without_exceptions([&] {
      const auto get_log = [&](char *buffer, std::size_t capacity, std::size_t *size_out) {
        return cl_linker_get_log(get(), static_cast<cl_log_kind>(kind), buffer, capacity, size_out);
      };
      return detail::read_text(get_log, log_out);
    });
  }

  /**
   * Gives all findings (cl_linker_get_diagnostic): errors, and warnings of a link that succeeded too. None if nothing is held.
   *
   * Results: CL_RESULT_OUT_OF_MEMORY.
   */
  [[nodiscard]] cl_result try_diagnostics(std::vector<diagnostic> &diagnostics_out) const noexcept {
    return detail::without_exceptions([&] {
      std::vector<diagnostic> all;
      const char *last_text = nullptr;
      for (std::size_t index = 0; index < cl_linker_diagnostic_count(get()); index++) {
        cl_diagnostic raw = CL_DIAGNOSTIC_INIT;
        const cl_result result = cl_linker_get_diagnostic(get(), index, &raw);
        if (result != CL_RESULT_OK) return result;
        diagnostic one;
        one.severity = static_cast<severity_level>(raw.severity);
        one.result = static_cast<cl_result>(raw.result);
        one.input = detail::owned(raw.input);
        one.symbol = detail::owned(raw.symbol);
        one.message = detail::owned(raw.message);
        one.hint = detail::owned(raw.hint);
        one.backend_call = detail::owned(raw.backend_call);
        if (raw.backend_text != nullptr && raw.backend_text == last_text) {
          one.backend_text = all.back().backend_text;
        } else if (raw.backend_text != nullptr) {
          one.backend_text = std::make_shared<const std::string>(raw.backend_text);
        }
        last_text = raw.backend_text;
        one.backend_code = raw.backend_code;
        one.line = raw.line;
        all.push_back(std::move(one));
      }
      diagnostics_out = std::move(all);
      return CL_RESULT_OK;
    });
  }

  /**
   * The last failure in one sentence (cl_linker_get_message); "" if there was none, or if nothing is held. Never null. The text belongs to
   * the linker and lives until its next call that can fail, or its end.
   */
  const char *message() const noexcept { return cl_linker_get_message(get()); }

  /** Whether a linker is held. */
  explicit operator bool() const noexcept { return handle_ != nullptr; }

  /** The linker for functions of cudalink.h; it stays owned by this one. Null if nothing is held. */
  cl_linker *get() const noexcept { return handle_.get(); }

  /** Gives the linker away: the caller calls cl_linker_destroy. Null if nothing is held; nothing is held afterwards. */
  [[nodiscard]] cl_linker *release() noexcept { return handle_.release(); }

  /** Takes over a linker of cl_linker_create, which may be null. */
  static linker adopt(cl_linker *handle) noexcept {
    linker adopted;
    adopted.handle_.reset(handle);
    return adopted;
  }

#ifdef __cpp_exceptions
  // Each of these throws cudalink::error with a result of its `try_` form, where it is described.

  /** Makes a linker: try_create. If it throws, there is none. */
  explicit linker(const options &from) { check(try_create(from), "cl_linker_create"); }

  /** Adds one input from memory: try_add. */
  linker &add(bytes_view bytes, const std::string &name, input_kind kind = input_kind::automatic) {
    return check(try_add(bytes, name, kind), "cl_linker_add");
  }

  /** The same without a name: messages call it "input N". */
  linker &add(bytes_view bytes, input_kind kind = input_kind::automatic) { return check(try_add(bytes, kind), "cl_linker_add"); }

  /** Adds one input from a file: try_add_file. */
  linker &add_file(const std::filesystem::path &file, input_kind kind = input_kind::automatic) {
    return check(try_add_file(file, kind), "cl_linker_add_file");
  }

  /** Links what was added: try_complete. */
  linker &complete() { return check(try_complete(), "cl_linker_complete"); }

  /** The size of the output in bytes; for PTX with the NUL at its end. */
  std::size_t output_size(output_kind kind = output_kind::cubin) const { return output(kind, nullptr, 0); }

  /** Writes the output into the caller's buffer of `capacity` bytes, and gives the size of what was written: try_output. */
  std::size_t output(output_kind kind, void *buffer, std::size_t capacity) const {
    std::size_t size = 0;
    detail::check(try_output(kind, buffer, capacity, size), "cl_linker_get_output");
    return size;
  }

  /** The output; PTX ends in one NUL: try_output. */
  std::vector<std::byte> output(output_kind kind = output_kind::cubin) const {
    std::vector<std::byte> output;
    detail::check(try_output(kind, output), "cl_linker_get_output");
    return output;
  }

  /** The output in a string: PTX without its NUL, other kinds byte for byte: try_output. */
  std::string output_string(output_kind kind = output_kind::cubin) const {
    std::string output;
    detail::check(try_output(kind, output), "cl_linker_get_output");
    return output;
  }

  /** A log: try_log. */
  std::string log(log_kind kind) const {
    std::string log;
    detail::check(try_log(kind, log), "cl_linker_get_log");
    return log;
  }

  /** The plan as JSON: backend, library, options as they were passed, and each decision with its reason. Empty before complete. */
  std::string plan() const { return log(log_kind::plan); }

  /** All findings, of a link that succeeded too: try_diagnostics. */
  std::vector<diagnostic> diagnostics() const {
    std::vector<diagnostic> diagnostics;
    detail::check(try_diagnostics(diagnostics), "cl_linker_get_diagnostic");
    return diagnostics;
  }
#endif

 private:
  struct destroy {
    void operator()(cl_linker *handle) const noexcept { cl_linker_destroy(handle); }
  };

#ifdef __cpp_exceptions
  /** Throws what a call answered that writes the message. */
  linker &check(cl_result result, const char *c_function) {
    if (result == CL_RESULT_OK) return *this;
    const std::string sentence = message();
    throw error(result, sentence.empty() ? c_function : sentence, diagnostics());
  }
#endif

  std::unique_ptr<cl_linker, destroy> handle_;
};

/**
 * Says which library links (cl_library_query, which also says where it is searched for): the nvJitLink that is found first, or the CUDA driver
 * where there is none or `backend` asks for it. It is searched for and opened; nothing is linked or initialised. Of the options `backend` and
 * `library_path` count. If `message_out` is not null, the sentence of a failure is written there, and nothing on success.
 *
 * Results: CL_RESULT_LIBRARY_NOT_FOUND (the message lists every place tried), LIBRARY_UNUSABLE (the message keeps the loader's reason),
 * DRIVER_NOT_FOUND, and those of linker::try_create. Any thread may call it.
 */
[[nodiscard]] inline cl_result try_query(const options &from, library_info &info_out, std::string *message_out = nullptr) noexcept {
  return detail::without_exceptions([&] {
    const c_options options_in_c(from);
    cl_library_info raw = CL_LIBRARY_INFO_INIT;
    cl_result result = cl_library_query(options_in_c.get(), &raw);
    if (result != CL_RESULT_OK) {
      if (message_out == nullptr) return result;
      // Asked again with the room that the whole message needs.
      std::string message(raw.message_size + 1, '\0');
      raw = CL_LIBRARY_INFO_INIT;
      raw.message = message.data();
      raw.message_capacity = message.size();
      result = cl_library_query(options_in_c.get(), &raw);
      if (result != CL_RESULT_OK) {
        *message_out = message.c_str();
        return result;
      }
    }
    library_info info;
    info.path = detail::owned(raw.path);
    info.found_by = detail::owned(raw.found_by);
    info.backend = static_cast<backend_kind>(raw.backend);
    info.version_major = raw.version_major;
    info.version_minor = raw.version_minor;
    info.has_version = raw.has_version != 0;
    info.has_linked_ltoir = raw.has_linked_ltoir != 0;
    info_out = std::move(info);
    return CL_RESULT_OK;
  });
}

/**
 * Describes an input as one JSON object (cl_input_describe), whose members cudalink.h lists. What cannot be linked is described as well as
 * what can, so the call succeeds for damaged input too. `name` may be empty.
 *
 * Results: CL_RESULT_NULL_ARGUMENT, INVALID_ARGUMENT. Any thread may call it.
 */
[[nodiscard]] inline cl_result try_describe(bytes_view bytes, const std::string &name, std::string &json_out) noexcept {
  return detail::without_exceptions([&] {
    const auto describe = [&](char *buffer, std::size_t capacity, std::size_t *size_out) {
      return cl_input_describe(bytes.data(), bytes.size(), detail::name_in_c(name), buffer, capacity, size_out);
    };
    return detail::read_text(describe, json_out);
  });
}

#ifdef __cpp_exceptions
/** Says which library links: try_query. Throws cudalink::error with its results. */
inline library_info query(const options &from = options()) {
  library_info info;
  std::string message;
  const cl_result result = try_query(from, info, &message);
  if (result != CL_RESULT_OK) throw error(result, message.empty() ? "cl_library_query" : message, {});
  return info;
}

/** Describes an input as one JSON object: try_describe. Throws cudalink::error with its results. */
inline std::string describe(bytes_view bytes, const std::string &name = {}) {
  std::string json;
  detail::check(try_describe(bytes, name, json), "cl_input_describe");
  return json;
}
#endif

}  // namespace cudalink

#endif  // CUDALINK_HPP
