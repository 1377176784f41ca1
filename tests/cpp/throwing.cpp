/* The forms that throw, what they throw, and what moves. */
#include "check.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace cl = cudalink;

static_assert(std::is_nothrow_move_constructible_v<cl::linker> && std::is_nothrow_move_assignable_v<cl::linker>);
static_assert(!std::is_copy_constructible_v<cl::linker> && !std::is_copy_assignable_v<cl::linker>);
static_assert(!std::is_convertible_v<cl::options, cl::linker>);
static_assert(std::is_base_of_v<std::runtime_error, cl::error> && std::is_nothrow_copy_constructible_v<cl::error>);
static_assert(std::is_copy_constructible_v<cl::options> && !std::is_move_constructible_v<cl::c_options>);

/* What is bytes and what is not: a literal may be meant as a path, and a string in a vector is no byte. */
template <class T>
inline constexpr bool is_bytes = std::is_convertible_v<const T &, cl::bytes_view>;
static_assert(is_bytes<std::string> && is_bytes<std::string_view> && is_bytes<std::vector<unsigned char>> &&
              is_bytes<std::vector<std::byte>> && is_bytes<std::array<char, 3>> && is_bytes<std::vector<std::uint32_t>>);
static_assert(!is_bytes<char[3]> && !is_bytes<const char *> && !is_bytes<std::vector<std::string>> && !is_bytes<std::filesystem::path> &&
              !is_bytes<int>);

/* The error that `call` throws. */
template <class Call>
static cl::error thrown(Call call) {
  try {
    call();
  } catch (const cl::error &error) {
    return error;
  }
  std::fputs("nothing was thrown\n", stderr);
  std::exit(1);
}

static std::string in_a_string(const std::vector<std::byte> &bytes) {
  return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

static cl::linker two_files(const cl::options &options, const std::filesystem::path &folder) {
  cl::linker linker(options);
  linker.add_file(folder / "kernel.ptx").add_file(folder / "helper.ptx", cl::input_kind::ptx);
  return linker;
}

static void every_way_in_and_out_gives_the_same(const cl::options &options, const std::filesystem::path &folder) {
  const std::string kernel = read_file(folder / "kernel.ptx"), helper = read_file(folder / "helper.ptx");
  const std::string cubin = two_files(options, folder).complete().output_string();
  CHECK(cubin.substr(0, 4) == "\177ELF" && contains(cubin, ".text.kernel"));
  CHECK(linked_by_the_second_unit(options, folder) == cubin);

  // All of it is overwritten as soon as the call returns.
  std::vector<char> kernel_bytes(kernel.begin(), kernel.end());
  std::string helper_text = helper, name = "a name that does not fit into a std::string itself";
  cl::linker linker(options);
  linker.add(kernel_bytes, name).add({helper_text.data(), helper_text.size()}, cl::input_kind::ptx);
  std::fill(kernel_bytes.begin(), kernel_bytes.end(), 'x');
  std::fill(helper_text.begin(), helper_text.end(), 'x');
  std::fill(name.begin(), name.end(), 'x');
  linker.complete();
  CHECK(in_a_string(linker.output()) == cubin && linker.output_string() == cubin);
  CHECK(linker.output_size() == cubin.size());
  std::string buffer(cubin.size() + 3, 'x');
  CHECK(linker.output(cl::output_kind::cubin, buffer.data(), buffer.size()) == cubin.size() && buffer == cubin + "xxx");

  cl::linker of_views(options);
  of_views.add(std::string_view(kernel)).add(helper, "helper.ptx", cl::input_kind::ptx).complete();
  CHECK(of_views.output_string() == cubin && of_views.diagnostics().empty());
}

static void ptx_is_a_text(cl::options options, const std::filesystem::path &folder) {
  cl::linker linker(options.output(cl::output_kind::ptx).lto().arch("compute_80"));
  linker.add_file(folder / "kernel.ltoir").add_file(folder / "helper.ltoir").complete();
  const std::string text = linker.output_string(cl::output_kind::ptx);
  CHECK(contains(text, ".entry kernel") && text.find('\0') == std::string::npos);
  CHECK(in_a_string(linker.output(cl::output_kind::ptx)) == text + '\0');
  CHECK(linker.output_size(cl::output_kind::ptx) == text.size() + 1);
}

static void logs_and_plan(cl::options options, const std::filesystem::path &folder) {
  cl::linker linker = two_files(options.verbose(), folder);
  CHECK(linker.plan().empty() && linker.log(cl::log_kind::info).empty());
  linker.complete();
  CHECK(contains(linker.log(cl::log_kind::info), "kernel") && linker.log(cl::log_kind::info).find('\0') == std::string::npos);
  CHECK(linker.plan() == linker.log(cl::log_kind::plan) && contains(linker.plan(), "-verbose"));
  const cl::error error = thrown([&] { linker.log(static_cast<cl::log_kind>(77)); });
  CHECK(error.result() == CL_RESULT_INVALID_ARGUMENT && error.what() == std::string("invalid_argument: cl_linker_get_log"));
}

/* Findings and sentence outlive the linker and the first copy of the error. */
static void an_error_owns_what_it_says(const cl::options &options) {
  std::optional<cl::error> kept;
  {
    const cl::error error = thrown([&] { cl::linker(options).add({MISTAKEN_PTX, sizeof MISTAKEN_PTX}, "mistaken.ptx").complete(); });
    kept = error;
  }
  CHECK(kept->result() == CL_RESULT_COMPILE_FAILED && contains(kept->message(), "mistaken.ptx"));
  CHECK(kept->what() == "compile_failed: " + kept->message());
  CHECK(kept->diagnostics().size() == 1);
  const cl::diagnostic &finding = kept->diagnostics()[0];
  CHECK(finding.severity == cl::severity_level::error && finding.result == CL_RESULT_COMPILE_FAILED);
  CHECK(finding.input == "mistaken.ptx" && finding.line == 4 && finding.symbol.empty() && finding.message == kept->message());
  CHECK(finding.backend_code != 0 && contains(finding.backend_call, "nvJitLink") && contains(*finding.backend_text, "ptxas"));
}

static void findings_of_one_answer_share_its_text(const cl::options &options) {
  const std::string calls =
      ".version 8.0\n.target sm_80\n.address_size 64\n.extern .func f();\n.extern .func g();\n"
      ".visible .entry kernel() { call.uni f; call.uni g; ret; }";
  cl::linker linker(options);
  const cl::error error = thrown([&] { linker.add(calls).complete(); });
  const std::vector<cl::diagnostic> &findings = error.diagnostics();
  CHECK(error.result() == CL_RESULT_UNRESOLVED_SYMBOL && findings.size() == 2);
  CHECK(findings[0].backend_text != nullptr && findings[0].backend_text == findings[1].backend_text);
}

static void each_call_throws_its_own(const cl::options &options, const std::filesystem::path &folder) {
  const cl::error bad_arch = thrown([] { cl::linker linker(cl::options().arch("SM_80")); });
  CHECK(bad_arch.result() == CL_RESULT_BAD_ARCH && contains(bad_arch.what(), "SM_80") && bad_arch.diagnostics().size() == 1);

  cl::linker linker(options);
  const cl::error wrong_kind = thrown([&] { linker.add_file(folder / "kernel.ptx", cl::input_kind::cubin); });
  CHECK(wrong_kind.result() == CL_RESULT_WRONG_INPUT_KIND && contains(wrong_kind.diagnostics().at(0).input, "kernel.ptx"));
  const cl::error state = thrown([&] { linker.complete(); });
  CHECK(state.result() == CL_RESULT_INVALID_STATE && state.message() == linker.message());
  const cl::error output = thrown([&] { linker.output(); });
  CHECK(output.result() == CL_RESULT_INVALID_STATE && output.message() == "cl_linker_get_output" && output.diagnostics().empty());

  cl::linker unresolved(options);
  const cl::error symbol = thrown([&] { unresolved.add_file(folder / "kernel.ptx").complete(); });
  CHECK(symbol.result() == CL_RESULT_UNRESOLVED_SYMBOL && contains(symbol.diagnostics().at(0).symbol, "helper"));
  CHECK(symbol.what() == "unresolved_symbol: " + symbol.message() + "\nhint: " + symbol.diagnostics().at(0).hint);
  // What it refuses now is another matter than what the hint is about.
  const cl::error failed = thrown([&] { unresolved.complete(); });
  CHECK(failed.diagnostics().size() == 1 && failed.what() == "invalid_state: " + failed.message());

  CHECK(thrown([&] { cl::linker(options).add_file("no/such/file"); }).result() == CL_RESULT_FILE_NOT_FOUND);
  CHECK(thrown([&] { cl::linker(options).add(std::string()); }).result() == CL_RESULT_EMPTY_INPUT);
  CHECK(thrown([&] { cl::linker(options).complete(); }).result() == CL_RESULT_NO_INPUTS);
  cl::linker complete = two_files(options, folder);
  complete.complete();
  char small[1];
  CHECK(thrown([&] { complete.output(cl::output_kind::cubin, small, sizeof small); }).result() == CL_RESULT_BUFFER_TOO_SMALL);
  CHECK(thrown([&] { complete.output(cl::output_kind::ptx); }).result() == CL_RESULT_OUTPUT_NOT_AVAILABLE);
}

static void a_linker_moves(const cl::options &options, const std::filesystem::path &folder) {
  cl::linker first = two_files(options, folder);
  cl_linker *handle = first.get();
  cl::linker second = std::move(first);
  CHECK(!first && first.get() == nullptr && second && second.get() == handle);
  CHECK(thrown([&] { first.complete(); }).message() == "cl_linker_complete");
  CHECK_RESULT(NULL_ARGUMENT, first.try_complete());
  CHECK(first.message() == std::string() && first.diagnostics().empty());

  // What was held is freed: leak sanitizer sees it otherwise.
  cl::linker third(options);
  third = std::move(second);
  CHECK(third.get() == handle);
  third.complete();
  const std::size_t size = third.output_size();
  cl_linker *given = third.release();
  CHECK(given == handle && !third);
  CHECK(cl::linker::adopt(given).output_size() == size);
  CHECK(!cl::linker::adopt(nullptr));
  first = cl::linker(options);
  CHECK_RESULT(OK, first.try_create(options));
  CHECK_RESULT(BAD_ARCH, first.try_create(cl::options().arch("80")));
}

static void queries(cl::options options, const std::string &library, const std::string &release) {
  const cl::library_info info = cl::query(options);
  CHECK(info.path == std::filesystem::canonical(library) && !info.found_by.empty());
  CHECK(release.rfind(std::to_string(info.version_major) + '.' + std::to_string(info.version_minor) + '.', 0) == 0);
  CHECK(info.backend == cl::backend_kind::nvjitlink);
  CHECK(info.has_version == (release != "12.0.140") && info.has_linked_ltoir == (info.version_major == 13));
  const cl::error error = thrown([&] { cl::query(options.library_path("/no/such/library.so")); });
  CHECK(error.result() == CL_RESULT_LIBRARY_UNUSABLE && contains(error.message(), "/no/such/library.so") && error.diagnostics().empty());

  const std::string json = cl::describe(std::string_view(MISTAKEN_PTX), "mistaken.ptx");
  CHECK(json.front() == '{' && json.back() == '}' && contains(json, "\"mistaken.ptx\"") && contains(json, "\"ptx\""));
  CHECK(contains(cl::describe({nullptr, 0}), "empty_input"));
  CHECK(thrown([] { cl::describe({nullptr, 1}); }).what() == std::string("null_argument: cl_input_describe"));
}

int main(int argc, char **argv) {
  CHECK(argc == 4);
  const auto options = cl::options().arch("sm_80").library_path(argv[1]);
  every_way_in_and_out_gives_the_same(options, argv[3]);
  ptx_is_a_text(options, argv[3]);
  logs_and_plan(options, argv[3]);
  an_error_owns_what_it_says(options);
  findings_of_one_answer_share_its_text(options);
  each_call_throws_its_own(options, argv[3]);
  a_linker_moves(options, argv[3]);
  queries(options, argv[1], argv[2]);
  return 0;
}
