// links: trainer_cudnn lib::jansson
/* Which cuDNN is taken, with what beside it, and what it is told of a GPU; beside a fake cuDNN (tests/support/cudnn_fake). */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

#include "tests/support/cmocka.h"
#include "tests/support/cudnn_fake/cudnn_lab.h"
#include "trainer_image/ops/cuda/cudnn_conv.h"
#include "trainer_image/ops/cuda/cudnn_source.h"

static void library(void **state)
{
	struct cudnn_library library;
	struct problem problem = {0};
	char folder[PATH_MAX];

	(void)state;
	setenv(CUDNN_FOLDER_VARIABLE, "/none", 1);
	assert_int_equal(cudnn_library_open(&library, &problem), -ENOENT);
	assert_string_equal(problem.message, "cuDNN cannot be loaded: no usable libcudnn.so.9");
	assert_non_null(strstr(problem.detail, "TRAINER_CUDNN names the folder /none: "));
	assert_non_null(strstr(problem.detail, "/none/libcudnn.so.9"));
	assert_non_null(strstr(problem.hint, "unset TRAINER_CUDNN"));
	memset(folder, 'x', sizeof(folder) - 1);
	folder[sizeof(folder) - 1] = '\0';
	setenv(CUDNN_FOLDER_VARIABLE, folder, 1);
	assert_int_equal(cudnn_library_open(&library, &problem), -ENOENT);
	setenv(CUDNN_FOLDER_VARIABLE, "", 1);
	assert_int_equal(cudnn_library_open(&library, &problem), -ENOENT);

	cudnn_use("lacks");
	assert_int_equal(cudnn_library_open(&library, &problem), E_UNSUPPORTED);
	assert_string_equal(problem.message,
			    "cuDNN cannot be used: libcudnn.so.9 lacks cudnnBackendExecute");
	cudnn_use("alone");
	assert_int_equal(cudnn_library_open(&library, &problem), -ENOENT);
	assert_string_equal(problem.message,
			    "cuDNN is not complete: no usable libcudnn_graph.so.9");
	cudnn_folder("alone", folder);
	assert_non_null(strstr(problem.detail, folder));

	struct cudnn_fake *fake = cudnn_state();

	cudnn_use("fake");
	fake->version = 90100;
	assert_int_equal(cudnn_library_open(&library, &problem), E_UNSUPPORTED);
	assert_string_equal(problem.message,
			    "cuDNN 9.1.0 cannot be used: the trainer needs 9.2 or a later 9");
	fake->version = 100000; /* another interface */
	assert_int_equal(cudnn_library_open(&library, &problem), E_UNSUPPORTED);
	fake->version = CUDNN_VERSION_LEAST;
	assert_int_equal(cudnn_library_open(&library, &problem), 0);
}

/* A GPU of this machine has no description. */
static void versions(void **state)
{
	const struct plan_engine_source *face = NULL;
	const struct cudnn_conv_bias bias = {0};
	struct cudnn_source *source = NULL;
	struct cudnn_conv *conv = NULL;
	struct problem problem = {0};
	struct cudnn_fake *fake = cudnn_state();

	(void)state;
	cudnn_use("fake");
	*fake = (struct cudnn_fake){.version = CUDNN_VERSION_OF_DESCRIPTIONS - 1};
	assert_int_equal(cudnn_source_new(gpu_row("h200"), TENSOR_BF16, &source, &face, &problem),
			 E_UNSUPPORTED);
	assert_string_equal(
		problem.message,
		"cuDNN 9.7.99 cannot be used: a GPU that is not here needs 9.8 or a later 9");
	assert_int_equal(cudnn_conv_new(NULL, 500, &bias, &conv, &problem), 0);
	cudnn_conv_free(conv);
	fake->version = CUDNN_VERSION_OF_DESCRIPTIONS;
	assert_int_equal(cudnn_source_new(gpu_row("h200"), TENSOR_BF16, &source, &face, &problem),
			 0);
	cudnn_source_free(source);
}

/* Without cuBLAS the real cuDNN would end the program. */
static void blas(void **state)
{
	struct cudnn_library library;
	struct problem problem = {0};
	struct cudnn_fake *python;

	(void)state;
	cudnn_use("no_blas");
	assert_int_equal(cudnn_library_open(&library, &problem), -ENOENT);
	assert_string_equal(problem.message, "cuDNN is not complete: no usable libcublasLt.so.99");
	assert_non_null(strstr(problem.detail, "/cudnn_no_blas, "));
	assert_string_equal(problem.hint,
			    "install cuBLAS of CUDA 99, or put libcublasLt.so.99 beside cuDNN");
	cudnn_use("python/cudnn/lib");
	python = cudnn_state_of("python/cudnn/lib");
	assert_int_equal(cudnn_library_open(&library, &problem), 0);
	python->cuda = 98;
	assert_int_equal(cudnn_library_open(&library, &problem), 0);
	python->cuda = 97;
	assert_int_equal(cudnn_library_open(&library, &problem), -ENOENT);
}

static void devices(void **state)
{
	const struct cudnn_device_row *row = NULL;
	struct problem problem = {0};
	size_t count = 0;
	size_t served = 0;
	const struct gpu_row *gpus = gpu_rows(&count);
	char text[CUDNN_DEVICE_TEXT];

	(void)state;
	for (size_t i = 0; i < count; i++) {
		int rc = cudnn_device_find(gpus[i].name, gpus[i].capability, &row, &problem);

		if (gpus[i].capability < 75) {
			assert_int_equal(rc, E_UNSUPPORTED);
			assert_non_null(strstr(problem.message, "it needs CUDA 12"));
			continue;
		}
		served++;
		assert_int_equal(rc, 0);
		assert_int_equal(row->capability, gpus[i].capability);
		assert_int_equal(row->memory_mib, gpus[i].memory_mib);
		json_t *json =
			json_loads(cudnn_device_text(row, text), JSON_REJECT_DUPLICATES, NULL);

		assert_non_null(json);
		assert_int_equal(json_object_size(json), 23);
		assert_int_equal(json_integer_value(json_object_get(json, "deviceVer")),
				 gpus[i].capability * 10);
		json_decref(json);
	}
	(void)cudnn_device_rows(&count);
	assert_int_equal(count, served);
	assert_int_equal(cudnn_device_find("none", 90, &row, &problem), E_NOT_FOUND);
	/* Limits of a compute capability. */
	assert_int_equal(cudnn_device_find("t4", 75, &row, &problem), 0);
	assert_non_null(strstr(cudnn_device_text(row, text), "\"maxThreadsPerSM\":1024"));
	assert_int_equal(cudnn_device_find("rtx5090", 120, &row, &problem), 0);
	assert_non_null(
		strstr(cudnn_device_text(row, text), "\"maxSharedMemoryPerBlockOptin\":101376"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(library),
		cmocka_unit_test(versions),
		cmocka_unit_test(blas),
		cmocka_unit_test(devices),
	};

	return cmocka_run_group_tests_name("trainer_cudnn_library", tests, NULL, NULL);
}
