// Links two files of PTX or LTO-IR and says what came out. CMakeLists.txt says how to build it.
#include <cudalink.hpp>

#include <iostream>

int main(int argc, char **argv) {
  if (argc != 4) {
    std::cerr << "usage: " << argv[0] << " ARCH FILE FILE\n";
    return 2;
  }
  try {
    cudalink::linker linker(cudalink::options().arch(argv[1]));
    linker.add_file(argv[2]).add_file(argv[3]).complete();
    // The output as JSON: its kind, size and architecture.
    std::cout << cudalink::describe(linker.output(), "output") << '\n';
    return 0;
  } catch (const cudalink::error &error) {
    // What went wrong, and what to do about it.
    for (const cudalink::diagnostic &finding : error.diagnostics()) {
      std::cerr << cl_result_string(finding.result) << ": " << finding.message << '\n';
      if (!finding.hint.empty()) std::cerr << "  " << finding.hint << '\n';
    }
    return 1;
  }
}
