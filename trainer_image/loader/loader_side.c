/* Batches of k = 0: pictures as they were decoded, in the memory of a side that augments by itself.
 *
 * First a place for each picture, then pixels in the order in which decoders asked for room. Each picture has
 * room for one of the output's size kept for it until it is done. So a picture that finds no more room than
 * that is augmented by its thread, and handed over as a picture to which nothing is done. */
#include <assert.h>
#include <string.h>

#include "trainer_image/loader/loader_private.h"

/* Pictures of so many times the output's size have room, in the mean. */
enum { LOADER_SIDE_TIMES = 3, LOADER_SIDE_ALIGN = 64 };

static size_t loader_side_align(size_t bytes)
{
	return (bytes + LOADER_SIDE_ALIGN - 1) / LOADER_SIDE_ALIGN * LOADER_SIDE_ALIGN;
}

static size_t loader_side_least(const struct augment *augment)
{
	return loader_side_align((size_t)4 * augment_width(augment) * augment_height(augment));
}

static size_t loader_side_heads(uint32_t batch)
{
	return loader_side_align(batch * sizeof(struct augment_place));
}

size_t loader_side_room(const struct augment *augment, uint32_t batch, uint32_t k_least,
			uint32_t k_most)
{
	size_t room = batch * augment_elements(augment);

	if (k_most == AUGMENT_STAGES)
		room *= augment_type_size(augment_type(augment));
	if (k_least == 0) {
		size_t pictures = loader_side_heads(batch) +
				  (size_t)LOADER_SIDE_TIMES * batch * loader_side_least(augment);

		room = pictures > room ? pictures : room;
	}
	return loader_side_align(room);
}

void loader_side_begin(const struct loader *loader, struct loader_slot_batch *batch)
{
	batch->used = loader_side_heads(loader->config.batch);
}

static size_t loader_side_take(struct loader *loader, struct loader_slot_batch *batch, size_t bytes)
{
	size_t at = batch->used;

	batch->used += loader_side_align(bytes);
	assert(batch->used <= loader->batch_size);
	(void)loader; /* without assertions nothing reads it */
	return at;
}

uint8_t *loader_side_lend(void *lender, size_t bytes)
{
	struct loader_item *item = lender;
	struct loader *loader = item->loader;
	struct loader_slot_batch *batch = item->batch;
	uint8_t *lent = NULL;
	size_t kept;

	pthread_mutex_lock(&loader->lock);
	kept = (loader->config.batch - batch->done) * loader_side_least(&loader->augment);
	if (bytes <= loader->batch_size && batch->used + kept <= loader->batch_size &&
	    loader_side_align(bytes) <= loader->batch_size - batch->used - kept)
		lent = batch->data + loader_side_take(loader, batch, bytes);
	pthread_mutex_unlock(&loader->lock);
	return lent;
}

/* Bytes of the output's size, which lie at the end, become pixels of four bytes from the begin on. */
static void loader_side_widen(uint8_t *memory, size_t pixels, size_t channels)
{
	const uint8_t *from = memory + pixels * (4 - channels);

	for (size_t i = 0; i < pixels; i++, from += channels) {
		const uint8_t rgb[3] = {from[0], from[channels / 2], from[channels - 1]};

		memcpy(memory + 4 * i, rgb, sizeof(rgb));
		memory[4 * i + 3] = 0;
	}
}

/* Of grey bytes a GPU makes the same grey again. */
static int loader_side_augment(struct loader_item *item, struct augment_cpu **cpu,
			       struct augment_place *ret)
{
	struct loader *loader = item->loader;
	struct augment_place place = {.width = augment_width(&loader->augment),
				      .height = augment_height(&loader->augment)};
	size_t pixels = (size_t)place.width * place.height;
	size_t channels = augment_channels(&loader->augment);
	uint8_t *memory;
	int rc = *cpu ? 0 : augment_cpu_new(&loader->augment, cpu);

	if (rc != 0)
		return rc;
	place.region_width = place.width;
	place.region_height = place.height;
	pthread_mutex_lock(&loader->lock);
	place.offset = loader_side_take(loader, item->batch, 4 * pixels);
	pthread_mutex_unlock(&loader->lock);
	memory = item->batch->data + place.offset;
	rc = augment_cpu_pixels(*cpu, &item->choice, &item->picture,
				memory + pixels * (4 - channels));
	loader_side_widen(memory, pixels, channels);
	*ret = place;
	return rc;
}

int loader_side_place(struct loader_item *item, struct augment_cpu **cpu)
{
	const struct augment *augment = &item->loader->augment;
	const struct picture *picture = &item->picture;
	const struct augment_choice *choice = &item->choice;
	struct augment_place *to = &loader_places(item->batch)[item->slot];
	bool is_lent = picture->data != picture->own;

	if (!is_lent || picture->region_width > AUGMENT_SHRINK_MAX * augment_width(augment) ||
	    picture->region_height > AUGMENT_SHRINK_MAX * augment_height(augment))
		return loader_side_augment(item, cpu, to);
	*to = (struct augment_place){
		.offset = (uint64_t)(picture->data - item->batch->data),
		.width = picture->width,
		.height = picture->height,
		.left = picture->left,
		.top = picture->top,
		.region_width = picture->region_width,
		.region_height = picture->region_height,
		.flip = choice->flip,
		.coloured = choice->coloured,
	};
	memcpy(to->colour, choice->colour, sizeof(to->colour));
	return 0;
}
