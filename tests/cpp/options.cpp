/* Every setter sets its field and no other, and the options own what they were given. */
#include "check.hpp"

#include <cstring>
#include <limits>

namespace cl = cudalink;

/* Whether these bytes differ from options of which nothing is asked, and no others. */
static bool is_the_only_field(const void *field, std::size_t size, const cl_linker_options &raw) {
  const cl_linker_options none = CL_LINKER_OPTIONS_INIT;
  const char *bytes = reinterpret_cast<const char *>(&raw), *nothing = reinterpret_cast<const char *>(&none);
  const std::size_t start = static_cast<std::size_t>(static_cast<const char *>(field) - bytes);
  return std::memcmp(bytes, nothing, start) == 0 && std::memcmp(bytes + start, nothing + start, size) != 0 &&
         std::memcmp(bytes + start + size, nothing + start + size, sizeof raw - start - size) == 0;
}

#define SETS(setter_call, field, expected)                                                       \
  do {                                                                                           \
    const auto options = cl::options().setter_call;                                              \
    const cl::c_options in_c(options);                                                           \
    const cl_linker_options &raw = *in_c.get();                                                  \
    CHECK(raw.field == (expected));                                                              \
    CHECK(is_the_only_field(&raw.field, sizeof raw.field, raw));                        \
  } while (false)

#define UNSETS(setter_call)                                                                      \
  do {                                                                                           \
    const auto unset = cl::options().setter_call;                                                \
    const cl_linker_options none = CL_LINKER_OPTIONS_INIT;                                       \
    CHECK(std::memcmp(cl::c_options(unset).get(), &none, sizeof none) == 0);                     \
  } while (false)

#define SETS_SWITCH(name)                                                                        \
  do {                                                                                           \
    SETS(name(), name, std::uint32_t{CL_TRISTATE_ON});                                           \
    SETS(name(true), name, std::uint32_t{CL_TRISTATE_ON});                                       \
    SETS(name(false), name, std::uint32_t{CL_TRISTATE_OFF});                                     \
    UNSETS(name().name(std::nullopt));                                                           \
  } while (false)

#define SETS_NUMBER(name)                                                                        \
  do {                                                                                           \
    SETS(name(7), name, 7);                                                                      \
    SETS(name(0), name, CL_ZERO);                                                                \
    SETS(name(CL_ZERO), name, CL_ZERO);                                                          \
    SETS(name(std::numeric_limits<std::int32_t>::max()), name, std::numeric_limits<std::int32_t>::max()); \
    UNSETS(name(7).name(std::nullopt));                                                          \
  } while (false)

#define SETS_TEXT(name)                                                                          \
  do {                                                                                           \
    const auto options = cl::options().name("a text that does not fit into a std::string itself"); \
    const cl::c_options in_c(options);                                                           \
    CHECK(std::strcmp(in_c.get()->name, "a text that does not fit into a std::string itself") == 0); \
    CHECK(is_the_only_field(&in_c.get()->name, sizeof in_c.get()->name, *in_c.get()));  \
    UNSETS(name("").name(""));                                                                   \
  } while (false)

/* The list and its count stand side by side. */
#define SETS_LIST(name, count)                                                                   \
  do {                                                                                           \
    auto original = std::make_unique<cl::options>();                                             \
    original->name({"-first", "a second that does not fit into a std::string itself"});          \
    const cl::options copy = *original, moved = std::move(*original);                            \
    original.reset();                                                                            \
    for (const cl::options *options : {&copy, &moved}) {                                         \
      const cl::c_options in_c(*options);                                                        \
      const cl_linker_options &raw = *in_c.get();                                                \
      CHECK(raw.count == 2 && std::strcmp(raw.name[0], "-first") == 0);                          \
      CHECK(std::strcmp(raw.name[1], "a second that does not fit into a std::string itself") == 0); \
      CHECK(is_the_only_field(&raw.name, sizeof raw.name + sizeof raw.count, raw));    \
    }                                                                                            \
    UNSETS(name({"x"}).name({}));                                                                \
  } while (false)

int main() {
  UNSETS(lto(std::nullopt));
  SETS_TEXT(arch);
  SETS_TEXT(library_path);
  SETS(backend(cl::backend_kind::nvjitlink), backend, std::uint32_t{CL_BACKEND_NVJITLINK});
  SETS(output(cl::output_kind::ptx), output, std::uint32_t{CL_OUTPUT_PTX});
  SETS_SWITCH(lto);
  SETS_SWITCH(relocatable);
  SETS_SWITCH(debug);
  SETS_SWITCH(lineinfo);
  SETS_SWITCH(ftz);
  SETS_SWITCH(prec_div);
  SETS_SWITCH(prec_sqrt);
  SETS_SWITCH(fma);
  SETS_SWITCH(optimize_unused_variables);
  SETS_SWITCH(nvvm_latest);
  SETS_SWITCH(no_cache);
  SETS_SWITCH(device_stack_protector);
  SETS_SWITCH(time);
  SETS_SWITCH(verbose);
  SETS(optimization(cl::optimization_level::o3), optimization, std::uint32_t{CL_OPTIMIZATION_O3});
  SETS(fast_compile(cl::fast_compile_level::mid), fast_compile, std::uint32_t{CL_FAST_COMPILE_MID});
  SETS_NUMBER(max_register_count);
  SETS_NUMBER(split_compile);
  SETS_NUMBER(split_compile_extended);
  SETS_NUMBER(jump_table_density);
  SETS_LIST(kernels_used, kernels_used_count);
  SETS_LIST(variables_used, variables_used_count);
  SETS_LIST(ptxas_options, ptxas_options_count);
  SETS_LIST(flags, flag_count);
  SETS_LIST(pass_through, pass_through_count);
  SETS_LIST(nvvm_options, nvvm_options_count);
  SETS_LIST(required_kernels, required_kernels_count);
  SETS(archive_members(cl::archive_member_set::needed), archive_members, std::uint32_t{CL_ARCHIVE_MEMBERS_NEEDED});
  SETS(max_unpacked_bytes(std::uint64_t{1} << 40), max_unpacked_bytes, std::uint64_t{1} << 40);
  return 0;
}
