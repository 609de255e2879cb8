#include "peregrine/control/driver/cli/cli_sampling_policy.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "peregrine/control/driver/cli/cli_port.h"

LEAKS_LEFT_TO_SANITIZER

enum { LINE_SIZE = 256, SEND_LIMIT = 10000 };

/* Speeds do not stand in a configuration: what these families' ports have, mostly. */
#define SPEED_BPS UINT64_C(10000000000)

struct planner {
	const struct cli_dialect *dialect;
	const struct cli_sampling_about *about;
	const struct sampling_wanted *wanted;
	uint32_t rate;
	struct sampling_found *found;
	struct cli_plan *plan;
	int rc;
};

/* --- lines ------------------------------------------------------------------------------ */

static void add_hole(const struct planner *planner, const char *hole, const char *port,
		     struct text *ret)
{
	const struct sampling_wanted *wanted = planner->wanted;
	const struct {
		const char *name, *text;
		unsigned number;
	} values[] = {
		{"{collector}", wanted->collector, 0}, {"{agent}", planner->about->agent, 0},
		{"{port}", port ? port : "", 0},       {"{udp}", NULL, wanted->port},
		{"{rate}", NULL, planner->rate},       {"{header}", NULL, wanted->header},
		{"{poll}", NULL, wanted->poll_s},
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

static bool fill_in(const struct planner *planner, const char *line, const char *port,
		    char ret[LINE_SIZE])
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
	return !text.failed && text_copy(ret, LINE_SIZE, text_get(&text));
}

/* Whole words of `line`, whatever its case, are the beginning of the `size` bytes at `at`. */
static bool begins(const char *at, size_t size, const char *line, size_t length)
{
	if (size < length || strncasecmp(at, line, length) != 0)
		return false;
	return size == length || at[length] == ' ' || (length > 0 && line[length - 1] == ' ');
}

/* Goes through the lines of a configuration, without the spaces around them. */
struct cursor {
	const char *next;
	const char *at;
	size_t size;
	bool is_inside; /* of a section */
	char port[64];  /* the section is this port's; "" = none */
};

static bool next_line(const struct cli_dialect *dialect, struct cursor *cursor)
{
	static const char head[] = "interface ";
	const char *end;

	if (!*cursor->next)
		return false;
	cursor->at = cursor->next;
	end = cursor->at + strcspn(cursor->at, "\n");
	cursor->next = end + (*end == '\n');
	cursor->is_inside = isspace((unsigned char)*cursor->at);
	while (cursor->at < end && isspace((unsigned char)*cursor->at))
		cursor->at++;
	while (end > cursor->at && isspace((unsigned char)end[-1]))
		end--;
	cursor->size = (size_t)(end - cursor->at);
	if (cursor->is_inside)
		return true;
	cursor->port[0] = '\0';
	if (begins(cursor->at, cursor->size, head, sizeof(head) - 1)) {
		char name[64];

		(void)text_format(name, sizeof(name), "%.*s",
				  (int)(cursor->size - sizeof(head) + 1),
				  cursor->at + sizeof(head) - 1);
		cli_port_name(dialect, name, cursor->port, sizeof(cursor->port));
	}
	return true;
}

/* The first line of the configuration that begins as `line` does before its first hole, or is it;
 * with `port`, in that port's section. */
static bool find(const struct planner *planner, const char *line, size_t length, const char *port,
		 struct cursor *ret)
{
	*ret = (struct cursor){.next = planner->about->text};
	while (next_line(planner->dialect, ret)) {
		if (ret->is_inside == (port != NULL) &&
		    (!port || cli_port_same(planner->dialect, ret->port, port)) &&
		    begins(ret->at, ret->size, line, length))
			return true;
	}
	return false;
}

static void put(struct planner *planner, const char *text)
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

static void put_in_port(struct planner *planner, const char *port, const char *text)
{
	char head[LINE_SIZE];

	(void)text_format(head, sizeof(head), "interface %s", port);
	put(planner, head);
	put(planner, text);
	put(planner, "exit");
}

/* --- as it is wanted ------------------------------------------------------------------------ */

static void differs(struct planner *planner, const char *line)
{
	if (planner->found->agrees)
		(void)text_format(planner->found->text, sizeof(planner->found->text),
				  "it has no \"%.70s\"", line);
	planner->found->agrees = false;
}

static void want_line(struct planner *planner, const struct cli_sampling_line *row)
{
	char line[LINE_SIZE];
	struct cursor cursor;

	if (!fill_in(planner, row->line, NULL, line)) {
		planner->rc = E_LIMIT;
		return;
	}
	if (find(planner, line, strlen(line), NULL, &cursor))
		return;
	if (row->assumed && strcmp(line, row->assumed) == 0 &&
	    !find(planner, row->line, strcspn(row->line, "{"), NULL, &cursor))
		return;
	differs(planner, line);
	put(planner, line);
}

/* Aggregates are sampled at their members. */
static bool is_sampled(const struct cli_port *port)
{
	static const char *const aggregates[] = {"port-channel", "po", "lag"};

	for (size_t i = 0; i < COUNT_OF(aggregates); i++) {
		if (strncasecmp(port->name, aggregates[i], strlen(aggregates[i])) == 0)
			return false;
	}
	return true;
}

static void want_ports(struct planner *planner, const struct cli_sampling_line *row)
{
	const struct cli_config *config = planner->about->config;

	for (size_t i = 0; i < config->port_count && !planner->rc; i++) {
		const char *port = config->ports[i].name;
		bool inside = (row->flags & SAMPLING_IN_PORT) != 0;
		char line[LINE_SIZE];
		struct cursor cursor;

		if (!is_sampled(&config->ports[i]) || !cli_port_name_ok(port))
			continue;
		if (!fill_in(planner, row->line, port, line)) {
			planner->rc = E_LIMIT;
		} else if (find(planner, line, strlen(line), inside ? port : NULL, &cursor)) {
			planner->found->sources++;
		} else {
			differs(planner, line);
			if (inside)
				put_in_port(planner, port, line);
			else
				put(planner, line);
		}
	}
}

/* --- whose it is --------------------------------------------------------------------------------
 */

enum whose { NOBODYS, OURS, ANOTHERS };

static enum whose whose_collector(struct planner *planner, const char *ours)
{
	const struct cli_sampling *sampling = planner->dialect->sampling;
	enum whose whose = NOBODYS;

	for (size_t i = 0; i < COUNT_OF(sampling->lines) && sampling->lines[i].line; i++) {
		const struct cli_sampling_line *row = &sampling->lines[i];
		size_t length = strcspn(row->line, "{");
		struct cursor cursor = {.next = planner->about->text};

		while ((row->flags & SAMPLING_COLLECTOR) && next_line(planner->dialect, &cursor)) {
			if (cursor.is_inside || !begins(cursor.at, cursor.size, row->line, length))
				continue;
			if (*ours &&
			    begins(cursor.at + length, cursor.size - length, ours, strlen(ours))) {
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
static void take_off_line(struct planner *planner, const struct cli_sampling_line *row)
{
	struct cursor cursor;
	char line[LINE_SIZE];

	if (!find(planner, row->line, strcspn(row->line, "{"), NULL, &cursor))
		return;
	if (text_format(line, sizeof(line), "no %.*s", (int)cursor.size, cursor.at))
		put(planner, line);
	else
		planner->rc = E_LIMIT;
}

/* The last first. */
static void take_off(struct planner *planner)
{
	const struct cli_sampling *sampling = planner->dialect->sampling;
	char line[LINE_SIZE];

	for (size_t i = COUNT_OF(sampling->lines); i-- > 0;) {
		const struct cli_sampling_line *row = &sampling->lines[i];

		if (!row->line || !row->off ||
		    (row->flags & (SAMPLING_EACH_PORT | SAMPLING_IN_PORT)))
			continue;
		if (strcmp(row->off, "no") == 0)
			take_off_line(planner, row);
		else if (fill_in(planner, row->off, NULL, line))
			put(planner, line);
	}
}

/* --- all
 * ------------------------------------------------------------------------------------------ */

static uint32_t rate_of(const struct cli_sampling *sampling, const struct sampling_wanted *wanted)
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

static void plan_wanted(struct planner *planner)
{
	const struct cli_sampling *sampling = planner->dialect->sampling;

	for (size_t i = 0; i < COUNT_OF(sampling->lines) && sampling->lines[i].line && !planner->rc;
	     i++) {
		if (sampling->lines[i].flags & (SAMPLING_EACH_PORT | SAMPLING_IN_PORT))
			want_ports(planner, &sampling->lines[i]);
		else
			want_line(planner, &sampling->lines[i]);
	}
	planner->found->rate_low = planner->found->rate_high = planner->rate;
	/* All ports at once, by one line. */
	if (planner->found->agrees && !planner->found->sources)
		planner->found->sources = (uint32_t)planner->about->config->port_count;
}

int cli_sampling_plan(const struct cli_dialect *dialect, const struct cli_sampling_about *about,
		      const struct sampling_wanted *wanted, struct sampling_found *ret_found,
		      struct cli_plan *ret)
{
	/* What is taken off is named as it was put there. */
	struct sampling_wanted named = *wanted;
	struct planner planner = {.dialect = dialect,
				  .about = about,
				  .wanted = &named,
				  .rate = rate_of(dialect->sampling, wanted),
				  .found = ret_found,
				  .plan = ret};
	enum whose whose;

	if (!wanted->enabled)
		(void)text_copy(named.collector, sizeof(named.collector), about->ours);
	*ret_found = (struct sampling_found){.agrees = true};
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
