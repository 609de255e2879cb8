#include "portal/server/drill_answer.h"

#include <inttypes.h>
#include <math.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/json_text.h"
#include "common/model/drill_url.h"
#include "common/model/estimate_policy.h"

#include "portal/server/drill_store_sql.h"

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

static void drill_answer_add_sums(struct text *body, const struct drill_sums *of, uint64_t total,
				  double seconds)
{
	struct estimate estimate = estimate_of(&of->sums, of->missed);

	json_put_int(body, "bytes", (int64_t)estimate.bytes);
	json_put_int(body, "bytes_low", (int64_t)estimate.low);
	json_put_int(body, "bytes_high", (int64_t)estimate.high);
	json_put_int(body, "bits_per_second",
		     seconds > 0 ? llround((double)estimate.bytes * 8 / seconds) : 0);
	json_put_int(body, "packets", (int64_t)of->sums.packets);
	json_put_int(body, "samples", (int64_t)of->sums.samples);
	json_put_double(body, "share", total > 0 ? (double)estimate.bytes / (double)total : 0);
}

static void add_exact(struct text *body, bool known, int64_t bytes, double seconds)
{
	if (known)
		json_put_int(body, "exact_bytes", bytes);
	else
		json_put_null(body, "exact_bytes");
	if (known)
		json_put_double(body, "exact_seconds", round(seconds * 1000) / 1000);
	else
		json_put_null(body, "exact_seconds");
}

static void add_exact_of_row(struct text *body, const PGresult *rows, int row)
{
	add_exact(body, !db_is_null(rows, row, DRILL_EXACT), db_int(rows, row, DRILL_EXACT, 0),
		  strtod(db_text(rows, row, DRILL_EXACT_SECONDS, "0"), NULL));
}

/* --- scaled to what an interface counted --- */

static struct drill_sums part_of(const struct drill *drill, const struct drill_sums *sums)
{
	if (!drill->scale.known)
		return *sums;
	return (struct drill_sums){
		.sums = drill->window.is_operator ? scale_part(&drill->scale, &sums->sums)
						  : scale_own(&drill->scale, &sums->sums),
		.missed = (uint64_t)ceil((double)sums->missed * drill->scale.factor)};
}

/* To who sees all of a link its total is the link itself. */
static struct drill_sums whole_of(const struct drill *drill, const struct drill_sums *sums)
{
	if (!drill->scale.known || drill->path.level != DRILL_LINK || !drill->window.is_operator)
		return part_of(drill, sums);
	return (struct drill_sums){.sums = scale_whole(&drill->scale, &sums->sums)};
}

/* What is told adds up: of "other" only the bound is its own. */
static struct drill_sums other_of(const struct drill *drill, const struct drill_sums *raw,
				  const struct traffic_sums *left)
{
	struct drill_sums other = part_of(drill, raw);

	if (!drill->scale.known)
		return *raw;
	other.sums.bytes = left->bytes;
	other.sums.packets = left->packets;
	if (!left->samples)
		other.sums.square = 0;
	return other;
}

/* --- names --- */

static void add_socket(struct text *name, const char *address, int port)
{
	text_addf(name, strchr(address, ':') && port ? "[%s]" : "%s", address);
	if (port)
		text_addf(name, ":%d", port);
}

static void drill_answer_add_flow(struct text *name, const struct drill_path *path)
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
static void drill_answer_add_name(struct text *name, const struct drill_path *path)
{
	switch (path->level) {
	case DRILL_LINK: text_addf(name, "%s:%s", path->switch_name, path->port); return;
	case DRILL_OWNER:
		text_addf(name, path->nobody ? "nobody's: %s" : "%s", path->owner);
		return;
	case DRILL_VLAN: text_addf(name, "vlan %d", path->vlan); return;
	case DRILL_PAIR: text_addf(name, "%s - %s", path->a, path->b); return;
	case DRILL_FLOW: drill_answer_add_flow(name, path); return;
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
		keys[i] = db_text(rows, row, DRILL_K1 + i, "");
	if (drill_path_down(&drill->path, keys, &child)) {
		drill_path_print(&child, &text);
		drill_answer_add_name(&name, &child);
		json_put_string(body, "path", text_get(&text));
		json_put_string(body, "name", text_get(&name));
	} else { /* an end without an address: it cannot be asked for */
		json_put_null(body, "path");
		json_put_string(body, "name", keys[0]);
	}
	json_put_string(body, "network", db_text(rows, row, DRILL_NETWORK, ""));
}

/* --- notes --- */

/* Times are RFC 3339 in UTC: they compare as texts. */
static bool is_to_come(const struct drill_window *window)
{
	char now[32] = "";
	time_t at = time(NULL);
	struct tm parts;

	if (gmtime_r(&at, &parts))
		(void)strftime(now, sizeof(now), "%Y-%m-%dT%H:%M:%SZ", &parts);
	return now[0] && strcmp(window->from, now) > 0;
}

/* Which buckets are not there, and why. */
static void add_missing(const struct drill *drill, struct text *body)
{
	const struct drill_window *window = &drill->window;
	char note[200];

	if (is_to_come(window)) {
		json_put_string(body, NULL, "that time is still to come");
		return;
	}
	if (window->present + window->pending < window->buckets) {
		(void)text_format(note, sizeof(note),
				  "%" PRId64 " of %" PRId64 " buckets of %" PRId64
				  " s are missing: no collector was running then",
				  window->buckets - window->present - window->pending,
				  window->buckets, window->length);
		json_put_string(body, NULL, note);
	}
	/* What ends now ends with a bucket that is over. */
	if (window->pending > 0 || (drill->at_s == 0 && window->length > 60)) {
		(void)text_format(
			note, sizeof(note),
			"traffic after %s is not summed up yet in steps of %" PRId64 " s%s",
			window->until, window->length,
			window->length > 60 ? ": a window of 6h or less reaches further" : "");
		json_put_string(body, NULL, note);
	}
}

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
		json_put_string(body, NULL, note);
	}
	add_missing(drill, body);
	if (window->early && !is_to_come(window)) {
		(void)text_format(note, sizeof(note),
				  "traffic after %s is not collected yet: ask again for more",
				  window->to);
		json_put_string(body, NULL, note);
	}
	if (window->present > 0 && window->seconds + 1 < (double)window->asked) {
		(void)text_format(note, sizeof(note),
				  "collected for %.0f of %" PRId64 " s: rates are over these",
				  window->seconds, window->asked);
		json_put_string(body, NULL, note);
	}
	if (window->memory > 0) {
		(void)text_format(note, sizeof(note),
				  "%" PRId64 " of the seconds are from the collector's memory, %s",
				  window->memory,
				  window->step > 1 ? "the rest from stored minutes"
						   : "none is stored yet");
		json_put_string(body, NULL, note);
	}
	if (window->recent && window->absent) {
		(void)text_format(note, sizeof(note),
				  "stored minutes only, the last one may be missing: %s",
				  window->absent);
		json_put_string(body, NULL, note);
	}
	if (window->thinned > 1) {
		(void)text_format(note, sizeof(note),
				  "thinned: the collector was overloaded and used one of %.0f "
				  "samples at worst; bounds are wider for it",
				  window->thinned);
		json_put_string(body, NULL, note);
	}
	if (drill->scale.known) {
		(void)text_format(
			note, sizeof(note),
			"scaled to the interface's counters of about the same time: samples say %.3f of that%s",
			1 / drill->scale.factor,
			scale_is_odd(&drill->scale)
				? ", which is more than chance: check its sampling rate"
				: "");
		json_put_string(body, NULL, note);
	}
	if (window->is_operator && window->nobodys > 0) {
		(void)text_format(note, sizeof(note),
				  "%" PRId64 " of %" PRId64
				  " bytes that entered are not attributed to a tenant",
				  window->nobodys, window->bytes);
		json_put_string(body, NULL, note);
	}
	if (window->is_operator && window->lost > 0) {
		(void)text_format(note, sizeof(note),
				  "%" PRId64 " bytes did not fit into the collector's memory",
				  window->lost);
		json_put_string(body, NULL, note);
	}
	if (drill->path.level == DRILL_ALL)
		json_put_string(body, NULL, "a frame counts on each link that it takes");
	if (too_much)
		json_put_string(body, NULL, "internal error: rows have more than their total");
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
	json_put_string(body, "url", text_get(&text));
}

bool drill_has_traffic(const PGresult *rows)
{
	return db_int(rows, 0, DRILL_TOTAL_BYTES, 0) > 0;
}

void drill_answer(const struct drill *drill, const PGresult *rows, struct text *body)
{
	CLEANUP(text_done) struct text path = {0};
	double seconds = drill->window.seconds;
	struct drill_sums raw = sums_at(rows, 0, DRILL_TOTAL_BYTES);
	struct drill_sums total = whole_of(drill, &raw);
	struct drill_sums other;
	struct traffic_sums left = total.sums; /* as it is told; `raw`: as it was sampled */
	bool too_much = false;

	drill_path_print(&drill->path, &path);
	json_begin_object(body, NULL);
	json_put_string(body, "path", text_get(&path));
	add_url(drill, text_get(&path), body);
	json_put_string(body, "level", drill_level_words[drill->path.level]);
	json_put_string(body, "from", drill->window.from);
	json_put_string(body, "to", drill->window.to);
	json_put_int(body, "step", drill->window.step);
	json_put_double(body, "seconds", seconds);
	json_put_int(body, "memory_seconds", drill->window.memory);
	json_put_double(body, "thinned", drill->window.thinned);
	json_put_bool(body, "exact", drill->scale.known);
	if (drill->scale.known)
		json_put_double(body, "scale", drill->scale.factor);
	else
		json_put_null(body, "scale");
	json_begin_object(body, "total");
	drill_answer_add_sums(body, &total, total.sums.bytes, seconds);
	add_exact(body, drill->path.level == DRILL_LINK && drill->exact_bytes >= 0,
		  drill->exact_bytes, drill->exact_seconds);
	json_end_object(body);
	json_begin_array(body, "rows");
	for (int i = 0; i < PQntuples(rows) && !db_is_null(rows, i, DRILL_BYTES); i++) {
		struct drill_sums sampled = sums_at(rows, i, DRILL_BYTES);
		struct drill_sums child = part_of(drill, &sampled);

		too_much = !take_from(&raw.sums, &sampled.sums) || too_much;
		too_much = !take_from(&left, &child.sums) || too_much;
		json_begin_object(body, NULL);
		add_row_names(drill, rows, i, body);
		drill_answer_add_sums(body, &child, total.sums.bytes, seconds);
		add_exact_of_row(body, rows, i);
		json_end_object(body);
	}
	json_end_array(body);
	raw.missed = 0;
	other = other_of(drill, &raw, &left);
	json_begin_object(body, "other");
	drill_answer_add_sums(body, &other, total.sums.bytes, seconds);
	json_end_object(body);
	add_notes(drill, too_much, body);
	json_end_object(body);
}

/* --- a series --- */

bool drill_series_has_traffic(const PGresult *rows)
{
	for (int i = 0; i < PQntuples(rows); i++) {
		if (db_int(rows, i, DRILL_SERIES_BYTES, 0) > 0)
			return true;
	}
	return false;
}

enum series_column { SERIES_AT, SERIES_SECONDS, SERIES_RATE, SERIES_LOW, SERIES_HIGH };

static void add_series_value(const struct drill *drill, const PGresult *rows, int row,
			     enum series_column column, struct text *body)
{
	double seconds = strtod(db_text(rows, row, DRILL_SERIES_SECONDS, "0"), NULL);
	struct drill_sums sampled = sums_at(rows, row, DRILL_SERIES_BYTES);
	struct drill_sums told = whole_of(drill, &sampled);
	struct estimate estimate = estimate_of(&told.sums, told.missed);
	const uint64_t bytes[] = {[SERIES_RATE] = estimate.bytes,
				  [SERIES_LOW] = estimate.low,
				  [SERIES_HIGH] = estimate.high};

	if (column == SERIES_AT)
		json_put_int(body, NULL, db_int(rows, row, DRILL_SERIES_AT, 0));
	else if (column == SERIES_SECONDS)
		json_put_double(body, NULL, seconds);
	else if (seconds <= 0)
		json_put_null(body, NULL);
	else
		json_put_int(body, NULL, llround((double)bytes[column] * 8 / seconds));
}

/* By column: a few hundred values each, which a page draws as they are. */
void drill_answer_series(const struct drill *drill, const PGresult *rows, struct text *body)
{
	static const char *const names[] = {[SERIES_AT] = "at",
					    [SERIES_SECONDS] = "seconds",
					    [SERIES_RATE] = "bits_per_second",
					    [SERIES_LOW] = "low",
					    [SERIES_HIGH] = "high"};
	CLEANUP(text_done) struct text path = {0};

	drill_path_print(&drill->path, &path);
	json_begin_object(body, NULL);
	json_put_string(body, "path", text_get(&path));
	add_url(drill, text_get(&path), body);
	json_put_string(body, "from", drill->window.from);
	json_put_string(body, "to", drill->window.to);
	json_put_int(body, "step", drill->window.step);
	json_put_bool(body, "exact", drill->scale.known);
	for (size_t i = 0; i < COUNT_OF(names); i++) {
		json_begin_array(body, names[i]);
		for (int row = 0; row < PQntuples(rows); row++)
			add_series_value(drill, rows, row, (enum series_column)i, body);
		json_end_array(body);
	}
	add_notes(drill, false, body);
	json_end_object(body);
}
