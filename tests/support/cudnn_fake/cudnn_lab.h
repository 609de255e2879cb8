/* A test's way to the fake cuDNN: its folders, and what it lets the test see and say. */
#pragma once

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/text.h"

#include "tests/support/cmocka.h"
#include "tests/support/cudnn_fake/cudnn_fake.h"

/* build/dev/cudnn_NAME */
static inline void cudnn_folder(const char *name, char ret[PATH_MAX])
{
	char program[PATH_MAX];
	ssize_t size = readlink("/proc/self/exe", program, sizeof(program) - 1);

	assert_true(size > 0);
	program[size] = '\0';
	*strrchr(program, '/') = '\0'; /* units */
	*strrchr(program, '/') = '\0';
	assert_true(text_format(ret, PATH_MAX, "%s/cudnn_%s", program, name));
}

static inline void cudnn_use(const char *name)
{
	char folder[PATH_MAX];

	cudnn_folder(name, folder);
	assert_int_equal(setenv("TRAINER_CUDNN", folder, 1), 0);
}

static inline struct cudnn_fake *cudnn_state_of(const char *name)
{
	char folder[PATH_MAX];
	char path[PATH_MAX + 16];
	cudnn_fake_state_function *state = NULL;

	cudnn_folder(name, folder);
	assert_true(text_format(path, sizeof(path), "%s/libcudnn.so.9", folder));
	void *library = dlopen(path, RTLD_NOW | RTLD_NODELETE);

	assert_non_null(library);
	*(void **)&state = dlsym(library, "cudnn_fake_state");
	dlclose(library);
	assert_non_null(state);
	return state();
}

static inline struct cudnn_fake *cudnn_state(void)
{
	return cudnn_state_of("fake");
}
