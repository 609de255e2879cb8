/* Attributes and small macros that every file may use. */
#pragma once

#include <stddef.h>

#define MUST_USE                   __attribute__((warn_unused_result))
#define PRINTF_LIKE(string, first) __attribute__((__format__(__printf__, string, first)))
/* A function that kernels of a GPU call too. */
#ifdef __CUDACC__
#define ALSO_ON_GPU __host__ __device__
#else
#define ALSO_ON_GPU
#endif
/* CLEANUP(x_freep) struct x *x = NULL;  frees at the end of the scope; TAKE(x) moves the value out.
 */
#define CLEANUP(function) __attribute__((cleanup(function)))
#define TAKE(pointer)                                        \
	__extension__({                                      \
		__typeof__(pointer) take_value_ = (pointer); \
		(pointer) = NULL;                            \
		take_value_;                                 \
	})
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define CONTAINER_OF(member_pointer, type, member) \
	((type *)(void *)((char *)(member_pointer)-offsetof(type, member)))

/* CLEANUP(freep) for anything that came from malloc. */
void freep(void *pointer);
/* CLEANUP(closep) for a file descriptor; -1 is left alone. */
void closep(const int *fd);

/* At the head of a file that stores what it allocates in tables and lists: gcc 12's -fanalyzer
 * loses sight of it there and reports a leak. LeakSanitizer watches such files in every test run.
 */
#if defined(__GNUC__) && !defined(__clang__)
#define LEAKS_LEFT_TO_SANITIZER _Pragma("GCC diagnostic ignored \"-Wanalyzer-malloc-leak\"")
#else
#define LEAKS_LEFT_TO_SANITIZER
#endif
