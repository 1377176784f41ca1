# What find_package(cudalink) reads. It is installed as it is, and finds what is installed around it, wherever that is now:
# <prefix>/share/cmake/cudalink or <prefix>/lib/cmake/cudalink is the folder of this file.
#
# cudalink::cudalink          the shared library; the one to use
# cudalink::cudalink_static   the static library and the system's libraries that it needs; only where libcudalink.a is installed
#
# Both give the folder of cudalink.h and cudalink.hpp.

get_filename_component(_cudalink_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

unset(_cudalink_include)
foreach(_cudalink_folder include/cudalink include)
  if(NOT _cudalink_include AND EXISTS "${_cudalink_prefix}/${_cudalink_folder}/cudalink.h")
    set(_cudalink_include "${_cudalink_prefix}/${_cudalink_folder}")
  endif()
endforeach()

unset(_cudalink_shared)
unset(_cudalink_static)
foreach(_cudalink_folder lib lib64 "lib/${CMAKE_LIBRARY_ARCHITECTURE}")
  # A Python wheel holds no links, so there the library may only have the name that programs ask the loader for.
  foreach(_cudalink_name libcudalink.so "libcudalink.so.${cudalink_VERSION_MAJOR}.${cudalink_VERSION_MINOR}")
    if(NOT _cudalink_shared AND EXISTS "${_cudalink_prefix}/${_cudalink_folder}/${_cudalink_name}")
      set(_cudalink_shared "${_cudalink_prefix}/${_cudalink_folder}/${_cudalink_name}")
    endif()
  endforeach()
  if(NOT _cudalink_static AND EXISTS "${_cudalink_prefix}/${_cudalink_folder}/libcudalink.a")
    set(_cudalink_static "${_cudalink_prefix}/${_cudalink_folder}/libcudalink.a")
  endif()
endforeach()

if(_cudalink_include AND _cudalink_shared AND NOT TARGET cudalink::cudalink)
  add_library(cudalink::cudalink SHARED IMPORTED)
  set_target_properties(cudalink::cudalink PROPERTIES
    IMPORTED_LOCATION "${_cudalink_shared}"
    INTERFACE_INCLUDE_DIRECTORIES "${_cudalink_include}")
endif()

if(_cudalink_include AND _cudalink_static AND NOT TARGET cudalink::cudalink_static)
  add_library(cudalink::cudalink_static STATIC IMPORTED)
  set_target_properties(cudalink::cudalink_static PROPERTIES
    IMPORTED_LOCATION "${_cudalink_static}"
    INTERFACE_INCLUDE_DIRECTORIES "${_cudalink_include}"
    # What `rustc --print native-static-libs` says.
    INTERFACE_LINK_LIBRARIES "gcc_s;util;rt;pthread;m;dl;c")
endif()

if(NOT _cudalink_include OR NOT (_cudalink_shared OR _cudalink_static))
  set(cudalink_FOUND FALSE)
  set(cudalink_NOT_FOUND_MESSAGE "${_cudalink_prefix} does not have cudalink.h in include or include/cudalink, and libcudalink.so or \
libcudalink.a in lib, lib64 or the system's folder below lib.")
endif()

unset(_cudalink_prefix)
unset(_cudalink_folder)
unset(_cudalink_name)
unset(_cudalink_include)
unset(_cudalink_shared)
unset(_cudalink_static)
