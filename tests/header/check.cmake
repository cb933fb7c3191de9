# check.cmake - each public header compiles alone, and so do the examples in its
# head comment and examples/classify.c, as C11 and as C++17, without a warning.
#   cmake -DROOT=. -DOUT=build/header -DCC=gcc [-DCXX=g++] -P check.cmake
# An example is between the lines " * Example: NAME" and " * End".
cmake_minimum_required(VERSION 3.16)
set(flags -Wall -Wextra -Wconversion -Wshadow -pedantic -Werror
  -fsyntax-only -I${ROOT}/include)
file(MAKE_DIRECTORY ${OUT})
set(failures 0)
set(examples 0)

function(compile what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code ERROR_VARIABLE text)
  if(NOT code EQUAL 0)
    message("${what}: ${ARGN}\n${text}")
    math(EXPR failures "${failures} + 1")
    set(failures ${failures} PARENT_SCOPE)
  endif()
endfunction()

function(compile_both what file)
  compile("${what} as C11" ${CC} -std=c11 -Wstrict-prototypes
    ${ARGN} -x c ${file})
  if(CXX)
    compile("${what} as C++17" ${CXX} -std=c++17 ${ARGN} -x c++ ${file})
  endif()
  set(failures ${failures} PARENT_SCOPE)
endfunction()

file(GLOB headers ${ROOT}/include/*.h)
foreach(header IN LISTS headers)
  get_filename_component(name ${header} NAME)
  file(WRITE ${OUT}/alone.c "#include <${name}>\n")
  compile_both(${name} ${OUT}/alone.c ${flags})

  # Cut the comment up by hand: a list would eat semicolons and brackets.
  file(READ ${header} text)
  while(text MATCHES " \\* Example: ([a-z_0-9]+)\n")
    set(example ${CMAKE_MATCH_1})
    string(FIND "${text}" " * Example: ${example}\n" from)
    string(SUBSTRING "${text}" ${from} -1 text)
    string(FIND "${text}" "\n * End\n" to)
    if(to EQUAL -1)
      message(FATAL_ERROR "${name}: example ${example} has no end")
    endif()
    string(SUBSTRING "${text}" 0 ${to} body)
    string(SUBSTRING "${text}" ${to} -1 text)
    string(REPLACE " * Example: ${example}\n" "\n" body "${body}\n")
    string(REGEX REPLACE "\n \\* ?(    )?" "\n" body "${body}")
    file(WRITE ${OUT}/${example}.c "${body}")
    compile_both("example ${example}" ${OUT}/${example}.c ${flags})
    math(EXPR examples "${examples} + 1")
  endwhile()
endforeach()
compile_both(examples/classify.c ${ROOT}/examples/classify.c ${flags})

if(NOT headers OR examples EQUAL 0)
  message(FATAL_ERROR "no header or no example was found")
endif()
if(failures)
  message(FATAL_ERROR "${failures} compilations failed")
endif()
message("${examples} examples and every header compile")
