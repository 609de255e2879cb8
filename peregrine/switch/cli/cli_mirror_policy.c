#include "peregrine/switch/cli/cli_mirror_policy.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdint.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "peregrine/switch/cli/cli_port.h"

struct cli_mirror_policy_maker {
	const struct cli_mirror *row;
	const struct cli_mirrors *there;
	const struct cli_mirror_want *want;
	struct cli_mirror_plan *plan;
	unsigned number;
	bool is_full;
};

static bool cli_mirror_policy_is_ours(const struct cli_mirror_policy_maker *maker,
				      const struct cli_mirror_session *session)
{
	return session->target[0] && !session->is_odd &&
	       cli_port_same(maker->row->dialect, session->target, maker->want->target);
}

static bool has_id(const struct cli_mirror *row)
{
	return strstr(row->open, "{id}") != NULL;
}

/* ERSPAN has no number 0. */
static unsigned cli_mirror_policy_id_of(const struct switch_tunnel *tunnel)
{
	return tunnel->id ? tunnel->id : 1;
}

/* Is one of ours sent as it shall be? What is another way is made anew. */
static bool cli_mirror_policy_fits(const struct cli_mirror *row, const struct cli_mirrors *there,
				   const struct cli_mirror_session *session,
				   const struct switch_tunnel *tunnel)
{
	const char *from = session->from[0] ? session->from : there->from;

	return !tunnel || (strcmp(from, tunnel->from) == 0 &&
			   (!has_id(row) || session->id == cli_mirror_policy_id_of(tunnel)));
}

/* The session of the i-th source, when it goes to the target; else NULL. */
static const struct cli_mirror_session *ours_of_source(const struct cli_mirror *row,
						       const struct cli_mirrors *there, size_t i,
						       const char *target)
{
	for (size_t j = 0; j < there->count; j++) {
		const struct cli_mirror_session *session = &there->sessions[j];

		if (session->number == there->sources[i].number && session->target[0] &&
		    (session->number ||
		     cli_port_same(row->dialect, session->target, there->sources[i].target)) &&
		    cli_port_same(row->dialect, session->target, target))
			return session;
	}
	return NULL;
}

bool cli_mirror_holds(const struct cli_mirror *row, const struct cli_mirrors *there,
		      const char *port, const struct cli_mirror_want *want)
{
	for (size_t i = 0; i < there->source_count; i++) {
		const struct cli_mirror_session *session =
			ours_of_source(row, there, i, want->target);

		if (session && cli_port_same(row->dialect, there->sources[i].port, port) &&
		    cli_mirror_policy_fits(row, there, session, want->tunnel))
			return true;
	}
	return false;
}

static bool cli_mirror_policy_is_wanted(const struct cli_mirror *row,
					const struct cli_mirror_want *want, const char *port)
{
	for (size_t i = 0; i < want->count; i++) {
		if (cli_port_same(row->dialect, want->mirrors[i].port, port))
			return true;
	}
	return false;
}

bool cli_mirror_has_more(const struct cli_mirror *row, const struct cli_mirrors *there,
			 const struct cli_mirror_want *want)
{
	const struct cli_mirror_policy_maker maker = {.row = row, .there = there, .want = want};

	for (size_t i = 0; i < there->source_count; i++) {
		if (ours_of_source(row, there, i, want->target) &&
		    !cli_mirror_policy_is_wanted(row, want, there->sources[i].port))
			return true;
	}
	for (size_t i = 0; i < there->count && row->close; i++) {
		if (want->count == 0 && cli_mirror_policy_is_ours(&maker, &there->sessions[i]))
			return true;
	}
	return false;
}

/* --- lines --- */

static void cli_mirror_policy_add_ports(const struct cli_mirror_policy_maker *maker,
					struct text *out)
{
	for (size_t i = 0; i < maker->want->count; i++) {
		bool before = false;

		for (size_t j = 0; j < i; j++)
			before |= cli_port_same(maker->row->dialect, maker->want->mirrors[j].port,
						maker->want->mirrors[i].port);
		if (!before)
			text_addf(out, "%s%s", i > 0 ? "," : "", maker->want->mirrors[i].port);
	}
}

static void cli_mirror_policy_fill_in(const struct cli_mirror_policy_maker *maker, const char *text,
				      size_t length, const char *port, struct text *out)
{
	const char *end = text + length;

	while (text < end) {
		size_t size = strcspn(text, "{");

		size = size > (size_t)(end - text) ? (size_t)(end - text) : size;
		text_add_bytes(out, text, size);
		text += size;
		if (text >= end)
			return;
		if (strncmp(text, "{session}", 9) == 0)
			text_addf(out, "%u", maker->number);
		else if (strncmp(text, "{target}", 8) == 0)
			text_add(out, maker->want->target);
		else if (maker->want->tunnel && strncmp(text, "{from}", 6) == 0)
			text_add(out, maker->want->tunnel->from);
		else if (maker->want->tunnel && strncmp(text, "{id}", 4) == 0)
			text_addf(out, "%u", cli_mirror_policy_id_of(maker->want->tunnel));
		else if (strncmp(text, "{ports}", 7) == 0)
			cli_mirror_policy_add_ports(maker, out);
		else if (strncmp(text, "{port}", 6) == 0)
			text_add(out, port);
		text += strcspn(text, "}") + 1;
	}
}

static void cli_mirror_policy_add(struct cli_mirror_policy_maker *maker, const char *text,
				  const char *port, size_t mirror)
{
	while (text && *text) {
		size_t length = strcspn(text, "\n");
		CLEANUP(text_done) struct text line = {0};
		struct cli_mirror_line *row = &maker->plan->lines[maker->plan->count];

		cli_mirror_policy_fill_in(maker, text, length, port, &line);
		if (maker->plan->count == CLI_MIRROR_LINES ||
		    !text_copy(row->text, sizeof(row->text), text_get(&line))) {
			maker->is_full = true;
			return;
		}
		row->mirror = mirror;
		maker->plan->count++;
		text += length + (text[length] == '\n');
	}
}

/* A session that leads nowhere and has no port: what is left of one that was cut off. */
static bool cli_mirror_policy_is_empty(const struct cli_mirrors *there,
				       const struct cli_mirror_session *session)
{
	for (size_t i = 0; i < there->source_count; i++) {
		if (there->sources[i].number == session->number)
			return false;
	}
	return !session->target[0] && !session->is_odd;
}

/* A number that nobody has: from the highest down, people begin with 1. */
static bool cli_mirror_policy_take_number(struct cli_mirror_policy_maker *maker)
{
	for (unsigned number = maker->row->last; number >= maker->row->first; number--) {
		bool free = true;

		for (size_t i = 0; i < maker->there->count; i++)
			free &= maker->there->sessions[i].number != number ||
				cli_mirror_policy_is_empty(maker->there,
							   &maker->there->sessions[i]);
		maker->number = number;
		if (free || number == 0)
			return true;
	}
	return false;
}

/* What is ours and is not needed: all sessions but the first that is as it shall be, or with `all`
 * that one, too. True: one is kept, and is the maker's. */
static bool close_others(struct cli_mirror_policy_maker *maker, bool all)
{
	const struct cli_mirror_session *kept = NULL;
	bool closed = false;

	for (size_t i = 0; i < maker->there->count; i++) {
		const struct cli_mirror_session *session = &maker->there->sessions[i];

		if (!cli_mirror_policy_is_ours(maker, session))
			continue;
		if (!kept && !all &&
		    cli_mirror_policy_fits(maker->row, maker->there, session,
					   maker->want->tunnel)) {
			kept = session;
			continue;
		}
		maker->number = session->number;
		cli_mirror_policy_add(maker, maker->row->close, "", SIZE_MAX);
		closed = true;
	}
	if (closed && !kept)
		cli_mirror_policy_add(maker, maker->row->release, "", SIZE_MAX);
	if (kept)
		maker->number = kept->number;
	return kept != NULL;
}

static void change_ports(struct cli_mirror_policy_maker *maker)
{
	const struct cli_mirrors *there = maker->there;
	const struct cli_mirror_want *want = maker->want;

	for (size_t i = 0; i < there->source_count; i++) {
		if (there->sources[i].number == maker->number &&
		    ours_of_source(maker->row, there, i, want->target) &&
		    !cli_mirror_policy_is_wanted(maker->row, want, there->sources[i].port))
			cli_mirror_policy_add(maker, maker->row->drop, there->sources[i].port,
					      SIZE_MAX);
	}
	for (size_t i = 0; i < want->count; i++) {
		if (!cli_mirror_holds(maker->row, there, want->mirrors[i].port, want))
			cli_mirror_policy_add(maker, maker->row->add, want->mirrors[i].port, i);
	}
}

static bool cli_mirror_policy_is_as_wanted(const struct cli_mirror_policy_maker *maker)
{
	for (size_t i = 0; i < maker->want->count; i++) {
		if (!cli_mirror_holds(maker->row, maker->there, maker->want->mirrors[i].port,
				      maker->want))
			return false;
	}
	return !cli_mirror_has_more(maker->row, maker->there, maker->want);
}

static bool cli_mirror_policy_is_address(const char *text)
{
	struct in_addr address;

	return inet_pton(AF_INET, text, &address) == 1;
}

static int check_tunnel(const struct cli_mirror_policy_maker *maker, struct problem *problem)
{
	const struct cli_mirror_want *want = maker->want;
	const struct switch_tunnel *tunnel = want->tunnel;
	/* One line for the whole switch: that of others is not ours to change. */
	bool is_global = maker->there->from[0] != '\0';

	if (!cli_mirror_policy_is_address(want->target) ||
	    (want->count > 0 && !cli_mirror_policy_is_address(tunnel->from))) {
		(void)problem_set(problem, E_INVALID,
				  "mirrors cannot be sent from \"%s\" to \"%s\"", tunnel->from,
				  want->target);
		problem_hint(problem, "two IPv4 addresses: haasctl capture point SWITCH --address "
				      "COLLECTOR --origin SWITCH'S");
		return E_INVALID;
	}
	if (want->count > 0 && !has_id(maker->row) && tunnel->id) {
		(void)problem_set(problem, E_INVALID, "this family sends no ERSPAN session number");
		problem_hint(problem, "leave --session out: haasctl capture point");
		return E_INVALID;
	}
	if (want->count > 0 && is_global && strcmp(maker->there->from, tunnel->from) != 0) {
		(void)problem_set(problem, E_CONFLICT, "this switch sends ERSPAN from %s only",
				  maker->there->from);
		problem_detail(problem, "it has one ERSPAN origin for all its sessions");
		problem_hint(problem, "haasctl capture point SWITCH --origin %s",
			     maker->there->from);
		return E_CONFLICT;
	}
	return 0;
}

static int cli_mirror_policy_check(const struct cli_mirror_policy_maker *maker,
				   struct problem *problem)
{
	const struct cli_mirror_want *want = maker->want;

	for (size_t i = 0; i < want->count; i++) {
		if (cli_port_name_ok(want->mirrors[i].port))
			continue;
		(void)problem_set(problem, E_INVALID, "\"%s\" is not the name of a port",
				  want->mirrors[i].port);
		return E_INVALID;
	}
	if (want->tunnel)
		return check_tunnel(maker, problem);
	if (cli_port_name_ok(want->target))
		return 0;
	(void)problem_set(problem, E_INVALID, "\"%s\" is not the name of a mirror port",
			  want->target);
	problem_hint(problem, "set the mirror port: haasctl capture point");
	return E_INVALID;
}

int cli_mirror_plan_make(const struct cli_mirror *row, const struct cli_mirrors *there,
			 const struct cli_mirror_want *want, struct cli_mirror_plan *ret,
			 struct problem *problem)
{
	struct cli_mirror_policy_maker maker = {
		.row = row, .there = there, .want = want, .plan = ret};
	/* Without a number there is one session, the destination's. */
	bool open;
	int rc;

	ret->count = 0;
	ret->opened = 0;
	/* Nothing is wanted, and which port it was is not known any more. */
	if (want->count == 0 && !want->target[0])
		return 0;
	rc = cli_mirror_policy_check(&maker, problem);
	if (rc || cli_mirror_policy_is_as_wanted(&maker))
		return rc;
	open = close_others(&maker, want->count == 0 || !row->add);
	if (want->count > 0 && !open && !cli_mirror_policy_take_number(&maker)) {
		(void)problem_set(problem, E_CONFLICT, "the mirror sessions %u to %u are taken",
				  row->first, row->last);
		problem_hint(problem, "they were set up on the switch by hand: end one there");
		return E_CONFLICT;
	}
	if (want->count > 0 && !open) {
		ret->opened = maker.number;
		cli_mirror_policy_add(&maker, row->open, "", SIZE_MAX);
	}
	if (row->add && (want->count > 0 || !row->close))
		change_ports(&maker);
	if (maker.is_full)
		return problem_set(problem, E_LIMIT, "too many ports to mirror at once");
	return 0;
}

void cli_mirror_plan_undo(const struct cli_mirror *row, const char *target,
			  struct cli_mirror_plan *ret)
{
	const struct cli_mirror_want nothing = {.target = target};
	struct cli_mirror_policy_maker maker = {
		.row = row, .want = &nothing, .plan = ret, .number = ret->opened};

	ret->count = 0;
	ret->opened = 0;
	cli_mirror_policy_add(&maker, row->close, "", SIZE_MAX);
	cli_mirror_policy_add(&maker, row->release, "", SIZE_MAX);
}
