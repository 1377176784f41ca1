/* The forms that throw nothing, in a program that is compiled with and without exceptions. */
#include "check.hpp"

#include <cstring>

namespace cl = cudalink;

static std::string links(const cl::options &options, const std::filesystem::path &folder) {
  cl::linker linker;
  CHECK(!linker);
  CHECK_RESULT(OK, linker.try_create(options));
  CHECK(linker && linker.message() == std::string());
  const std::string kernel = read_file(folder / "kernel.ptx"), helper = read_file(folder / "helper.ptx");
  CHECK_RESULT(OK, linker.try_add(kernel, "kernel.ptx"));
  CHECK_RESULT(OK, linker.try_add({helper.data(), helper.size()}, cl::input_kind::ptx));

  std::string text = "kept", cubin;
  CHECK_RESULT(INVALID_STATE, linker.try_output(cl::output_kind::cubin, text));
  CHECK(text == "kept");
  CHECK_RESULT(OK, linker.try_log(cl::log_kind::plan, text));
  CHECK(text.empty());

  CHECK_RESULT(OK, linker.try_complete());
  CHECK_RESULT(OK, linker.try_output(cl::output_kind::cubin, cubin));
  CHECK(cubin.substr(0, 4) == "\177ELF" && contains(cubin, ".text.kernel"));
  CHECK_RESULT(OK, linker.try_log(cl::log_kind::plan, text));
  CHECK(text.front() == '{' && text.back() == '}' && contains(text, "-arch=sm_80"));
  std::vector<cl::diagnostic> findings(3);
  CHECK_RESULT(OK, linker.try_diagnostics(findings));
  CHECK(findings.empty());
  return cubin;
}

static void the_callers_buffer(const cl::options &options, const std::filesystem::path &folder, const std::string &cubin) {
  cl::linker linker;
  CHECK_RESULT(OK, linker.try_create(options));
  CHECK_RESULT(OK, linker.try_add_file(folder / "kernel.ptx"));
  CHECK_RESULT(OK, linker.try_add_file(folder / "helper.ptx"));
  std::size_t size = 77;
  CHECK_RESULT(INVALID_STATE, linker.try_output(cl::output_kind::cubin, nullptr, 0, size));
  CHECK(size == 0);
  CHECK_RESULT(OK, linker.try_complete());
  CHECK_RESULT(OK, linker.try_output(cl::output_kind::cubin, nullptr, 0, size));
  CHECK(size == cubin.size());
  std::vector<std::byte> buffer(size + 1, std::byte{0xA5});
  size = 77;
  CHECK_RESULT(BUFFER_TOO_SMALL, linker.try_output(cl::output_kind::cubin, buffer.data(), cubin.size() - 1, size));
  CHECK(size == cubin.size() && buffer == std::vector<std::byte>(size + 1, std::byte{0xA5}));
  CHECK_RESULT(OK, linker.try_output(cl::output_kind::cubin, buffer.data(), cubin.size(), size));
  CHECK(std::memcmp(buffer.data(), cubin.data(), size) == 0 && buffer.back() == std::byte{0xA5});
  CHECK_RESULT(OUTPUT_NOT_AVAILABLE, linker.try_output(cl::output_kind::ptx, buffer));
  CHECK(buffer.back() == std::byte{0xA5});
}

static void failures(cl::options options) {
  cl::linker linker;
  std::vector<cl::diagnostic> findings;
  CHECK_RESULT(NULL_ARGUMENT, linker.try_complete());
  CHECK_RESULT(BAD_ARCH, linker.try_create(cl::options().arch("80")));
  CHECK(linker && contains(linker.message(), "80"));
  CHECK_RESULT(INVALID_STATE, linker.try_complete());
  CHECK_RESULT(OK, linker.try_create(options));
  CHECK_RESULT(FILE_NOT_FOUND, linker.try_add_file("no/such/file"));
  CHECK(contains(linker.message(), "no/such/file"));
  CHECK_RESULT(OK, linker.try_diagnostics(findings));
  CHECK(findings.size() == 1 && findings[0].result == CL_RESULT_FILE_NOT_FOUND && findings[0].message == linker.message());

  cl::library_info info;
  std::string message;
  CHECK_RESULT(OK, cl::try_query(options, info, &message));
  CHECK(message.empty() && !info.path.empty());
  CHECK_RESULT(LIBRARY_UNUSABLE, cl::try_query(options.library_path("/no/such/library.so"), info));
  CHECK_RESULT(LIBRARY_UNUSABLE, cl::try_query(options, info, &message));
  CHECK(contains(message, "/no/such/library.so") && message.find('\0') == std::string::npos);
  CHECK_RESULT(OK, cl::try_describe(std::string("text"), "a name", message));
  CHECK(contains(message, "\"a name\"") && message.back() == '}');
}

int main(int argc, char **argv) {
  CHECK(argc == 4);
  const auto options = cl::options().arch("sm_80").library_path(argv[1]);
  const std::string cubin = links(options, argv[3]);
  CHECK(linked_by_the_second_unit(options, argv[3]) == cubin);
  the_callers_buffer(options, argv[3], cubin);
  failures(options);
  return 0;
}
