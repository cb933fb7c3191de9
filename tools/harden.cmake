# harden.cmake - what makes a memory error in vitcl harder to exploit, of that
# which this compiler and linker have: checked calls of the C library, guarded
# stacks, programs at random addresses, tables of calls that are read-only.
include(CheckCSourceCompiles)
include(CheckPIESupported)

# vt_harden(VARIABLE FLAGS): appends them to the list if they compile and link
# without a warning.
function(vt_harden variable flags)
  string(MAKE_C_IDENTIFIER "VITCL_HAS_${flags}" result)
  set(CMAKE_REQUIRED_FLAGS "-O2 -Werror ${flags}")
  check_c_source_compiles("#include <string.h>
    int main(int n, char **v)
    { char copy[8]; memcpy(copy, v[0], (unsigned)n); return copy[0]; }" ${result})
  if(${result})
    separate_arguments(flags)
    set(${variable} ${${variable}} ${flags} PARENT_SCOPE)
  endif()
endfunction()

set(guards)
vt_harden(guards -fstack-protector-strong)
vt_harden(guards -fstack-clash-protection)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  vt_harden(guards -mbranch-protection=standard)
else()
  vt_harden(guards -fcf-protection)
endif()
add_compile_options(${guards})

# The C library wants optimised code for its checks; distributions may define a
# level of their own.
set(level)
vt_harden(level "-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3")
if(NOT level)
  vt_harden(level "-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2")
endif()
add_compile_options("$<$<CONFIG:Release,RelWithDebInfo,MinSizeRel>:${level}>")

set(CMAKE_REQUIRED_LINK_OPTIONS -Wl,-z,relro -Wl,-z,now)
check_c_source_compiles("int main(void) { return 0; }" VITCL_HAS_RELRO_NOW)
if(VITCL_HAS_RELRO_NOW)
  add_link_options(${CMAKE_REQUIRED_LINK_OPTIONS})
endif()
unset(CMAKE_REQUIRED_LINK_OPTIONS)

check_pie_supported(LANGUAGES C)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
