/* All memory of a loader: taken at the begin, used again and again. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/base/clock.h"

#include "trainer_image/loader/loader_private.h"

enum { LOADER_LARGE_PAGE = 2 << 20 };

static int loader_memory_groups(struct loader *loader)
{
	for (size_t i = 0; i < LOADER_GROUPS; i++) {
		struct loader_group *group = &loader->group[i];

		group->pages = calloc(loader->config.window, sizeof(*group->pages));
		group->bad = calloc(loader->config.window, sizeof(*group->bad));
		if (!group->pages || !group->bad)
			return -ENOMEM;
	}
	return 0;
}

/* Used from end to end at once, in large pages where there are some: a page fault later would be paid
 * by the stage that met it, in each batch's first round. */
static void *loader_memory_touched(size_t size)
{
	size_t align = size >= LOADER_LARGE_PAGE ? LOADER_LARGE_PAGE : 64;
	size_t rounded = (size + align - 1) / align * align;
	void *memory = aligned_alloc(align, rounded);

	if (!memory)
		return NULL;
	if (align == LOADER_LARGE_PAGE)
		(void)madvise(memory, rounded, MADV_HUGEPAGE); /* a kernel may have none */
	memset(memory, 0, rounded);
	return memory;
}

static int loader_memory_batch(struct loader *loader, struct loader_slot_batch *batch)
{
	const struct loader_side *side = &loader->config.side;
	uint32_t count = loader->config.batch;

	if (side->take)
		batch->data = batch->bytes = side->take(side->context, loader->batch_size);
	else
		batch->data = loader_memory_touched(count * loader->picture_size);
	if (!side->take && loader->makes_numbers)
		batch->bytes = loader_memory_touched(count * loader->bytes_size);
	batch->labels = calloc(count, sizeof(*batch->labels));
	if (loader->mask_size > 0)
		batch->masks = loader_memory_touched(count * loader->mask_size);
	batch->samples = calloc(count, sizeof(*batch->samples));
	batch->failed = calloc(count, sizeof(*batch->failed));
	return batch->data && (batch->bytes || !loader->makes_numbers) && batch->labels &&
			       (batch->masks || loader->mask_size == 0) && batch->samples &&
			       batch->failed
		       ? 0
		       : -ENOMEM;
}

static int loader_memory_batches(struct loader *loader)
{
	loader->batch = calloc(loader->config.depth, sizeof(*loader->batch));
	if (!loader->batch)
		return -ENOMEM;
	for (uint32_t i = 0; i < loader->config.depth; i++) {
		int rc = loader_memory_batch(loader, &loader->batch[i]);

		if (rc != 0)
			return rc;
	}
	return 0;
}

static int loader_memory_items(struct loader *loader)
{
	uint32_t processors = loader_processors(loader);

	/* One for each thread that may hold one, and some that wait between the stages. */
	loader->item_count = 4 * processors + 32;
	loader->items = calloc(loader->item_count, sizeof(*loader->items));
	loader->free_items = calloc(loader->item_count, sizeof(struct loader_item *));
	loader->queue = calloc(loader->item_count, sizeof(struct loader_item *));
	if (!loader->items || !loader->free_items || !loader->queue)
		return -ENOMEM;
	for (uint32_t i = 0; i < loader->item_count; i++) {
		loader->items[i].loader = loader;
		loader->free_items[loader->free_count++] = &loader->items[i];
	}
	return 0;
}

/* How long `normalise` and `pack` of one picture take here: the least of three. */
static int loader_memory_time(struct loader *loader)
{
	CLEANUP(freep) void *bytes = loader_memory_touched(loader->bytes_size);
	CLEANUP(freep) void *numbers = loader_memory_touched(loader->picture_size);

	if (!bytes || !numbers)
		return -ENOMEM;
	loader->numbers_ns = UINT64_MAX;
	for (int i = 0; i < 3; i++) {
		uint64_t begin = clock_monotonic_ns();

		augment_cpu_numbers(loader->side, bytes, numbers);
		begin = clock_monotonic_ns() - begin;
		if (begin < loader->numbers_ns)
			loader->numbers_ns = begin;
	}
	return 0;
}

int loader_memory_take(struct loader *loader)
{
	int rc = loader_memory_groups(loader);

	loader->bytes_size = augment_elements(&loader->augment);
	loader->mask_field = mask_field(record_reader_header(loader->reader));
	if (loader->mask_field >= 0)
		loader->mask_size =
			(size_t)augment_width(&loader->augment) * augment_height(&loader->augment);
	loader->picture_size =
		loader->bytes_size * augment_type_size(augment_type(&loader->augment));
	loader->makes_numbers = augment_type(&loader->augment) != AUGMENT_UINT8;
	loader->batch_size =
		loader_side_room(&loader->augment, loader->config.batch,
				 loader->config.side.k_least, loader->config.side.k_most);
	if (rc == 0)
		rc = loader_memory_batches(loader);
	if (rc == 0)
		rc = loader_memory_items(loader);
	if (rc == 0)
		rc = augment_cpu_new(&loader->augment, &loader->side);
	if (rc == 0 && loader->makes_numbers)
		rc = loader_memory_time(loader);
	return rc;
}

static void loader_memory_free_batch(const struct loader *loader, struct loader_slot_batch *batch)
{
	const struct loader_side *side = &loader->config.side;

	if (side->take && batch->data)
		side->give(side->context, batch->data);
	if (side->take)
		return;
	free(batch->data);
	free(batch->bytes);
}

void loader_memory_free(struct loader *loader)
{
	for (size_t i = 0; i < LOADER_GROUPS; i++) {
		free(loader->group[i].pages);
		free(loader->group[i].bad);
	}
	for (uint32_t i = 0; loader->batch && i < loader->config.depth; i++) {
		struct loader_slot_batch *batch = &loader->batch[i];

		loader_memory_free_batch(loader, batch);
		free(batch->labels);
		free(batch->masks);
		free(batch->samples);
		free(batch->failed);
	}
	for (uint32_t i = 0; loader->items && i < loader->item_count; i++)
		picture_done(&loader->items[i].picture);
	free(loader->batch);
	free(loader->items);
	free(loader->free_items);
	free(loader->queue);
	augment_cpu_free(loader->side);
	record_reader_free(loader->reader);
}
