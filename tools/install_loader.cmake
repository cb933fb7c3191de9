# install_loader.cmake - after installing, programs find the shared library: root
# refreshes the loader's cache, and a folder that it does not search is named. A
# package (DESTDIR) does this by itself.
if(NOT "$ENV{DESTDIR}" STREQUAL "")
  return()
endif()
if(NOT IS_ABSOLUTE "${libdir}")
  set(libdir "${CMAKE_INSTALL_PREFIX}/${libdir}")
endif()
find_program(LDCONFIG ldconfig PATHS /sbin /usr/sbin)
if(NOT LDCONFIG)
  return()
endif()
execute_process(COMMAND id -u OUTPUT_VARIABLE user)
if(user EQUAL 0)
  execute_process(COMMAND ${LDCONFIG})
endif()
execute_process(COMMAND ${LDCONFIG} -p OUTPUT_VARIABLE known ERROR_QUIET)
get_filename_component(installed "${libdir}/libvitcl.so" REALPATH)
string(REGEX MATCHALL "/[^\n]*/libvitcl\\.so[^\n]*" known "${known}")
foreach(file IN LISTS known) # /lib may be a link to /usr/lib
  get_filename_component(file "${file}" REALPATH)
  if(file STREQUAL installed)
    return()
  endif()
endforeach()
message(STATUS "The loader does not search ${libdir}: programs that use libvitcl "
  "need LD_LIBRARY_PATH=${libdir}")
