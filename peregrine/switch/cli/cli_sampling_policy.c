#include "peregrine/switch/cli/cli_sampling_policy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "peregrine/switch/cli/cli_port.h"
#include "peregrine/switch/cli/cli_sampling_line.h"

LEAKS_LEFT_TO_SANITIZER

enum { CLI_SAMPLING_POLICY_LINE_SIZE = 256, SEND_LIMIT = 10000 };

/* Speeds do not stand in a configuration: what these families' ports have, mostly. */
#define SPEED_BPS UINT64_C(10000000000)

struct cli_sampling_policy_planner {
	const struct cli_dialect *dialect;
	const struct cli_sampling_about *about;
	const struct sampling_wanted *wanted;
	uint32_t rate;
	struct sampling_found *found;
	struct cli_plan *plan;
	bool anew; /* something of ours differs that cannot be changed in its place */
	int rc;
};

/* --- lines --- */

static void add_hole(const struct cli_sampling_policy_planner *planner, const char *hole,
		     const char *port, struct text *ret)
{
	const struct sampling_wanted *wanted = planner->wanted;
	const struct cli_sampling *sampling = planner->dialect->sampling;
	unsigned poll = wanted->poll_s < sampling->poll_low ? sampling->poll_low
			: sampling->poll_high && wanted->poll_s > sampling->poll_high
				? sampling->poll_high
				: wanted->poll_s;
	const struct {
		const char *name, *text;
		unsigned number;
	} values[] = {
		{"{collector}", wanted->collector, 0},
		{"{agent}", planner->about->agent, 0},
		{"{port}", port ? port : "", 0},
		{"{udp}", NULL, sampling->udp ? sampling->udp : wanted->port},
		{"{rate}", NULL, planner->rate},
		{"{header}", NULL, wanted->header},
		{"{poll}", NULL, poll},
	};

	for (size_t i = 0; i < COUNT_OF(values); i++) {
		if (strncmp(hole, values[i].name, strlen(values[i].name)) != 0)
			continue;
		if (values[i].text)
			text_add(ret, values[i].text);
		else
			text_addf(ret, "%u", values[i].number);
	}
}

static bool cli_sampling_policy_fill_in(const struct cli_sampling_policy_planner *planner,
					const char *line, const char *port,
					char ret[CLI_SAMPLING_POLICY_LINE_SIZE])
{
	CLEANUP(text_done) struct text text = {0};

	while (*line) {
		size_t size = strcspn(line, "{");

		text_add_bytes(&text, line, size);
		line += size;
		if (*line) {
			add_hole(planner, line, port, &text);
			line += strcspn(line, "}") + 1;
		}
	}
	return !text.failed && text_copy(ret, CLI_SAMPLING_POLICY_LINE_SIZE, text_get(&text));
}

static const struct sampling_place cli_sampling_policy_top;

static bool is_there(const struct cli_sampling_policy_planner *planner, const char *line,
		     size_t length)
{
	struct sampling_cursor cursor;

	return sampling_line_find(planner->dialect, planner->about->text, line, length,
				  cli_sampling_policy_top, &cursor);
}

static void cli_sampling_policy_put(struct cli_sampling_policy_planner *planner, const char *text)
{
	struct cli_plan *plan = planner->plan;

	if (plan->count == plan->room && !planner->rc) {
		size_t room = plan->room ? plan->room * 2 : 16;
		struct cli_line *lines =
			room > SEND_LIMIT ? NULL : realloc(plan->lines, room * sizeof(*lines));

		if (lines) {
			plan->lines = lines;
			plan->room = room;
		} else {
			planner->rc = room > SEND_LIMIT ? E_LIMIT : -ENOMEM;
		}
	}
	if (planner->rc)
		return;
	plan->lines[plan->count] = (struct cli_line){.changes = true};
	(void)text_copy(plan->lines[plan->count++].text, sizeof(plan->lines[0].text), text);
}

static void put_in_port(struct cli_sampling_policy_planner *planner, const char *port,
			const char *text)
{
	char head[CLI_SAMPLING_POLICY_LINE_SIZE];

	(void)text_format(head, sizeof(head), "interface %s", port);
	cli_sampling_policy_put(planner, head);
	cli_sampling_policy_put(planner, text);
	cli_sampling_policy_put(planner, "exit");
}

/* --- as it is wanted --- */

static void cli_sampling_policy_differs(struct cli_sampling_policy_planner *planner,
					const char *line)
{
	if (planner->found->agrees)
		(void)text_format(planner->found->text, sizeof(planner->found->text),
				  "it has no \"%.70s\"", line);
	planner->found->agrees = false;
}

/* Is the line there, as the switch may show it? */
static bool cli_sampling_policy_stands(const struct cli_sampling_policy_planner *planner,
				       const struct cli_sampling_line *row, const char *line)
{
	static const char udp[] = " port 6343";
	size_t length = strlen(line);
	struct sampling_cursor cursor = {.next = planner->about->text};

	while (sampling_line_next(planner->dialect, &cursor)) {
		if (!cursor.is_inside &&
		    sampling_line_begins(cursor.at, cursor.size, line, length) &&
		    (!(row->flags & SAMPLING_WHOLE) || cursor.size == length))
			return true;
	}
	if (row->assumed && strcmp(line, row->assumed) == 0)
		return !is_there(planner, row->line, strcspn(row->line, "{"));
	if (!(row->flags & SAMPLING_PORT_6343) || length < sizeof(udp) ||
	    strcmp(line + length - strlen(udp), udp) != 0)
		return false;
	length -= strlen(udp);
	return sampling_line_find(planner->dialect, planner->about->text, line, length,
				  cli_sampling_policy_top, &cursor) &&
	       (cursor.size == length || strncmp(cursor.at + length, " vrf ", 5) == 0);
}

static void want_line(struct cli_sampling_policy_planner *planner,
		      const struct cli_sampling_line *row)
{
	const char *named = planner->dialect->sampling->named;
	char line[CLI_SAMPLING_POLICY_LINE_SIZE];

	if (!cli_sampling_policy_fill_in(planner, row->line, NULL, line)) {
		planner->rc = E_LIMIT;
		return;
	}
	if (cli_sampling_policy_stands(planner, row, line))
		return;
	cli_sampling_policy_differs(planner, line);
	if (row->flags & SAMPLING_FIXED && named && is_there(planner, named, strlen(named)))
		planner->anew = true;
	else
		cli_sampling_policy_put(planner, line);
}

/* A section and all that is in it: `row` begins it. Returns the row after it. */
static const struct cli_sampling_line *want_section(struct cli_sampling_policy_planner *planner,
						    const struct cli_sampling_line *row)
{
	const char *head = row->line;
	bool is_new = !is_there(planner, head, strlen(head));

	if (is_new) {
		cli_sampling_policy_differs(planner, head);
		cli_sampling_policy_put(planner, head);
	}
	for (row++; row->line && row->flags & SAMPLING_INSIDE; row++) {
		char line[CLI_SAMPLING_POLICY_LINE_SIZE];
		struct sampling_cursor cursor;

		if (!cli_sampling_policy_fill_in(planner, row->line, NULL, line)) {
			planner->rc = E_LIMIT;
			return row;
		}
		if (sampling_line_find(planner->dialect, planner->about->text, line, strlen(line),
				       (struct sampling_place){NULL, head}, &cursor))
			continue;
		cli_sampling_policy_differs(planner, line);
		if (is_new)
			cli_sampling_policy_put(planner, line);
		else
			planner->anew = true;
	}
	if (is_new)
		cli_sampling_policy_put(planner, "exit");
	return row;
}

/* Aggregates are sampled at their members. */
static bool is_sampled(const char *port)
{
	static const char *const aggregates[] = {"port-channel", "po", "lag"};

	for (size_t i = 0; i < COUNT_OF(aggregates); i++) {
		if (strncasecmp(port, aggregates[i], strlen(aggregates[i])) == 0)
			return false;
	}
	return true;
}

/* What is done to one of the switch's ports; false: no more of them. */
typedef bool (*port_fn)(struct cli_sampling_policy_planner *planner,
			const struct cli_sampling_line *row, const char *port);

static void cli_sampling_policy_each_port(struct cli_sampling_policy_planner *planner,
					  const struct cli_sampling_line *row, port_fn fn)
{
	const struct cli_config *config = planner->about->config;
	struct sampling_cursor cursor = {.next = planner->about->text};
	bool more = true;

	for (size_t i = 0; config && i < config->port_count && more; i++)
		more = !is_sampled(config->ports[i].name) ||
		       !cli_port_name_ok(config->ports[i].name) ||
		       fn(planner, row, config->ports[i].name);
	while (!config && more && sampling_line_next(planner->dialect, &cursor)) {
		if (!cursor.is_inside && cursor.port[0])
			more = !is_sampled(cursor.port) || !cli_port_name_ok(cursor.port) ||
			       fn(planner, row, cursor.port);
	}
}

static bool want_port(struct cli_sampling_policy_planner *planner,
		      const struct cli_sampling_line *row, const char *port)
{
	bool inside = (row->flags & SAMPLING_IN_PORT) != 0;
	char line[CLI_SAMPLING_POLICY_LINE_SIZE];
	struct sampling_cursor cursor;

	if (!cli_sampling_policy_fill_in(planner, row->line, port, line)) {
		planner->rc = E_LIMIT;
	} else if (sampling_line_find(planner->dialect, planner->about->text, line, strlen(line),
				      (struct sampling_place){inside ? port : NULL, NULL},
				      &cursor)) {
		planner->found->sources++;
	} else {
		cli_sampling_policy_differs(planner, line);
		if (inside)
			put_in_port(planner, port, line);
		else
			cli_sampling_policy_put(planner, line);
	}
	return planner->rc == 0;
}

static bool free_port(struct cli_sampling_policy_planner *planner,
		      const struct cli_sampling_line *row, const char *port)
{
	struct sampling_cursor cursor;

	if (sampling_line_find(planner->dialect, planner->about->text, row->line, strlen(row->line),
			       (struct sampling_place){port, NULL}, &cursor))
		put_in_port(planner, port, row->off);
	return planner->rc == 0;
}

/* --- whose it is --- */

enum whose { NOBODYS, OURS, ANOTHERS };

/* By its name. */
static enum whose whose_named(struct cli_sampling_policy_planner *planner)
{
	const struct cli_sampling *sampling = planner->dialect->sampling;
	size_t named = strlen(sampling->named);
	struct sampling_cursor cursor = {.next = planner->about->text};
	enum whose whose = NOBODYS;

	while (sampling_line_next(planner->dialect, &cursor)) {
		if (cursor.is_inside)
			continue;
		if (sampling_line_begins(cursor.at, cursor.size, sampling->named, named)) {
			whose = OURS;
		} else if (sampling->others &&
			   sampling_line_begins(cursor.at, cursor.size, sampling->others,
						strlen(sampling->others))) {
			(void)text_format(planner->found->text, sizeof(planner->found->text),
					  "%.*s", (int)cursor.size, cursor.at);
			planner->found->foreign = true;
		}
	}
	return whose;
}

static enum whose whose_collector(struct cli_sampling_policy_planner *planner, const char *ours)
{
	const struct cli_sampling *sampling = planner->dialect->sampling;
	enum whose whose = NOBODYS;

	for (size_t i = 0; i < COUNT_OF(sampling->lines) && sampling->lines[i].line; i++) {
		const struct cli_sampling_line *row = &sampling->lines[i];
		size_t length = strcspn(row->line, "{");
		struct sampling_cursor cursor = {.next = planner->about->text};

		while ((row->flags & SAMPLING_COLLECTOR) &&
		       sampling_line_next(planner->dialect, &cursor)) {
			if (cursor.is_inside ||
			    !sampling_line_begins(cursor.at, cursor.size, row->line, length))
				continue;
			if (*ours && sampling_line_begins(cursor.at + length, cursor.size - length,
							  ours, strlen(ours))) {
				whose = OURS;
				continue;
			}
			(void)text_format(planner->found->text, sizeof(planner->found->text),
					  "%.*s", (int)cursor.size, cursor.at);
			return ANOTHERS;
		}
	}
	return whose;
}

/* By the words that the switch shows. */
static void take_off_line(struct cli_sampling_policy_planner *planner,
			  const struct cli_sampling_line *row)
{
	struct sampling_cursor cursor;
	char line[CLI_SAMPLING_POLICY_LINE_SIZE];

	if (!sampling_line_find(planner->dialect, planner->about->text, row->line,
				strcspn(row->line, "{"), cli_sampling_policy_top, &cursor))
		return;
	if (text_format(line, sizeof(line), "no %.*s", (int)cursor.size, cursor.at))
		cli_sampling_policy_put(planner, line);
	else
		planner->rc = E_LIMIT;
}

/* The last first. */
static void take_off(struct cli_sampling_policy_planner *planner)
{
	const struct cli_sampling *sampling = planner->dialect->sampling;
	char line[CLI_SAMPLING_POLICY_LINE_SIZE];

	for (size_t i = COUNT_OF(sampling->lines); i-- > 0;) {
		const struct cli_sampling_line *row = &sampling->lines[i];

		if (!row->line || !row->off || row->flags & SAMPLING_EACH_PORT)
			continue;
		if (row->flags & SAMPLING_IN_PORT)
			cli_sampling_policy_each_port(planner, row, free_port);
		/* What serves somebody else as well stays. */
		else if ((planner->found->foreign && !(row->flags & SAMPLING_COLLECTOR)) ||
			 (sampling->named &&
			  !is_there(planner, row->line, strcspn(row->line, "{"))))
			continue;
		else if (strcmp(row->off, "no") == 0)
			take_off_line(planner, row);
		else if (cli_sampling_policy_fill_in(planner, row->off, NULL, line))
			cli_sampling_policy_put(planner, line);
	}
}

/* --- all --- */

static uint32_t cli_sampling_policy_rate_of(const struct cli_sampling *sampling,
					    const struct sampling_wanted *wanted)
{
	uint32_t rate = sampling_rate(wanted, SPEED_BPS);
	uint32_t power = 1;

	if (sampling->rate_low && rate < sampling->rate_low)
		rate = sampling->rate_low;
	if (sampling->rate_high && rate > sampling->rate_high)
		rate = sampling->rate_high;
	while (sampling->rate_powers && power < rate)
		power *= 2;
	return sampling->rate_powers ? power : rate;
}

static void plan_wanted(struct cli_sampling_policy_planner *planner)
{
	const struct cli_sampling *sampling = planner->dialect->sampling;
	const struct cli_sampling_line *row = sampling->lines;

	while (row->line && !planner->rc) {
		if (row->flags & (SAMPLING_EACH_PORT | SAMPLING_IN_PORT)) {
			planner->found->sources = 0; /* of the last kind of line */
			cli_sampling_policy_each_port(planner, row++, want_port);
		} else if (row[1].line && row[1].flags & SAMPLING_INSIDE) {
			row = want_section(planner, row);
		} else {
			want_line(planner, row++);
		}
	}
	planner->found->rate_low = planner->found->rate_high = planner->rate;
	if (planner->anew && !planner->rc) {
		planner->plan->count = 0;
		take_off(planner);
	}
	/* All ports at once, by one line. */
	if (planner->found->agrees && !planner->found->sources && planner->about->config)
		planner->found->sources = (uint32_t)planner->about->config->port_count;
}

/* Things that have our name: no need to remember what was set up. */
static int plan_named(struct cli_sampling_policy_planner *planner)
{
	enum whose whose = whose_named(planner);

	if (planner->wanted->enabled) {
		if (planner->found->foreign)
			planner->found->agrees = false;
		else
			plan_wanted(planner);
		return planner->rc;
	}
	if (whose == OURS) {
		planner->found->agrees = false;
		take_off(planner);
	}
	planner->found->foreign = false;
	return planner->rc;
}

int cli_sampling_plan(const struct cli_dialect *dialect, const struct cli_sampling_about *about,
		      const struct sampling_wanted *wanted, struct sampling_found *ret_found,
		      struct cli_plan *ret)
{
	/* What is taken off is named as it was put there. */
	struct sampling_wanted named = *wanted;
	struct cli_sampling_policy_planner planner = {
		.dialect = dialect,
		.about = about,
		.wanted = &named,
		.rate = cli_sampling_policy_rate_of(dialect->sampling, wanted),
		.found = ret_found,
		.plan = ret};
	enum whose whose;

	if (!wanted->enabled)
		(void)text_copy(named.collector, sizeof(named.collector), about->ours);
	*ret_found = (struct sampling_found){.agrees = true};
	if (dialect->sampling->named)
		return plan_named(&planner);
	whose = whose_collector(&planner, named.collector);
	if (whose == ANOTHERS && wanted->enabled && *about->ours &&
	    whose_collector(&planner, about->ours) == OURS) {
		/* The one before: of ours. It goes first. */
		struct sampling_wanted before = *wanted;

		(void)text_copy(before.collector, sizeof(before.collector), about->ours);
		planner.wanted = &before;
		take_off(&planner);
		planner.wanted = &named;
		ret_found->agrees = false;
		return planner.rc;
	}
	if (whose == ANOTHERS) {
		ret_found->agrees = false;
		ret_found->foreign = wanted->enabled;
		return 0;
	}
	if (wanted->enabled) {
		plan_wanted(&planner);
		return planner.rc;
	}
	if (whose == NOBODYS)
		return 0;
	ret_found->agrees = false;
	take_off(&planner);
	return planner.rc;
}
