/* Decoding and augmenting: what the threads of these stages do with one sample. */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/error.h"

#include "trainer_image/loader/loader_private.h"

/* What the consumer waits for at this moment: the stage nearest to it that has work. */
static enum loader_stall loader_cause(const struct loader *loader)
{
	if (loader->queue_count > 0 || (loader->augmenting > 0 && loader->decoding == 0))
		return LOADER_STALL_AUGMENT;
	return loader->decoding > 0 ? LOADER_STALL_DECODE : LOADER_STALL_READ;
}

void loader_account(struct loader *loader)
{
	uint64_t now;

	if (!loader->waiting)
		return;
	now = clock_monotonic_ns();
	loader->counts.stall_ns[loader_cause(loader)] += now - loader->since;
	loader->since = now;
}

/* Good samples move up, in their order. */
static void loader_batch_close_gaps(const struct loader *loader, struct loader_slot_batch *batch)
{
	uint8_t *memory = batch->k == 1 ? batch->bytes : batch->data;
	size_t size = batch->k == 0   ? sizeof(struct augment_place)
		      : batch->k == 1 ? loader->bytes_size
				      : loader->picture_size;
	uint32_t to = 0;

	for (uint32_t from = 0; from < batch->issued; from++) {
		if (batch->failed[from])
			continue;
		if (to != from) {
			memcpy(memory + to * size, memory + from * size, size);
			if (batch->masks)
				memcpy(batch->masks + to * loader->mask_size,
				       batch->masks + from * loader->mask_size, loader->mask_size);
			batch->labels[to] = batch->labels[from];
			batch->samples[to] = batch->samples[from];
		}
		to++;
	}
}

/* No batch can be filled: from now on the loader waits for the consumer. */
static void loader_note_full(struct loader *loader)
{
	for (uint32_t i = 0; i < loader->config.depth; i++) {
		if (loader->batch[i].state == LOADER_FREE ||
		    loader->batch[i].state == LOADER_FILLING)
			return;
	}
	loader->full_since = clock_monotonic_ns();
}

void loader_batch_settle(struct loader *loader, struct loader_slot_batch *batch)
{
	if (!batch->closed || batch->done < batch->issued)
		return;
	if (batch->skipped > 0)
		loader_batch_close_gaps(loader, batch);
	batch->count = batch->issued - batch->skipped;
	batch->state = LOADER_READY;
	loader_note_full(loader);
	pthread_cond_signal(&loader->wake_consumer);
}

static void loader_item_end(struct loader *loader, struct loader_item *item, bool failed)
{
	struct loader_slot_batch *batch = item->batch;

	loader->free_items[loader->free_count++] = item;
	batch->done++;
	if (failed) {
		batch->failed[item->slot] = true;
		batch->skipped++;
		loader->counts.skipped++;
	}
	loader_batch_settle(loader, batch);
	pthread_cond_signal(&loader->wake[TUNE_DECODE]);
}

static void loader_tell(struct loader *loader, uint64_t sample, const struct problem *problem)
{
	if (loader->config.fault)
		loader->config.fault(loader->config.context, sample, problem);
}

/* What a decode thread has for itself. */
struct loader_decoder {
	struct jpeg_decoder *jpeg;
	struct augment_cpu *cpu; /* made when it is needed first */
	struct mask mask;        /* of a whole picture */
};

static int loader_decode_jpeg(struct loader *loader, const struct record_sample *sample,
			      struct jpeg_decoder *decoder, struct loader_item *item,
			      struct problem *problem)
{
	struct augment_sample key = {loader->config.state.seed, item->epoch, sample->number};
	struct jpeg_header header;
	int rc = jpeg_decoder_open(decoder, sample->data, sample->size, &header, problem);

	if (rc != 0)
		return rc;
	item->width = header.width;
	item->height = header.height;
	augment_choose(&loader->augment, &key, header.width, header.height, &item->choice);
	return jpeg_decoder_read(decoder, &item->choice.region, augment_width(&loader->augment),
				 augment_height(&loader->augment), &item->picture, problem);
}

/* Raw pixels: the region alone, to four bytes a pixel. */
static int loader_copy_pixels(struct loader *loader, const struct record_sample *sample,
			      struct loader_item *item, struct problem *problem)
{
	struct augment_sample key = {loader->config.state.seed, item->epoch, sample->number};
	const struct picture_region *region = &item->choice.region;
	size_t channels = sample->channels;

	if ((channels != 1 && channels != 3) || sample->width == 0 || sample->height == 0 ||
	    sample->size != channels * sample->width * sample->height)
		return problem_set(problem, E_MALFORMED, "%zu bytes are not %ux%u pixels of %zu",
				   sample->size, sample->width, sample->height, channels);
	item->width = sample->width;
	item->height = sample->height;
	augment_choose(&loader->augment, &key, sample->width, sample->height, &item->choice);
	if (picture_reserve(&item->picture, region->width, region->height) != 0)
		return problem_set(problem, -ENOMEM, "no memory for %ux%u pixels", region->width,
				   region->height);
	for (uint32_t y = 0; y < region->height; y++) {
		const uint8_t *from =
			sample->data +
			((size_t)(region->y + y) * sample->width + region->x) * channels;
		uint8_t *to = item->picture.data + y * item->picture.stride;

		for (size_t x = 0; x < region->width; x++) {
			to[4 * x] = from[x * channels];
			to[4 * x + 1] = from[x * channels + (channels == 3)];
			to[4 * x + 2] = from[x * channels + 2 * (size_t)(channels == 3)];
			to[4 * x + 3] = 0;
		}
	}
	return 0;
}

/* Here whatever k is: what is chosen for a picture is done to its mask by one processor. */
static int loader_decode_mask(struct loader *loader, const struct record_sample *sample,
			      struct loader_item *item, struct mask *mask, struct problem *problem)
{
	struct record_value value[RECORD_FIELDS_MAX];
	struct problem why = {0};
	int rc = record_sample_fields(record_reader_header(loader->reader), sample, value);

	if (rc == 0)
		rc = mask_read(value[loader->mask_field].data, value[loader->mask_field].size,
			       item->width, item->height, mask, &why);
	if (rc == 0)
		rc = augment_cpu_mask(&loader->augment, &item->choice, mask,
				      item->batch->masks + item->slot * loader->mask_size);
	return rc == 0 ? 0
		       : problem_set(problem, rc, "its mask: %s",
				     why.message[0] ? why.message : error_text(rc));
}

static int loader_decode(struct loader *loader, struct loader_decoder *decoder,
			 struct loader_item *item, uint64_t *ret_number, struct problem *problem)
{
	struct loader_group *group = item->group;
	struct record_page *page = &group->pages[item->place.slot];
	struct record_sample sample;
	int rc;

	*ret_number = record_reader_first(loader->reader)[item->place.page] + item->place.index;
	if (group->bad[item->place.slot])
		return problem_set(problem, E_DIGEST, "page %u could not be read",
				   item->place.page);
	rc = record_page_sample(loader->reader, page, item->place.index, &sample);
	if (rc != 0)
		return problem_set(problem, rc, "page %u, sample %u: %s", item->place.page,
				   item->place.index, error_text(rc));
	item->batch->labels[item->slot] = sample.label;
	item->batch->samples[item->slot] = sample.number;
	*ret_number = sample.number;
	rc = sample.format == RECORD_JPEG
		     ? loader_decode_jpeg(loader, &sample, decoder->jpeg, item, problem)
		     : loader_copy_pixels(loader, &sample, item, problem);
	return rc == 0 && loader->mask_size > 0
		       ? loader_decode_mask(loader, &sample, item, &decoder->mask, problem)
		       : rc;
}

static void loader_queue_put(struct loader *loader, struct loader_item *item)
{
	loader->queue[(loader->queue_begin + loader->queue_count++) % loader->item_count] = item;
	/* With k = 0 the consumer is the one who augments. */
	pthread_cond_signal(loader->setting.k == 0 ? &loader->wake_consumer
						   : &loader->wake[TUNE_AUGMENT]);
}

static void loader_decode_one(struct loader *loader, struct loader_decoder *decoder,
			      struct loader_item *item)
{
	uint64_t begin;
	uint64_t number;
	uint64_t warnings = jpeg_decoder_warnings(decoder->jpeg);
	struct problem problem = {0};
	int rc;

	loader->decoding++;
	pthread_mutex_unlock(&loader->lock);
	begin = clock_monotonic_ns();
	item->picture.lend = item->batch->k == 0 ? loader_side_lend : NULL;
	item->picture.lender = item;
	rc = loader_decode(loader, decoder, item, &number, &problem);
	if (rc == 0 && item->batch->k == 0 && loader_side_place(item, &decoder->cpu) != 0)
		rc = problem_set(&problem, -ENOMEM, "no memory to augment it");
	begin = clock_monotonic_ns() - begin;
	pthread_mutex_lock(&loader->lock);
	loader_account(loader);
	loader->decoding--;
	loader->counts.work_ns[TUNE_WORK_DECODE] += begin;
	loader->counts.jpeg_warnings += jpeg_decoder_warnings(decoder->jpeg) - warnings;
	loader_release(loader, item->group);
	if (rc == 0 && item->batch->k > 0) {
		loader_queue_put(loader, item);
		return;
	}
	if (rc != 0)
		loader_tell(loader, number, &problem);
	loader_item_end(loader, item, rc != 0);
}

void *loader_decode_thread(void *context)
{
	struct loader_thread *thread = context;
	struct loader *loader = thread->loader;
	struct loader_decoder decoder = {0};

	/* Without memory for a decoder this thread does nothing; the others go on. */
	if (jpeg_decoder_new(&jpeg_limits_default, &decoder.jpeg) != 0)
		return NULL;
	pthread_mutex_lock(&loader->lock);
	while (!loader->end) {
		struct loader_item *item;

		if (thread->index >= loader->setting.threads[TUNE_DECODE]) {
			pthread_cond_wait(&loader->park, &loader->lock);
			continue;
		}
		item = loader->free_count > 0 ? loader->free_items[loader->free_count - 1] : NULL;
		if (!item || !loader_issue(loader, item)) {
			pthread_cond_wait(&loader->wake[TUNE_DECODE], &loader->lock);
			continue;
		}
		loader->free_count--;
		loader_decode_one(loader, &decoder, item);
	}
	pthread_mutex_unlock(&loader->lock);
	jpeg_decoder_free(decoder.jpeg);
	augment_cpu_free(decoder.cpu);
	mask_done(&decoder.mask);
	return NULL;
}

bool loader_augment_one(struct loader *loader, struct augment_cpu *cpu)
{
	struct loader_item *item;
	struct loader_slot_batch *batch;
	uint64_t begin;
	int rc;

	if (loader->queue_count == 0)
		return false;
	item = loader->queue[loader->queue_begin];
	loader->queue_begin = (loader->queue_begin + 1) % loader->item_count;
	loader->queue_count--;
	loader->augmenting++;
	pthread_mutex_unlock(&loader->lock);
	batch = item->batch;
	begin = clock_monotonic_ns();
	if (batch->k == AUGMENT_STAGES)
		rc = augment_cpu_all(cpu, &item->choice, &item->picture,
				     batch->data + item->slot * loader->picture_size);
	else
		rc = augment_cpu_pixels(cpu, &item->choice, &item->picture,
					batch->bytes + item->slot * loader->bytes_size);
	begin = clock_monotonic_ns() - begin;
	pthread_mutex_lock(&loader->lock);
	loader_account(loader);
	loader->augmenting--;
	loader->counts.work_ns[TUNE_WORK_PIXELS] += begin;
	loader->threads_numbers += batch->k == AUGMENT_STAGES && loader->makes_numbers;
	if (rc != 0) {
		struct problem problem = {0};

		(void)problem_set(&problem, rc, "no memory to augment it");
		loader_tell(loader, batch->samples[item->slot], &problem);
	}
	loader_item_end(loader, item, rc != 0);
	return true;
}

void *loader_augment_thread(void *context)
{
	struct loader_thread *thread = context;
	struct loader *loader = thread->loader;
	struct augment_cpu *cpu = NULL;

	if (augment_cpu_new(&loader->augment, &cpu) != 0)
		return NULL;
	pthread_mutex_lock(&loader->lock);
	while (!loader->end) {
		if (thread->index >= loader->setting.threads[TUNE_AUGMENT])
			pthread_cond_wait(&loader->park, &loader->lock);
		else if (!loader_augment_one(loader, cpu))
			pthread_cond_wait(&loader->wake[TUNE_AUGMENT], &loader->lock);
	}
	pthread_mutex_unlock(&loader->lock);
	augment_cpu_free(cpu);
	return NULL;
}
