// links: trainer_train
/* Sets of words as batches: each sequence once over all ranks, the rest of an epoch from any place of it, labels one word further, damage,
 * sets and models that do not go together. Jobs on them. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/file.h"

#include "tests/support/cmocka.h"
#include "tests/support/feed_lab.h"
#include "tests/support/scratch.h"
#include "trainer_image/record/convert_words.h"
#include "trainer_image/record/digits.h"
#include "trainer_image/record/record.h"
#include "trainer_image/record/sentences.h"
#include "trainer_image/train/feed.h"
#include "trainer_image/train/train.h"

/* Word k of the line is k: sequence n begins with the word 3 n. */
enum { LENGTH = 3, SEQUENCES = 2000, WORDS = LENGTH * SEQUENCES + 1, BATCH = 7, PAGE = 4096 };

static char folder[SCRATCH_SIZE];
static char set[128];

static const char reader[] = "model reader\ninput word 3 words=6001\nlabel next 6001 3\n"
			     "embedding words=6001 out=4\nlinear out=6001 bias=0\ncross_entropy\n";
static const char small[] =
	"model small\ninput byte 8 words=256\nlabel next 256 8\nembedding words=256 out=16\n"
	"x = layer_norm\nlinear out=48\nattention heads=2 causal=1\ny = linear out=16\nadd x y\n"
	"layer_norm\nlinear out=256 bias=0\ncross_entropy\n";

static const char *in_folder(const char *name)
{
	static char path[128];

	assert_true(text_format(path, sizeof(path), "%s/%s", folder, name));
	return path;
}

static void write_file(const char *name, const void *data, size_t size)
{
	assert_int_equal(file_write_atomic(in_folder(name), data, size, 0600), 0);
}

static void write_set(const char *from, const char *to, enum convert_words_type type,
		      uint32_t vocabulary, uint32_t length)
{
	const struct convert_words_options options = {
		.type = type, .vocabulary = vocabulary, .length = length, .page_size = PAGE};
	struct convert_words_result result;
	struct problem problem = {0};
	char path[128];

	assert_true(text_format(path, sizeof(path), "%s/%s", folder, from));
	assert_int_equal(convert_words(path, in_folder(to), &options, &result, &problem), 0);
}

static int start(void **state)
{
	uint16_t words[WORDS];
	struct problem problem = {0};

	(void)state;
	scratch_make(folder, "words");
	assert_true(text_format(set, sizeof(set), "%s/set.rec", folder));
	for (unsigned i = 0; i < WORDS; i++)
		words[i] = (uint16_t)i;
	write_file("words", words, sizeof(words));
	write_set("words", "set.rec", CONVERT_WORDS_UINT16, WORDS, LENGTH);
	assert_int_equal(digits_write(in_folder("digits.rec"),
				      &(struct digits_ask){20, 1, PAGE, false}, &problem),
			 0);
	assert_int_equal(sentences_write(in_folder("train"), 20, 1, &problem), 0);
	assert_int_equal(sentences_write(in_folder("test"), 5, 2, &problem), 0);
	write_set("train", "train.rec", CONVERT_WORDS_BYTES, 256, 8);
	write_set("test", "test.rec", CONVERT_WORDS_BYTES, 256, 8);
	write_file("small.model", small, strlen(small));
	return 0;
}

static int stop(void **state)
{
	(void)state;
	scratch_remove(folder);
	return 0;
}

/* ---- Batches ---- */

/* Numbers of sequences in the order in which they came. */
struct seen {
	uint32_t order[SEQUENCES];
	uint32_t count;
	uint64_t fault;
	uint32_t faults;
};

static void see_fault(void *context, uint64_t sample, const struct problem *problem)
{
	struct seen *seen = context;

	assert_non_null(strstr(problem->message, "page "));
	seen->fault = sample;
	seen->faults++;
}

static struct feed *open_feed(const struct feed_lab *lab, const struct loader_state *state,
			      uint32_t rank, uint32_t ranks, struct seen *seen)
{
	const struct feed_options options = {.path = set,
					     .augment = "",
					     .rank = rank,
					     .ranks = ranks,
					     .state = *state,
					     .fault = see_fault,
					     .context = seen};
	struct problem problem = {0};
	struct feed *feed = NULL;

	if (feed_new(&options, lab->model, lab->graph, &feed, &problem) != 0)
		fail_msg("%s", problem.message);
	return feed;
}

/* At most `most` batches, each place of them held to what it must be. Their number. */
static uint32_t take(struct feed *feed, struct feed_lab *lab, struct seen *seen, uint32_t most)
{
	int32_t input[BATCH * LENGTH];
	int32_t label[BATCH * LENGTH];
	struct problem problem = {0};
	uint32_t batches = 0;
	uint32_t count;

	for (; batches < most; batches++) {
		assert_int_equal(feed_next(feed, lab->executor, &count, &problem), 0);
		if (count == 0)
			break;
		assert_int_equal(executor_read(lab->executor, lab->graph->input, input), 0);
		assert_int_equal(executor_read(lab->executor, lab->graph->label, label), 0);
		for (uint32_t i = 0; i < BATCH * LENGTH; i++) {
			size_t at = i / LENGTH % count;

			assert_int_equal(input[i], input[at * LENGTH] + (int32_t)(i % LENGTH));
			assert_int_equal(label[i], i < count * LENGTH ? input[i] + 1 : -1);
		}
		for (size_t i = 0; i < count; i++) {
			assert_int_equal(input[i * LENGTH] % LENGTH, 0);
			assert_true(seen->count < SEQUENCES);
			seen->order[seen->count++] = (uint32_t)input[i * LENGTH] / LENGTH;
		}
	}
	return batches;
}

static void test_exact_once(void **state)
{
	const struct loader_state begin = {.seed = 3, .epoch = 1};
	struct feed_lab lab;

	(void)state;
	feed_lab_open(&lab, reader, BATCH);
	for (uint32_t ranks = 1; ranks <= 4; ranks++) {
		unsigned times[SEQUENCES] = {0};
		uint32_t all = 0;

		for (uint32_t rank = 0; rank < ranks; rank++) {
			struct seen seen = {0};
			struct feed *feed = open_feed(&lab, &begin, rank, ranks, &seen);
			uint32_t share = (SEQUENCES + ranks - 1 - rank) / ranks;

			assert_int_equal(feed_samples(feed), SEQUENCES);
			uint32_t batches = take(feed, &lab, &seen, UINT32_MAX);

			assert_int_equal(batches, (seen.count + BATCH - 1) / BATCH);
			assert_in_range(seen.count, share - 1, share + 1);
			for (uint32_t i = 0; i < seen.count; i++)
				times[seen.order[i]]++;
			all += seen.count;
			feed_free(feed);
		}
		assert_int_equal(all, SEQUENCES);
		for (uint32_t i = 0; i < SEQUENCES; i++)
			assert_int_equal(times[i], 1);
	}
	feed_lab_close(&lab);
}

/* From each batch of an epoch on, another feed gives the rest of it, and the same next epoch. */
static void test_goes_on(void **state)
{
	struct seen whole = {0};
	struct seen next = {0};
	struct problem problem = {0};
	struct feed_lab lab;

	(void)state;
	feed_lab_open(&lab, reader, BATCH);
	struct feed *feed = open_feed(&lab, &(struct loader_state){.seed = 5}, 0, 1, &whole);
	uint32_t batches = take(feed, &lab, &whole, UINT32_MAX);
	assert_int_equal(feed_turn(feed, &problem), 0);
	assert_int_equal(feed_state(feed).epoch, 1);
	assert_int_equal(feed_state(feed).position, 0);
	take(feed, &lab, &next, UINT32_MAX);
	assert_memory_not_equal(next.order, whole.order, sizeof(whole.order));
	feed_free(feed);
	for (uint32_t after = 0; after <= batches; after += 53) {
		struct seen seen = {0};

		feed = open_feed(&lab, &(struct loader_state){.seed = 5}, 0, 1, &seen);
		assert_int_equal(take(feed, &lab, &seen, after), after);
		struct loader_state where = feed_state(feed);
		if (after < batches)
			assert_int_equal(feed_turn(feed, &problem), E_CONFLICT);
		feed_free(feed);
		assert_int_equal(where.position, seen.count);
		feed = open_feed(&lab, &where, 0, 1, &seen);
		take(feed, &lab, &seen, UINT32_MAX);
		assert_int_equal(seen.count, SEQUENCES);
		assert_memory_equal(seen.order, whole.order, sizeof(whole.order));
		assert_int_equal(feed_turn(feed, &problem), 0);
		seen.count = 0;
		take(feed, &lab, &seen, UINT32_MAX);
		assert_memory_equal(seen.order, next.order, sizeof(next.order));
		feed_free(feed);
	}
	feed_lab_close(&lab);
}

static void flip(off_t offset)
{
	FILE *file = fopen(set, "r+e");
	int byte;

	assert_non_null(file);
	assert_int_equal(fseeko(file, offset, SEEK_SET), 0);
	byte = fgetc(file);
	assert_int_equal(fseeko(file, offset, SEEK_SET), 0);
	assert_int_not_equal(fputc(byte ^ 1, file), EOF);
	assert_int_equal(fclose(file), 0);
}

/* A sample that is damaged costs itself, a page its samples; all others come. */
static void test_damage(void **state)
{
	struct record_reader *records = NULL;
	struct problem problem = {0};
	uint64_t first[5];
	struct feed_lab lab;

	(void)state;
	feed_lab_open(&lab, reader, BATCH);
	assert_int_equal(record_reader_open(set, NULL, &records, &problem), 0);
	assert_true(record_reader_pages(records) > 2 * LOADER_WINDOW);
	memcpy(first, record_reader_first(records), sizeof(first));
	record_reader_free(records);
	flip(3 * PAGE + 64); /* page 2: its first sample */
	struct seen seen = {0};
	struct feed *feed = open_feed(&lab, &(struct loader_state){.seed = 1}, 0, 1, &seen);
	take(feed, &lab, &seen, UINT32_MAX);
	assert_int_equal(seen.count, SEQUENCES - 1);
	assert_int_equal(seen.faults, 1);
	assert_int_equal(seen.fault, first[2]);
	assert_int_equal(feed_counts(feed).skipped, 1);
	assert_int_equal(feed_turn(feed, &problem), 0);
	feed_free(feed);
	flip(4 * PAGE + 8); /* the header of page 3 */
	seen = (struct seen){0};
	feed = open_feed(&lab, &(struct loader_state){.seed = 1}, 0, 1, &seen);
	take(feed, &lab, &seen, UINT32_MAX);
	assert_int_equal(seen.count, SEQUENCES - 1 - (first[4] - first[3]));
	assert_int_equal(feed_state(feed).position, SEQUENCES);
	feed_free(feed);
	flip(3 * PAGE + 64);
	flip(4 * PAGE + 8);
	feed_lab_close(&lab);
}

static void test_refusals(void **state)
{
	static const char pictures[] =
		"model small\ninput image 28 28 1\nlabel digit 10\nflatten\nlinear out=10\ncross_entropy\n";
	static const struct {
		const char *model, *set, *augment, *says, *hint;
	} rows[] = {
		{reader, "digits.rec", "", "digits.rec holds pictures, and reader takes words",
		 "trainer words"},
		{pictures, "set.rec", "", "set.rec holds words, and small takes pictures",
		 "trainer convert"},
		{small, "set.rec", "",
		 "set.rec has words below 6001, and small knows those below 256", "6001"},
		{reader, "train.rec", "", "train.rec has sequences of 8 words, and reader takes 3",
		 "--length 3"},
		{reader, "set.rec", "flip", "augmentation is of pictures, and reader takes words",
		 "leave data.augment"},
		{"model m\ninput word 3 words=6001\nlabel next 6001\nembedding words=6001 out=4\n"
		 "flatten\nlinear out=6001\ncross_entropy\n",
		 "set.rec", "", "m has no label for each of its 3 words", "label next 6001 3"},
		{"model m\ninput x 3\nlabel y 4\nlinear out=4\ncross_entropy\n", "set.rec", "",
		 "m takes neither pictures nor words", ""},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct feed_options options = {
			.path = in_folder(rows[i].set), .augment = rows[i].augment, .ranks = 1};
		struct problem problem = {0};
		struct feed *feed = NULL;
		struct feed_lab lab;

		feed_lab_open(&lab, rows[i].model, BATCH);
		assert_true(feed_new(&options, lab.model, lab.graph, &feed, &problem) < 0);
		if (!strstr(problem.message, rows[i].says) || !strstr(problem.hint, rows[i].hint))
			fail_msg("row %zu: %s; %s", i, problem.message, problem.hint);
		feed_lab_close(&lab);
	}
}

/* ---- Jobs ---- */

struct run_seen {
	double first_loss, last_loss;
	uint64_t steps;
};

static void see_step(void *context, const struct train_step *is)
{
	struct run_seen *seen = context;

	seen->first_loss = seen->steps == 0 ? is->loss : seen->first_loss;
	seen->last_loss = is->loss;
	seen->steps++;
}

static void run(const char *more, struct run_seen *seen, struct train_result *result)
{
	const struct train_hooks hooks = {.context = seen, .step = see_step};
	struct problem problem = {0};
	struct job job;
	char text[512];

	assert_true(text_format(text, sizeof(text),
				"model = \"small.model\"; threads = 1; epochs = 2;\n"
				"data: { train = \"train.rec\"; evaluate = \"test.rec\"; };\n%s\n",
				more));
	write_file("job.conf", text, strlen(text));
	assert_int_equal(job_load(in_folder("job.conf"), &job, &problem), 0);
	*seen = (struct run_seen){0};
	if (train_run(&(struct train_options){.job = &job, .hooks = &hooks}, result, &problem) != 0)
		fail_msg("%s: %s", problem.message, problem.detail);
	job_done(&job);
}

/* Each type learns, with the same bits again; a word is a label. */
static void test_jobs(void **state)
{
	static const char *const types[] = {"fp32", "bf16", "fp16"};
	struct train_result one;
	struct train_result two;
	struct run_seen seen;
	char more[200];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(types); i++) {
		assert_true(text_format(more, sizeof(more),
					"type = \"%s\"; batch = 4; optimizer: { kind = "
					"\"adamw\"; rate = 0.01; };",
					types[i]));
		run(more, &seen, &one);
		if (!(seen.first_loss > 5 && seen.first_loss < 7 &&
		      seen.last_loss < 0.6 * seen.first_loss))
			fail_msg("%s: from %g to %g", types[i], seen.first_loss, seen.last_loss);
		assert_int_equal(one.last.counted, one.last.samples * 8);
		assert_true(one.last.accuracy > 0.1);
		run(more, &seen, &two);
		assert_true(one.digest == two.digest && one.last.loss == two.last.loss);
	}
}

/* Four batches of 5 are one of 20. */
static void test_accumulation(void **state)
{
	struct train_result one;
	struct train_result four;
	struct run_seen seen;

	(void)state;
	run("batch = 20; optimizer: { rate = 0.1; };", &seen, &one);
	double loss = seen.last_loss;
	run("batch = 5; accumulate = 4; optimizer: { rate = 0.1; };", &seen, &four);
	assert_true(fabs(loss - seen.last_loss) < 1e-4 * loss);
	assert_true(fabs(one.last.loss - four.last.loss) < 1e-4 * one.last.loss);
	assert_true(one.last.loss < 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exact_once), cmocka_unit_test(test_goes_on),
		cmocka_unit_test(test_damage),     cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_jobs),       cmocka_unit_test(test_accumulation),
	};

	return cmocka_run_group_tests_name("trainer_word_feed", tests, start, stop);
}
