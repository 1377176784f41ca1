/* What the C++ tests share. Each program is called with an nvJitLink, its release, and a folder of fixtures. */
#ifndef CHECK_HPP
#define CHECK_HPP

#include <cudalink.hpp>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

#define CHECK(...) check((__VA_ARGS__), #__VA_ARGS__, __FILE__, __LINE__)
#define CHECK_RESULT(expected, call) check_result(CL_RESULT_##expected, (call), #call, __FILE__, __LINE__)

inline void check(bool holds, const char *text, const char *file, int line) {
  if (!holds) {
    std::fprintf(stderr, "%s:%d: this does not hold: %s\n", file, line, text);
    std::exit(1);
  }
}

inline void check_result(cl_result expected, cl_result result, const char *call, const char *file, int line) {
  if (result != expected) {
    std::fprintf(stderr, "%s:%d: %s answered %s, not %s\n", file, line, call, cl_result_string(result), cl_result_string(expected));
    std::exit(1);
  }
}

inline std::string read_file(const std::filesystem::path &path) {
  std::ifstream file(path, std::ios::binary);
  CHECK(file.is_open());
  return {std::istreambuf_iterator<char>(file), {}};
}

inline bool contains(const std::string &text, const char *part) { return text.find(part) != std::string::npos; }

/* PTX that no release compiles: the mistake is in line 4. */
inline constexpr char MISTAKEN_PTX[] = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry kernel() { mistake; }\n";

/* Defined in second_unit.cpp, by another inclusion of the header. */
std::string linked_by_the_second_unit(const cudalink::options &options, const std::filesystem::path &folder);

#endif
