#include "trainer_image/ops/cuda/cuda_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"

void *cuda_library_load(const char *folder, const char *file)
{
	char path[1024];

	if (!folder)
		return dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (!text_format(path, sizeof(path), "%s/%s", folder, file))
		return NULL;
	return dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
}

static int cuda_library_missing(const struct cuda_library *library, const char *folder,
				struct problem *problem)
{
	const char *why =
		dlerror(); // NOLINT(concurrency-mt-unsafe): glibc keeps one for each thread

	(void)problem_set(problem, -ENOENT, "%s cannot be loaded: no usable %s", library->title,
			  library->file);
	if (folder) {
		problem_detail(problem, "%s names the folder %s: %s", library->variable, folder,
			       why ? why : "its name is too long");
		problem_hint(problem, "name the folder of %s, or unset %s", library->file,
			     library->variable);
	} else {
		problem_detail(problem, "looked for by ld.so and in %s: %s", CUDA_LIBRARY_FOLDER,
			       why ? why : "");
		problem_hint(problem, "install %s, or name its folder in %s", library->least,
			     library->variable);
	}
	return -ENOENT;
}

static int cuda_library_find(const struct cuda_library *library, void *loaded, void *table,
			     struct problem *problem)
{
	for (size_t i = 0; i < library->count; i++) {
		void *function = dlsym(loaded, library->functions[i].name);

		if (!function) {
			(void)problem_set(problem, E_UNSUPPORTED, "%s cannot be used: %s lacks %s",
					  library->title, library->file,
					  library->functions[i].name);
			problem_hint(problem, "install %s", library->least);
			return E_UNSUPPORTED;
		}
		memcpy((char *)table + library->functions[i].offset, &function, sizeof(function));
	}
	return 0;
}

int cuda_library_open(const struct cuda_library *library, void *table, void **ret_loaded,
		      struct problem *problem)
{
	const char *folder =
		getenv(library->variable); // NOLINT(concurrency-mt-unsafe): nobody sets it
	void *loaded = cuda_library_load(folder, library->file);

	if (!loaded && !folder)
		loaded = cuda_library_load(CUDA_LIBRARY_FOLDER, library->file);
	if (!loaded)
		return cuda_library_missing(library, folder, problem);
	int rc = cuda_library_find(library, loaded, table, problem);

	if (ret_loaded)
		*ret_loaded = loaded;
	dlclose(loaded); /* it stays: RTLD_NODELETE */
	return rc;
}
