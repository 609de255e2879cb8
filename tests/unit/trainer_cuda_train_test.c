// links: trainer_cuda_emulated trainer_train
// alone: the back end "cuda" is the emulated one (tests/support/cuda_emulation)
/* Jobs with device = "cuda", on the emulation of CUDA: no GPU is here. They learn as the CPU does, go on to the same bits, and
 * sum over ranks by the host and by an emulated NCCL. */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/file.h"

#include "tests/support/cmocka.h"
#include "tests/support/cuda_emulation/emulation.h"
#include "tests/support/scratch.h"
#include "trainer_image/ops/ops.h"
#include "trainer_image/record/digits.h"
#include "trainer_image/train/intake.h"
#include "trainer_image/train/launch.h"
#include "trainer_image/train/step_bench.h"
#include "trainer_image/train/train.h"

enum { SAMPLES = 96, STEPS = 12, LOST_MS = 10000, SLOW_BYTES_PER_S = 1000000 };

static char folder[SCRATCH_SIZE];

static const char model[] =
	"model small\ninput image 28 28 1\nlabel digit 10\nconv out=8 window=5 stride=2 pad=2\n"
	"batch_norm\nrelu\nmax_pool window=2 stride=2\ndropout rate=0.1\nflatten\nlinear out=10 "
	"bias=1\ncross_entropy\n";

static int start(void **state)
{
	struct problem problem = {0};
	char path[128];

	(void)state;
	scratch_make(folder, "cuda");
	assert_true(text_format(path, sizeof(path), "%s/small.model", folder));
	assert_int_equal(file_write_atomic(path, model, strlen(model), 0600), 0);
	assert_true(text_format(path, sizeof(path), "%s/train.rec", folder));
	assert_int_equal(
		digits_write(path, &(struct digits_ask){SAMPLES, 1, 16384, false}, &problem), 0);
	return 0;
}

/* Also holds this program to the emulated back end: it is the first library that has this function. */
static void test_no_gpu(void **state)
{
	struct problem problem = {0};
	struct ops *ops = NULL;

	(void)state;
	assert_int_equal(ops_cuda_new(1, &ops, &problem), E_NOT_FOUND);
	assert_null(ops);
}

static int stop(void **state)
{
	(void)state;
	scratch_remove(folder);
	return 0;
}

struct seen {
	uint64_t steps, ahead; /* steps behind which the next batch was on its way already */
	double losses[STEPS];
	uint64_t stop_at; /* the rank `dies` kills itself behind this step; 0 = none */
	int dies;
	char note[200]; /* the last one */
	atomic_bool stop;
	int64_t arena;
	size_t taken; /* memory of the GPU when training begins */
};

static void see_begin(void *context, const struct train_begun *is)
{
	struct seen *seen = context;

	seen->arena = is->arena;
	seen->taken = emulation_taken();
}

static void see_step(void *context, const struct train_step *is)
{
	struct seen *seen = context;

	if (seen->steps < STEPS)
		seen->losses[seen->steps] = is->loss;
	seen->steps++;
	seen->ahead += is->counts.batches > seen->steps;
	if (seen->steps == seen->stop_at)
		atomic_store(&seen->stop, true);
}

/* What a job says of its data beside the set. */
static const char *data = "threads = 1;";
static int batch = 16;

static void load(const char *more, struct job *ret)
{
	struct problem problem = {0};
	char path[128];
	char text[1024];

	assert_true(text_format(text, sizeof(text),
				"model = \"small.model\"; batch = %d; threads = 1;\n"
				"data: { train = \"train.rec\"; %s };\n%s%s\n",
				batch, data, strstr(more, "epochs") ? "" : "epochs = 2;\n", more));
	assert_true(text_format(path, sizeof(path), "%s/job.conf", folder));
	assert_int_equal(file_write_atomic(path, text, strlen(text), 0600), 0);
	if (job_load(path, ret, &problem) != 0)
		fail_msg("%s: %s", problem.message, problem.detail);
}

static int try(const char *more, struct seen *seen, struct train_result *result,
	       struct problem *problem)
{
	const struct train_hooks hooks = {.context = seen, .begun = see_begin, .step = see_step};
	struct job job;

	load(more, &job);
	const struct train_options options = {.job = &job, .hooks = &hooks, .stop = &seen->stop};
	int rc = train_run(&options, result, problem);

	job_done(&job);
	assert_int_equal(emulation_taken(), 0);
	return rc;
}

static void run(const char *more, struct seen *seen, struct train_result *result)
{
	struct problem problem = {0};

	if (try(more, seen, result, &problem) != 0)
		fail_msg("%s: %s", problem.message, problem.detail);
}

static void compare(const struct seen *found, const struct seen *wanted, double within)
{
	assert_int_equal(found->steps, wanted->steps);
	for (uint64_t i = 0; i < wanted->steps && i < STEPS; i++)
		if (fabs(found->losses[i] - wanted->losses[i]) > within * wanted->losses[i])
			fail_msg("step %llu: loss %g, not %g", (unsigned long long)i + 1,
				 found->losses[i], wanted->losses[i]);
}

/* The losses of all steps are the CPU's but for rounding, and two runs have the same bits. */
static void test_learns(void **state)
{
	static const struct {
		const char *more;
		double within;
	} rows[] = {
		{"", 1e-3},
		{"type = \"bf16\";", 0.05},
		{"type = \"fp16\"; optimizer: { kind = \"adamw\"; rate = 0.002; };", 0.05},
		{"accumulate = 2; optimizer: { kind = \"lars\"; rate = 0.5; };", 1e-3},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct train_result cpu;
		struct train_result cuda;
		struct train_result again;
		struct seen by_cpu = {0};
		struct seen by_cuda = {0};
		struct seen by_again = {0};
		char more[200];
		uint64_t kernels = emulation_kernels();

		run(rows[i].more, &by_cpu, &cpu);
		assert_int_equal(emulation_kernels(), kernels);
		assert_true(text_format(more, sizeof(more), "device = \"cuda\"; %s", rows[i].more));
		run(more, &by_cuda, &cuda);
		assert_true(emulation_kernels() > kernels);
		compare(&by_cuda, &by_cpu, rows[i].within);
		run(more, &by_again, &again);
		assert_true(again.digest == cuda.digest && cuda.digest != 0);
	}
}

#define AUGMENT "augment = \"random_crop width=28 height=28; flip; colour brightness=0.4\";"

/* What is left to the GPU changes no bit, from nothing to all of augmentation. The next batch is on its way while a
 * step computes; of the last of an epoch there is none. The last row has no memory that a GPU reads. */
static void test_transfer(void **state)
{
	static const char *const rows[] = {AUGMENT "threads = 1; transfer = 2;",
					   AUGMENT "threads = 2; transfer = 1;",
					   AUGMENT "threads = 2; transfer = 0;",
					   AUGMENT "threads = 2;",
					   AUGMENT "transfer = 0;",
					   AUGMENT,
					   AUGMENT};
	struct train_result first = {0};

	(void)state;
	batch = 20; /* the last of an epoch is short */
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct train_result result;
		struct seen seen = {0};
		const bool copies = i + 1 == COUNT_OF(rows);

		data = rows[i];
		if (copies)
			emulation_set_host_memory(SIZE_MAX, 2);
		run("device = \"cuda\"; type = \"fp16\";", &seen, &result);
		emulation_set_host_memory(SIZE_MAX, -1);
		if (i == 0)
			first = result;
		assert_true(result.digest == first.digest);
		assert_true(copies ? seen.ahead == 0 : seen.ahead > 2 && seen.ahead <= 8);
	}
	data = "threads = 1;";
	batch = 16;
}

/* Less memory, and less is left to the GPU. Who says how much is told that it cannot be. */
static void test_transfer_memory(void **state)
{
	static const struct {
		size_t most;
		uint32_t least, highest;
	} rows[] = {{SIZE_MAX, 0, 2}, {4 << 20, 1, 2}, {1 << 20, 1, 1}};
	struct problem problem = {0};
	struct augment augment;
	struct ops *ops;
	struct intake *intake;
	struct job job;

	(void)state;
	assert_int_equal(augment_parse("random_crop width=28 height=28; pack channels=1", &augment,
				       &problem),
			 0);
	assert_int_equal(ops_cuda_new(0, &ops, &problem), 0);
	const struct intake_options options = {ops, &augment, 1024, 0, 2};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		emulation_set_host_memory(rows[i].most, -1);
		assert_int_equal(intake_new(&options, &intake, &problem), 0);
		assert_int_equal(intake_side(intake).k_least, rows[i].least);
		assert_int_equal(intake_side(intake).k_most, rows[i].highest);
		intake_free(intake);
	}
	emulation_set_host_memory(100, -1);
	assert_int_equal(intake_new(&options, &intake, &problem), E_LIMIT);
	ops_free(ops);
	emulation_set_host_memory(SIZE_MAX, 2);
	data = "transfer = 0;";
	load("device = \"cuda\";", &job);
	const struct train_hooks hooks = {0};
	const struct train_options wants = {.job = &job, .hooks = &hooks};
	struct train_result result;

	problem = (struct problem){0};
	assert_int_equal(train_run(&wants, &result, &problem), E_LIMIT);
	assert_non_null(strstr(problem.message, "cannot be handed over"));
	assert_non_null(strstr(problem.hint, "data.transfer = 1"));
	job_done(&job);
	emulation_set_host_memory(SIZE_MAX, -1);
	data = "threads = 1;";
	assert_int_equal(emulation_taken(), 0);
}

/* Told to stop behind step 5, it ends behind the next, and goes on to the bits of a run that was not. */
static void test_goes_on(void **state)
{
	struct train_result whole;
	struct train_result part;
	struct train_result rest;
	struct seen seen = {0};
	struct seen first = {.stop_at = 5};
	struct seen second = {0};
	static const char more[] =
		"device = \"cuda\"; type = \"fp16\"; checkpoint: { folder = \"kept\"; };";

	(void)state;
	run("device = \"cuda\"; type = \"fp16\";", &seen, &whole);
	run(more, &first, &part);
	assert_true(part.stopped && part.step == 6);
	run(more, &second, &rest);
	assert_int_equal(rest.step, whole.step);
	assert_true(rest.digest == whole.digest);
}

/* --- engines --- */

static int run_within(int64_t bytes, struct seen *seen, struct train_result *result,
		      struct problem *problem)
{
	char more[64];

	*seen = (struct seen){0};
	assert_true(text_format(more, sizeof(more), "device = \"cuda\"; memory = \"%lld\";",
				(long long)bytes));
	return try(more, seen, result, problem);
}

/* What a refusal says: the least memory that works, and what of it is no arena. */
static long long refused(struct problem *problem, long long *ret_beside)
{
	struct train_result result;
	struct seen seen;
	long long least = 0;

	assert_int_equal(run_within(1, &seen, &result, problem), E_LIMIT);
	const char *says = strstr(problem->message, "at least ");
	const char *details = strstr(problem->detail, "input ");

	assert_non_null(says);
	assert_non_null(details);
	assert_int_equal(sscanf(says, "at least %lld are", &least), 1);  /* NOLINT(cert-err34-c) */
	assert_int_equal(sscanf(details, "input %lld,", ret_beside), 1); /* NOLINT(cert-err34-c) */
	return least;
}

/* The first engines need more memory than the job has: those with less workspace train to the same bits. A refusal names the least
 * that works: with one byte less it does not. All that is taken of the GPU's memory stays within it. */
static void test_less_workspace(void **state)
{
	enum { MORE = 5 << 20 };
	struct problem problem = {0};
	struct train_result wide;
	struct train_result tight;
	struct seen seen = {0};
	long long beside = 0;

	(void)state;
	emulation_set_engine(MORE);
	run("device = \"cuda\";", &seen, &wide);
	int64_t arena = seen.arena;
	long long least = refused(&problem, &beside);

	assert_true(arena > MORE);
	assert_true((int64_t)seen.taken - arena < MORE); /* evaluation has the arena of training */
	assert_int_equal(run_within(beside + arena, &seen, &tight, &problem), 0);
	assert_int_equal(seen.arena, arena);
	assert_true((int64_t)seen.taken <= beside + arena);
	assert_true(tight.digest == wide.digest);
	assert_int_equal(run_within(beside + MORE - 1, &seen, &tight, &problem), 0);
	assert_true(seen.arena < MORE);
	assert_true(tight.digest == wide.digest);

	assert_int_equal(run_within(least, &seen, &tight, &problem), 0);
	assert_true(tight.digest == wide.digest);
	assert_true((int64_t)seen.taken <= least);
	assert_int_equal(run_within(least - 1, &seen, &tight, &problem), E_LIMIT);
	emulation_set_engine(0);
}

/* --- the bench of a step --- */

/* What a step takes of the GPU's memory is what was planned, to the byte. */
static void test_bench(void **state)
{
	struct step_bench_result result;
	struct problem problem = {0};
	char path[128];

	(void)state;
	assert_true(text_format(path, sizeof(path), "%s/small.model", folder));
	const struct step_bench_request request = {
		.model = path, .batch = 4, .type = TENSOR_BF16, .cuda = true, .steps = 3};

	if (step_bench_run(&request, &result, &problem) != 0)
		fail_msg("%s: %s", problem.message, problem.detail);
	assert_string_equal(result.about.device, "emulated GPU");
	assert_string_equal(result.about.library, "CUDA 13.0, driver for 13.0, emulated cuDNN");
	assert_true(result.planned > result.arena && result.peak == result.arena);
	assert_int_equal(result.taken, result.planned);
	assert_int_equal(emulation_taken(), 0);
}

/* --- ranks --- */

static const char cuda_ranks[] = "device = \"cuda\"; ranks: { count = 2; };";

struct rank_context {
	const struct job *job;
	int dies; /* this rank kills itself behind its second step; 0 = none */
	size_t more; /* workspace of rank 1's first engines above the least; rank 0's want half of it */
	bool is_slow;     /* the links of ranks */
	long long within; /* bytes of its GPU that a rank may take; 0 = any number */
};

static void see_rank_step(void *context, const struct train_step *is)
{
	struct seen *seen = context;

	see_step(seen, is);
	if (seen->dies > 0 && seen->steps == 2)
		(void)raise(SIGKILL);
}

static void see_note(void *context, const char *line)
{
	struct seen *seen = context;

	(void)text_copy(seen->note, sizeof(seen->note), line);
}

/* What rank 0 tells by a file. */
struct told {
	double loss;
	unsigned long long digest, steps;
	char note[200];
};

/* Rank 0 tells the end by a file. */
static int run_rank(void *context, struct team *team, struct problem *problem)
{
	struct rank_context *is = context;
	struct seen seen = {.dies = team->rank == is->dies ? is->dies : 0};
	const struct train_hooks hooks = {
		.context = &seen, .step = see_rank_step, .note = see_note};
	const struct train_options options = {.job = is->job, .team = team, .hooks = &hooks};
	struct train_result result = {0};
	char path[128];
	char text[300];

	(void)emulation_taken_most();
	emulation_set_devices(2);
	emulation_set_engine(team->rank == 1 ? is->more : is->more / 2);
	if (is->is_slow)
		transport_pace(team->transport, SLOW_BYTES_PER_S);
	int rc = train_run(&options, &result, problem);

	long long most = (long long)emulation_taken_most();

	if (rc == 0 && is->within > 0 && most > is->within)
		return problem_set(problem, -EIO, "%lld bytes are taken of %lld", most, is->within);
	if (rc == 0 && team->rank == 0 && text_format(path, sizeof(path), "%s/digest", folder) &&
	    text_format(text, sizeof(text), "%.9f %llx %llu %s\n",
			seen.losses[(seen.steps - 1) % STEPS], (unsigned long long)result.digest,
			(unsigned long long)seen.steps, seen.note))
		rc = file_write_atomic(path, text, strlen(text), 0600);
	return rc;
}

static int run_ranks(const char *lines, struct rank_context context, struct told *ret,
		     struct problem *problem)
{
	struct job job;
	char path[128];

	load(lines, &job);
	context.job = &job;
	const struct launch_options options = {
		.job = &job, .first = -1, .run = run_rank, .context = &context};
	int rc = launch_run(&options, problem);

	job_done(&job);
	if (rc != 0)
		return rc;
	assert_true(text_format(path, sizeof(path), "%s/digest", folder));
	FILE *file = fopen(path, "re");
	assert_non_null(file);
	assert_int_equal(fscanf(file, "%lf %llx %llu%199[^\n]", /* NOLINT(cert-err34-c) */
				&ret->loss, &ret->digest, &ret->steps, ret->note),
			 4);
	(void)fclose(file);
	return 0;
}

/* The same job by the CPU's ranks, by GPUs that the host sums for, and by GPUs that NCCL sums for. The last two end with the same
 * bits: behind the fourth step buckets are cut from what each has measured. */
static void test_ranks(void **state)
{
	static const struct {
		const char *codec;
		double within;
	} rows[] = {{"none", 1e-3}, {"bf16", 0.05}, {"fp16", 0.05}, {"int8", 0.05}};
	const struct rank_context all_well = {.dies = 0};
	struct problem problem = {0};
	struct told wanted;

	(void)state;
	assert_int_equal(run_ranks("ranks: { count = 2; };", all_well, &wanted, &problem), 0);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct told found[2];

		for (size_t nccl = 0; nccl < COUNT_OF(found); nccl++) {
			char more[100];

			assert_true(
				text_format(more, sizeof(more),
					    "device = \"cuda\"; "
					    "ranks: { count = 2; codec = \"%s\"; sum = \"%s\"; };",
					    rows[i].codec, nccl ? "nccl" : "host"));
			if (run_ranks(more, all_well, &found[nccl], &problem) != 0)
				fail_msg("row %zu: %s: %s", i, problem.message, problem.detail);
		}
		if (fabs(found[1].loss - wanted.loss) > rows[i].within * wanted.loss)
			fail_msg("row %zu: loss %g, not %g", i, found[1].loss, wanted.loss);
		if (found[0].digest != found[1].digest)
			fail_msg("row %zu: NCCL's bits are not the host's", i);
	}
}

/* GPUs whose first engines want different workspace, and memory for neither's: the ranks agree on less, and train as with more. */
static void test_rank_workspace(void **state)
{
	const struct rank_context context = {.more = 4 << 20};
	struct problem problem = {0};
	char lines[200];
	struct told wanted;
	struct told found;

	(void)state;
	assert_int_equal(run_ranks(cuda_ranks, context, &wanted, &problem), 0);
	assert_true(text_format(lines, sizeof(lines), "memory = \"%zu\"; %s", context.more - 1,
				cuda_ranks));
	if (run_ranks(lines, context, &found, &problem) != 0)
		fail_msg("%s: %s", problem.message, problem.detail);
	assert_true(fabs(found.loss - wanted.loss) < 1e-9);
}

/* What sums take of a GPU is in the number of a refusal, for each codec: gradients need the memory of all of their sums. */
static void test_rank_memory(void **state)
{
	static const char *const codecs[] = {"none", "int8", "auto"};

	(void)state;
	batch = 2; /* what the plan allows for batches on their way is less than what sums take */
	for (size_t i = 0; i < COUNT_OF(codecs); i++) {
		static const char form[] = "device = \"cuda\"; memory = \"%lld\";"
					   "ranks: { count = 2; codec = \"%s\"; };";
		struct rank_context context = {.dies = 0};
		struct problem problem = {0};
		struct told told;
		char lines[200];

		assert_true(text_format(lines, sizeof(lines), form, 1LL, codecs[i]));
		assert_int_equal(run_ranks(lines, context, &told, &problem), E_LIMIT);
		const char *says = strstr(problem.message, "at least ");

		assert_non_null(says);
		assert_int_equal(sscanf(says, "at least %lld are", &context.within), /* NOLINT */
				 1);
		assert_true(text_format(lines, sizeof(lines), form, context.within, codecs[i]));
		if (run_ranks(lines, context, &told, &problem) != 0)
			fail_msg("%s: %s: %s", codecs[i], problem.message, problem.detail);
	}
	batch = 16;
}

/* What a job with `auto` chose on slow links stands when it goes on on fast ones: the bits are those of the whole run. */
static void test_auto(void **state)
{
	static const char more[] = "epochs = 3; ranks: { count = 2; codec = \"auto\"; };"
				   "checkpoint: { folder = \"auto\"; every = 1; keep = 100; };";
	const struct rank_context slow = {.is_slow = true};
	const struct rank_context fast = {.is_slow = false};
	struct problem problem = {0};
	struct told whole;
	struct told rest;
	char path[160];

	(void)state;
	assert_int_equal(run_ranks(more, slow, &whole, &problem), 0);
	if (!strstr(whole.note, "travel as int8 from step 5 on") || whole.steps != 9)
		fail_msg("%llu steps:%s", whole.steps, whole.note);
	for (int rank = 0; rank < 2; rank++)
		for (int step = 7; step <= 9; step++) {
			assert_true(text_format(path, sizeof(path),
						"%s/auto/rank-%d/step-%012d.checkpoint", folder,
						rank, step));
			assert_int_equal(unlink(path), 0);
		}
	assert_int_equal(run_ranks(more, fast, &rest, &problem), 0);
	assert_int_equal(rest.steps, 3);
	if (!strstr(rest.note, "travel as int8, as the checkpoint says"))
		fail_msg("%s", rest.note);
	assert_true(rest.digest == whole.digest);
}

/* `auto` measures the sums of devices too. */
static void test_auto_device(void **state)
{
	const struct rank_context all_well = {.dies = 0};
	struct problem problem = {0};
	struct told told;

	(void)state;
	if (run_ranks("device = \"cuda\"; ranks: { count = 2; codec = \"auto\"; };", all_well,
		      &told, &problem) != 0)
		fail_msg("%s: %s", problem.message, problem.detail);
	if (!strstr(told.note, "ranks.codec = auto: gradients travel as"))
		fail_msg("%s", told.note);
}

/* A rank that is killed while NCCL sums is named in time. */
static void test_lost(void **state)
{
	struct problem problem = {0};
	int64_t begun_us = clock_monotonic_us();
	struct told told;

	(void)state;
	assert_int_equal(run_ranks(cuda_ranks, (struct rank_context){.dies = 1}, &told, &problem),
			 E_UNAVAILABLE);
	assert_true(clock_monotonic_us() - begun_us < (int64_t)LOST_MS * 1000);
	if (!strstr(problem.message, "rank 1"))
		fail_msg("%s: %s", problem.message, problem.detail);
}

/* No NCCL where its folder is said to be. */
static void test_no_nccl(void **state)
{
	struct problem problem = {0};
	struct told told;

	(void)state;
	assert_int_equal(setenv("TRAINER_NCCL", folder, 1), 0);
	assert_true(run_ranks(cuda_ranks, (struct rank_context){.dies = 0}, &told, &problem) < 0);
	if (!strstr(problem.message, "NCCL cannot be loaded"))
		fail_msg("%s: %s", problem.message, problem.detail);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_gpu),         cmocka_unit_test(test_learns),
		cmocka_unit_test(test_transfer),       cmocka_unit_test(test_transfer_memory),
		cmocka_unit_test(test_goes_on),        cmocka_unit_test(test_ranks),
		cmocka_unit_test(test_bench),          cmocka_unit_test(test_less_workspace),
		cmocka_unit_test(test_rank_workspace), cmocka_unit_test(test_rank_memory),
		cmocka_unit_test(test_auto),           cmocka_unit_test(test_auto_device),
		cmocka_unit_test(test_lost),           cmocka_unit_test(test_no_nccl),
	};

	assert_int_equal(setenv("TRAINER_NCCL", NCCL_EMULATION_FOLDER, 1), 0);
	return cmocka_run_group_tests(tests, start, stop);
}
