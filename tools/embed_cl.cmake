# embed_cl.cmake - write one C file that holds every kernel as a byte array.
#   cmake -DDIR=cl -DOUT=build/cl_sources.c -P tools/embed_cl.cmake
cmake_minimum_required(VERSION 3.16)
file(GLOB files ${DIR}/*.cl)
list(SORT files)
foreach(file IN LISTS files)
  get_filename_component(name ${file} NAME_WE)
  file(READ ${file} hex HEX)
  string(REGEX REPLACE "(................................)" "\\1\n" hex "${hex}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  string(APPEND arrays "static const char ${name}_cl[] = {\n${bytes}0x00};\n\n")
  string(APPEND table "    {\"${name}\", ${name}_cl, sizeof(${name}_cl) - 1},\n")
endforeach()
file(WRITE ${OUT} "/* Made from cl/ by tools/embed_cl.cmake. */\n"
  "#include \"ocl/source.h\"\n\n${arrays}"
  "const vt_cl_source vt_cl_sources[] = {\n${table}    {NULL, NULL, 0}\n};\n")
