#include "common/model/drill_join_policy.h"

enum { MINUTE = 60 };

static int64_t minute_of(int64_t at_s)
{
	return at_s - at_s % MINUTE;
}

static int64_t drill_join_policy_larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

struct drill_join drill_join(const struct drill_memory *memory, int64_t from_s, int64_t to_s)
{
	int64_t end_s = memory->last_s ? memory->last_s + 1 : 0;
	bool to_now = end_s && (!to_s || to_s >= end_s);
	struct drill_join join = {.from_s = from_s, .to_s = to_now ? end_s : to_s};

	if (join.to_s <= from_s) { /* all of it is later than what is there */
		join.to_s = drill_join_policy_larger(to_s, from_s + 1);
		to_now = false;
	}
	join.stored_from_s = minute_of(from_s);
	join.head_cut = from_s % MINUTE && memory->first_s && from_s >= memory->first_s &&
			from_s < end_s && join.to_s - from_s <= memory->exact_s;
	if (join.head_cut)
		join.stored_from_s += MINUTE;
	else
		join.from_s = join.stored_from_s;

	join.stored_to_s = minute_of(join.to_s);
	if (join.to_s % MINUTE) {
		join.tail_cut =
			!to_now && memory->first_s && join.to_s <= end_s &&
			drill_join_policy_larger(join.stored_to_s, join.from_s) >= memory->first_s;
		if (!join.tail_cut)
			join.stored_to_s += MINUTE;
		if (!join.tail_cut && !to_now)
			join.to_s = join.stored_to_s;
	}
	if (join.stored_to_s < join.stored_from_s)
		join.stored_to_s = join.stored_from_s;
	return join;
}

bool drill_join_cuts(const struct drill_join *join, int64_t minute_s)
{
	return (join->head_cut && minute_s == minute_of(join->from_s)) ||
	       (join->tail_cut && minute_s == minute_of(join->to_s));
}
