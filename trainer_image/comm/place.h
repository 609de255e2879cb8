/* Where the numbers of a sum lie, and the arithmetic on them there: the host's memory, or a device's.
 *
 * A transport moves memory of one place (transport->place), so a collective is made of two tables: its bytes
 * go by transport_exchange, its numbers by these functions. A device may be `behind`: its functions and its
 * transport only begin work, which runs in the order of the calls, and place_wait() waits for it.
 *
 * Each place codes to the same bits, those of codec.h. A NaN stays one, with bits of the place's own. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"

#include "trainer_image/comm/codec.h"

enum place_way { PLACE_IN, PLACE_OUT }; /* from the host's memory; to it */

struct place;

/* Functions that return an int: 0, or why the device cannot. */
struct place_kind {
	bool is_behind;
	void *(*take)(struct place *place, size_t bytes); /* all zeros; NULL: none is left */
	void (*give)(struct place *place, void *memory, size_t bytes);
	MUST_USE int (*copy)(struct place *place, void *to, const void *from, size_t bytes,
			     enum place_way way);

	/* As the functions of codec.h. */
	MUST_USE int (*encode)(struct place *place, enum codec codec, const float *from,
			       size_t count, uint8_t *to);
	MUST_USE int (*encode_feedback)(struct place *place, enum codec codec, const float *from,
					float *lost, size_t count, uint8_t *to);
	MUST_USE int (*decode)(struct place *place, enum codec codec, const uint8_t *from,
			       size_t count, float *to);
	MUST_USE int (*add)(struct place *place, enum codec codec, const uint8_t *from,
			    size_t count, float *to);
	MUST_USE int (*clear)(struct place *place, float *numbers, size_t count);

	MUST_USE int (*ready)(struct place *place);
	MUST_USE int (*wait)(struct place *place);
};

/* A place begins with this. */
struct place {
	const struct place_kind *kind;
};

/* Memory of this process. */
struct place *place_host(void);

static inline void *place_take(struct place *place, size_t bytes)
{
	return place->kind->take(place, bytes);
}

/* NULL is allowed. */
static inline void place_give(struct place *place, void *memory, size_t bytes)
{
	if (memory)
		place->kind->give(place, memory, bytes);
}

/* `way` says which of the two is the host's. Between sums. */
MUST_USE static inline int place_copy(struct place *place, void *to, const void *from, size_t bytes,
				      enum place_way way)
{
	return place->kind->copy(place, to, from, bytes, way);
}

MUST_USE static inline int place_encode(struct place *place, enum codec codec, const float *from,
					size_t count, uint8_t *to)
{
	return place->kind->encode(place, codec, from, count, to);
}

MUST_USE static inline int place_encode_feedback(struct place *place, enum codec codec,
						 const float *from, float *lost, size_t count,
						 uint8_t *to)
{
	return place->kind->encode_feedback(place, codec, from, lost, count, to);
}

MUST_USE static inline int place_decode(struct place *place, enum codec codec, const uint8_t *from,
					size_t count, float *to)
{
	return place->kind->decode(place, codec, from, count, to);
}

MUST_USE static inline int place_add(struct place *place, enum codec codec, const uint8_t *from,
				     size_t count, float *to)
{
	return place->kind->add(place, codec, from, count, to);
}

MUST_USE static inline int place_clear(struct place *place, float *numbers, size_t count)
{
	return place->kind->clear(place, numbers, count);
}

/* Sums that follow see all that the device was told to compute before. */
MUST_USE static inline int place_ready(struct place *place)
{
	return place->kind->ready(place);
}

/* Until the sums are made. */
MUST_USE static inline int place_wait(struct place *place)
{
	return place->kind->wait(place);
}
