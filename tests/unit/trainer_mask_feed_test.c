// links: trainer_train lib::jpeg
/* Masks as labels: a picture and its mask never drift apart, whoever augments; damage is left out; each pixel's label; sets and models
 * that do not go together; jobs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/file.h"

#include "tests/support/cmocka.h"
#include "tests/support/feed_lab.h"
#include "tests/support/scratch.h"
#include "trainer_image/record/digits.h"
#include "trainer_image/record/jpeg_shrink.h"
#include "trainer_image/record/mask.h"
#include "trainer_image/train/feed.h"
#include "trainer_image/train/train.h"

/* Pictures whose grey is their class times STEP: fields of FIELD pixels, one of five classes each. */
enum {
	SAMPLES = 60,
	BROKEN = 7, /* its mask is no PNG */
	CLASSES = 5,
	STEP = 50,
	WIDE = 32,
	HIGH = 24,
	OUTPUT = WIDE * HIGH,
	EDGE = 3, /* how far the grey of a field reaches into another, where pictures are made larger */
	AREA = 2 * EDGE + 1,
	BATCH = 8
};

static char folder[SCRATCH_SIZE];

static const char *in_folder(const char *name)
{
	static char path[128];

	assert_true(text_format(path, sizeof(path), "%s/%s", folder, name));
	return path;
}

/* Fields are no mirror of each other, and each sample has its own. The middle of the picture is void. */
static uint8_t field_class(unsigned number, unsigned x, unsigned y, unsigned field)
{
	unsigned across = x / field;
	unsigned down = y / field;

	return (uint8_t)((across * across + 3 * down + number) % CLASSES);
}

static void set_add(struct record_writer *writer, unsigned number)
{
	const bool large = number % 2 == 1; /* a JPEG that is decoded at a part of its size */
	const unsigned width = large ? 190 : 61;
	const unsigned height = large ? 150 : 47;
	const unsigned field = large ? 48 : 16;
	struct mask mask = {0};
	struct problem problem = {0};
	struct jpeg_shrink_made jpeg = {0};
	uint8_t *pixels = malloc((size_t)width * height);
	struct jpeg_pixels is = {pixels, height, width, 1};
	struct record_value value = {0};
	uint8_t *png = NULL;

	assert_int_equal(mask_reserve(&mask, width, height), 0);
	for (unsigned i = 0; i < width * height; i++) {
		uint8_t class = field_class(number, i % width, i / width, field);

		mask.data[i] = class == 4 ? MASK_VOID : class;
		pixels[i] = (uint8_t)(class * STEP);
	}
	assert_int_equal(mask_write(&mask, &png, &value.size, &problem), 0);
	assert_int_equal(jpeg_encode(&is, 95, &jpeg, &problem), 0);
	value.data = number == BROKEN ? "this is no PNG" : (const char *)png;
	value.size = number == BROKEN ? 14 : value.size;
	const struct record_sample sample = {
		.label = -1,
		.format = large ? RECORD_JPEG : RECORD_PIXELS,
		.height = (uint16_t)height,
		.width = (uint16_t)width,
		.channels = 1,
		.data = large ? jpeg.data : pixels,
		.size = large ? jpeg.size : (size_t)width * height,
	};
	assert_int_equal(record_writer_add(writer, &sample, &value, &problem), 0);
	free(jpeg.data);
	free(pixels);
	free(png);
	mask_done(&mask);
}

static int start(void **state)
{
	static char names[CLASSES][2] = {"a", "b", "c", "d", "e"};
	char *classes[CLASSES];
	struct record_header header = {.page_size = 65536,
				       .field = {{MASK_FIELD, RECORD_BYTES}},
				       .field_count = 1,
				       .class_name = classes,
				       .class_count = CLASSES};
	struct record_writer *writer = NULL;
	struct problem problem = {0};

	(void)state;
	for (size_t i = 0; i < CLASSES; i++)
		classes[i] = names[i];
	scratch_make(folder, "mask-feed");
	assert_int_equal(record_writer_new(in_folder("set.rec"), &header, RECORD_SYNC_END, &writer,
					   &problem),
			 0);
	for (unsigned i = 0; i < SAMPLES; i++)
		set_add(writer, i);
	assert_int_equal(record_writer_end(writer, &problem), 0);
	record_writer_free(writer);
	struct digits_ask ask = {.count = 60, .seed = 1, .page_size = 16384, .masks = true};
	assert_int_equal(digits_write(in_folder("train.rec"), &ask, &problem), 0);
	ask = (struct digits_ask){.count = 20, .seed = 2, .page_size = 16384};
	assert_int_equal(digits_write(in_folder("plain.rec"), &ask, &problem), 0);
	return 0;
}

static int stop(void **state)
{
	(void)state;
	scratch_remove(folder);
	return 0;
}

/* ---- The loader ---- */

struct epoch {
	uint8_t masks[SAMPLES][OUTPUT]; /* by their numbers in the file */
	unsigned seen[SAMPLES];
	uint64_t compared;
	uint64_t agree
		[5]; /* pixels whose grey is that of the mask here, and of its neighbours to each side */
	char fault[200];
};

static void note_fault(void *context, uint64_t sample, const struct problem *problem)
{
	struct epoch *epoch = context;

	assert_int_equal(sample, BROKEN);
	(void)text_copy(epoch->fault, sizeof(epoch->fault), problem->message);
}

static int class_of(const uint8_t *grey)
{
	return (*grey + STEP / 2) / STEP;
}

static bool is_inside(const uint8_t *at)
{
	for (int k = 0; k < AREA * AREA; k++)
		if (at[(k / AREA - EDGE) * WIDE + k % AREA - EDGE] != *at)
			return false;
	return true;
}

/* Away from edges the grey is that of the class. At edges it is more often that than that of a pixel beside it. */
static void compare_pixels(const uint8_t *mask, const uint8_t *grey, struct epoch *epoch)
{
	static const int beside[] = {0, -1, 1, -WIDE, WIDE};

	for (int y = EDGE; y < HIGH - EDGE; y++)
		for (int x = EDGE; x < WIDE - EDGE; x++) {
			const uint8_t *at = mask + y * WIDE + x;
			int class = class_of(grey + y * WIDE + x);

			for (size_t i = 0; i < COUNT_OF(beside); i++) {
				int is = at[beside[i]] == MASK_VOID ? 4 : at[beside[i]];

				epoch->agree[i] += is == class;
			}
			if (!is_inside(at))
				continue;
			if (class != (*at == MASK_VOID ? 4 : *at))
				fail_msg("pixel %d, %d: grey %d, class %d", x, y,
					 grey[y * WIDE + x], *at);
			epoch->compared++;
		}
}

static void take_epoch(const char *ops, uint32_t threads, uint32_t k, struct epoch *epoch)
{
	const struct loader_config config = {
		.path = in_folder("set.rec"),
		.ops = ops,
		.batch = BATCH,
		.state = {.seed = 3},
		.fixed = {.threads = {1, threads, k == 0 ? 0 : threads}, .k = k},
		.fault = note_fault,
		.context = epoch,
	};
	struct problem problem = {0};
	struct loader *loader = NULL;
	struct loader_batch batch;

	*epoch = (struct epoch){0};
	if (loader_new(&config, &loader, &problem) != 0)
		fail_msg("%s", problem.message);
	while (loader_next(loader, &batch, &problem) == 1) {
		for (uint32_t i = 0; i < batch.count; i++) {
			const uint8_t *mask = batch.masks + (size_t)i * OUTPUT;

			memcpy(epoch->masks[batch.samples[i]], mask, OUTPUT);
			epoch->seen[batch.samples[i]]++;
			compare_pixels(mask, (uint8_t *)batch.data + (size_t)i * OUTPUT, epoch);
		}
		assert_int_equal(loader_give_back(loader, &batch), 0);
	}
	loader_free(loader);
}

static void test_no_drift(void **state)
{
	static const char *const ops[] = {
		"random_crop width=32 height=24; flip; pack type=uint8 channels=1",
		"random_crop width=32 height=24; flip chance=1; pack type=uint8 channels=1",
		"centre_crop width=32 height=24; pack type=uint8 channels=1",
	};
	static struct epoch first;
	static struct epoch again;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(ops); i++) {
		take_epoch(ops[i], 1, 2, &first);
		for (size_t k = 0; k < SAMPLES; k++)
			assert_int_equal(first.seen[k], k != BROKEN);
		assert_string_equal(first.fault, "its mask: PNG: Not a PNG file");
		assert_true(first.compared > SAMPLES * OUTPUT / 40);
		for (size_t k = 1; k < COUNT_OF(first.agree); k++)
			if (first.agree[k] + first.compared / 10 > first.agree[0])
				fail_msg("ops %zu: %llu agree, beside them %llu", i,
					 (unsigned long long)first.agree[0],
					 (unsigned long long)first.agree[k]);
		for (uint32_t k = 0; k <= 2; k++) {
			take_epoch(ops[i], 1 + 2 * (k % 2), k, &again);
			assert_memory_equal(again.masks, first.masks, sizeof(first.masks));
		}
	}
}

/* ---- Labels of a model ---- */

#define PIXELS_OF(classes, size)                                                           \
	"model m\ninput image 24 32 1\nlabel mask " classes " " size "\nconv out=" classes \
	" window=1 bias=1\ncross_entropy\n"

/* Void and free places are -1, all else is the class. */
static void test_labels(void **state)
{
	static int32_t labels[BATCH * OUTPUT];
	static struct epoch wanted;
	struct problem problem = {0};
	struct feed *feed = NULL;
	struct feed_lab lab;
	uint32_t count = 0;
	uint32_t all = 0;

	(void)state;
	take_epoch("random_crop width=32 height=24; flip; pack type=uint8 channels=1", 1, 2,
		   &wanted);
	feed_lab_open(&lab, PIXELS_OF("5", "24 32"), BATCH);
	const struct feed_options options = {.path = in_folder("set.rec"),
					     .augment = "random_crop width=32 height=24; flip",
					     .threads = 1,
					     .ranks = 1,
					     .state = {.seed = 3}};
	if (feed_new(&options, lab.model, lab.graph, &feed, &problem) != 0)
		fail_msg("%s", problem.message);
	uint64_t sums[2] = {0};
	for (;;) {
		assert_int_equal(feed_next(feed, lab.executor, &count, &problem), 0);
		if (count == 0)
			break;
		assert_int_equal(executor_read(lab.executor, lab.graph->label, labels), 0);
		for (uint32_t i = 0; i < BATCH * OUTPUT; i++) {
			assert_in_range(labels[i] + 1, 0, 4);
			assert_true(i < count * OUTPUT || labels[i] == -1);
			if (i < count * OUTPUT)
				sums[0] += (uint64_t)(labels[i] + 1) * (i % OUTPUT + 1);
		}
		all += count;
	}
	for (size_t i = 0; i < SAMPLES; i++)
		for (size_t k = 0; wanted.seen[i] && k < OUTPUT; k++)
			sums[1] += (wanted.masks[i][k] + 1ULL) % 256 * (k + 1);
	assert_int_equal(all, SAMPLES - 1);
	assert_true(sums[0] == sums[1]);
	assert_int_equal(feed_turn(feed, &problem), 0);
	feed_free(feed);
	feed_lab_close(&lab);
}

static void test_refusals(void **state)
{
	static const struct {
		const char *model, *set, *says, *hint;
	} rows[] = {
		{"model m\ninput image 24 32 1\nlabel digit 10\nflatten\nlinear out=10\ncross_entropy\n",
		 "set.rec", "set.rec has masks, and m takes a label a picture",
		 "label digit 10 24 32"},
		{PIXELS_OF("11", "24 32"), "plain.rec",
		 "plain.rec has a label a picture, and m takes masks, a label a pixel",
		 "trainer convert --masks"},
		{PIXELS_OF("4", "24 32"), "set.rec", "set.rec has 5 classes, and m tells 4 apart",
		 "5"},
		{"model m\ninput image 24 32 1\nlabel mask 5 12 16\nconv out=5 window=2 stride=2\n"
		 "cross_entropy\n",
		 "set.rec", "m has neither a label a picture nor a label a pixel",
		 "label mask 5 24 32"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const struct feed_options options = {
			.path = in_folder(rows[i].set), .augment = "", .threads = 1, .ranks = 1};
		struct problem problem = {0};
		struct feed *feed = NULL;
		struct feed_lab lab;

		feed_lab_open(&lab, rows[i].model, BATCH);
		assert_int_not_equal(feed_new(&options, lab.model, lab.graph, &feed, &problem), 0);
		if (!strstr(problem.message, rows[i].says) || !strstr(problem.hint, rows[i].hint))
			fail_msg("row %zu: %s; %s", i, problem.message, problem.hint);
		feed_lab_close(&lab);
	}
}

/* ---- Jobs ---- */

static void run(const char *more, struct train_result *result)
{
	static const char model[] =
		"model small\ninput image 28 28 1\nlabel mask 11 28 28\nconv out=8 window=3 pad=1\n"
		"batch_norm\nrelu\nconv out=11 window=1 bias=1\ncross_entropy\n";
	const struct train_hooks hooks = {0};
	struct problem problem = {0};
	struct job job;
	char text[512];

	assert_int_equal(file_write_atomic(in_folder("small.model"), model, strlen(model), 0600),
			 0);
	assert_true(text_format(text, sizeof(text),
				"model = \"small.model\"; threads = 1; epochs = 3;\n"
				"data: { train = \"train.rec\"; evaluate = \"train.rec\"; };\n%s\n",
				more));
	assert_int_equal(file_write_atomic(in_folder("job.conf"), text, strlen(text), 0600), 0);
	assert_int_equal(job_load(in_folder("job.conf"), &job, &problem), 0);
	if (train_run(&(struct train_options){.job = &job, .hooks = &hooks}, result, &problem) != 0)
		fail_msg("%s: %s", problem.message, problem.detail);
	job_done(&job);
}

/* Loss and accuracy are of pixels. Two runs have the same bits. */
static void test_jobs(void **state)
{
	static const char *const types[] = {"fp32", "bf16"};
	struct train_result one;
	struct train_result two;
	char more[200];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(types); i++) {
		assert_true(text_format(more, sizeof(more),
					"type = \"%s\"; batch = 8; optimizer: { kind = \"adamw\"; "
					"rate = 0.01; };",
					types[i]));
		run(more, &one);
		assert_int_equal(one.last.samples, 60);
		assert_int_equal(one.last.counted, 60 * 28 * 28);
		/* A guess by how many pixels have each class has a loss of 0.75. */
		if (!(one.last.loss < 0.7 && one.last.accuracy > 0.8))
			fail_msg("%s: loss %g, %g right", types[i], one.last.loss,
				 one.last.accuracy);
		run(more, &two);
		assert_true(one.digest == two.digest && one.last.loss == two.last.loss);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_drift),
		cmocka_unit_test(test_labels),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_jobs),
	};

	return cmocka_run_group_tests_name("trainer_mask_feed", tests, start, stop);
}
