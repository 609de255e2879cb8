/* A library of CUDA's, loaded by name when it is asked for: one program serves machines with it and without.
 *
 * Looked for in this order: the folder that an environment variable names, what ld.so knows, the usual folder of CUDA. A
 * folder that was named is the only one then. It stays loaded. */
#pragma once

#include <stddef.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

#define CUDA_LIBRARY_FOLDER "/usr/local/cuda/lib64"

struct cuda_library_function {
	const char *name;
	size_t offset; /* of its pointer, in the table that the caller has */
};

struct cuda_library {
	const char *title;    /* "NCCL" */
	const char *file;     /* "libnccl.so.2" */
	const char *variable; /* "TRAINER_NCCL" */
	const char *least;    /* "NCCL 2.14 or later" */
	const struct cuda_library_function *functions;
	size_t count;
};

/* Fills the functions into `table`. -ENOENT: not here; E_UNSUPPORTED: it lacks one. The problem says which file, where it was
 * looked for, and what to do. `ret_loaded`: as dlopen() has it, for a closer look; may be NULL. */
MUST_USE int cuda_library_open(const struct cuda_library *library, void *table, void **ret_loaded,
			       struct problem *problem);
/* A file of a folder, or of what ld.so knows where `folder` is NULL. NULL: no; dlerror() says why. */
void *cuda_library_load(const char *folder, const char *file);
