#include "trainer_image/comm/bucket_policy.h"

#include <errno.h>
#include <stdlib.h>

static int bucket_check(const struct bucket_gradient gradients[], size_t count,
			const struct bucket_link *link)
{
	if (count == 0 || count > BUCKET_GRADIENTS_MAX || !(link->bytes_per_ms > 0))
		return -EINVAL;
	for (size_t i = 1; i < count; i++)
		if (!(gradients[i].ready_ms >= gradients[i - 1].ready_ms))
			return -EINVAL;
	return 0;
}

/* The best end of a cut of the first gradients: an earlier end is never worse for what follows. */
struct bucket_best {
	double end_ms;
	size_t from; /* where its last bucket begins */
	size_t buckets;
};

static struct bucket_best bucket_best_of(const struct bucket_gradient gradients[],
					 const struct bucket_link *link,
					 const struct bucket_best best[], size_t end)
{
	struct bucket_best found = {0};
	double bytes = 0;

	for (size_t from = end; from-- > 0;) {
		double start_ms = gradients[end - 1].ready_ms;
		double end_ms;

		bytes += (double)gradients[from].count * link->bytes_per_number;
		if (best[from].end_ms > start_ms)
			start_ms = best[from].end_ms;
		end_ms = start_ms + link->latency_ms + bytes / link->bytes_per_ms;
		/* Of two that end at the same time the one with fewer buckets. */
		if (found.buckets == 0 || end_ms < found.end_ms ||
		    (end_ms <= found.end_ms && best[from].buckets + 1 < found.buckets))
			found = (struct bucket_best){end_ms, from, best[from].buckets + 1};
	}
	return found;
}

int bucket_cut(const struct bucket_gradient gradients[], size_t count,
	       const struct bucket_link *link, struct bucket_plan *ret)
{
	int rc = bucket_check(gradients, count, link);

	if (rc != 0)
		return rc;
	CLEANUP(freep) struct bucket_best *best = calloc(count + 1, sizeof(*best));

	if (!best)
		return -ENOMEM;
	for (size_t end = 1; end <= count; end++)
		best[end] = bucket_best_of(gradients, link, best, end);
	struct bucket_plan plan = {.count = best[count].buckets, .end_ms = best[count].end_ms};

	plan.ends = calloc(plan.count, sizeof(*plan.ends));
	if (!plan.ends)
		return -ENOMEM;
	for (size_t end = count, nth = plan.count; nth-- > 0; end = best[end].from)
		plan.ends[nth] = end;
	plan.exposed_ms = plan.end_ms - gradients[count - 1].ready_ms;
	*ret = plan;
	return 0;
}

void bucket_plan_done(struct bucket_plan *plan)
{
	free(plan->ends);
	*plan = (struct bucket_plan){0};
}
