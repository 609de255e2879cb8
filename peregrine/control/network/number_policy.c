#include "peregrine/control/network/number_policy.h"

#include "common/base/error.h"

static struct vlan_set numbers_in(const struct number_pool *pool, enum number_state state)
{
	struct vlan_set set = {0};

	for (size_t i = 0; i < pool->row_count; i++) {
		if (pool->rows[i].state == state)
			vlan_set_add(&set, pool->rows[i].vlan);
	}
	return set;
}

static struct vlan_set range_of(const struct number_pool *pool)
{
	struct vlan_set range = {0};

	vlan_set_add_range(&range, pool->low, pool->high);
	vlan_set_remove(&range, pool->parking);
	return range;
}

int number_assign(const struct number_pool *pool, const struct vlan_set *taken, int64_t now_ms,
		  uint16_t *ret, struct problem *problem)
{
	struct vlan_set range = range_of(pool);
	struct vlan_set used = numbers_in(pool, NUMBER_USED);
	struct vlan_set resting = numbers_in(pool, NUMBER_RESTING);
	struct vlan_set known = vlan_set_union(&used, &resting);
	struct vlan_set shown = vlan_set_union(&pool->seen, &pool->tables);
	struct vlan_set leaked = vlan_set_minus(&shown, &known);
	struct vlan_set barred = vlan_set_union(&known, &shown);
	struct vlan_set left;
	struct vlan_set unfit;
	int64_t next_ms = INT64_MAX;
	const char *waits = NULL;
	size_t waiting = 0;
	unsigned vlan;

	barred = vlan_set_union(&barred, &pool->reserved);
	if (taken)
		barred = vlan_set_union(&barred, taken);
	left = vlan_set_minus(&range, &barred);
	vlan = vlan_set_next(&left, VLAN_FIRST);
	if (vlan) {
		*ret = (uint16_t)vlan;
		return 0;
	}
	for (size_t i = 0; i < pool->row_count; i++) {
		const struct number_row *row = &pool->rows[i];

		if (row->state == NUMBER_RESTING && row->waits) {
			waiting++;
			waits = row->waits;
		} else if (row->state == NUMBER_RESTING && row->until_ms < next_ms) {
			next_ms = row->until_ms;
		}
	}
	leaked = vlan_set_intersection(&leaked, &range);
	unfit = vlan_set_intersection(&pool->reserved, &range);
	(void)problem_set(problem, E_LIMIT, "fabric %s has no free VLAN", pool->fabric);
	problem_detail(
		problem,
		"%u-%u: %zu used, %zu in quarantine, %zu on switches without an owner, %zu that a switch cannot carry",
		(unsigned)pool->low, (unsigned)pool->high, vlan_set_count(&used),
		vlan_set_count(&resting), vlan_set_count(&leaked), vlan_set_count(&unfit));
	if (waiting > 0 && next_ms > now_ms)
		problem_hint(
			problem,
			"%zu wait until switch %s has saved its configuration without them: repair the switch, or delete it if it is gone for good",
			waiting, waits);
	else if (next_ms == INT64_MAX)
		problem_hint(problem, "delete a network, or widen the fabric's range");
	else
		problem_hint(
			problem,
			"the next VLAN leaves its quarantine in %lld s; or widen the fabric's range",
			(long long)(next_ms > now_ms ? (next_ms - now_ms + 999) / 1000 : 0));
	return E_LIMIT;
}

struct vlan_set number_rested(const struct number_pool *pool, int64_t now_ms)
{
	struct vlan_set rested = {0};

	for (size_t i = 0; i < pool->row_count; i++) {
		const struct number_row *row = &pool->rows[i];

		if (row->state == NUMBER_RESTING && row->until_ms <= now_ms && !row->waits &&
		    !vlan_set_has(&pool->seen, row->vlan))
			vlan_set_add(&rested, row->vlan);
	}
	return rested;
}

struct number_audit number_audit(const struct number_pool *pool, const struct vlan_set *expected)
{
	struct vlan_set range = range_of(pool);
	struct vlan_set used = numbers_in(pool, NUMBER_USED);
	struct vlan_set resting = numbers_in(pool, NUMBER_RESTING);
	struct vlan_set known = vlan_set_union(&used, &resting);
	struct number_audit audit;

	audit.leaked = vlan_set_minus(&pool->seen, &known);
	audit.leaked = vlan_set_intersection(&audit.leaked, &range);
	audit.missing = vlan_set_minus(expected, &pool->seen);
	return audit;
}
