# Files of kernels (.cu) are compiled by commands of their own: the project stays one of C, whose flags and compile_commands.json other tools read.
# nvcc is optional. The C compiler makes host code of the same files for the emulation that tests run (tests/support/cuda_emulation), so a C++
# front end (g++ beside gcc) is needed; no C++ library is.
option(HAAS_CUDA "kernels for GPUs, where nvcc is on the path" ON)
set(HAAS_CUDA_ARCHITECTURES 90 CACHE STRING "compute capabilities that kernels are compiled for; the last also as PTX, for later ones")

set(HAAS_NVCC "")
if(HAAS_CUDA)
  unset(found)
  find_program(found nvcc NO_CACHE NO_CMAKE_SYSTEM_PATH)
  if(found)
    # nvcc on the path may be a script or a link: it says itself where its toolkit is.
    execute_process(COMMAND ${found} --dryrun -x cu -c /dev/null -o /dev/null OUTPUT_QUIET ERROR_VARIABLE said)
    string(REGEX MATCH "TOP=([^\n]+)" said "${said}")
    file(REAL_PATH "${CMAKE_MATCH_1}" HAAS_CUDA_ROOT)
    unset(cudart)
    find_library(cudart cudart_static NO_CACHE HINTS ${HAAS_CUDA_ROOT}/lib64 ${HAAS_CUDA_ROOT}/lib NO_DEFAULT_PATH)
    if(cudart)
      set(HAAS_NVCC ${found})
      # The runtime is part of the program, and no library of the driver: it starts on a machine that has none.
      add_library(lib_cudart INTERFACE)
      target_include_directories(lib_cudart SYSTEM INTERFACE ${HAAS_CUDA_ROOT}/include)
      target_link_libraries(lib_cudart INTERFACE ${cudart} ${CMAKE_DL_LIBS} Threads::Threads rt)
      add_library(lib::cudart ALIAS lib_cudart)
    endif()
  endif()
endif()
message(STATUS "kernels for GPUs: ${HAAS_NVCC}")

set(haas_kernel_includes -I${PROJECT_SOURCE_DIR})
set(haas_nvcc_flags -std=c++17 -O3 -lineinfo -Werror all-warnings -Xcompiler=-fPIC,-fno-exceptions,-fno-rtti,-fno-threadsafe-statics,-Wall,-Wextra,-fstack-protector-strong)
foreach(architecture ${HAAS_CUDA_ARCHITECTURES})
  set(codes sm_${architecture})
  list(GET HAAS_CUDA_ARCHITECTURES -1 newest)
  if(architecture STREQUAL newest)
    set(codes "[sm_${architecture},compute_${architecture}]")
  endif()
  list(APPEND haas_nvcc_flags -gencode arch=compute_${architecture},code=${codes})
endforeach()

if(CMAKE_BUILD_TYPE STREQUAL "Debug")
  list(APPEND haas_nvcc_flags -Xptxas=-O1) # nobody measures this build
endif()

set(haas_emulated_flags -x c++ -std=gnu++17 -fPIC -g1 -fno-exceptions -fno-rtti -Wall -Wextra -Werror -Wno-unknown-pragmas -ffp-contract=off)
if(HAAS_SANITIZE)
  list(APPEND haas_emulated_flags -O1 -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  if(NOT CMAKE_C_COMPILER_ID STREQUAL "GNU")
    list(APPEND haas_emulated_flags -fno-sanitize=function,vptr) # they need the C++ library
  endif()
elseif(HAAS_THREADS)
  list(APPEND haas_emulated_flags -O1 -fsanitize=thread)
else()
  list(APPEND haas_emulated_flags -O2 -fstack-protector-strong)
endif()

# haas_kernels(OUT FOLDER FILE.cu... [EMULATED INCLUDE]): objects below FOLDER of the build, by nvcc or, with EMULATED, by the C compiler
# with the headers of INCLUDE before all others. nvcc takes the COMPILE_OPTIONS of a file too.
function(haas_kernels out folder)
  cmake_parse_arguments(arg "" "EMULATED" "" ${ARGN})
  set(objects "")
  foreach(file ${arg_UNPARSED_ARGUMENTS})
    get_filename_component(name ${file} NAME_WE)
    set(object ${CMAKE_CURRENT_BINARY_DIR}/${folder}/${name}.o)
    file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/${folder})
    if(arg_EMULATED)
      set(command ${CMAKE_C_COMPILER} ${haas_emulated_flags} -I${arg_EMULATED} ${haas_kernel_includes} -MD -MF ${object}.d)
    else()
      get_source_file_property(own ${file} COMPILE_OPTIONS)
      if(NOT own)
        set(own "")
      endif()
      set(command ${HAAS_NVCC} ${haas_nvcc_flags} ${own} ${haas_kernel_includes} -MD -MF ${object}.d)
    endif()
    add_custom_command(
      OUTPUT ${object}
      COMMAND ${CMAKE_C_COMPILER_LAUNCHER} ${command} -c ${file} -o ${object}
      DEPENDS ${file}
      DEPFILE ${object}.d
      COMMENT "Building ${folder}/${name}.o"
      VERBATIM)
    list(APPEND objects ${object})
  endforeach()
  set(${out} ${objects} PARENT_SCOPE)
endfunction()
