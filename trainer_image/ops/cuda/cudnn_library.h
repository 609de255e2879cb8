/* cuDNN, loaded by name when somebody asks for it: one program serves machines with cuDNN and without.
 *
 * Looked for in this order: the folder that the environment's TRAINER_CUDNN names, what ld.so knows, the usual folder of
 * CUDA. A folder that was named is the only one then. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

#include "trainer_image/ops/cuda/cudnn_abi.h"

#define CUDNN_FOLDER_VARIABLE "TRAINER_CUDNN"

enum {
	CUDNN_VERSION_LEAST = 90200,          /* configurations say their workspace */
	CUDNN_VERSION_OF_DESCRIPTIONS = 90800 /* the first that takes a GPU's description */
};

/* The functions of cuDNN, by the words of cudnn_graph.h without "cudnn" and "Backend". All return an
 * enum cudnn_status but for the first three; types and attributes are the enums of cudnn_abi.h. */
struct cudnn_library {
	size_t (*version)(void);
	size_t (*cuda_version)(void); /* 13010: built with CUDA 13.1 */
	void (*last_error)(char *ret, size_t room);
	int (*create)(void **ret_handle);
	int (*destroy)(void *handle);
	int (*set_stream)(void *handle, void *stream);
	int (*create_descriptor)(unsigned type, void **ret);
	int (*destroy_descriptor)(void *descriptor);
	int (*finalize)(void *descriptor);
	int (*set_attribute)(void *descriptor, unsigned attribute, unsigned type, int64_t count,
			     const void *values);
	int (*get_attribute)(void *descriptor, unsigned attribute, unsigned type, int64_t room,
			     int64_t *ret_count, void *values);
	int (*execute)(void *handle, void *plan, void *pack);
};

/* Loads all that planning and running products need: the parts beside cuDNN, and cuBLAS, without which cuDNN would end the
 * program. -ENOENT: not here, or a part of it; E_UNSUPPORTED: too old, or no cuDNN. The problem says which file and which
 * function. It stays loaded. */
MUST_USE int cudnn_library_open(struct cudnn_library *ret, struct problem *problem);
/* E_UNSUPPORTED: older than `least`, which `what` needs; or no cuDNN 9. */
MUST_USE int cudnn_library_check_version(const struct cudnn_library *library, size_t least,
					 const char *what, struct problem *problem);

/* "cuDNN 9.19.0" in `ret`, which it returns. */
enum { CUDNN_LIBRARY_NAME = 32 };
const char *cudnn_library_name(const struct cudnn_library *library, char ret[CUDNN_LIBRARY_NAME]);

/* Sets `problem` from a status that is no success, with cuDNN's own words as the detail: `what` could not be done. Returns
 * E_UNSUPPORTED or -EIO. */
int cudnn_library_problem(const struct cudnn_library *library, int status, const char *what,
			  struct problem *problem);

/* Descriptors of cuDNN that live and end together. What fails first stays in `status`, all later calls do nothing: a builder
 * writes straight down and checks once. */
enum { CUDNN_POOL_MAX = 320 };
struct cudnn_pool {
	const struct cudnn_library *library;
	void *descriptors[CUDNN_POOL_MAX];
	size_t count;
	int status;
};

void cudnn_pool_init(struct cudnn_pool *pool, const struct cudnn_library *library);
/* The newest first. */
void cudnn_pool_done(struct cudnn_pool *pool);
/* NULL when something failed. */
void *cudnn_pool_add(struct cudnn_pool *pool, enum cudnn_descriptor_type type);
void cudnn_pool_set(struct cudnn_pool *pool, void *descriptor, enum cudnn_attribute attribute,
		    enum cudnn_attribute_type type, int64_t count, const void *values);
void cudnn_pool_set_descriptor(struct cudnn_pool *pool, void *descriptor,
			       enum cudnn_attribute attribute, void *value);
void cudnn_pool_finalize(struct cudnn_pool *pool, void *descriptor);
