// links: trainer_loader trainer_record lib::jpeg common_base
/* The loader: each sample once, the same bits by any threads and after any restart, damage left out. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/error.h"

#include "tests/support/cmocka.h"
#include "tests/support/jpeg_make.h"
#include "trainer_image/loader/augment_cpu.h"
#include "trainer_image/loader/augment_pixel.h"
#include "trainer_image/loader/loader.h"
#include "trainer_image/record/record.h"

enum { SAMPLES = 150, BATCH = 16, PAGE = 16384 };

static char path[64];
static const char ops[] =
	"random_crop width=24 height=20; flip; colour brightness=0.4; normalise; pack type=fp16";

/* Of each ten samples one is raw pixels; number 40 is no JPEG, 77 is cut. */
static void add_sample(struct record_writer *writer, unsigned number)
{
	struct jpeg_make make = {
		30 + number % 40, 25 + number % 17, 3, 80, 2, number % 9 == 0, number};
	struct record_sample sample = {.label = (int32_t)number * 3, .format = RECORD_JPEG};
	struct problem problem = {0};
	unsigned char *data;
	size_t size;

	jpeg_make(&make, &data, &size);
	if (number % 10 == 5) {
		sample = (struct record_sample){.label = (int32_t)number * 3,
						.format = RECORD_PIXELS,
						.height = 9,
						.width = 11,
						.channels = number % 20 == 5 ? 1 : 3};
		size = (size_t)99 * sample.channels;
	}
	if (number == 40)
		memset(data, 'x', size);
	sample.data = data;
	sample.size = number == 77 ? size / 2 : size;
	assert_int_equal(record_writer_add(writer, &sample, NULL, &problem), 0);
	free(data);
}

static int file_begin(void **state)
{
	struct record_header header = {.page_size = PAGE};
	struct record_writer *writer;
	struct problem problem = {0};
	int fd;

	(void)state;
	strcpy(path, "/tmp/haas-loader-test.XXXXXX");
	fd = mkstemp(path);
	if (fd < 0)
		return -1;
	close(fd);
	unlink(path);
	if (record_writer_new(path, &header, RECORD_SYNC_END, &writer, &problem) != 0)
		return -1;
	for (unsigned i = 0; i < SAMPLES; i++)
		add_sample(writer, i);
	if (record_writer_end(writer, &problem) != 0)
		return -1;
	record_writer_free(writer);
	return 0;
}

static int file_end(void **state)
{
	(void)state;
	return unlink(path);
}

static struct loader_config config(uint32_t threads, uint32_t k)
{
	return (struct loader_config){
		.path = path,
		.ops = ops,
		.batch = BATCH,
		.window = 3,
		.state = {.seed = 11},
		.fixed = {.threads = {threads, threads, k == 0 ? 0 : threads}, .k = k},
	};
}

static struct loader *open_loader(const struct loader_config *config)
{
	struct loader *loader = NULL;
	struct problem problem = {0};

	if (loader_new(config, &loader, &problem) != 0)
		fail_msg("%s", problem.message);
	return loader;
}

/* FNV-1a of a picture, its label and its number. */
static uint64_t digest(uint64_t sum, const void *data, size_t size)
{
	const uint8_t *bytes = data;

	for (size_t i = 0; i < size; i++)
		sum = (sum ^ bytes[i]) * 0x100000001b3ULL;
	return sum;
}

struct epoch {
	uint64_t sums[SAMPLES]; /* of each sample given, in order */
	uint64_t samples[SAMPLES];
	uint32_t count, skipped;
};

static bool take_batch(struct loader *loader, struct epoch *epoch)
{
	struct loader_batch batch;
	struct problem problem = {0};
	int rc = loader_next(loader, &batch, &problem);
	size_t size = augment_elements(loader_augment(loader)) *
		      augment_type_size(augment_type(loader_augment(loader)));

	assert_in_range(rc, 0, 1);
	if (rc == 0)
		return false;
	assert_int_equal((uintptr_t)batch.data % 64, 0);
	for (uint32_t i = 0; i < batch.count; i++) {
		uint64_t sum = digest(batch.samples[i], (uint8_t *)batch.data + i * size, size);

		assert_int_equal(batch.labels[i], batch.samples[i] * 3);
		epoch->samples[epoch->count] = batch.samples[i];
		epoch->sums[epoch->count++] = sum;
	}
	epoch->skipped += batch.skipped;
	assert_int_equal(loader_give_back(loader, &batch), 0);
	assert_int_equal(loader_give_back(loader, &batch), E_INVALID);
	return true;
}

static void take_epoch(struct loader *loader, struct epoch *epoch)
{
	*epoch = (struct epoch){0};
	while (take_batch(loader, epoch))
		;
}

static void each_sample_comes_once(void **state)
{
	bool seen[SAMPLES] = {0};

	(void)state;
	for (uint32_t ranks = 1; ranks <= 3; ranks++) {
		memset(seen, 0, sizeof(seen));
		for (uint32_t rank = 0; rank < ranks; rank++) {
			struct loader_config c = config(2, 2);
			struct loader *loader;
			struct epoch epoch;

			c.rank = rank;
			c.ranks = ranks;
			loader = open_loader(&c);
			take_epoch(loader, &epoch);
			assert_int_equal(epoch.count + epoch.skipped, loader_share(loader));
			for (uint32_t i = 0; i < epoch.count; i++) {
				assert_false(seen[epoch.samples[i]]);
				seen[epoch.samples[i]] = true;
			}
			loader_free(loader);
		}
		for (uint32_t i = 0; i < SAMPLES; i++)
			assert_int_equal(seen[i], i != 40 && i != 77);
	}
}

/* Threads, k and changes of both on the way do not change one bit. */
static void bits_do_not_depend_on_threads(void **state)
{
	struct loader_config c = config(1, 2);
	struct loader *loader = open_loader(&c);
	struct epoch first[2];
	struct epoch again;

	(void)state;
	take_epoch(loader, &first[0]);
	take_epoch(loader, &first[1]);
	loader_free(loader);
	assert_memory_not_equal(first[0].samples, first[1].samples, sizeof(first[0].samples));
	for (uint32_t threads = 1; threads <= 5; threads += 2) {
		for (uint32_t k = 0; k <= 2; k++) {
			c = config(threads, k);
			loader = open_loader(&c);
			for (int epoch = 0; epoch < 2; epoch++) {
				take_epoch(loader, &again);
				assert_memory_equal(&again, &first[epoch], sizeof(again));
			}
			loader_free(loader);
		}
	}
	c = config(1, 2);
	loader = open_loader(&c);
	for (int epoch = 0; epoch < 2; epoch++) {
		again = (struct epoch){0};
		for (uint32_t turn = 0; take_batch(loader, &again); turn++) {
			uint32_t k = turn % 3;
			uint32_t threads = 1 + turn % 4;
			struct tune_setting setting = {
				{threads, 1 + turn * 7 % 5, k == 0 ? 0 : threads}, k};

			assert_int_equal(loader_set(loader, &setting), 0);
		}
		assert_memory_equal(&again, &first[epoch], sizeof(again));
	}
	loader_free(loader);
}

/* Stopped after each batch and begun anew, it goes on with the next sample. */
static void restarts_go_on(void **state)
{
	struct loader_config c = config(2, 1);
	struct loader *loader = open_loader(&c);
	struct epoch whole[2];
	struct epoch parts[2] = {0};
	struct loader_state at = {.seed = 11};

	(void)state;
	take_epoch(loader, &whole[0]);
	take_epoch(loader, &whole[1]);
	loader_free(loader);
	while (at.epoch < 2) {
		bool given;
		uint64_t epoch = at.epoch;

		c.state = at;
		loader = open_loader(&c);
		given = take_batch(loader, &parts[epoch]);
		at = loader_state(loader);
		assert_int_equal(at.epoch, given ? epoch : epoch + 1);
		loader_free(loader);
	}
	assert_memory_equal(&parts, &whole, sizeof(whole));
}

struct faults {
	uint64_t samples[8];
	char text[8][160];
	uint32_t count;
};

static void note_fault(void *context, uint64_t sample, const struct problem *problem)
{
	struct faults *faults = context;

	assert_true(faults->count < COUNT_OF(faults->samples));
	faults->samples[faults->count] = sample;
	memcpy(faults->text[faults->count++], problem->message, sizeof(problem->message));
}

static void damage_is_left_out_counted_and_named(void **state)
{
	struct faults faults = {0};
	struct loader_config c = config(2, 2);
	struct loader *loader;
	struct epoch epoch = {0};
	uint32_t count = 0;

	(void)state;
	c.fault = note_fault;
	c.context = &faults;
	c.depth = 2;
	loader = open_loader(&c);
	while (take_batch(loader, &epoch))
		count++;
	assert_int_equal(count, loader_batches(loader));
	assert_int_equal(epoch.skipped, 2);
	assert_int_equal(loader_counts(loader).samples, SAMPLES - 2);
	loader_free(loader);
	assert_true(faults.count >= 2); /* the next epoch may have begun */
	for (uint32_t i = 0; i < faults.count; i++) {
		assert_true(faults.samples[i] == 40 || faults.samples[i] == 77);
		assert_non_null(strstr(faults.text[i], "JPEG: "));
	}
}

/* A byte of a page was changed: what it belongs to is left out, all else comes. */
static void damaged_bytes_are_left_out(void **state)
{
	struct loader_config c = config(2, 2);
	struct loader *loader;
	struct epoch epoch;
	FILE *file = fopen(path, "r+");
	uint8_t byte;

	(void)state;
	assert_non_null(file);
	assert_int_equal(fseek(file, RECORD_ALIGN + 3000, SEEK_SET), 0);
	assert_int_equal(fread(&byte, 1, 1, file), 1);
	byte ^= 1;
	assert_int_equal(fseek(file, -1, SEEK_CUR), 0);
	assert_int_equal(fwrite(&byte, 1, 1, file), 1);
	assert_int_equal(fclose(file), 0);
	loader = open_loader(&c);
	take_epoch(loader, &epoch);
	assert_true(epoch.skipped >= 3 && epoch.skipped < SAMPLES / 2);
	assert_int_equal(epoch.count + epoch.skipped, SAMPLES);
	loader_free(loader);
}

/* All batches in the consumer's hands: it is told, and given back in any order they come again. */
static void a_consumer_may_hold_batches(void **state)
{
	struct loader_config c = config(1, 2);
	struct loader *loader;
	struct loader_batch batch[3];
	struct problem problem = {0};
	struct epoch epoch = {0};

	(void)state;
	c.depth = 3;
	loader = open_loader(&c);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(loader_next(loader, &batch[i], &problem), 1);
	assert_int_equal(loader_next(loader, &batch[0], &problem), E_CONFLICT);
	assert_int_equal(loader_give_back(loader, &batch[2]), 0);
	assert_int_equal(loader_give_back(loader, &batch[0]), 0);
	assert_int_equal(loader_give_back(loader, &batch[1]), 0);
	while (take_batch(loader, &epoch))
		;
	assert_int_equal(epoch.count + epoch.skipped + batch[0].count + batch[0].skipped +
				 batch[1].count + batch[1].skipped + batch[2].count +
				 batch[2].skipped,
			 SAMPLES);
	loader_free(loader);
}

/* Left alone, it tunes itself; waiting has a cause; the bits are the same. */
static void the_tuner_runs(void **state)
{
	struct loader_config c = config(1, 2);
	struct loader *loader = open_loader(&c);
	struct epoch first;
	struct epoch again;
	struct loader_counts counts;
	uint64_t stall = 0;

	(void)state;
	take_epoch(loader, &first);
	loader_free(loader);
	c.fixed = (struct tune_setting){0};
	c.processors = 3;
	loader = open_loader(&c);
	for (int epoch = 0; epoch < 100 && loader_counts(loader).settings == 0; epoch++) {
		take_epoch(loader, &again);
		if (epoch == 0)
			assert_memory_equal(&again, &first, sizeof(again));
	}
	counts = loader_counts(loader);
	assert_true(counts.settings > 0);
	for (size_t i = 0; i < LOADER_STALLS; i++)
		stall += counts.stall_ns[i];
	assert_true(stall > 0 && counts.consumer_ns > 0);
	for (size_t i = 0; i < TUNE_WORK_NUMBERS; i++)
		assert_true(counts.work_ns[i] > 0);
	loader_free(loader);
}

/* --- a side that does by itself what k leaves to it: here a processor, as a GPU would --- */

struct side {
	uint32_t taken, places,
		augmented; /* pieces of memory; pictures as decoded; already augmented */
};

static void *side_take(void *context, size_t bytes)
{
	struct side *side = context;

	side->taken++;
	return aligned_alloc(64, bytes);
}

static void side_give(void *context, void *memory)
{
	struct side *side = context;

	side->taken--;
	free(memory);
}

static struct loader_config side_config(struct side *side, uint32_t threads, uint32_t k)
{
	struct loader_config c = config(threads, k);

	*side = (struct side){0};
	c.side = (struct loader_side){
		.k_most = 2, .take = side_take, .give = side_give, .context = side};
	return c;
}

static void side_picture(struct side *side, struct augment_cpu *cpu,
			 const struct loader_batch *batch, uint32_t nth, void *ret)
{
	const struct augment_place *place = (const struct augment_place *)batch->data + nth;
	struct picture picture = {.data = (uint8_t *)batch->data + place->offset,
				  .width = place->width,
				  .height = place->height,
				  .stride = 4 * (size_t)place->width,
				  .left = place->left,
				  .top = place->top,
				  .region_width = place->region_width,
				  .region_height = place->region_height};
	struct augment_choice choice = {.flip = place->flip, .coloured = place->coloured};

	assert_int_equal(place->offset % 4, 0);
	assert_true(place->offset >= batch->count * sizeof(*place));
	assert_true(place->offset + picture.stride * place->height <= batch->bytes);
	memcpy(choice.colour, place->colour, sizeof(choice.colour));
	assert_int_equal(augment_cpu_all(cpu, &choice, &picture, ret), 0);
	side->places += place->coloured;
	side->augmented += !place->coloured;
}

/* The numbers of a batch, of any k. It looks `tries` times for one before it waits. */
static bool side_batch(struct loader *loader, struct side *side, unsigned tries,
		       struct epoch *epoch)
{
	const struct augment *augment = loader_augment(loader);
	size_t elements = augment_elements(augment);
	size_t size = elements * augment_type_size(augment_type(augment));
	struct augment_cpu *cpu;
	struct loader_batch batch;
	struct problem problem = {0};
	uint8_t *numbers = malloc(size);
	int rc = -EAGAIN;

	assert_non_null(numbers);
	assert_int_equal(augment_cpu_new(augment, &cpu), 0);
	for (; tries > 0 && rc == -EAGAIN; tries--)
		rc = loader_try_next(loader, &batch, &problem);
	if (rc == -EAGAIN)
		rc = loader_next(loader, &batch, &problem);
	assert_in_range(rc, 0, 1);
	for (uint32_t i = 0; rc == 1 && i < batch.count; i++) {
		if (batch.k == 0)
			side_picture(side, cpu, &batch, i, numbers);
		else if (batch.k == 1)
			augment_cpu_numbers(cpu, (uint8_t *)batch.data + i * elements, numbers);
		else
			memcpy(numbers, (uint8_t *)batch.data + i * size, size);
		assert_int_equal(batch.labels[i], batch.samples[i] * 3);
		epoch->samples[epoch->count] = batch.samples[i];
		epoch->sums[epoch->count++] = digest(batch.samples[i], numbers, size);
	}
	if (rc == 1) {
		epoch->skipped += batch.skipped;
		assert_true(batch.k == 0 ||
			    batch.bytes == batch.count * (batch.k == 1 ? elements : size));
		assert_int_equal(loader_give_back(loader, &batch), 0);
	}
	augment_cpu_free(cpu);
	free(numbers);
	return rc == 1;
}

static void side_epoch(struct loader *loader, struct side *side, struct epoch *epoch)
{
	*epoch = (struct epoch){0};
	while (side_batch(loader, side, 0, epoch))
		;
}

static void side_is_gone(struct loader *loader, const struct side *side)
{
	assert_int_equal(side->taken, LOADER_DEPTH);
	loader_free(loader);
	assert_int_equal(side->taken, 0);
}

/* Each k gives the bits of a loader that does all. Where pictures are much larger than the output, some are
 * augmented before: grey ones too. */
static void a_side_gets_what_k_leaves(void **state)
{
	static const char *const texts[] = {
		ops,
		"random_crop width=6 height=5; flip; colour brightness=0.4; normalise; pack type=fp32",
		"random_crop width=7 height=5; colour brightness=0.4; pack type=bf16 channels=1",
	};
	uint32_t places = 0;
	uint32_t augmented = 0;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		struct loader_config c = config(1, 2);
		struct loader *loader;
		struct epoch wanted[2];
		struct epoch found;

		c.ops = texts[i];
		loader = open_loader(&c);
		take_epoch(loader, &wanted[0]);
		take_epoch(loader, &wanted[1]);
		loader_free(loader);
		for (uint32_t k = 0; k <= 2; k++) {
			struct side side;

			c = side_config(&side, 1 + 2 * (k % 2), k);
			c.ops = texts[i];
			loader = open_loader(&c);
			for (int epoch = 0; epoch < 2; epoch++) {
				side_epoch(loader, &side, &found);
				assert_memory_equal(&found, &wanted[epoch], sizeof(found));
			}
			places += side.places;
			augmented += side.augmented;
			assert_true(k == 0 || side.places + side.augmented == 0);
			side_is_gone(loader, &side);
		}
	}
	assert_true(places > SAMPLES && augmented > SAMPLES);
}

/* k changes on the way, and the consumer looks for batches without waiting. */
static void a_side_sees_k_change(void **state)
{
	struct side side;
	struct loader_config c = config(1, 2);
	struct loader *loader = open_loader(&c);
	struct epoch wanted;
	struct epoch found = {0};

	(void)state;
	take_epoch(loader, &wanted);
	loader_free(loader);
	c = side_config(&side, 2, 0);
	loader = open_loader(&c);
	for (uint32_t turn = 1; side_batch(loader, &side, turn % 3 * 1000, &found); turn++) {
		uint32_t k = turn * 7 % 3;
		struct tune_setting setting = {{1, 1 + turn % 3, k == 0 ? 0 : 1 + turn % 2}, k};

		assert_int_equal(loader_set(loader, &setting), 0);
	}
	assert_memory_equal(&found, &wanted, sizeof(found));
	side_is_gone(loader, &side);
}

/* Stopped after each batch with k = 0, it goes on with the next sample. */
static void a_side_goes_on(void **state)
{
	struct side side;
	struct loader_config c = side_config(&side, 2, 0);
	struct loader *loader = open_loader(&c);
	struct epoch wanted;
	struct epoch found = {0};

	(void)state;
	side_epoch(loader, &side, &wanted);
	loader_free(loader);
	while (c.state.epoch == 0) {
		loader = open_loader(&c);
		(void)side_batch(loader, &side, 0, &found);
		c.state = loader_state(loader);
		loader_free(loader);
	}
	assert_memory_equal(&found, &wanted, sizeof(found));
}

static void *side_take_nothing(void *context, size_t bytes)
{
	(void)context, (void)bytes;
	return NULL;
}

static void a_side_has_limits(void **state)
{
	struct side side;
	struct loader_config c = side_config(&side, 1, 0);
	struct tune_setting setting = {{1, 1, 0}, 0};
	struct problem problem = {0};
	struct loader *loader;

	(void)state;
	c.side.k_least = 1;
	assert_int_equal(loader_new(&c, &loader, &problem), E_INVALID);
	c.side.k_most = 0;
	assert_int_equal(loader_new(&c, &loader, &problem), E_INVALID);
	c = side_config(&side, 1, 1);
	c.side.k_least = c.side.k_most = 1;
	loader = open_loader(&c);
	assert_int_equal(loader_set(loader, &setting), E_INVALID);
	setting = (struct tune_setting){{1, 1, 1}, 2};
	assert_int_equal(loader_set(loader, &setting), E_INVALID);
	side_is_gone(loader, &side);
	c.side.take = side_take_nothing;
	assert_int_equal(loader_new(&c, &loader, &problem), -ENOMEM);
}

static void wrong_configurations_are_refused(void **state)
{
	struct loader_config rows[8];
	struct problem problem = {0};
	struct loader *loader;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		rows[i] = config(1, 2);
	rows[0].batch = 0;
	rows[1].depth = 1;
	rows[2].window = 257;
	rows[3].rank = 1;
	rows[4].ops = "random_crop size=3";
	rows[5].state.position = SAMPLES + 1;
	rows[6].fixed.threads[TUNE_READ] = 0;
	rows[7].fixed.k = 3;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		problem = (struct problem){0};
		assert_int_equal(loader_new(&rows[i], &loader, &problem), E_INVALID);
		assert_int_equal(problem.code, E_INVALID);
	}
	rows[0] = config(1, 2);
	rows[0].path = "/nowhere/set.rec";
	assert_true(loader_new(&rows[0], &loader, &problem) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_sample_comes_once),
		cmocka_unit_test(bits_do_not_depend_on_threads),
		cmocka_unit_test(restarts_go_on),
		cmocka_unit_test(damage_is_left_out_counted_and_named),
		cmocka_unit_test(a_consumer_may_hold_batches),
		cmocka_unit_test(the_tuner_runs),
		cmocka_unit_test(a_side_gets_what_k_leaves),
		cmocka_unit_test(a_side_sees_k_change),
		cmocka_unit_test(a_side_goes_on),
		cmocka_unit_test(a_side_has_limits),
		cmocka_unit_test(wrong_configurations_are_refused),
		cmocka_unit_test(damaged_bytes_are_left_out),
	};

	return cmocka_run_group_tests(tests, file_begin, file_end);
}
