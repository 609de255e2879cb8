#include <errno.h>

#include "common/base/text.h"

#include "peregrine/control/fabric/link_private.h"

uint32_t lag_of(const struct link_work *work, struct port_ref at)
{
	uint32_t lag = fabric_port(work->facts, at)->lag;

	return lag ? port_index(reading_of(work, at.source), lag) : UINT32_MAX;
}

static int lag_split(struct link_work *work, struct port_ref lag, uint32_t first, uint32_t second)
{
	struct fabric_conflict *conflict;

	for (uint32_t entry = key_map_first(&work->by_lag, key_of_port(lag)); entry != KEY_NONE;
	     entry = key_map_next(&work->by_lag, entry)) {
		if (key_map_value(&work->by_lag, entry) == KEY_NONE)
			return 0;
	}
	if (key_map_add(&work->by_lag, key_of_port(lag), KEY_NONE) ||
	    fabric_conflict_add(work->ret, "fabric.lag_split", false, lag, &conflict))
		return -ENOMEM;
	(void)text_format(conflict->message, sizeof(conflict->message),
			  "members of this aggregate end at switch %s and at switch %s",
			  source_name(work, first), source_name(work, second));
	(void)text_copy(conflict->hint, sizeof(conflict->hint),
			"right when these two are one MLAG pair, else a cable is in the wrong "
			"switch");
	return 0;
}

/* A link of the aggregate `a` that was derived before: to `b`, or else any to another switch. */
static struct fabric_link *lag_before(struct link_work *work, struct port_ref a, struct port_ref b)
{
	struct fabric_link *other = NULL;

	for (uint32_t entry = key_map_first(&work->by_lag, key_of_port(a)); entry != KEY_NONE;
	     entry = key_map_next(&work->by_lag, entry)) {
		uint32_t value = key_map_value(&work->by_lag, entry);
		struct fabric_link *link = value == KEY_NONE ? NULL : &work->ret->links[value];

		if (!link)
			continue;
		if (port_ref_equal(link->a, b) || port_ref_equal(link->b, b))
			return link;
		if (link->a.source != b.source && link->b.source != b.source)
			other = link;
	}
	return other;
}

static int lag_add(struct link_work *work, const struct fabric_link *link)
{
	uint32_t number = (uint32_t)work->ret->link_count;
	int rc = link_add(work, link);

	if (rc || work->ret->link_count == number)
		return rc;
	rc = key_map_add(&work->by_lag, key_of_port(link->a), number);
	return rc ? rc : key_map_add(&work->by_lag, key_of_port(link->b), number);
}

/* The aggregate's link, from one member's; its certainty is that of the surest member. */
static int lag_link(struct link_work *work, const struct fabric_link *member)
{
	struct port_ref a = {member->a.source, lag_of(work, member->a)};
	struct port_ref b = {member->b.source, lag_of(work, member->b)};
	struct fabric_link *before;

	if (a.port == UINT32_MAX || b.port == UINT32_MAX)
		return 0;
	before = lag_before(work, a, b);
	if (before && (port_ref_equal(before->a, b) || port_ref_equal(before->b, b))) {
		before->members++;
		if (member->certainty > before->certainty)
			before->certainty = member->certainty;
		return 0;
	}
	if (before)
		return lag_split(work, a,
				 before->a.source == a.source ? before->b.source : before->a.source,
				 b.source);
	return lag_add(work, &(struct fabric_link){.a = a,
						   .b = b,
						   .state = LINK_CONFIRMED,
						   .certainty = member->certainty,
						   .evidence = "members",
						   .lag = true,
						   .members = 1});
}

int lags_derive(struct link_work *work)
{
	size_t members = work->ret->link_count;
	int rc = 0;

	for (size_t i = 0; i < members && rc == 0; i++) {
		const struct fabric_link member = work->ret->links[i];

		if (member.state == LINK_CONFIRMED)
			rc = lag_link(work, &member);
	}
	return rc;
}
