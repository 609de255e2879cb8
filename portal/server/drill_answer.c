#include "portal/server/drill_answer.h"

#include <inttypes.h>
#include <math.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json_text.h"
#include "common/model/drill_url.h"
#include "common/model/estimate_policy.h"

#include "portal/server/drill_store.h"

/* One row's sums, and what it may have had that was dropped before it was kept. */
struct drill_sums {
	struct traffic_sums sums;
	uint64_t missed;
};

static struct drill_sums sums_at(const PGresult *rows, int row, int first)
{
	return (struct drill_sums){
		.sums = {.bytes = (uint64_t)db_int(rows, row, first, 0),
			 .packets = (uint64_t)db_int(rows, row, first + 1, 0),
			 .samples = (uint64_t)db_int(rows, row, first + 2, 0),
			 .square = strtod(db_text(rows, row, first + 3, "0"), NULL)},
		.missed = (uint64_t)db_int(rows, row, first + 4, 0)};
}

/* Takes a child away from what is left for "other". False when it has more than is there. */
static bool take_from(struct traffic_sums *left, const struct traffic_sums *child)
{
	if (child->bytes > left->bytes || child->packets > left->packets ||
	    child->samples > left->samples)
		return false;
	left->bytes -= child->bytes;
	left->packets -= child->packets;
	left->samples -= child->samples;
	left->square = fmax(0, left->square - child->square);
	return true;
}

static void add_sums(struct text *body, const struct drill_sums *of, uint64_t total, double seconds)
{
	struct estimate estimate = estimate_of(&of->sums, of->missed);

	json_int(body, "bytes", (int64_t)estimate.bytes);
	json_int(body, "bytes_low", (int64_t)estimate.low);
	json_int(body, "bytes_high", (int64_t)estimate.high);
	json_int(body, "bits_per_second",
		 seconds > 0 ? llround((double)estimate.bytes * 8 / seconds) : 0);
	json_int(body, "packets", (int64_t)of->sums.packets);
	json_int(body, "samples", (int64_t)of->sums.samples);
	json_double(body, "share", total > 0 ? (double)estimate.bytes / (double)total : 0);
}

static void add_exact(struct text *body, const PGresult *rows, int row, int column)
{
	bool known = !db_is_null(rows, row, column);

	if (known)
		json_int(body, "exact_bytes", db_int(rows, row, column, 0));
	else
		json_null(body, "exact_bytes");
	if (known)
		json_double(body, "exact_seconds",
			    round(strtod(db_text(rows, row, column + 1, "0"), NULL) * 1000) / 1000);
	else
		json_null(body, "exact_seconds");
}

/* --- names --- */

static void add_socket(struct text *name, const char *address, int port)
{
	text_addf(name, strchr(address, ':') && port ? "[%s]" : "%s", address);
	if (port)
		text_addf(name, ":%d", port);
}

static void add_flow(struct text *name, const struct drill_path *path)
{
	static const struct {
		int number;
		const char *word;
	} rows[] = {{IPPROTO_TCP, "tcp"},
		    {IPPROTO_UDP, "udp"},
		    {IPPROTO_ICMP, "icmp"},
		    {IPPROTO_ICMPV6, "icmp6"}};

	if (!path->flow.source[0]) {
		text_addf(name, "EtherType 0x%04x %s", (unsigned)path->flow.ethertype,
			  path->flow.forward ? "forward" : "back");
		return;
	}
	add_socket(name, path->flow.source, path->flow.source_port);
	text_add(name, " > ");
	add_socket(name, path->flow.target, path->flow.target_port);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		if (rows[i].number == path->flow.protocol) {
			text_addf(name, " %s", rows[i].word);
			return;
		}
	}
	text_addf(name, " protocol %d", path->flow.protocol);
}

/* What `path` names, for people. */
static void add_name(struct text *name, const struct drill_path *path)
{
	switch (path->level) {
	case DRILL_LINK: text_addf(name, "%s:%s", path->switch_name, path->port); return;
	case DRILL_OWNER:
		text_addf(name, path->nobody ? "nobody's: %s" : "%s", path->owner);
		return;
	case DRILL_VLAN: text_addf(name, "vlan %d", path->vlan); return;
	case DRILL_PAIR: text_addf(name, "%s - %s", path->a, path->b); return;
	case DRILL_FLOW: add_flow(name, path); return;
	case DRILL_ALL:
	case DRILL_LEVEL_COUNT: return;
	}
}

static void add_row_names(const struct drill *drill, const PGresult *rows, int row,
			  struct text *body)
{
	CLEANUP(text_done) struct text text = {0};
	CLEANUP(text_done) struct text name = {0};
	const char *keys[DRILL_KEYS_MAX];
	struct drill_path child;

	for (int i = 0; i < DRILL_KEYS_MAX; i++)
		keys[i] = db_text(rows, row, DRILL_KEY_FIRST + i, "");
	if (drill_path_down(&drill->path, keys, &child)) {
		drill_path_print(&child, &text);
		add_name(&name, &child);
		json_string(body, "path", text_get(&text));
		json_string(body, "name", text_get(&name));
	} else { /* an end without an address: it cannot be asked for */
		json_null(body, "path");
		json_string(body, "name", keys[0]);
	}
	json_string(body, "network", db_text(rows, row, DRILL_NETWORK, ""));
}

/* --- notes --- */

static void add_notes(const struct drill *drill, bool too_much, struct text *body)
{
	const struct drill_window *window = &drill->window;
	char note[200];

	json_begin_array(body, "notes");
	if (!window->kept) {
		(void)text_format(note, sizeof(note),
				  drill->path.level >= DRILL_PAIR
					  ? "flows of so long ago are not kept: ask for the pair's "
					    "VLAN, or for a later time"
					  : "so long ago is not kept: ask for a later time");
		json_string(body, NULL, note);
	}
	if (window->present < window->buckets) {
		(void)text_format(note, sizeof(note),
				  "%" PRId64 " of %" PRId64 " buckets of %" PRId64
				  " s are missing: nobody collected then",
				  window->buckets - window->present, window->buckets,
				  window->length);
		json_string(body, NULL, note);
	}
	if (window->present > 0 && window->seconds + 1 < (double)window->asked) {
		(void)text_format(note, sizeof(note),
				  "collected for %.0f of %" PRId64 " s: rates are over these",
				  window->seconds, window->asked);
		json_string(body, NULL, note);
	}
	if (window->memory > 0) {
		(void)text_format(note, sizeof(note),
				  "%" PRId64 " of the seconds are from the collector's memory, %s",
				  window->memory,
				  window->step > 1 ? "the rest from stored minutes"
						   : "none is stored yet");
		json_string(body, NULL, note);
	}
	if (window->recent && window->absent) {
		(void)text_format(note, sizeof(note),
				  "stored minutes only, the last one may be missing: %s",
				  window->absent);
		json_string(body, NULL, note);
	}
	if (window->thinned > 1) {
		(void)text_format(note, sizeof(note),
				  "thinned: the collector was overloaded and used one of %.0f "
				  "samples at worst; bounds are wider for it",
				  window->thinned);
		json_string(body, NULL, note);
	}
	if (window->is_operator && window->nobodys > 0) {
		(void)text_format(note, sizeof(note),
				  "%" PRId64 " of %" PRId64 " bytes that entered are nobody's",
				  window->nobodys, window->bytes);
		json_string(body, NULL, note);
	}
	if (window->is_operator && window->lost > 0) {
		(void)text_format(note, sizeof(note),
				  "%" PRId64 " bytes did not fit into the collector's memory",
				  window->lost);
		json_string(body, NULL, note);
	}
	if (drill->path.level == DRILL_ALL)
		json_string(body, NULL, "a frame counts on each link that it takes");
	if (too_much)
		json_string(body, NULL, "rows have more than their total: a mistake of ours");
	json_end_array(body);
}

/* The same place and time, whenever it is opened. */
static void add_url(const struct drill *drill, const char *path, struct text *body)
{
	CLEANUP(text_done) struct text text = {0};
	int64_t asked = drill->window.asked > 0 ? drill->window.asked : 60;
	bool minutes = asked % 60 == 0;
	struct drill_url url = {0};

	(void)text_copy(url.path, sizeof(url.path), path);
	(void)text_copy(url.at, sizeof(url.at), drill->window.to);
	(void)text_format(url.window, sizeof(url.window), "%" PRId64 "%s",
			  minutes ? asked / 60 : asked, minutes ? "m" : "s");
	drill_url_print(&url, &text);
	json_string(body, "url", text_get(&text));
}

bool drill_has_traffic(const PGresult *rows)
{
	return db_int(rows, 0, DRILL_TOTAL, 0) > 0;
}

void drill_answer(const struct drill *drill, const PGresult *rows, struct text *body)
{
	CLEANUP(text_done) struct text path = {0};
	double seconds = drill->window.seconds;
	struct drill_sums total = sums_at(rows, 0, DRILL_TOTAL);
	struct drill_sums other = {.sums = total.sums};
	bool too_much = false;

	drill_path_print(&drill->path, &path);
	json_begin_object(body, NULL);
	json_string(body, "path", text_get(&path));
	add_url(drill, text_get(&path), body);
	json_string(body, "level", drill_level_words[drill->path.level]);
	json_string(body, "from", drill->window.from);
	json_string(body, "to", drill->window.to);
	json_int(body, "step", drill->window.step);
	json_double(body, "seconds", seconds);
	json_int(body, "memory_seconds", drill->window.memory);
	json_double(body, "thinned", drill->window.thinned);
	json_begin_object(body, "total");
	add_sums(body, &total, total.sums.bytes, seconds);
	add_exact(body, rows, 0, DRILL_TOTAL_EXACT);
	json_end_object(body);
	json_begin_array(body, "rows");
	for (int i = 0; i < PQntuples(rows) && !db_is_null(rows, i, DRILL_BYTES); i++) {
		struct drill_sums child = sums_at(rows, i, DRILL_BYTES);

		too_much = !take_from(&other.sums, &child.sums) || too_much;
		json_begin_object(body, NULL);
		add_row_names(drill, rows, i, body);
		add_sums(body, &child, total.sums.bytes, seconds);
		add_exact(body, rows, i, DRILL_EXACT);
		json_end_object(body);
	}
	json_end_array(body);
	json_begin_object(body, "other");
	add_sums(body, &other, total.sums.bytes, seconds);
	json_end_object(body);
	add_notes(drill, too_much, body);
	json_end_object(body);
}
