/* Where C++ has no memory left, the forms that throw nothing say so, write nothing, and leave a linker that works. */
#include "check.hpp"

#include <new>

static bool has_memory = true;

void *operator new(std::size_t size) {
  void *memory = has_memory ? std::malloc(size ? size : 1) : nullptr;
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void operator delete(void *memory) noexcept { std::free(memory); }

void operator delete(void *memory, std::size_t) noexcept { std::free(memory); }

namespace cl = cudalink;

template <class Call>
static cl_result without_memory(Call call) {
  has_memory = false;
  const cl_result result = call();
  has_memory = true;
  return result;
}

int main(int argc, char **argv) {
  CHECK(argc == 4);
  const std::filesystem::path kernel = std::filesystem::path(argv[3]) / "kernel.ptx", helper = std::filesystem::path(argv[3]) / "helper.ptx";
  const auto options = cl::options().arch("sm_80").library_path(argv[1]).flags({"-lineinfo"});
  cl::linker linker(options);
  CHECK_RESULT(OUT_OF_MEMORY, without_memory([&] { return linker.try_create(options); }));
  CHECK(!linker);
  CHECK_RESULT(OK, linker.try_create(options));

  // libcudalink has memory of its own, and these need none of C++.
  CHECK_RESULT(OK, without_memory([&] { return linker.try_add_file(kernel); }));
  CHECK_RESULT(OK, without_memory([&] { return linker.try_add_file(helper); }));
  CHECK_RESULT(OK, linker.try_complete());

  std::string text = "kept";
  std::vector<std::byte> bytes(3);
  cl::library_info info;
  CHECK_RESULT(OUT_OF_MEMORY, without_memory([&] { return linker.try_output(cl::output_kind::cubin, text); }));
  CHECK_RESULT(OUT_OF_MEMORY, without_memory([&] { return linker.try_output(cl::output_kind::cubin, bytes); }));
  CHECK_RESULT(OUT_OF_MEMORY, without_memory([&] { return linker.try_log(cl::log_kind::plan, text); }));
  CHECK_RESULT(OUT_OF_MEMORY, without_memory([&] { return cl::try_query(options, info); }));
  CHECK_RESULT(OUT_OF_MEMORY, without_memory([&] { return cl::try_describe(bytes, "", text); }));
  CHECK(text == "kept" && bytes.size() == 3 && info.path.empty());
  CHECK_RESULT(OK, linker.try_output(cl::output_kind::cubin, bytes));
  CHECK(bytes.size() > 3);

  // A failed link, of which the findings do not fit.
  std::vector<cl::diagnostic> findings;
  CHECK_RESULT(OK, linker.try_create(options));
  CHECK_RESULT(NO_INPUTS, linker.try_complete());
  CHECK_RESULT(OUT_OF_MEMORY, without_memory([&] { return linker.try_diagnostics(findings); }));
  CHECK(findings.empty());
  CHECK_RESULT(OK, linker.try_diagnostics(findings));
  CHECK(findings.size() == 1);
  return 0;
}
