// links: trainer_cuda_emulated trainer_train
// alone: the back end "cuda" is the emulated one (tests/support/cuda_emulation)
/* A GPU that fails at any moment of a job or of a bench: its own words are what the user reads. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/base/text.h"
#include "common/io/file.h"

#include "tests/support/cmocka.h"
#include "tests/support/cuda_emulation/emulation.h"
#include "tests/support/scratch.h"
#include "trainer_image/record/digits.h"
#include "trainer_image/train/step_bench.h"
#include "trainer_image/train/train.h"

enum { WAITS_MOST = 1000 };

static char folder[SCRATCH_SIZE];

static void write_file(const char *name, const char *text)
{
	char path[SCRATCH_SIZE + 32];

	assert_true(text_format(path, sizeof(path), "%s/%s", folder, name));
	assert_int_equal(file_write_atomic(path, text, strlen(text), 0600), 0);
}

static int start(void **state)
{
	struct problem problem = {0};
	char path[SCRATCH_SIZE + 32];

	(void)state;
	scratch_make(folder, "fault");
	write_file("small.model", "model small\ninput image 28 28 1\nlabel digit 10\nflatten\n"
				  "linear out=10 bias=1\ncross_entropy\n");
	assert_true(text_format(path, sizeof(path), "%s/train.rec", folder));
	return digits_write(path, &(struct digits_ask){.count = 32, .seed = 1, .page_size = 16384},
			    &problem);
}

static int stop(void **state)
{
	(void)state;
	scratch_remove(folder);
	return 0;
}

static void is_told(int rc, const struct problem *problem)
{
	assert_int_equal(rc, -EIO);
	if (!strstr(problem->message, ": GPU 0 (emulated GPU): cudaErrorEmulated: an error"))
		fail_msg("%s", problem->message);
	assert_non_null(strstr(problem->detail, "seen behind "));
}

/* Each has a folder of its own: none goes on. */
static int job_run(int nth, struct problem *problem)
{
	const struct train_hooks hooks = {0};
	struct train_result result;
	char path[SCRATCH_SIZE + 32];
	char text[400];
	struct job job;

	assert_true(text_format(text, sizeof(text),
				"model = \"small.model\"; batch = 16; threads = 1; epochs = 1;\n"
				"device = \"cuda\"; checkpoint: { folder = \"kept%d\"; };\n"
				"data: { train = \"train.rec\"; evaluate = \"train.rec\"; "
				"threads = 1; };\n",
				nth));
	write_file("job.conf", text);
	assert_true(text_format(path, sizeof(path), "%s/job.conf", folder));
	assert_int_equal(job_load(path, &job, problem), 0);
	const struct train_options options = {.job = &job, .hooks = &hooks};
	int rc = train_run(&options, &result, problem);

	job_done(&job);
	assert_int_equal(emulation_taken(), 0);
	return rc;
}

/* Each wait of the job fails in turn. */
static void job(void **state)
{
	static const char *const phases[] = {"step 1: ", "step 2: ", "evaluation: ", "a batch of "};
	bool seen[COUNT_OF(phases)] = {0};
	struct problem problem = {0};
	int rc = -EIO;

	(void)state;
	for (int waits = 0; rc != 0; waits++) {
		assert_true(waits < WAITS_MOST);
		emulation_break(waits);
		rc = job_run(waits, &problem);
		if (rc == 0)
			break;
		is_told(rc, &problem);
		for (size_t i = 0; i < COUNT_OF(phases); i++)
			seen[i] = seen[i] ||
				  strncmp(problem.message, phases[i], strlen(phases[i])) == 0;
	}
	for (size_t i = 0; i < COUNT_OF(phases); i++)
		if (!seen[i])
			fail_msg("no fault in: %s", phases[i]);
	emulation_break(-1);
}

static void bench(void **state)
{
	char path[SCRATCH_SIZE + 32];
	struct step_bench_request request = {
		.model = path, .batch = 4, .type = TENSOR_FP32, .cuda = true, .steps = 2};
	struct step_bench_result result;
	struct problem problem = {0};
	int rc = -EIO;

	(void)state;
	assert_true(text_format(path, sizeof(path), "%s/small.model", folder));
	for (int waits = 0; rc != 0; waits++) {
		assert_true(waits < WAITS_MOST);
		emulation_break(waits);
		rc = step_bench_run(&request, &result, &problem);
		if (rc != 0)
			is_told(rc, &problem);
	}
	emulation_break(-1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(job),
		cmocka_unit_test(bench),
	};

	return cmocka_run_group_tests_name("trainer_fault", tests, start, stop);
}
