#include "peregrine/switch/joined_driver.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/text.h"

#include "peregrine/switch/ovsdb/ovsdb_driver.h"
#include "peregrine/switch/snmp/snmp_driver.h"

LEAKS_LEFT_TO_SANITIZER

enum {
	SECOND_PARTS = PART_IDENTITY | PART_NEIGHBORS | PART_FDB,
	PAUSE_MS = 60000,     /* a silent agent is not asked at each small look */
	FIRST_SPARE_MS = 500, /* left of the deadline when the second must be done */
};

struct joined {
	const struct switch_driver *first, *second;
	void *first_session, *second_session; /* second NULL: it has no credentials */
	const struct switch_request *request;
	struct switch_request rest; /* of the second */
	int64_t deadline_ms;
	switch_call_fn fn; /* NULL: idle */
	void *context;
	bool in_second;
	struct switch_reading reading;   /* of the first */
	struct switch_identity identity; /* as the second said it last */
	int64_t silent_ms;               /* the second failed then; 0: it answers */
};

static void joined_driver_end(struct joined *joined, int rc, struct switch_reading *reading,
			      const struct problem *problem)
{
	switch_call_fn fn = joined->fn;

	joined->fn = NULL;
	joined->in_second = false;
	fn(joined->context, rc, reading, problem);
}

/* --- readings --- */

static void fill_text(char *ret, size_t room, const char *other)
{
	if (!ret[0])
		(void)text_copy(ret, room, other);
}

/* What the second knows of it, now or from the last time: a name does not come and go. */
static void complete_identity(struct switch_identity *ret, const struct switch_identity *other)
{
	const struct switch_identity first = *ret;

	*ret = *other;
	(void)text_copy(ret->family, sizeof(ret->family), first.family);
	(void)text_copy(ret->text, sizeof(ret->text), first.text);
	fill_text(ret->system, sizeof(ret->system), first.system);
	fill_text(ret->chassis, sizeof(ret->chassis), first.chassis);
	ret->vlan_changes = first.vlan_changes;
	ret->link_changes = first.link_changes;
	ret->member_changes = first.member_changes;
}

static void joined_driver_finish(struct joined *joined)
{
	struct switch_reading reading = joined->reading;

	joined->reading = (struct switch_reading){0};
	complete_identity(&reading.identity, &joined->identity);
	joined_driver_end(joined, 0, &reading, NULL);
	switch_reading_done(&reading); /* what was not taken */
}

/* What comes by SNMP alone. */
static const enum told_part joined_second_told[] = {TOLD_NEIGHBORS, TOLD_ADDRESSES};

static void on_second(void *context, int rc, struct switch_reading *reading,
		      const struct problem *problem)
{
	struct joined *joined = context;
	struct switch_reading *first = &joined->reading;

	joined->silent_ms = rc ? clock_monotonic_ms() : 0;
	if (rc == 0 && reading) {
		if (reading->parts & PART_IDENTITY)
			joined->identity = reading->identity;
		first->parts |= reading->parts & (PART_NEIGHBORS | PART_FDB);
		first->neighbors = TAKE(reading->neighbors);
		first->neighbor_count = reading->neighbor_count;
		first->fdb = TAKE(reading->fdb);
		first->fdb_count = reading->fdb_count;
		first->requests += reading->requests;
		if (first->odd == 0)
			(void)text_copy(first->odd_text, sizeof(first->odd_text),
					reading->odd_text);
		first->odd += reading->odd;
		first->told[TOLD_NEIGHBORS] = reading->told[TOLD_NEIGHBORS];
		first->told[TOLD_ADDRESSES] = reading->told[TOLD_ADDRESSES];
		switch_reading_done(reading);
	} else {
		for (size_t i = 0; i < COUNT_OF(joined_second_told); i++)
			switch_told_add(&first->told[joined_second_told[i]], TOLD_MISSING, true,
					"%s",
					problem && problem->message[0] ? problem->message
								       : "SNMP does not answer");
	}
	joined_driver_finish(joined);
}

static bool second_is_worth_it(const struct joined *joined)
{
	int64_t now_ms = clock_monotonic_ms();
	bool few = !(joined->rest.parts & ~(unsigned)PART_IDENTITY);

	if (!joined->second_session || !joined->rest.parts)
		return false;
	return !few || !joined->silent_ms || now_ms - joined->silent_ms >= PAUSE_MS;
}

static void on_first(void *context, int rc, struct switch_reading *reading,
		     const struct problem *problem)
{
	struct joined *joined = context;

	if (rc || joined->request->op != SWITCH_READ) {
		joined_driver_end(joined, rc, reading, problem);
		return;
	}
	joined->reading = *reading;
	*reading = (struct switch_reading){0};
	joined->rest = *joined->request;
	joined->rest.parts &= SECOND_PARTS;
	joined->rest.only_ports = NULL;
	joined->in_second = second_is_worth_it(joined);
	if (!joined->in_second ||
	    joined->second->start(joined->second_session, &joined->rest,
				  joined->deadline_ms - FIRST_SPARE_MS, on_second, joined) != 0)
		joined_driver_finish(joined);
}

/* --- the driver's row --- */

static void joined_close(void *session)
{
	struct joined *joined = session;

	if (!joined)
		return;
	if (joined->first_session)
		joined->first->close(joined->first_session);
	if (joined->second_session)
		joined->second->close(joined->second_session);
	switch_reading_done(&joined->reading);
	free(joined);
}

static int joined_open(const struct switch_endpoint *endpoint, const struct switch_family *family,
		       const struct switch_host *host, void **ret_session, struct problem *problem)
{
	struct joined *joined = calloc(1, sizeof(*joined));
	struct problem none = {0};
	int rc;

	if (!joined)
		return problem_set(problem, -ENOMEM, "no memory for a switch");
	joined->first = &ovsdb_switch_driver;
	joined->second = &snmp_switch_driver;
	rc = joined->first->open(endpoint, family, host, &joined->first_session, problem);
	if (rc == 0 && (endpoint->snmp_user[0] || endpoint->snmp_community[0]) &&
	    joined->second->open(endpoint, family, host, &joined->second_session, &none) != 0)
		joined->second_session = NULL;
	if (rc) {
		joined_close(joined);
		return rc;
	}
	*ret_session = joined;
	return 0;
}

static int joined_start(void *session, const struct switch_request *request, int64_t deadline_ms,
			switch_call_fn fn, void *context)
{
	struct joined *joined = session;
	int rc;

	joined->request = request;
	joined->deadline_ms = deadline_ms;
	joined->fn = fn;
	joined->context = context;
	rc = joined->first->start(joined->first_session, request, deadline_ms, on_first, joined);
	if (rc)
		joined->fn = NULL;
	return rc;
}

static bool joined_cancel(void *session)
{
	struct joined *joined = session;
	bool done;

	if (!joined->fn)
		return true;
	done = joined->in_second ? joined->second->cancel(joined->second_session)
				 : joined->first->cancel(joined->first_session);
	if (!done)
		return false;
	switch_reading_done(&joined->reading);
	joined->in_second = false;
	joined->fn = NULL;
	return true;
}

const struct switch_driver ovsdb_snmp_switch_driver = {
	.name = "ovsdb+snmp",
	.open = joined_open,
	.start = joined_start,
	.cancel = joined_cancel,
	.close = joined_close,
	.mirrors = true,
	.lag_name = ovsdb_lag_name,
};
