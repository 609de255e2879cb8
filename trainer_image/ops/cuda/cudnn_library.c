#include "trainer_image/ops/cuda/cudnn_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "trainer_image/ops/cuda/cuda_library.h"

/* What libcudnn.so.9 loads by itself at the first call. Without one of them it ends the program, or fails at all it is asked. */
static const char *const cudnn_library_parts[] = {
	"libcudnn_graph.so.9",
	"libcudnn_heuristic.so.9",
	"libcudnn_engines_precompiled.so.9",
	"libcudnn_engines_runtime_compiled.so.9",
};

static const struct cuda_library_function cudnn_library_functions[] = {
	{"cudnnGetVersion", offsetof(struct cudnn_library, version)},
	{"cudnnGetCudartVersion", offsetof(struct cudnn_library, cuda_version)},
	{"cudnnGetLastErrorString", offsetof(struct cudnn_library, last_error)},
	{"cudnnCreate", offsetof(struct cudnn_library, create)},
	{"cudnnDestroy", offsetof(struct cudnn_library, destroy)},
	{"cudnnSetStream", offsetof(struct cudnn_library, set_stream)},
	{"cudnnBackendCreateDescriptor", offsetof(struct cudnn_library, create_descriptor)},
	{"cudnnBackendDestroyDescriptor", offsetof(struct cudnn_library, destroy_descriptor)},
	{"cudnnBackendFinalize", offsetof(struct cudnn_library, finalize)},
	{"cudnnBackendSetAttribute", offsetof(struct cudnn_library, set_attribute)},
	{"cudnnBackendGetAttribute", offsetof(struct cudnn_library, get_attribute)},
	{"cudnnBackendExecute", offsetof(struct cudnn_library, execute)},
};

static const struct cuda_library cudnn_library_is = {
	.title = "cuDNN",
	.file = "libcudnn.so.9",
	.variable = CUDNN_FOLDER_VARIABLE,
	.least = "cuDNN 9.2 or later (9.8 for a GPU that is not here)",
	.functions = cudnn_library_functions,
	.count = COUNT_OF(cudnn_library_functions),
};

/* The parts lie beside it: those of another folder may be of another version. */
static int cudnn_library_load_parts(const char *folder, struct problem *problem)
{
	for (size_t i = 0; i < COUNT_OF(cudnn_library_parts); i++) {
		void *part = cuda_library_load(folder, cudnn_library_parts[i]);

		if (!part) {
			const char *why =
				dlerror(); // NOLINT(concurrency-mt-unsafe): one for each thread

			(void)problem_set(problem, -ENOENT, "cuDNN is not complete: no usable %s",
					  cudnn_library_parts[i]);
			problem_detail(problem, "looked for beside %s in %s: %s",
				       cudnn_library_is.file, folder, why ? why : "");
			problem_hint(problem, "install all of cuDNN into one folder");
			return -ENOENT;
		}
		dlclose(part); /* it stays: RTLD_NODELETE */
	}
	return 0;
}

/* Beside cuDNN, where Python's packages of CUDA 12 and CUDA 13 have it, in the usual folder, by ld.so. */
static void *cudnn_library_find_blas(const char *folder, int cuda, const char *file)
{
	char place[PATH_MAX + 32];
	void *found = cuda_library_load(folder, file);

	if (!found && text_format(place, sizeof(place), "%s/../../cublas/lib", folder))
		found = cuda_library_load(place, file);
	if (!found && text_format(place, sizeof(place), "%s/../../cu%d/lib", folder, cuda))
		found = cuda_library_load(place, file);
	if (!found)
		found = cuda_library_load(CUDA_LIBRARY_FOLDER, file);
	return found ? found : cuda_library_load(NULL, file);
}

/* cuDNN's engines open cuBLAS by its name, and end the program where that fails. They take one that is loaded already. */
static int cudnn_library_load_blas(const struct cudnn_library *library, const char *folder,
				   struct problem *problem)
{
	int cuda = (int)(library->cuda_version() / 1000);
	char file[32];

	(void)snprintf(file, sizeof(file), "libcublasLt.so.%d", cuda);
	void *blas = cudnn_library_find_blas(folder, cuda, file);

	if (blas) {
		dlclose(blas); /* it stays: RTLD_NODELETE */
		return 0;
	}
	const char *why = dlerror(); // NOLINT(concurrency-mt-unsafe): one for each thread

	(void)problem_set(problem, -ENOENT, "cuDNN is not complete: no usable %s", file);
	problem_detail(problem, "looked for in %s, beside it, in %s and by ld.so: %s", folder,
		       CUDA_LIBRARY_FOLDER, why ? why : "");
	problem_hint(problem, "install cuBLAS of CUDA %d, or put %s beside cuDNN", cuda, file);
	return -ENOENT;
}

int cudnn_library_check_version(const struct cudnn_library *library, size_t least, const char *what,
				struct problem *problem)
{
	size_t version = library->version();

	if (version >= least && version < 100000)
		return 0;
	(void)problem_set(problem, E_UNSUPPORTED,
			  "cuDNN %zu.%zu.%zu cannot be used: %s needs 9.%zu or a later 9",
			  version / 10000, version / 100 % 100, version % 100, what,
			  least / 100 % 100);
	problem_hint(problem, "install a later cuDNN 9, or name its folder in %s",
		     CUDNN_FOLDER_VARIABLE);
	return E_UNSUPPORTED;
}

int cudnn_library_open(struct cudnn_library *ret, struct problem *problem)
{
	struct cudnn_library library = {0};
	char folder[PATH_MAX] = "";
	void *loaded = NULL;
	int rc = cuda_library_open(&cudnn_library_is, &library, &loaded, problem);

	if (rc == 0)
		rc = cudnn_library_check_version(&library, CUDNN_VERSION_LEAST, "the trainer",
						 problem);
	if (rc == 0 && dlinfo(loaded, RTLD_DI_ORIGIN, folder) != 0)
		rc = problem_set(problem, -ENOENT, "cuDNN cannot be loaded: in no folder");
	if (rc == 0)
		rc = cudnn_library_load_parts(folder, problem);
	if (rc == 0)
		rc = cudnn_library_load_blas(&library, folder, problem);
	if (rc == 0)
		*ret = library;
	return rc;
}

const char *cudnn_library_name(const struct cudnn_library *library, char ret[CUDNN_LIBRARY_NAME])
{
	size_t version = library->version();

	(void)snprintf(ret, CUDNN_LIBRARY_NAME, "cuDNN %zu.%zu.%zu", version / 10000,
		       version / 100 % 100, version % 100);
	return ret;
}

int cudnn_library_problem(const struct cudnn_library *library, int status, const char *what,
			  struct problem *problem)
{
	char words[256] = "";
	bool unsupported = status / 1000 == CUDNN_STATUS_NOT_SUPPORTED / 1000;

	library->last_error(words, sizeof(words));
	words[sizeof(words) - 1] = '\0';
	text_blank_controls(words, strlen(words));
	(void)problem_set(problem, unsupported ? E_UNSUPPORTED : -EIO,
			  "cuDNN: %s failed, status %d", what, status);
	problem_detail(problem, "%s", words);
	return problem->code;
}

void cudnn_pool_init(struct cudnn_pool *pool, const struct cudnn_library *library)
{
	pool->library = library;
	pool->count = 0;
	pool->status = CUDNN_STATUS_SUCCESS;
}

void cudnn_pool_done(struct cudnn_pool *pool)
{
	while (pool->count > 0)
		(void)pool->library->destroy_descriptor(pool->descriptors[--pool->count]);
}

void *cudnn_pool_add(struct cudnn_pool *pool, enum cudnn_descriptor_type type)
{
	void *descriptor = NULL;

	if (pool->status != CUDNN_STATUS_SUCCESS)
		return NULL;
	if (pool->count == CUDNN_POOL_MAX) {
		pool->status = CUDNN_STATUS_INTERNAL_ERROR;
		return NULL;
	}
	pool->status = pool->library->create_descriptor(type, &descriptor);
	if (pool->status != CUDNN_STATUS_SUCCESS)
		return NULL;
	pool->descriptors[pool->count++] = descriptor;
	return descriptor;
}

void cudnn_pool_set(struct cudnn_pool *pool, void *descriptor, enum cudnn_attribute attribute,
		    enum cudnn_attribute_type type, int64_t count, const void *values)
{
	if (pool->status == CUDNN_STATUS_SUCCESS)
		pool->status =
			pool->library->set_attribute(descriptor, attribute, type, count, values);
}

void cudnn_pool_set_descriptor(struct cudnn_pool *pool, void *descriptor,
			       enum cudnn_attribute attribute, void *value)
{
	cudnn_pool_set(pool, descriptor, attribute, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value);
}

void cudnn_pool_finalize(struct cudnn_pool *pool, void *descriptor)
{
	if (pool->status == CUDNN_STATUS_SUCCESS)
		pool->status = pool->library->finalize(descriptor);
}
