#include "trainer_image/train/device_link.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

#include "trainer_image/comm/collective.h"

static_assert((int)OPS_CODEC_NONE == (int)CODEC_NONE && (int)OPS_CODEC_BF16 == (int)CODEC_BF16 &&
		      (int)OPS_CODEC_FP16 == (int)CODEC_FP16 &&
		      (int)OPS_CODEC_INT8 == (int)CODEC_INT8 && (int)OPS_CODECS == (int)CODECS &&
		      (int)OPS_CODEC_BLOCK == (int)CODEC_BLOCK,
	      "codecs of a device are those of comm");

enum { DEVICE_LINK_JOIN_MS = 60000 };

struct device_link {
	struct transport transport;
	struct place place;
	struct ops *ops;
	struct transport *words; /* of the team */
};

/* --- the place --- */

static struct ops *device_link_ops(struct place *place)
{
	return CONTAINER_OF(place, struct device_link, place)->ops;
}

static void *device_link_take(struct place *place, size_t bytes)
{
	return ops_take(device_link_ops(place), bytes);
}

static void device_link_give(struct place *place, void *memory, size_t bytes)
{
	ops_give(device_link_ops(place), memory, bytes);
}

static int device_link_copy(struct place *place, void *to, const void *from, size_t bytes,
			    enum place_way way)
{
	return ops_copy(device_link_ops(place), to, from, bytes,
			way == PLACE_IN ? OPS_IN : OPS_OUT);
}

// NOLINTBEGIN(readability-non-const-parameter): the device writes to them
static int device_link_encode(struct place *place, enum codec codec, const float *from,
			      size_t count, uint8_t *to)
{
	const struct ops_code code = {.kind = OPS_ENCODE,
				      .codec = (enum ops_codec)codec,
				      .from = from,
				      .to = to,
				      .count = count};

	return ops_sum_code(device_link_ops(place), &code);
}

static int device_link_encode_feedback(struct place *place, enum codec codec, const float *from,
				       float *lost, size_t count, uint8_t *to)
{
	const struct ops_code code = {.kind = OPS_ENCODE_FEEDBACK,
				      .codec = (enum ops_codec)codec,
				      .from = from,
				      .to = to,
				      .lost = lost,
				      .count = count};

	return ops_sum_code(device_link_ops(place), &code);
}

static int device_link_decode(struct place *place, enum codec codec, const uint8_t *from,
			      size_t count, float *to)
{
	const struct ops_code code = {.kind = OPS_DECODE,
				      .codec = (enum ops_codec)codec,
				      .from = from,
				      .to = to,
				      .count = count};

	return ops_sum_code(device_link_ops(place), &code);
}

static int device_link_add(struct place *place, enum codec codec, const uint8_t *from, size_t count,
			   float *to)
{
	const struct ops_code code = {.kind = OPS_DECODE_ADD,
				      .codec = (enum ops_codec)codec,
				      .from = from,
				      .to = to,
				      .count = count};

	return ops_sum_code(device_link_ops(place), &code);
}

// NOLINTEND(readability-non-const-parameter)

static int device_link_clear(struct place *place, float *numbers, size_t count)
{
	return ops_sum_clear(device_link_ops(place), numbers, count);
}

static int device_link_ready(struct place *place)
{
	return ops_sum_ready(device_link_ops(place));
}

static int device_link_wait(struct place *place)
{
	struct ops *ops = device_link_ops(place);
	int rc = ops_sum_end(ops);

	return rc == 0 ? ops_wait(ops) : rc;
}

/* --- the transport --- */

/* The last rank that was to send is blamed when the sum ends with an error, should nothing say more. */
static int device_link_exchange(struct transport *transport, const struct transport_exchange *is)
{
	struct device_link *link = CONTAINER_OF(transport, struct device_link, transport);
	const struct ops_exchange exchange = {.to = is->to,
					      .from = is->from,
					      .out = is->out,
					      .in = is->in,
					      .out_size = is->out_size,
					      .in_size = is->in_size};
	int rc = ops_sum_exchange(link->ops, &exchange);

	link->words->blamed = is->in_size > 0 ? is->from : is->to;
	if (rc == 0)
		transport->sent[is->to] += is->out_size;
	return rc;
}

static int device_link_together(struct transport *transport, bool begins)
{
	return ops_sum_together(CONTAINER_OF(transport, struct device_link, transport)->ops,
				begins);
}

static void device_link_free(struct transport *transport)
{
	free(CONTAINER_OF(transport, struct device_link, transport));
}

void device_link_leave(struct transport *link)
{
	if (link)
		ops_sum_leave(CONTAINER_OF(link, struct device_link, transport)->ops);
}

static bool device_link_is_stopped(void *words)
{
	return atomic_load(&((struct transport *)words)->stopped);
}

/* One of them makes what the ranks find each other by, and all get it over the team's transport. */
static int device_link_join(struct team *team, struct ops *ops, struct problem *problem)
{
	struct collective_group group = collective_all(team->transport);
	struct ops_ranks ranks = {.rank = team->rank,
				  .count = team->ranks,
				  .is_stopped = device_link_is_stopped,
				  .context = team->transport,
				  .join_ms = DEVICE_LINK_JOIN_MS,
				  .still_ms = team->transport->patience_ms};
	uint8_t ids[COMM_RANKS_MAX][OPS_ID_SIZE];
	int rc = team->rank == 0 ? ops_sum_id(ops, ranks.id, problem) : 0;

	if (rc != 0)
		return rc;
	rc = collective_gather(team->transport, &group, ranks.id, OPS_ID_SIZE, ids);
	if (rc != 0)
		return team_blame(team, rc, problem);
	memcpy(ranks.id, ids[0], OPS_ID_SIZE);
	return ops_sum_join(ops, &ranks, problem);
}

static int device_link_greet_all(struct device_link *link, uint8_t *bytes)
{
	struct transport *transport = &link->transport;
	int ranks = transport->ranks;
	int rc = place_ready(&link->place);

	if (rc == 0)
		rc = transport_together(transport, true);
	if (rc != 0)
		return rc;
	for (int step = 1; rc == 0 && step < ranks; step++) {
		const struct transport_exchange is = {.to = (transport->rank + step) % ranks,
						      .from = (transport->rank - step + ranks) %
							      ranks,
						      .out = bytes + step,
						      .in = bytes + ranks + step,
						      .out_size = 1,
						      .in_size = 1};

		rc = transport_exchange(transport, &is);
	}
	int ended = transport_together(transport, false);

	rc = rc != 0 ? rc : ended;
	return rc == 0 ? place_wait(&link->place) : rc;
}

/* A byte to each rank and one from each: connections that cannot be made fail here, and not in the first step. */
static int device_link_greet(struct device_link *link, struct problem *problem)
{
	size_t room = 2 * (size_t)link->transport.ranks;
	uint8_t *bytes = place_take(&link->place, room);
	int rc = bytes ? device_link_greet_all(link, bytes) : -ENOMEM;

	if (rc != 0) {
		(void)problem_set(problem, rc, "%s: rank %d does not reach the others: %s",
				  link->ops->backend->name, link->transport.rank, error_text(rc));
		ops_sum_why(link->ops, problem);
	}
	place_give(&link->place, bytes, room);
	return rc;
}

int device_link_new(struct team *team, struct ops *ops, struct transport **ret,
		    struct problem *problem)
{
	static const struct transport_kind kind = {.name = "nccl",
						   .exchange = device_link_exchange,
						   .together = device_link_together,
						   .free = device_link_free};
	static const struct place_kind place = {
		.is_behind = true,
		.take = device_link_take,
		.give = device_link_give,
		.copy = device_link_copy,
		.encode = device_link_encode,
		.encode_feedback = device_link_encode_feedback,
		.decode = device_link_decode,
		.add = device_link_add,
		.clear = device_link_clear,
		.ready = device_link_ready,
		.wait = device_link_wait,
	};
	struct device_link *link = calloc(1, sizeof(*link));

	if (!link)
		return problem_set(problem, -ENOMEM, "no memory for the link of a device");
	link->transport = (struct transport){
		.kind = &kind, .place = &link->place, .rank = team->rank, .ranks = team->ranks};
	link->place.kind = &place;
	link->ops = ops;
	link->words = team->transport;
	int rc = device_link_join(team, ops, problem);

	if (rc == 0)
		rc = device_link_greet(link, problem);
	if (rc != 0) {
		free(link);
		return rc;
	}
	*ret = &link->transport;
	return 0;
}
