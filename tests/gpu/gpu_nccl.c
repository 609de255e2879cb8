/* The real NCCL as far as this machine has it: its functions and ids. Where a GPU is, also one rank that joins, and sends to
 * itself; and one that waits for a rank that never comes, until it is told to stop. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/error.h"

#include "trainer_image/ops/cuda/cuda_sum.h"

enum { SKIPPED = 77, NUMBERS = 1020, LONELY_MS = 1000, LONELY_MOST_MS = 5000, JOIN_MS = 60000 };

static bool gpu_nccl_is_stopped(void *context)
{
	(void)context;
	return false;
}

/* `context`: the time from which on it is stopped. */
static bool gpu_nccl_is_late(void *context)
{
	const int64_t *from_ms = context;

	return clock_monotonic_ms() > *from_ms;
}

static int gpu_nccl_tell(const struct problem *problem, int status)
{
	printf("%s (%s). %s.\n", problem->message, problem->detail, problem->hint);
	return status;
}

/* Zeros and 8 bits on the stream of sums, in order with what is computed; a rank alone has none to exchange with. */
static bool gpu_nccl_orders(struct ops *ops, float *numbers, uint8_t *bytes)
{
	static float values[NUMBERS];
	static float found[NUMBERS];
	const struct ops_exchange none = {0};
	struct ops_code code = {OPS_ENCODE, OPS_CODEC_INT8, numbers, bytes, NULL, NUMBERS};

	for (int i = 0; i < NUMBERS; i++)
		values[i] = (float)(i % 255 - 127);
	if (ops_copy(ops, numbers, values, sizeof(values), OPS_IN) != 0 ||
	    ops_sum_ready(ops) != 0 || ops_sum_code(ops, &code) != 0 ||
	    ops_sum_clear(ops, numbers, NUMBERS) != 0 || ops_sum_exchange(ops, &none) != 0)
		return false;
	code = (struct ops_code){OPS_DECODE_ADD, OPS_CODEC_INT8, bytes, numbers, NULL, NUMBERS};
	if (ops_sum_code(ops, &code) != 0 || ops_sum_end(ops) != 0 ||
	    ops_copy(ops, found, numbers, sizeof(found), OPS_OUT) != 0)
		return false;
	return memcmp(found, values, sizeof(values)) == 0;
}

/* A group of NCCL that does not block, in the order of its stream: numbers come behind what made them. */
static bool gpu_nccl_sends(struct ops *ops, float *numbers, uint8_t *bytes)
{
	static float values[NUMBERS];
	static float found[NUMBERS];
	const struct ops_exchange whole = {
		.out = numbers, .in = bytes, .out_size = NUMBERS, .in_size = NUMBERS};
	struct ops_exchange rest = whole;

	rest.out = (const uint8_t *)whole.out + NUMBERS;
	rest.in = (uint8_t *)whole.in + NUMBERS;
	rest.out_size = rest.in_size = sizeof(values) - NUMBERS;
	for (int i = 0; i < NUMBERS; i++)
		values[i] = (float)i / 7.0F;
	if (ops_copy(ops, numbers, values, sizeof(values), OPS_IN) != 0 ||
	    ops_sum_ready(ops) != 0 || ops_sum_exchange(ops, &whole) != 0 ||
	    ops_sum_together(ops, true) != 0 || ops_sum_exchange(ops, &whole) != 0 ||
	    ops_sum_exchange(ops, &rest) != 0 || ops_sum_together(ops, false) != 0 ||
	    ops_sum_end(ops) != 0 || ops_copy(ops, found, bytes, sizeof(found), OPS_OUT) != 0)
		return false;
	return memcmp(found, values, sizeof(values)) == 0;
}

/* Rank 0 of two, and nobody else. */
static int gpu_nccl_lonely(struct ops *ops, const uint8_t id[OPS_ID_SIZE])
{
	int64_t begun_ms = clock_monotonic_ms();
	int64_t from_ms = begun_ms + LONELY_MS;
	struct ops_ranks ranks = {.count = 2,
				  .is_stopped = gpu_nccl_is_late,
				  .context = &from_ms,
				  .join_ms = JOIN_MS,
				  .still_ms = JOIN_MS};
	struct problem problem = {0};

	memcpy(ranks.id, id, OPS_ID_SIZE);
	int rc = ops_sum_join(ops, &ranks, &problem);
	int64_t took_ms = clock_monotonic_ms() - begun_ms;

	if (rc == -ECANCELED && took_ms < LONELY_MOST_MS) {
		printf("a rank that waited alone ended %lld ms behind its stop\n",
		       (long long)(took_ms - LONELY_MS));
		return 0;
	}
	printf("a rank that waits alone ends with %d behind %lld ms\n", rc, (long long)took_ms);
	return gpu_nccl_tell(&problem, 1);
}

static int gpu_nccl_run(struct ops *ops, const uint8_t id[OPS_ID_SIZE])
{
	struct ops_ranks ranks = {.count = 1,
				  .is_stopped = gpu_nccl_is_stopped,
				  .join_ms = JOIN_MS,
				  .still_ms = JOIN_MS};
	struct problem problem = {0};
	float *numbers = ops_take(ops, NUMBERS * sizeof(*numbers));
	uint8_t *bytes = ops_take(ops, NUMBERS * sizeof(*numbers));
	int status = 1;

	memcpy(ranks.id, id, OPS_ID_SIZE);
	if (!numbers || !bytes)
		printf("no memory on the GPU\n");
	else if (ops_sum_join(ops, &ranks, &problem) != 0)
		status = gpu_nccl_tell(&problem, 1);
	else if (!gpu_nccl_orders(ops, numbers, bytes))
		printf("numbers are not what 8 bits make of them\n");
	else if (!gpu_nccl_sends(ops, numbers, bytes))
		printf("bytes that it sends to itself do not come\n");
	else
		status = 0;
	ops_sum_leave(ops);
	ops_give(ops, bytes, NUMBERS * sizeof(*numbers));
	ops_give(ops, numbers, NUMBERS * sizeof(*numbers));
	return status;
}

int main(void)
{
	uint8_t first[OPS_ID_SIZE] = {0};
	uint8_t second[OPS_ID_SIZE] = {0};
	struct problem problem = {0};
	struct ops *ops = NULL;

	int rc = cuda_sum_id(first, &problem);

	if (rc == 0)
		rc = cuda_sum_id(second, &problem);
	if (rc != 0)
		return gpu_nccl_tell(&problem, rc == -ENOENT ? SKIPPED : 1);
	if (memcmp(first, second, OPS_ID_SIZE) == 0) {
		printf("two ids are the same\n");
		return 1;
	}
	rc = ops_cuda_new(0, &ops, &problem);
	if (rc != 0)
		return gpu_nccl_tell(&problem, rc == E_UNAVAILABLE ? SKIPPED : 1);
	int status = gpu_nccl_run(ops, first);

	if (status == 0)
		status = gpu_nccl_lonely(ops, second);
	ops_free(ops);
	return status;
}
