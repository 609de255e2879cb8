// links: trainer_train
/* Jobs on a small set of digits: files that are wrong, evaluation, batches that are added up, mixed precision, a loss that is no
 * number, less memory, the same bits again. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/file.h"

#include "tests/support/cmocka.h"
#include "tests/support/scratch.h"
#include "trainer_image/graph/model_text.h"
#include "trainer_image/loader/loader.h"
#include "trainer_image/plan/plan_lasting.h"
#include "trainer_image/record/digits.h"
#include "trainer_image/train/train.h"

enum { SAMPLES = 150, TESTS = 70 };

static char folder[SCRATCH_SIZE];

static const char model[] =
	"model small\ninput image 28 28 1\nlabel digit 10\nconv out=4 window=5 stride=2 pad=2\n"
	"batch_norm\nrelu\nmax_pool window=2 stride=2\ndropout rate=0.1\nflatten\nlinear out=10 "
	"bias=1\ncross_entropy\n";

static void write_file(const char *name, const char *text)
{
	char path[128];

	assert_true(text_format(path, sizeof(path), "%s/%s", folder, name));
	assert_int_equal(file_write_atomic(path, text, strlen(text), 0600), 0);
}

static int start(void **state)
{
	struct problem problem = {0};
	char path[128];

	(void)state;
	scratch_make(folder, "train");
	write_file("small.model", model);
	assert_true(text_format(path, sizeof(path), "%s/train.rec", folder));
	assert_int_equal(
		digits_write(path, &(struct digits_ask){SAMPLES, 1, 16384, false}, &problem), 0);
	assert_true(text_format(path, sizeof(path), "%s/test.rec", folder));
	assert_int_equal(digits_write(path, &(struct digits_ask){TESTS, 2, 16384, false}, &problem),
			 0);
	return 0;
}

static int stop(void **state)
{
	(void)state;
	scratch_remove(folder);
	return 0;
}

/* `more` stands behind what all jobs have. */
static int load(const char *more, struct job *ret, struct problem *problem)
{
	char path[128];
	char text[1024];

	assert_true(text_format(
		text, sizeof(text),
		"model = \"small.model\";\n"
		"data: { train = \"train.rec\"; evaluate = \"test.rec\"; threads = 1; };\n"
		"threads = 1;\n%s\n",
		more));
	write_file("job.conf", text);
	assert_true(text_format(path, sizeof(path), "%s/job.conf", folder));
	return job_load(path, ret, problem);
}

struct seen {
	uint64_t steps, samples, left_out, evaluations;
	double first_loss, last_loss;
};

static void see_step(void *context, const struct train_step *is)
{
	struct seen *seen = context;

	seen->first_loss = seen->steps == 0 ? is->loss : seen->first_loss;
	seen->last_loss = is->loss;
	seen->steps++;
	seen->samples += is->samples;
	seen->left_out += is->left_out;
}

static void see_evaluation(void *context, const struct train_evaluation *is)
{
	(void)is;
	((struct seen *)context)->evaluations++;
}

static int run(const char *more, struct seen *seen, struct train_result *result,
	       struct problem *problem)
{
	const struct train_hooks hooks = {
		.context = seen, .step = see_step, .evaluated = see_evaluation};
	struct job job;

	*problem = (struct problem){0};
	*seen = (struct seen){0};
	if (load(more, &job, problem) != 0)
		fail_msg("%s: %s", problem->message, problem->detail);
	const struct train_options options = {.job = &job, .hooks = &hooks};
	int rc = train_run(&options, result, problem);

	job_done(&job);
	return rc;
}

static void run_well(const char *more, struct seen *seen, struct train_result *result)
{
	struct problem problem;

	if (run(more, seen, result, &problem) != 0)
		fail_msg("%s: %s", problem.message, problem.detail);
	assert_int_equal(result->last.samples, TESTS);
}

static void test_wrong_files(void **state)
{
	static const struct {
		const char *more, *says, *hint;
	} rows[] = {
		{"bach = 3;", "job.conf:4: unknown key bach", "batch"},
		{"batch = 0;", "job.conf:4: batch is wrong", "1..65536"},
		{"type = \"fp8\";", "job.conf:4: type is wrong", "\"bf16\""},
		{"optimizer: { rate = \"fast\"; };", "job.conf:4: optimizer.rate is wrong",
		 "0..1000"},
		{"optimizer: {\nkind = \"sgd\";\nmomentum = 1.5; };",
		 "job.conf:6: optimizer.momentum is wrong", "0..1"},
		{"schedule: { kind = \"up\"; };", "job.conf:4: schedule.kind is wrong",
		 "\"cosine\""},
		{"epochs = ;", "job.conf:4: syntax error", "key = value"},
		{"optimizer: { rate = 0; };", "optimizer.rate is 0", "above 0"},
		{"memory = \"much\";", "memory is no size", "11GiB"},
		{"optimizer: { decay = 2; };", "job.conf:4: optimizer.decay is wrong", "0..1"},
		{"ranks: { count = 2; addresses = [\"a:1\", \"b:1\"]; transport = \"tcp\"; };",
		 "ranks.key is missing", "urandom"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct problem problem = {0};
		struct job job;

		assert_true(load(rows[i].more, &job, &problem) < 0);
		if (!strstr(problem.message, rows[i].says) || !strstr(problem.hint, rows[i].hint))
			fail_msg("row %zu: %s; %s", i, problem.message, problem.hint);
	}
}

/* What is found while the job is opened. */
static void test_refusals(void **state)
{
	struct problem problem;
	struct train_result result;
	struct seen seen;

	(void)state;
	assert_int_equal(run("memory = \"1000B\";", &seen, &result, &problem), E_LIMIT);
	assert_non_null(strpbrk(problem.message, "0123456789"));
	write_file("small.model", "model small\ninput image 28 28 1\nlabel digit 4\nflatten\n"
				  "linear out=4\ncross_entropy\n");
	assert_int_equal(run("", &seen, &result, &problem), E_INVALID);
	write_file("small.model", model);
	if (!strstr(problem.message, "10 classes") || !strstr(problem.message, "tells 4 apart"))
		fail_msg("%s", problem.message);
}

/* Places of a batch that are free count for nothing. */
static void test_evaluation(void **state)
{
	struct train_result whole;
	struct train_result parts;
	struct seen seen;

	(void)state;
	/* The rate is so small that no weight moves. */
	run_well("batch = 70; epochs = 1; optimizer: { rate = 1e-30; };", &seen, &whole);
	assert_int_equal(seen.samples, SAMPLES);
	assert_int_equal(seen.evaluations, 1);
	run_well("batch = 70; epochs = 1; optimizer: { rate = 1e-30; }; type = \"fp32\"; "
		 "memory = \"100MiB\";",
		 &seen, &parts);
	assert_true(parts.digest == whole.digest && parts.last.loss == whole.last.loss);
	assert_true(whole.last.loss > 1 && whole.last.loss < 4);
}

/* Four batches of 5 are one of 20, but for the statistics that each batch norm has of its own batch: the model has
 * none here. */
static void test_accumulation(void **state)
{
	static const char plain[] =
		"model small\ninput image 28 28 1\nlabel digit 10\nconv out=4 "
		"window=5 stride=4\nrelu\nflatten\nlinear out=10\ncross_entropy\n";
	struct train_result one;
	struct train_result four;
	struct seen seen;
	double loss;

	(void)state;
	write_file("small.model", plain);
	run_well("batch = 20; epochs = 3; optimizer: { rate = 0.02; };", &seen, &one);
	assert_int_equal(seen.steps, 24);
	loss = seen.last_loss;
	run_well("batch = 5; accumulate = 4; epochs = 3; optimizer: { rate = 0.02; };", &seen,
		 &four);
	write_file("small.model", model);
	assert_int_equal(seen.steps, 24);
	assert_true(fabs(loss - seen.last_loss) < 1e-4 * loss);
	assert_true(fabs(one.last.loss - four.last.loss) < 1e-4 * one.last.loss);
}

/* Each type learns; two runs of one seed have the same bits, another seed has others. */
static void test_same_bits(void **state)
{
	static const char *const jobs[] = {
		"batch = 32; epochs = 3; optimizer: { kind = \"adamw\"; rate = 0.01; };",
		"batch = 32; epochs = 3; type = \"bf16\"; optimizer: { kind = \"sgd\"; nesterov = true; };",
		"batch = 32; epochs = 3; type = \"fp16\"; optimizer: { kind = \"lars\"; trust = 0.02; };",
	};
	struct train_result one;
	struct train_result two;
	struct seen seen;
	char other[400];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(jobs); i++) {
		run_well(jobs[i], &seen, &one);
		if (!(seen.last_loss < 0.8 * seen.first_loss))
			fail_msg("job %zu: %g, %g", i, seen.first_loss, seen.last_loss);
		run_well(jobs[i], &seen, &two);
		assert_true(one.digest == two.digest && one.last.loss == two.last.loss);
		assert_true(text_format(other, sizeof(other), "seed = 2; %s", jobs[i]));
		run_well(other, &seen, &two);
		assert_true(one.digest != two.digest);
	}
}

/* Pictures of such contrast make gradients that fp16 has no room for. Steps are left out until the scale fits. */
static void test_overflow(void **state)
{
	const char *const more =
		"batch = 50; epochs = 4; type = \"fp16\"; optimizer: { rate = 1e-6; };\n";
	struct train_result result;
	struct seen seen;
	char text[512];
	struct problem problem;
	struct job job;
	const struct train_hooks hooks = {.context = &seen, .step = see_step};

	(void)state;
	assert_true(text_format(
		text, sizeof(text),
		"model = \"%s/small.model\"; data: { train = \"%s/train.rec\"; threads = 1; "
		"augment = \"normalise mean_red=0 mean_green=0 mean_blue=0 deviation_red=0.01 "
		"deviation_green=0.01 deviation_blue=0.01\"; };\n%s",
		folder, folder, more));
	write_file("small.model",
		   "model small\ninput image 28 28 1\nlabel digit 10\nflatten\nlinear "
		   "out=10 bias=1\ncross_entropy\n");
	write_file("job.conf", text);
	assert_true(text_format(text, sizeof(text), "%s/job.conf", folder));
	assert_int_equal(job_load(text, &job, &problem), 0);
	seen = (struct seen){0};
	if (train_run(&(struct train_options){.job = &job, .hooks = &hooks}, &result, &problem) !=
	    0)
		fail_msg("%s: %s", problem.message, problem.detail);
	job_done(&job);
	write_file("small.model", model);
	assert_int_equal(seen.steps, 12);
	assert_in_range(seen.left_out, 1, 8);
}

static void test_broken_loss(void **state)
{
	struct problem problem;
	struct train_result result;
	struct seen seen;

	(void)state;
	assert_int_equal(
		run("batch = 32; optimizer: { rate = 1000; kind = \"adamw\"; decay = 1.0; };"
		    " epochs = 60;",
		    &seen, &result, &problem),
		E_MALFORMED);
	if (strncmp(problem.message, "step ", 5) != 0 ||
	    strncmp(problem.detail, "first broken: ", 14) != 0 || !strpbrk(problem.detail, "._"))
		fail_msg("%s; %s", problem.message, problem.detail);
}

/* What a plan counts for batches on their way to a GPU holds any batch that the loader hands over. */
static void test_batches_counted(void **state)
{
	static const char *const names[] = {"lenet", "resnet50", "inception", "unet"};
	static const enum tensor_type types[] = {TENSOR_FP32, TENSOR_BF16};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(names) * COUNT_OF(types); i++) {
		const uint32_t batch = 7;
		struct problem problem = {0};
		struct augment augment;
		struct model *is;
		struct graph *graph;
		char text[200];

		assert_true(text_format(text, sizeof(text),
					TEST_SOURCE_DIR "/../trainer_image/model/%s.model",
					names[i / 2]));
		assert_int_equal(model_load(text, &is, &problem), 0);
		assert_int_equal(graph_build(is, batch, types[i % 2], true, &graph, &problem), 0);
		assert_true(text_format(text, sizeof(text),
					"centre_crop width=%d height=%d; pack type=%s channels=%d",
					(int)is->input.size[1], (int)is->input.size[0],
					tensor_type_text(types[i % 2]), (int)is->input.size[2]));
		assert_int_equal(augment_parse(text, &augment, &problem), 0);
		struct plan_lasting host = plan_lasting(graph, PLAN_SGD, false);
		struct plan_lasting gpu = plan_lasting(graph, PLAN_SGD, true);

		for (uint32_t k = 0; k <= AUGMENT_STAGES; k++)
			assert_true(
				2 * (int64_t)loader_side_room(&augment, batch, k, AUGMENT_STAGES) <=
				gpu.input - host.input);
		graph_free(graph);
		model_free(is);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_batches_counted), cmocka_unit_test(test_wrong_files),
		cmocka_unit_test(test_refusals),        cmocka_unit_test(test_evaluation),
		cmocka_unit_test(test_accumulation),    cmocka_unit_test(test_same_bits),
		cmocka_unit_test(test_overflow),        cmocka_unit_test(test_broken_loss),
	};

	return cmocka_run_group_tests_name("trainer_train", tests, start, stop);
}
