# check_layers.cmake - which folder of host/ may include which, and where
# OpenCL may be used.
#   cmake -DROOT=. -P tools/check_layers.cmake
# The table is the rule.


cmake_minimum_required(VERSION 3.16)

set(may_base)
set(may_walk base)
set(may_text base)
set(may_image base)
set(may_weights base)
set(may_ocl base)
set(may_units base ocl)
set(may_gemm base ocl units)
set(may_tune base ocl gemm)
set(may_product base ocl units gemm tune)
set(may_plan base ocl gemm product)
set(may_ops base ocl units gemm product plan)
set(may_trials base ocl units gemm tune product ops) # of vitcl-try alone
set(may_models base image weights plan ops)
set(may_data base walk text image models) # classes of a model and of data meet there
set(may_train base image weights plan ops models data convert)
set(may_mpi train) # modules, built once with each MPI
set(may_eval base plan models data)
set(may_convert base image weights models)
set(may_index base walk weights ocl gemm product)
set(may_api base walk text image weights ocl units gemm tune product plan ops models data train eval convert index)
set(may_plot base) # this and all below are of the programs alone
set(may_inspect base plot)
set(may_pull base)
set(may_parts base plot index)
set(may_archives base walk parts)
# the program's rooms, and its commands
set(may_cli/terminal base)
set(may_cli/setup api base cli/terminal)
set(may_cli/devices api base cli/terminal cli/setup)
set(may_cli/pictures api base walk index parts archives cli/terminal cli/setup)
set(may_cli/answers api base plot index parts cli/terminal cli/setup cli/devices cli/pictures)
set(may_cli/texts api base index cli/terminal cli/setup cli/pictures cli/answers)
set(may_cli/training api base plot parts cli/terminal cli/setup cli/devices)
set(may_cli/bench api base plot cli/terminal cli/setup cli/devices)
set(may_cli/inspect api base plot inspect parts cli/terminal cli/setup cli/pictures cli/answers)
set(may_cli api base walk plot inspect pull index parts archives cli/terminal cli/setup cli/devices
  cli/pictures cli/answers cli/texts cli/training cli/bench cli/inspect)

set(types "mem|kernel|program|context|command_queue|device_id|platform_id|\
event|int|uint|long|ulong|float|bool|half|char|uchar|short|ushort|double")
set(failures 0)

macro(complain file text)
  string(STRIP "${text}" stripped)
  message("${file}: ${stripped}")
  math(EXPR failures "${failures} + 1")
endmacro()

# Includes with quotes: "folder/file.h", or "file.h" for a neighbour.
function(check_includes file folder)
  file(STRINGS ${ROOT}/${file} lines REGEX "^ *# *include")
  foreach(line IN LISTS lines)
    if(line MATCHES "\"((cli/)?[a-z0-9_]+)/[a-z0-9_]+\\.h\"")
      if(NOT CMAKE_MATCH_1 STREQUAL folder
         AND NOT CMAKE_MATCH_1 IN_LIST may_${folder})
        complain(${file} "${line} (${folder}/ may not include that folder)")
      elseif(folder MATCHES "^cli" AND line MATCHES "\"api/" AND NOT line MATCHES "/program.h")
        complain(${file} "${line} (the program uses include/, and of api/ program.h alone)")
      endif()
    elseif(line MATCHES "\"([^\"]*)\"")
      get_filename_component(own ${ROOT}/${file} DIRECTORY)
      if(CMAKE_MATCH_1 MATCHES "/" OR NOT EXISTS ${own}/${CMAKE_MATCH_1})
        complain(${file} "${line} (write it from the folder)")
      endif()
    elseif(line MATCHES "<(CL/|clblast)" AND NOT knows_opencl)
      complain(${file} "${line} (OpenCL belongs to host/ocl)")
    endif()
  endforeach()
  set(failures ${failures} PARENT_SCOPE)
endfunction()

function(refuse file pattern why)
  file(STRINGS ${ROOT}/${file} lines REGEX "${pattern}")
  if(lines)
    complain(${file} "${lines} (${why})")
    set(failures ${failures} PARENT_SCOPE)
  endif()
endfunction()

file(GLOB files RELATIVE ${ROOT} ${ROOT}/host/*/*.[ch] ${ROOT}/host/cli/*/*.[ch])
list(LENGTH files count)
if(count LESS 10)
  message(FATAL_ERROR "no sources below ${ROOT}/host: nothing was checked")
endif()
foreach(file IN LISTS files)
  string(REGEX REPLACE "^host/(.*)/[^/]*$" "\\1" folder ${file})
  if(NOT DEFINED may_${folder} AND NOT folder STREQUAL "base")
    complain(${file} "folder host/${folder} is not in the table")
  endif()
  # CLBlast's interface is made of OpenCL's types.
  set(knows_opencl FALSE)
  if(folder STREQUAL "ocl" OR file STREQUAL "host/gemm/clblast.c")
    set(knows_opencl TRUE)
  endif()
  check_includes(${file} ${folder})
  if(NOT knows_opencl)
    refuse(${file} "(^|[^A-Za-z0-9_])cl_(${types})([^A-Za-z0-9_]|$)"
      "cl_ types belong to host/ocl")
  endif()
  if(NOT folder MATCHES "^cli")
    refuse(${file}
      "(^|[^A-Za-z0-9_])(printf|puts|putchar|perror|exit|abort) *\\("
      "the library never prints or exits")
    refuse(${file} "(printf|puts|putc|write) *\\(.*(stderr|stdout|STDERR_|STDOUT_)"
      "the library never prints")
  endif()
endforeach()

file(GLOB references RELATIVE ${ROOT} ${ROOT}/tests/ref/*.c)
foreach(file IN LISTS references)
  file(STRINGS ${ROOT}/${file} lines REGEX "^ *# *include.*\"")
  foreach(line IN LISTS lines)
    if(NOT line MATCHES "\"ref[/.]")
      complain(${file} "${line} (a reference shares no code with what it judges)")
    endif()
  endforeach()
endforeach()

file(GLOB kernels RELATIVE ${ROOT} ${ROOT}/cl/*.cl)
foreach(file IN LISTS kernels)
  refuse(${file} "^ *# *include" "a program is every common*.cl and one file")
endforeach()

if(failures)
  message(FATAL_ERROR "${failures} breaches of the layers")
endif()
message("${count} files keep to their layers")
