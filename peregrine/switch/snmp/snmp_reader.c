#include "peregrine/switch/snmp/snmp_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "peregrine/switch/snmp/snmp_reading.h"
#include "peregrine/switch/snmp/snmp_walk.h"

LEAKS_LEFT_TO_SANITIZER

enum { WALKS_AT_ONCE = GROUP_COUNT, VLANS_AT_ONCE = 4, SNMP_READER_ERRORS_LIMIT = 2 };
/* Each silent context costs a time-out; the others have to be read within the call's time. */
enum { CONTEXTS_SILENT_LIMIT = 8 };
/* Of what a GET may ask for: a number, a text; a bitmap of VLANs is as long as some of them. */
enum { PLAIN_WEIGHT = 1, OCTETS_WEIGHT = 4 };

/* One walk of one group. */
struct part {
	struct snmp_reader *reader;
	enum fact_group group;
	uint16_t vlan;
	bool running;
	struct snmp_walk *walk;
	const struct fact_column *columns[SNMP_WALK_COLUMNS];
	struct snmp_oid roots[SNMP_WALK_COLUMNS];
};

/* One GET of the targets' rows. */
struct target_get {
	struct snmp_reader *reader;
	unsigned errors;
	size_t count, weight;
	const struct fact_column *columns[TARGET_BINDINGS];
	struct snmp_binding bindings[TARGET_BINDINGS];
};

struct snmp_reader {
	struct snmp_reader_plan plan;
	struct target_get *gets[TARGET_GETS]; /* owned */
	size_t get_count;
	struct part parts[WALKS_AT_ONCE];
	unsigned running;
	bool groups_ended, fell_back, vlans_fell_back;
	uint32_t next_vlan; /* row of FACT_VTP_VLANS, for fdb_per_vlan */
	struct vlan_set was_silent;
	bool late_vlans;       /* those that were silent last time are under way */
	uint32_t silent_vlans; /* this time */
	uint32_t refused;
	char why[64];
};

static void snmp_reader_go_on(struct snmp_reader *reader);

static void snmp_reader_stop(struct snmp_reader *reader)
{
	snmp_peer_forget(reader->plan.peer, reader);
	for (size_t i = 0; i < reader->get_count; i++) {
		snmp_peer_forget(reader->plan.peer, reader->gets[i]);
		free(reader->gets[i]);
	}
	reader->get_count = 0;
	for (size_t i = 0; i < WALKS_AT_ONCE; i++) {
		if (reader->parts[i].running)
			snmp_walk_cancel(reader->parts[i].walk);
	}
}

static void snmp_reader_end(struct snmp_reader *reader, int rc)
{
	struct snmp_reader_plan plan = reader->plan;
	uint32_t refused = reader->refused;
	char why[sizeof(reader->why)];

	text_copy(why, sizeof(why), reader->why);
	snmp_reader_stop(reader);
	free(reader);
	plan.done(plan.context, rc, refused, why);
}

static bool snmp_reader_on_row(void *context, size_t column, const uint32_t *index, size_t count,
			       const struct snmp_value *value)
{
	struct part *part = context;

	return snmp_facts_take(part->reader->plan.facts, part->columns[column], index, count, value,
			       part->vlan);
}

/* These end a reading; what else a walk ends with is the agent's refusal of this group. */
static bool is_fatal(int rc, const char *why)
{
	return rc == E_TIMEOUT || rc == E_AUTHENTICATION || (rc == E_PROTOCOL && !why[0]) ||
	       rc == -ENOMEM;
}

static int start_part(struct snmp_reader *reader, enum fact_group group, uint16_t vlan);

/* The bridge of one VLAN: a context that is silent or refused costs that VLAN's addresses. */
static void snmp_reader_on_vlan(struct snmp_reader *reader, const struct part *part, int rc,
				const char *why)
{
	struct snmp_missing *missing = reader->plan.missing;

	if (rc) {
		if (vlan_set_count(&missing->vlans) == 0)
			missing->vlans_why = rc == E_TIMEOUT ? "no answer"
					     : why[0]        ? why
							     : "refused";
		vlan_set_add(&missing->vlans, part->vlan);
	}
	if (rc == E_TIMEOUT) {
		vlan_set_add(&missing->silent, part->vlan);
		reader->silent_vlans++;
	} else {
		vlan_set_remove(&missing->silent, part->vlan);
	}
	rc = !rc && part->group == GROUP_BRIDGE ? start_part(reader, GROUP_BRIDGE_FDB, part->vlan)
						: 0;
	if (rc)
		snmp_reader_end(reader, rc);
	else
		snmp_reader_go_on(reader);
}

static void snmp_reader_on_walked(void *context, int rc, const char *why)
{
	struct part *part = context;
	struct snmp_reader *reader = part->reader;

	part->running = false;
	reader->running--;
	if (rc && is_fatal(rc, why) && (!part->vlan || rc == -ENOMEM)) {
		snmp_reader_end(reader, rc);
		return;
	}
	if (reader->plan.facts->failed) {
		snmp_reader_end(reader, -ENOMEM);
		return;
	}
	if (part->vlan) {
		snmp_reader_on_vlan(reader, part, rc, why);
		return;
	}
	if (rc) {
		reader->refused |= GROUP_BIT(part->group);
		if (reader->plan.missing)
			reader->plan.missing->why[part->group] = why;
		if (!reader->why[0])
			text_copy(reader->why, sizeof(reader->why), why);
	}
	snmp_reader_go_on(reader);
}

static int start_part(struct snmp_reader *reader, enum fact_group group, uint16_t vlan)
{
	struct snmp_walk_plan plan = {.row_limit = FACT_ROW_LIMIT * 2,
				      .vlan = vlan,
				      .tries = vlan ? 1 : 0,
				      .row = snmp_reader_on_row,
				      .done = snmp_reader_on_walked};
	struct part *part = NULL;
	int rc;

	for (size_t i = 0; i < WALKS_AT_ONCE && !part; i++) {
		if (!reader->parts[i].running)
			part = &reader->parts[i];
	}
	if (!part)
		return -EBUSY;
	*part = (struct part){.reader = reader, .group = group, .vlan = vlan};
	plan.count = fact_group_columns(reader->plan.facts, group, part->columns, part->roots);
	if (plan.count == 0)
		return 0;
	plan.columns = part->roots;
	plan.context = part;
	rc = snmp_walk_start(reader->plan.peer, &plan, &part->walk);
	if (rc)
		return rc;
	part->running = true;
	reader->running++;
	return 0;
}

/* --- the rows of some ports --- */

static int send_get(struct snmp_reader *reader, struct target_get *get);

static struct target_get *new_get(struct snmp_reader *reader)
{
	struct target_get *get = NULL;

	if (reader->get_count < TARGET_GETS)
		get = calloc(1, sizeof(*get));
	if (!get)
		return NULL;
	get->reader = reader;
	reader->gets[reader->get_count++] = get;
	return get;
}

/* Its answer would not go into one message of the agent's (RFC 3416 4.2.1): as two. */
static bool split_get(struct snmp_reader *reader, struct target_get *get)
{
	struct target_get *half = get->count > 1 ? new_get(reader) : NULL;
	size_t keep = get->count / 2;

	if (!half)
		return false;
	snmp_peer_bindings_bad(reader->plan.peer, get->weight);
	half->count = get->count - keep;
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers */
	memcpy(half->columns, get->columns + keep, half->count * sizeof(half->columns[0]));
	memcpy(half->bindings, get->bindings + keep, half->count * sizeof(half->bindings[0]));
	get->count = keep;
	get->weight = half->weight = get->weight / 2;
	return send_get(reader, get) == 0 && send_get(reader, half) == 0;
}

static void on_target_rows(void *context, struct snmp_answer *answer)
{
	struct target_get *get = context;
	struct snmp_reader *reader = get->reader;
	struct snmp_binding binding;

	reader->running--;
	/* A subagent that is late is a genErr of the agent, as in a walk. */
	if (!answer->rc && answer->status == SNMP_STATUS_GENERAL &&
	    get->errors++ < SNMP_READER_ERRORS_LIMIT && send_get(reader, get) == 0)
		return;
	if (!answer->rc && answer->status == SNMP_STATUS_TOO_BIG && split_get(reader, get))
		return;
	if (answer->rc || answer->status) {
		text_copy(reader->why, sizeof(reader->why),
			  answer->rc ? "" : snmp_status_text(answer->status));
		snmp_reader_end(reader, answer->rc ? answer->rc : snmp_status_code(answer->status));
		return;
	}
	for (size_t i = 0; i < get->count && snmp_answer_next(answer, &binding); i++) {
		const uint32_t *index = &get->bindings[i].name.ids[get->bindings[i].name.count - 1];

		/* An answer to another question is no answer. */
		if (snmp_oid_order(&binding.name, &get->bindings[i].name) == 0)
			(void)snmp_facts_take(reader->plan.facts, get->columns[i], index, 1,
					      &binding.value, 0);
	}
	snmp_reader_go_on(reader);
}

static int send_get(struct snmp_reader *reader, struct target_get *get)
{
	struct snmp_ask ask = {.kind = SNMP_GET, .bindings = get->bindings, .count = get->count};
	int rc;

	if (get->count == 0)
		return 0;
	rc = snmp_peer_ask(reader->plan.peer, &ask, on_target_rows, get);
	reader->running += rc == 0;
	return rc;
}

static int add_target_binding(struct snmp_reader *reader, const struct fact_column *column,
			      const struct snmp_oid *root, uint32_t index)
{
	size_t weight = column->kind == FACT_OCTETS ? OCTETS_WEIGHT : PLAIN_WEIGHT;
	struct target_get *get =
		reader->get_count ? reader->gets[reader->get_count - 1] : new_get(reader);

	if (get && (get->count == TARGET_BINDINGS ||
		    get->weight + weight > snmp_peer_bindings(reader->plan.peer))) {
		int rc = send_get(reader, get);

		if (rc || reader->get_count == TARGET_GETS)
			return rc ? rc : E_LIMIT;
		get = new_get(reader);
	}
	if (!get)
		return -ENOMEM;
	get->columns[get->count] = column;
	get->bindings[get->count++] = (struct snmp_binding){.name = snmp_oid_with(root, index)};
	get->weight += weight;
	return 0;
}

static int add_target_group(struct snmp_reader *reader, enum fact_group group)
{
	const struct fact_column *columns[SNMP_WALK_COLUMNS];
	struct snmp_oid roots[SNMP_WALK_COLUMNS];
	size_t count = fact_group_columns(reader->plan.facts, group, columns, roots);
	int rc = 0;

	for (size_t i = 0; i < reader->plan.target_count * count && !rc; i++) {
		const struct snmp_target *target = &reader->plan.targets[i / count];
		const struct fact_column *column = columns[i % count];

		if (!snmp_targets_need(target, column))
			continue;
		rc = add_target_binding(reader, column, &roots[i % count],
					column->table == FACT_INTERFACES ? target->if_index
									 : target->base_port);
	}
	return rc;
}

static int start_targets(struct snmp_reader *reader)
{
	int rc = 0;

	for (int group = 0; group < GROUP_COUNT && !rc; group++) {
		if (reader->plan.target_groups & GROUP_BIT(group))
			rc = add_target_group(reader, (enum fact_group)group);
	}
	if (rc || !reader->get_count)
		return rc;
	return send_get(reader, reader->gets[reader->get_count - 1]);
}

static int start_groups(struct snmp_reader *reader)
{
	int rc = reader->plan.target_count ? start_targets(reader) : 0;

	for (int group = 0; group < GROUP_COUNT && !rc; group++) {
		if (reader->plan.groups & GROUP_BIT(group))
			rc = start_part(reader, (enum fact_group)group, 0);
	}
	reader->plan.groups = 0;
	return rc;
}

/* The next VLAN whose context is asked; those that were silent last time come last. NULL: there is
 * none. */
static const struct fact_vlan *next_vlan(struct snmp_reader *reader)
{
	const struct snmp_facts *facts = reader->plan.facts;

	for (;;) {
		const struct fact_vlan *vlan;

		if (reader->next_vlan == fact_count(facts, FACT_VTP_VLANS)) {
			if (reader->late_vlans)
				return NULL;
			reader->late_vlans = true;
			reader->next_vlan = 0;
			continue;
		}
		vlan = fact_at(facts, FACT_VTP_VLANS, reader->next_vlan++);
		/* vtpVlanState operational(1), vtpVlanType ethernet(1) */
		if (vlan->status == 1 && vlan->type <= 1 && vlan->key[1] <= VLAN_LAST &&
		    vlan_set_has(&reader->was_silent, vlan->key[1]) == reader->late_vlans)
			return vlan;
	}
}

/* Cisco keeps one BRIDGE-MIB per VLAN, base ports included. */
static int start_vlans(struct snmp_reader *reader)
{
	struct snmp_missing *missing = reader->plan.missing;
	int rc = 0;

	while (!rc && reader->running < VLANS_AT_ONCE) {
		const struct fact_vlan *vlan = next_vlan(reader);

		if (!vlan)
			break;
		missing->vlans_asked++;
		if (reader->silent_vlans >= CONTEXTS_SILENT_LIMIT) {
			vlan_set_add(&missing->vlans, vlan->key[1]);
			continue;
		}
		rc = start_part(reader, GROUP_BRIDGE, (uint16_t)vlan->key[1]);
	}
	return rc;
}

/* Without contexts a Cisco shows the bridge of its VLAN 1, or whatever it likes. */
static bool shows_no_address(const struct snmp_reader *reader)
{
	const struct snmp_facts *facts = reader->plan.facts;

	return reader->plan.fdb_per_vlan ? fact_count(facts, FACT_BRIDGE_FDB) == 0
					 : !fact_fdb_makes_sense(facts);
}

static void snmp_reader_go_on(struct snmp_reader *reader)
{
	int rc = 0;

	if (reader->plan.groups)
		rc = start_groups(reader);
	if (!rc && reader->running == 0 && reader->plan.vlan_fallback && !reader->vlans_fell_back) {
		reader->vlans_fell_back = true;
		if (fact_count(reader->plan.facts, FACT_VLANS) == 0)
			rc = start_part(reader, GROUP_CURRENT, 0);
	}
	reader->groups_ended |= reader->running == 0;
	if (!rc && reader->plan.fdb_per_vlan && reader->groups_ended)
		rc = start_vlans(reader);
	if (!rc && reader->running == 0 && reader->plan.fdb_fallback && !reader->fell_back) {
		reader->fell_back = true;
		if (shows_no_address(reader))
			rc = start_part(reader, GROUP_BRIDGE_FDB, 0);
	}
	if (rc || reader->running == 0)
		snmp_reader_end(reader, rc);
}

static void snmp_reader_on_scalars(void *context, struct snmp_answer *answer)
{
	struct snmp_reader *reader = context;
	struct snmp_binding binding;

	if (answer->rc) {
		snmp_reader_end(reader, answer->rc);
		return;
	}
	if (answer->status) {
		text_copy(reader->why, sizeof(reader->why), snmp_status_text(answer->status));
		snmp_reader_end(reader, snmp_status_code(answer->status));
		return;
	}
	for (size_t i = 0; i <= FACT_SCALARS && snmp_answer_next(answer, &binding); i++)
		(void)snmp_facts_scalar(reader->plan.facts, i, &binding.value);
	snmp_reader_go_on(reader);
}

static int ask_scalars(struct snmp_reader *reader)
{
	const struct snmp_oid *changes = &reader->plan.facts->dialect->changes;
	struct snmp_binding bindings[FACT_SCALARS + 1] = {0};
	struct snmp_ask ask = {.kind = SNMP_GET, .bindings = bindings, .count = FACT_SCALARS};

	for (size_t i = 0; i < FACT_SCALARS; i++)
		bindings[i].name = fact_scalars[i];
	if (changes->count)
		bindings[ask.count++].name = *changes;
	return snmp_peer_ask(reader->plan.peer, &ask, snmp_reader_on_scalars, reader);
}

int snmp_reader_start(const struct snmp_reader_plan *plan, struct snmp_reader **ret)
{
	struct snmp_reader *reader = calloc(1, sizeof(*reader));
	int rc;

	if (!reader)
		return -ENOMEM;
	reader->plan = *plan;
	if (plan->missing) {
		reader->was_silent = plan->missing->silent;
		*plan->missing = (struct snmp_missing){.silent = plan->missing->silent};
	}
	rc = plan->scalars ? ask_scalars(reader) : start_groups(reader);
	if (rc) {
		snmp_reader_stop(reader);
		free(reader);
		return rc;
	}
	*ret = reader;
	return 0;
}

void snmp_reader_cancel(struct snmp_reader *reader)
{
	if (!reader)
		return;
	snmp_reader_stop(reader);
	free(reader);
}
