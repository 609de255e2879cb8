#include "trainer_image/ops/cpu/cpu_blas.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "common/base/text.h"

/* The environment is how OpenBLAS is told. What this process had set before is kept. Under the lock of
 * cpu_blas_open(), and no thread of ours reads the environment beside it. */
// NOLINTBEGIN(concurrency-mt-unsafe)
static bool cpu_blas_tell(const char *name, const char *value)
{
	return value && !getenv(name) && setenv(name, value, 0) == 0;
}

static void *cpu_blas_load(const char *core)
{
	bool core_told = cpu_blas_tell("OPENBLAS_CORETYPE", core);
	bool threads_told = cpu_blas_tell("OPENBLAS_NUM_THREADS", "1"); /* the threads are ours */
	void *library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);

	if (core_told)
		unsetenv("OPENBLAS_CORETYPE");
	if (threads_told)
		unsetenv("OPENBLAS_NUM_THREADS");
	return library;
}

static const char *cpu_blas_why(void)
{
	return dlerror();
}
// NOLINTEND(concurrency-mt-unsafe)

/* ISO C has no cast from an object's address to a function's; POSIX says that it works. */
static void cpu_blas_find(void *library, struct cpu_blas *ret, void (**ret_threads)(int))
{
	*(void **)&ret->sgemm = dlsym(library, "cblas_sgemm");
	*(void **)&ret->dgemm = dlsym(library, "cblas_dgemm");
	*(void **)ret_threads = dlsym(library, "openblas_set_num_threads");
	dlclose(library); /* it stays: RTLD_NODELETE */
}

int cpu_blas_open(const char *core, struct cpu_blas *ret, struct problem *problem)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	void (*threads)(int) = NULL;
	char why[200] = "it lacks cblas_sgemm";

	pthread_mutex_lock(&lock);
	void *library = cpu_blas_load(core);
	if (!library)
		(void)text_format(why, sizeof(why), "%s", cpu_blas_why());
	pthread_mutex_unlock(&lock);
	*ret = (struct cpu_blas){0};
	if (library)
		cpu_blas_find(library, ret, &threads);
	if (ret->sgemm && ret->dgemm && threads) {
		threads(1);
		return 0;
	}
	(void)problem_set(problem, -ENOENT, "OpenBLAS cannot be loaded: %s", why);
	problem_hint(problem, "apt-get install libopenblas0-pthread");
	return -ENOENT;
}
