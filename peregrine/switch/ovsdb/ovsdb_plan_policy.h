/* From edits and the present rows to one transaction (RFC 7047, 4.1.3 and 5.2). All of it happens
 * or nothing. Before anything is written, "wait" holds each row against the reading. So a change of
 * somebody else in between is a conflict and not lost. */
#pragma once

#include <stddef.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

#include "peregrine/switch/ovsdb/ovsdb_facts.h"

enum { OVSDB_PLAN_EDITS = 4096 };

struct ovsdb_plan {
	json_t *params; /* of "transact", owned; NULL: nothing is left to do */
	size_t *edits;  /* owned: the edit of each operation; SIZE_MAX = of all */
	size_t operation_count, room;
	size_t select; /* the operation that says next_cfg */
};

/* E_CONFLICT, E_UNSUPPORTED, E_INVALID, with a problem: the edit *ret_bad cannot be made, none is.
 * -ENOMEM. */
MUST_USE int ovsdb_plan_make(const struct ovsdb_facts *facts, const struct switch_edit *edits,
			     size_t count, struct ovsdb_plan *ret, size_t *ret_bad,
			     struct problem *problem);
void ovsdb_plan_done(struct ovsdb_plan *plan);

/* How the switch took it. 0 and *ret_config: what cur_cfg has to reach before the data plane does
 * it. Else nothing was done, *ret_edit is to blame (SIZE_MAX: none in particular):
 * E_CONFLICT    somebody else changed a row in between, or the database's rules forbid it
 * E_DENIED      we may not write
 * E_UNAVAILABLE the database cannot just now
 * E_PROTOCOL    an answer that makes no sense: what was done is not known */
MUST_USE int ovsdb_plan_judge(const struct ovsdb_plan *plan, const json_t *result,
			      json_int_t *ret_config, size_t *ret_edit, struct problem *problem);

/* --- for those who make one --- */

/* For `room` operations beside those of ovsdb_plan_close. -ENOMEM. */
MUST_USE int ovsdb_plan_open(struct ovsdb_plan *plan, size_t room);
/* Takes the operation. `edit`: whose it is, SIZE_MAX = of all. -ENOMEM, also for NULL. */
MUST_USE int ovsdb_plan_add(struct ovsdb_plan *plan, size_t edit, json_t *operation);
/* Adds what ends each transaction of ours: it tells what the data plane has to reach (`select` of
 * the result's rows), and writes to disk. `comment` is for their log. */
MUST_USE int ovsdb_plan_close(struct ovsdb_plan *plan, const char *comment);
/* Moves the plan to `ret`; one with an error is dropped, one without operations is empty. */
MUST_USE int ovsdb_plan_give(struct ovsdb_plan *plan, int rc, struct ovsdb_plan *ret);

/* Is the edit seen? */
bool ovsdb_plan_holds(const struct ovsdb_facts *facts, const struct switch_edit *edit);
/* A mutation of the bridge's row that makes Open vSwitch look at its flows anew and forget all
 * addresses. It puts VLAN 4095, which is on no wire, into flood_vlans or takes it out. NULL: no
 * memory. */
json_t *ovsdb_plan_anew(const struct ovsdb_facts *facts);
/* The params of "transact" that wait until the data plane has configuration `config`. */
json_t *ovsdb_plan_await(json_int_t config, int64_t most_ms);
/* And then have it forget its learned addresses. It does so for a port whose VLANs change, but a
 * frame under way may be learned once more as of before. It forwards to a known address without
 * asking whether the port is in the VLAN. `facts`: of the reading before the change. */
json_t *ovsdb_plan_await_and_forget(const struct ovsdb_facts *facts, json_int_t config,
				    int64_t most_ms);
