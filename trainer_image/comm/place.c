#include "trainer_image/comm/place.h"

#include <stdlib.h>
#include <string.h>

static void *place_host_take(struct place *place, size_t bytes)
{
	(void)place;
	return calloc(bytes ? bytes : 1, 1);
}

static void place_host_give(struct place *place, void *memory, size_t bytes)
{
	(void)place, (void)bytes;
	free(memory);
}

static int place_host_copy(struct place *place, void *to, const void *from, size_t bytes,
			   enum place_way way)
{
	(void)place, (void)way;
	memcpy(to, from, bytes);
	return 0;
}

static int place_host_encode(struct place *place, enum codec codec, const float *from, size_t count,
			     uint8_t *to)
{
	(void)place;
	codec_encode(codec, from, count, to);
	return 0;
}

static int place_host_encode_feedback(struct place *place, enum codec codec, const float *from,
				      float *lost, size_t count, uint8_t *to)
{
	(void)place;
	codec_encode_feedback(codec, from, lost, count, to);
	return 0;
}

static int place_host_decode(struct place *place, enum codec codec, const uint8_t *from,
			     size_t count, float *to)
{
	(void)place;
	codec_decode(codec, from, count, to);
	return 0;
}

static int place_host_add(struct place *place, enum codec codec, const uint8_t *from, size_t count,
			  float *to)
{
	(void)place;
	codec_add(codec, from, count, to);
	return 0;
}

static int place_host_clear(struct place *place, float *numbers, size_t count)
{
	(void)place;
	memset(numbers, 0, count * sizeof(*numbers));
	return 0;
}

/* The host has done what it was told. */
static int place_host_done(struct place *place)
{
	(void)place;
	return 0;
}

struct place *place_host(void)
{
	static const struct place_kind kind = {
		.take = place_host_take,
		.give = place_host_give,
		.copy = place_host_copy,
		.encode = place_host_encode,
		.encode_feedback = place_host_encode_feedback,
		.decode = place_host_decode,
		.add = place_host_add,
		.clear = place_host_clear,
		.ready = place_host_done,
		.wait = place_host_done,
	};
	static struct place host = {&kind};

	return &host;
}
