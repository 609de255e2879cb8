#include "peregrine/control/reconcile/switch_book.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/sorted.h"

LEAKS_LEFT_TO_SANITIZER

enum { RETRY_FIRST_MS = 1000, RETRY_LAST_MS = 60000 };
enum { SAVE_FIRST_MS = 5000, SAVE_LAST_MS = 600000 };

/* --- the book --- */

static uint32_t switch_book_place_of(const struct switch_book *book, int64_t id)
{
	return (uint32_t)SORTED_FIRST(i, 0, book->count, book->switches[i].id < id);
}

struct known_switch *book_find(const struct switch_book *book, int64_t id)
{
	uint32_t place = switch_book_place_of(book, id);

	return place < book->count && book->switches[place].id == id ? &book->switches[place]
								     : NULL;
}

struct known_switch *book_named(const struct switch_book *book, const char *name)
{
	for (uint32_t i = 0; i < book->count; i++) {
		if (book->switches[i].wanted && strcmp(book->switches[i].name, name) == 0)
			return &book->switches[i];
	}
	return NULL;
}

struct known_switch *book_get(struct switch_book *book, int64_t id, const char *name)
{
	uint32_t place = switch_book_place_of(book, id);
	struct known_switch *known;

	if (place == book->count || book->switches[place].id != id) {
		struct known_switch *switches =
			realloc(book->switches, (book->count + 1) * sizeof(*switches));

		if (!switches)
			return NULL;
		book->switches = switches;
		memmove(&switches[place + 1], &switches[place],
			(book->count - place) * sizeof(*switches));
		switches[place] = (struct known_switch){.id = id};
		book->count++;
	}
	known = &book->switches[place];
	(void)text_copy(known->name, sizeof(known->name), name);
	return known;
}

static void ports_free(struct known_port *ports, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		free(ports[i].problem);
	free(ports);
}

void book_done(struct switch_book *book)
{
	for (uint32_t i = 0; i < book->count; i++) {
		ports_free(book->switches[i].ports, book->switches[i].port_count);
		state_pool_done(&book->switches[i].pool);
	}
	free(book->switches);
	*book = (struct switch_book){0};
}

/* --- readings --- */

static int switch_book_by_name(const void *a, const void *b)
{
	return strcmp(((const struct known_port *)a)->name, ((const struct known_port *)b)->name);
}

struct known_port *known_port_named(const struct known_switch *known, const char *name)
{
	struct known_port *ports = known->ports;
	size_t count = known->port_count;
	size_t at = SORTED_FIRST(i, 0, count, strcmp(ports[i].name, name) < 0);

	return at < count && strcmp(ports[at].name, name) == 0 ? &ports[at] : NULL;
}

static struct vlan_set table_of(const struct switch_reading *reading)
{
	struct vlan_set vlans = {0};

	for (size_t i = 0; i < reading->vlan_count; i++)
		vlan_set_add(&vlans, reading->vlans[i].id);
	return vlans;
}

static bool same_state(port_state a, port_state b)
{
	return a == b || (a && b && port_vlans_equal(a, b));
}

static struct vlan_set met_in(const struct known_switch *known, port_state state)
{
	struct vlan_set parking = {0};
	struct vlan_set all = {0};

	if (!state)
		return all;
	all = port_vlans_all(state);
	if (known->parking)
		vlan_set_add_range(&parking, known->parking, known->parking_high);
	return vlan_set_minus(&all, &parking);
}

bool known_starts_elsewhere(const struct known_switch *known, const struct known_port *port)
{
	struct vlan_set now = met_in(known, port->vlans);

	return (known->doubtful || port->left_at > known->left_saved) && !vlan_set_is_empty(&now);
}

static void switch_book_left(struct known_switch *known, struct known_port *port,
			     const struct vlan_set *had, const struct vlan_set *has)
{
	struct vlan_set lost = vlan_set_minus(had, has);

	if (vlan_set_is_empty(&lost))
		return;
	port->left_at = ++known->left;
	known->left_vlans = vlan_set_union(&known->left_vlans, &lost);
}

static void note_left(struct known_switch *known, struct known_port *port, port_state before)
{
	struct vlan_set had = met_in(known, before);
	struct vlan_set has = met_in(known, port->vlans);

	switch_book_left(known, port, &had, &has);
}

bool known_may_start_with(const struct known_switch *known, unsigned vlan)
{
	return !known->read || known->doubtful || vlan_set_has(&known->left_vlans, vlan) ||
	       vlan_set_has(&known->leaving, vlan);
}

/* Its marks move by what we do: the next look that begins after it tells what they are then. What
 * others moved since the look before is in them, too, so all of it is read once (known_look). */
static void switch_book_touched(struct known_switch *known, int64_t now_ms)
{
	known->touched_ms = now_ms;
	known->member_changes = 0;
}

void known_sends(struct known_switch *known, const struct switch_edit *edit, int64_t now_ms)
{
	const struct port_vlans *const ends[] = {&edit->before, &edit->after};

	switch_book_touched(known, now_ms);
	for (size_t i = 0; edit->kind == EDIT_PORT && i < COUNT_OF(ends); i++) {
		struct vlan_set all = met_in(known, ends[i]);

		known->left_vlans = vlan_set_union(&known->left_vlans, &all);
	}
}

void known_save_begins(struct known_switch *known)
{
	known->unsaved = false;
	known->unsaved_beside = false;
	known->saving = true;
	known->leaving = vlan_set_union(&known->leaving, &known->left_vlans);
	known->left_vlans = (struct vlan_set){0};
}

void known_save_ends(struct known_switch *known, bool saved)
{
	known->saving = false;
	if (!saved)
		known->left_vlans = vlan_set_union(&known->left_vlans, &known->leaving);
	known->leaving = (struct vlan_set){0};
}

/* What is remembered of a port goes on with it. */
static bool take_over(struct known_switch *known, struct known_port *port)
{
	struct known_port *old = known_port_named(known, port->name);

	if (!old)
		return true;
	port->retry_ms = old->retry_ms;
	port->retry_version = old->retry_version;
	port->failures = old->failures;
	port->bonded_ms = old->bonded_ms;
	port->bonded_made = old->bonded_made;
	port->problem = TAKE(old->problem);
	port->left_at = old->left_at;
	if (port->apart == APART_UNTOLD) { /* readings of this way never tell */
		port->apart = old->apart;
		port->apart_group = old->apart_group;
	}
	if (same_state(old->vlans, port->vlans))
		return old->up != port->up;
	note_left(known, port, old->vlans);
	return true;
}

/* --- members and aggregates --- */

/* A port is where it is, and where its aggregate is. */
static struct vlan_set met_with_lag(const struct known_switch *known,
				    const struct known_port *ports, const struct known_port *port)
{
	struct vlan_set own = met_in(known, port->vlans);
	struct vlan_set all = {0};

	if (port->lag != MODEL_NONE)
		all = met_in(known, ports[port->lag].vlans);
	return vlan_set_union(&own, &all);
}

static void switch_book_later(struct known_port *port, uint64_t left_at)
{
	if (left_at > port->left_at)
		port->left_at = left_at;
}

/* Who has left as a member and is back as the aggregate, or the other way, has left: its frames
 * were those of the same node, and the switch would start with it where it was. */
static void pass_leaving_on(struct known_switch *known, struct known_port *ports, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct known_port *old = known_port_named(known, ports[i].name);
		struct vlan_set had;
		struct vlan_set has;

		if (!old || (old->lag == MODEL_NONE && ports[i].lag == MODEL_NONE))
			continue;
		had = met_with_lag(known, known->ports, old);
		has = met_with_lag(known, ports, &ports[i]);
		switch_book_left(known, &ports[i], &had, &has);
		if (old->lag != MODEL_NONE)
			switch_book_later(&ports[i], known->ports[old->lag].left_at);
	}
	for (uint32_t i = 0; i < count; i++) {
		if (ports[i].lag != MODEL_NONE)
			switch_book_later(&ports[ports[i].lag], ports[i].left_at);
	}
}

/* A port that is not shown any more, and whose members do not say what became of it: where it will
 * be when it is back nobody knows before the next saving. */
static void note_gone(struct known_switch *known, struct known_port *ports, uint32_t count)
{
	const struct known_switch next = {.ports = ports, .port_count = count};

	for (uint32_t i = 0; i < known->port_count; i++) {
		const struct known_port *old = &known->ports[i];
		struct vlan_set had = met_in(known, old->vlans);
		bool has_left = old->left_at > known->left_saved || !vlan_set_is_empty(&had);

		if (!has_left || known_port_named(&next, old->name))
			continue;
		known->left_vlans = vlan_set_union(&known->left_vlans, &had);
		for (uint32_t m = 0; m < known->port_count && has_left; m++)
			has_left = known->ports[m].lag != i ||
				   !known_port_named(&next, known->ports[m].name);
		known->doubtful |= has_left;
	}
}

static void find_lags(const struct switch_reading *reading, struct known_port *ports,
		      uint32_t count)
{
	const struct known_switch view = {.ports = ports, .port_count = count};

	for (size_t i = 0; i < reading->port_count; i++) {
		const struct switch_port *from = &reading->ports[i];
		const struct switch_port *lag =
			from->lag ? switch_reading_port(reading, from->lag) : NULL;
		struct known_port *port = known_port_named(&view, from->name);
		struct known_port *carrier = lag ? known_port_named(&view, lag->name) : NULL;

		if (port && carrier)
			port->lag = (uint32_t)(carrier - ports);
	}
}

static void take_marks(struct known_switch *known, const struct switch_identity *identity,
		       int64_t since_ms)
{
	if (identity->chassis[0] && strcasecmp(identity->chassis, known->chassis) != 0) {
		(void)text_copy(known->chassis, sizeof(known->chassis), identity->chassis);
		known->changed = true;
	}
	known->uptime_ms = identity->uptime_ms;
	known->vlan_changes = identity->vlan_changes;
	if (identity->member_changes && since_ms > known->touched_ms)
		known->member_changes = identity->member_changes;
}

int known_take(struct known_switch *known, const struct switch_reading *reading, int64_t since_ms,
	       bool *changed)
{
	uint32_t count = (uint32_t)reading->port_count;
	struct known_port *ports = calloc(count + 1, sizeof(*ports));
	struct vlan_set vlans = table_of(reading);
	struct state_pool pool = {0};
	bool differs = !known->read || count != known->port_count ||
		       !vlan_set_equal(&vlans, &known->vlans);

	if (!ports)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		const struct switch_port *from = &reading->ports[i];
		struct port_vlans plain;

		(void)text_copy(ports[i].name, sizeof(ports[i].name), from->name);
		ports[i].up = from->up;
		ports[i].unproven = from->unproven;
		ports[i].apart = from->apart;
		ports[i].apart_group = from->apart_group;
		ports[i].alike = from->alike;
		ports[i].lag = MODEL_NONE;
		if (!from->has_vlans)
			continue;
		plain = port_vlans_plain(&from->vlans);
		ports[i].vlans = state_pool_add(&pool, &plain, NULL);
		if (!ports[i].vlans) {
			free(ports);
			state_pool_done(&pool);
			return -ENOMEM;
		}
	}
	qsort(ports, count, sizeof(*ports), switch_book_by_name);
	find_lags(reading, ports, count);
	for (uint32_t i = 0; i < count; i++)
		differs |= take_over(known, &ports[i]);
	pass_leaving_on(known, ports, count);
	note_gone(known, ports, count);
	ports_free(known->ports, known->port_count);
	state_pool_done(&known->pool);
	known->ports = ports;
	known->port_count = count;
	known->pool = pool;
	known->vlans = vlans;
	known->read = true;
	known->stale = false;
	known->reread = false;
	known->read_at_ms = since_ms;
	if (reading->parts & PART_IDENTITY)
		take_marks(known, &reading->identity, since_ms);
	known->changed |= differs;
	*changed = differs;
	return 0;
}

static void take_apart(struct known_port *port, const struct switch_port *from)
{
	if (from->apart == APART_UNTOLD)
		return;
	port->apart = from->apart;
	port->apart_group = from->apart_group;
}

void known_take_apart(struct known_switch *known, const struct switch_reading *reading)
{
	for (size_t i = 0; i < reading->port_count; i++) {
		struct known_port *port = known_port_named(known, reading->ports[i].name);

		if (port)
			take_apart(port, &reading->ports[i]);
	}
	known->changed = true;
}

int known_merge(struct known_switch *known, const struct switch_reading *reading, int64_t now_ms)
{
	switch_book_touched(known, now_ms);
	if (reading->parts & PART_VLANS)
		known->vlans = table_of(reading);
	for (size_t i = 0; i < reading->port_count; i++) {
		const struct switch_port *from = &reading->ports[i];
		struct known_port *port = known_port_named(known, from->name);
		struct port_vlans plain;
		port_state next;

		if (!port || !from->has_vlans)
			continue;
		plain = port_vlans_plain(&from->vlans);
		next = state_pool_add(&known->pool, &plain, port->vlans);
		if (!next)
			return -ENOMEM;
		if (!same_state(port->vlans, next)) {
			port_state before = port->vlans;

			port->vlans = next;
			note_left(known, port, before);
		}
		port->up = from->up;
		port->unproven = from->unproven;
		take_apart(port, from);
	}
	return 0;
}

bool known_look(struct known_switch *known, const struct switch_identity *identity,
		int64_t since_ms)
{
	bool told = identity->member_changes && since_ms > known->touched_ms;
	bool moved =
		told && known->member_changes && identity->member_changes != known->member_changes;
	bool differs = moved || identity->uptime_ms < known->uptime_ms ||
		       identity->vlan_changes != known->vlan_changes;

	known->reread |= told && known->member_changes == 0;
	take_marks(known, identity, since_ms);
	return differs;
}

/* --- failures --- */

static int64_t switch_book_pause_ms(unsigned failures, int64_t first_ms, int64_t last_ms)
{
	int64_t pause = first_ms;

	for (unsigned i = 1; i < failures && pause < last_ms; i++)
		pause *= 2;
	return pause < last_ms ? pause : last_ms;
}

void known_failed(struct known_switch *known, const struct problem *problem, int64_t now_ms)
{
	known->failures++;
	known->retry_ms =
		now_ms + switch_book_pause_ms(known->failures, RETRY_FIRST_MS, RETRY_LAST_MS);
	known->problem = *problem;
	known->stale = true;
}

void known_save_failed(struct known_switch *known, const struct problem *problem, int64_t now_ms)
{
	known->save_failures++;
	known->save_retry_ms =
		now_ms + switch_book_pause_ms(known->save_failures, SAVE_FIRST_MS, SAVE_LAST_MS);
	known->save_problem = *problem;
}

void known_answered(struct known_switch *known)
{
	known->failures = 0;
	known->retry_ms = 0;
	known->problem = (struct problem){0};
}

void known_port_failed(struct known_port *port, int64_t version, const struct problem *problem,
		       int64_t now_ms)
{
	port->failures = port->retry_version == version ? port->failures + 1 : 1;
	port->retry_version = version;
	port->retry_ms =
		now_ms + switch_book_pause_ms(port->failures, RETRY_FIRST_MS, RETRY_LAST_MS);
	if (!port->problem)
		port->problem = malloc(sizeof(*port->problem));
	if (port->problem)
		*port->problem = *problem;
}

void known_port_well(struct known_port *port)
{
	port->failures = 0;
	port->retry_ms = 0;
	free(TAKE(port->problem));
}
