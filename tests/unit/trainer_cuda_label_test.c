// links: trainer_cuda_emulated trainer_train
// alone: the back end "cuda" is the emulated one (tests/support/cuda_emulation)
/* Jobs with device = "cuda", on the emulation of CUDA, whose labels are not of pictures: of words, and of pixels. They learn as the CPU does. */
#include <math.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/file.h"

#include "tests/support/cmocka.h"
#include "tests/support/cuda_emulation/emulation.h"
#include "tests/support/scratch.h"
#include "trainer_image/record/convert_words.h"
#include "trainer_image/record/digits.h"
#include "trainer_image/record/sentences.h"
#include "trainer_image/train/train.h"

enum { STEPS = 12, PICTURES = 96 };

static char folder[SCRATCH_SIZE];

static const char *in_folder(const char *name)
{
	static char path[128];

	assert_true(text_format(path, sizeof(path), "%s/%s", folder, name));
	return path;
}

static void write_file(const char *name, const char *text)
{
	assert_int_equal(file_write_atomic(in_folder(name), text, strlen(text), 0600), 0);
}

static int start(void **state)
{
	const struct digits_ask digits = {PICTURES, 1, 16384, true};
	const struct convert_words_options options = {.type = CONVERT_WORDS_BYTES,
						      .vocabulary = CONVERT_WORDS_OF_BYTES,
						      .length = 8,
						      .page_size = 4096};
	struct convert_words_result words;
	struct problem problem = {0};
	char text[128];

	(void)state;
	scratch_make(folder, "cuda-label");
	assert_int_equal(digits_write(in_folder("masks.rec"), &digits, &problem), 0);
	assert_true(text_format(text, sizeof(text), "%s/text", folder));
	assert_int_equal(sentences_write(text, 20, 1, &problem), 0);
	assert_int_equal(convert_words(text, in_folder("words.rec"), &options, &words, &problem),
			 0);
	return 0;
}

static int stop(void **state)
{
	(void)state;
	scratch_remove(folder);
	return 0;
}

struct seen {
	uint64_t steps;
	double losses[STEPS];
};

static void see_step(void *context, const struct train_step *is)
{
	struct seen *seen = context;

	if (seen->steps < STEPS)
		seen->losses[seen->steps] = is->loss;
	seen->steps++;
}

/* Gives the digest of the weights. */
static uint64_t run(const char *data, const char *more, struct seen *seen)
{
	const struct train_hooks hooks = {.context = seen, .step = see_step};
	struct problem problem = {0};
	struct train_result result;
	struct job job;
	char text[512];

	*seen = (struct seen){0};
	assert_true(text_format(text, sizeof(text),
				"model = \"small.model\"; batch = 16; threads = 1; epochs = 2;\n"
				"data: { threads = 1; %s };\n%s\n",
				data, more));
	write_file("job.conf", text);
	if (job_load(in_folder("job.conf"), &job, &problem) != 0 ||
	    train_run(&(struct train_options){.job = &job, .hooks = &hooks}, &result, &problem) !=
		    0)
		fail_msg("%s: %s", problem.message, problem.detail);
	job_done(&job);
	assert_int_equal(emulation_taken(), 0);
	return result.digest;
}

/* The losses of all steps are the CPU's but for rounding, and become less. */
static void compare(const struct seen *by_cuda, const struct seen *by_cpu, double within)
{
	assert_int_equal(by_cuda->steps, by_cpu->steps);
	assert_true(by_cpu->steps >= STEPS);
	for (uint64_t i = 0; i < STEPS; i++)
		if (fabs(by_cuda->losses[i] - by_cpu->losses[i]) > within * by_cpu->losses[i])
			fail_msg("step %llu: loss %g, not %g", (unsigned long long)i + 1,
				 by_cuda->losses[i], by_cpu->losses[i]);
	assert_true(by_cuda->losses[STEPS - 1] < 0.9 * by_cuda->losses[0]);
}

/* A small GPT. */
static void test_words(void **state)
{
	static const char gpt[] =
		"model small\ninput byte 8 words=256\nlabel next 256 8\nembedding words=256 out=16\n"
		"x = layer_norm\nlinear out=48\nattention heads=2 causal=1\ny = linear out=16\n"
		"z = dropout rate=0.1\nadd x z\nlayer_norm\nlinear out=32\ngelu\nlinear out=256 "
		"bias=0\ncross_entropy\n";
	static const struct {
		const char *more;
		double within;
	} rows[] = {{"optimizer: { kind = \"adamw\"; rate = 0.01; };", 1e-3},
		    {"type = \"bf16\"; optimizer: { rate = 0.2; };", 0.05}};

	(void)state;
	write_file("small.model", gpt);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct seen by_cpu;
		struct seen by_cuda;
		char more[200];

		run("train = \"words.rec\";", rows[i].more, &by_cpu);
		assert_true(text_format(more, sizeof(more), "device = \"cuda\"; %s", rows[i].more));
		run("train = \"words.rec\";", more, &by_cuda);
		compare(&by_cuda, &by_cpu, rows[i].within);
	}
}

#define MASKS "train = \"masks.rec\"; augment = \"random_crop width=12 height=12; flip\";"

/* Masks are cropped and flipped on the processor, their pictures where k says. */
static void test_masks(void **state)
{
	static const char unet[] =
		"model small\ninput image 12 12 1\nlabel mask 11 12 12\nconv out=4 window=3 pad=1\n"
		"batch_norm\na = relu\nmax_pool window=2\nconv out=8 window=3 pad=1\nb = relu\n"
		"up = upsample b factor=2\nconcat up a\nconv out=11 window=1 bias=1\ncross_entropy\n";
	struct seen by_cpu;
	struct seen by_cuda;

	(void)state;
	write_file("small.model", unet);
	run(MASKS, "optimizer: { rate = 0.1; };", &by_cpu);
	uint64_t pictures = run(MASKS "transfer = 0;",
				"device = \"cuda\"; optimizer: { rate = 0.1; };", &by_cuda);
	compare(&by_cuda, &by_cpu, 1e-3);
	assert_true(run(MASKS "transfer = 2;", "device = \"cuda\"; optimizer: { rate = 0.1; };",
			&by_cuda) == pictures);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_masks),
	};

	return cmocka_run_group_tests_name("trainer_cuda_label", tests, start, stop);
}
