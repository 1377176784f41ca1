/* The other half of two programs: everything in the header can be in two units of one program. */
#include "check.hpp"

std::string linked_by_the_second_unit(const cudalink::options &options, const std::filesystem::path &folder) {
  cudalink::linker linker;
  std::string cubin;
  CHECK_RESULT(OK, linker.try_create(options));
  CHECK_RESULT(OK, linker.try_add_file(folder / "kernel.ptx"));
  CHECK_RESULT(OK, linker.try_add_file(folder / "helper.ptx", cudalink::input_kind::ptx));
  CHECK_RESULT(OK, linker.try_complete());
  CHECK_RESULT(OK, linker.try_output(cudalink::output_kind::cubin, cubin));
  return cubin;
}
