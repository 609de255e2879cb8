#include "common/base/fence.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "common/base/clock.h"

#define FENCE_DROPPED INT64_MIN

struct fence {
	_Atomic int64_t end_ms;
	atomic_uint refs;
};

int64_t fence_end_ms(int64_t asked_ms, int64_t claim_ms)
{
	return asked_ms + claim_ms - claim_ms / FENCE_MARGIN;
}

int fence_new(int64_t end_ms, struct fence **ret)
{
	struct fence *fence = calloc(1, sizeof(*fence));

	if (!fence)
		return -ENOMEM;
	atomic_init(&fence->end_ms, end_ms);
	atomic_init(&fence->refs, 1);
	*ret = fence;
	return 0;
}

struct fence *fence_ref(struct fence *fence)
{
	if (fence)
		atomic_fetch_add(&fence->refs, 1);
	return fence;
}

void fence_unref(struct fence *fence)
{
	if (fence && atomic_fetch_sub(&fence->refs, 1) == 1)
		free(fence);
}

void fence_extend(struct fence *fence, int64_t end_ms)
{
	int64_t before_ms = fence ? atomic_load(&fence->end_ms) : FENCE_DROPPED;

	while (before_ms != FENCE_DROPPED && before_ms < end_ms) {
		if (atomic_compare_exchange_weak(&fence->end_ms, &before_ms, end_ms))
			return;
	}
}

void fence_drop(struct fence *fence)
{
	if (fence)
		atomic_store(&fence->end_ms, FENCE_DROPPED);
}

bool fence_holds(const struct fence *fence)
{
	return fence_left_ms(fence) > 0;
}

int64_t fence_left_ms(const struct fence *fence)
{
	int64_t now_ms = clock_boot_ms();
	int64_t end_ms = fence ? atomic_load(&fence->end_ms) : INT64_MAX;

	if (!fence)
		return INT64_MAX;
	return end_ms > now_ms ? end_ms - now_ms : 0;
}
