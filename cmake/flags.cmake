# Warnings are errors under both compilers; hardening in every build (docs: CONTRIBUTING.md).
set(CMAKE_C_STANDARD 17)
set(CMAKE_C_EXTENSIONS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE})
endif()

add_compile_options(
  -Wall -Wextra -Wpedantic -Werror -Wshadow -Wconversion -Wsign-conversion -Wstrict-prototypes -Wmissing-prototypes
  -Wold-style-definition -Wformat=2 -Wvla -Wundef -Wpointer-arith -Wcast-qual -Wwrite-strings -Wnull-dereference
  -Wimplicit-fallthrough -Wdouble-promotion -Wswitch-enum
  -fstack-protector-strong -fstack-clash-protection -fcf-protection=full)
add_compile_definitions(_GNU_SOURCE HAAS_VERSION="${PROJECT_VERSION}")
include_directories(${PROJECT_SOURCE_DIR})
add_link_options(-Wl,-z,relro,-z,now)

# More than two hundred programs are linked: mold takes a third of the time of GNU ld.
find_program(MOLD mold)
if(MOLD)
  add_link_options(-fuse-ld=mold)
endif()

if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  add_compile_options(
    -Wformat-signedness -Warith-conversion -Wduplicated-cond -Wduplicated-branches -Wlogical-op -Wjump-misses-init
    -Wstringop-overflow=4 -ftrivial-auto-var-init=zero)
  set(fortify 3)
else()
  add_compile_options(-Wcomma -Wunreachable-code -Wassign-enum -Wthread-safety)
  # -Wpedantic of clang objects to the GNU extensions that gnu17 is chosen for.
  add_compile_options(-Wno-gnu-statement-expression -Wno-gnu-zero-variadic-macro-arguments)
  set(fortify 2)
endif()

if(HAAS_SANITIZE)
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -O1)
  add_link_options(-fsanitize=address,undefined)
  # gcc's flow warnings misfire on sanitizer instrumentation; the release build keeps them.
  add_compile_options(-Wno-null-dereference)
  if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-Wno-stringop-overflow -Wno-maybe-uninitialized)
  endif()
elseif(HAAS_THREADS)
  # gcc says that atomic_thread_fence() is not followed by ThreadSanitizer; where one is used, a report would be false.
  add_compile_options(-fsanitize=thread -fno-omit-frame-pointer -O1 -Wno-null-dereference -Wno-stringop-overflow -Wno-maybe-uninitialized)
  add_link_options(-fsanitize=thread)
elseif(NOT HAAS_ANALYZE) # -fanalyzer follows the source best without optimisation, which fortification needs
  add_compile_options(-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=${fortify})
endif()
if(HAAS_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
if(HAAS_ANALYZE)
  add_compile_options(-fanalyzer)
endif()
