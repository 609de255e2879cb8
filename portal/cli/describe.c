/* haasctl node|pdci|switch describe: all that is known of one thing on one screen of 80 columns. It
 * joins answers that other commands show alone. A noun is a row of lines and of sections; texts are
 * formats over the JSON of the API:
 *
 *   {state}              the member as people read it; "-" when there is none; of a flag its name
 *   [, rack {rack}]      nothing when a member inside is null, false or empty */
#include <stdio.h>
#include <string.h>

#include "portal/cli/listing.h"

#define DESCRIBE_WIDTH 80
#define DESCRIBE_CELLS 6
#define DESCRIBE_ROWS  12 /* of a section, for people */
#define DESCRIBE_LEAST 30 /* columns for the last cell; with fewer it has lines of its own */
#define DESCRIBE_HANG  6

/* "  waits for    " */
#define DESCRIBE_TITLE 14

struct describe_line {
	const char *title, *format; /* of an empty text nothing is written */
};

struct describe_section {
	const char *name;   /* heading, and member of the JSON */
	const char *target; /* GET; the name is added behind a "=". NULL: of the thing itself */
	const char *member; /* the array in there */
	bool (*keep)(const json_t *row, const json_t *of); /* NULL: all */
	const char *cells[DESCRIBE_CELLS];                 /* NULL-ended */
	const char *more; /* command that lists all of them; the name is added */
	bool quiet;       /* no line says that there are none */
};

struct describe_noun {
	const char *noun, *before;
	const struct describe_line *lines;
	size_t line_count;
	const struct describe_section *sections;
	size_t section_count;
};

/* --- texts --- */

static const char *describe_value(const json_t *of, const char *path, struct text *scratch)
{
	const json_t *value = haasctl_member(of, path);
	const char *key = strrchr(path, '.') ? strrchr(path, '.') + 1 : path;

	if (!value || json_is_null(value) || json_is_false(value))
		return NULL;
	if (json_is_true(value))
		return key;
	(void)listing_text(value, key, scratch);
	return scratch->size > 0 ? text_get(scratch) : NULL;
}

/* The format without brackets; false when a member was missing. */
static bool describe_fill_plain(struct text *ret, const char *format, size_t length,
				const json_t *of)
{
	const char *end = format + length;
	bool whole = true;

	for (const char *at = format; at < end;) {
		size_t plain = strcspn(at, "{");
		size_t inside;
		char path[64];
		CLEANUP(text_done) struct text scratch = {0};
		const char *value;

		if (plain > (size_t)(end - at))
			plain = (size_t)(end - at);
		text_add_bytes(ret, at, plain);
		at += plain;
		if (at == end)
			break;
		inside = strcspn(at + 1, "}");
		(void)text_format(path, sizeof(path), "%.*s", (int)inside, at + 1);
		value = describe_value(of, path, &scratch);
		text_add(ret, value ? value : "-");
		whole = whole && value;
		at += inside + 2;
	}
	return whole;
}

/* A separator in front belongs to a part that was left out. A part that stands there already is not
 * said again: some events have their reason in the message. */
static void describe_fill(struct text *ret, const char *format, const json_t *of)
{
	text_clear(ret);
	while (*format) {
		size_t plain = strcspn(format, "[");
		size_t group;
		CLEANUP(text_done) struct text part = {0};
		const char *start;
		const char *words;

		(void)describe_fill_plain(ret, format, plain, of);
		format += plain;
		if (*format == '\0')
			break;
		group = strcspn(format, "]");
		if (describe_fill_plain(&part, format + 1, group - 1, of)) {
			start = text_get(&part);
			words = start + strspn(start, ",;: ");
			if (ret->size == 0)
				text_add(ret, words);
			else if (!strstr(text_get(ret), words))
				text_add(ret, start);
		}
		format += group + 1;
	}
}

/* Columns of a terminal: bytes that begin a character. */
static size_t describe_width(const char *text, size_t length)
{
	size_t width = 0;

	for (size_t i = 0; i < length; i++)
		width += ((unsigned char)text[i] & 0xc0) != 0x80;
	return width;
}

static void describe_pad(struct text *line, size_t width)
{
	for (size_t at = describe_width(text_get(line), line->size); at < width; at++)
		text_add(line, " ");
}

/* Writes the line without blanks at its end, and empties it. */
static void describe_end(struct text *line)
{
	while (line->size > 0 && line->data[line->size - 1] == ' ')
		line->data[--line->size] = '\0';
	listing_line(line);
	text_clear(line);
}

/* Puts words behind what `line` begins with, and writes it; what does not fit goes on below. */
static void describe_write(struct text *line, const char *words)
{
	size_t hang = describe_width(text_get(line), line->size);
	bool any = false;

	if (*words && hang + DESCRIBE_LEAST > DESCRIBE_WIDTH) {
		describe_end(line);
		hang = DESCRIBE_HANG;
		describe_pad(line, hang);
	}
	while (*words) {
		size_t length = strcspn(words, " \n");
		size_t at = describe_width(text_get(line), line->size);

		if (any && at + 1 + describe_width(words, length) > DESCRIBE_WIDTH) {
			describe_end(line);
			describe_pad(line, hang);
			any = false;
		}
		if (any)
			text_add(line, " ");
		text_add_bytes(line, words, length);
		any = true;
		words += length;
		words += strspn(words, " \n");
	}
	describe_end(line);
}

/* --- for people --- */

static void describe_lines(const struct describe_noun *noun, const json_t *of)
{
	CLEANUP(text_done) struct text words = {0};

	for (size_t i = 0; i < noun->line_count; i++) {
		CLEANUP(text_done) struct text line = {0};

		describe_fill(&words, noun->lines[i].format, of);
		if (words.size == 0)
			continue;
		text_addf(&line, "  %-*s", DESCRIBE_TITLE - 2, noun->lines[i].title);
		describe_write(&line, text_get(&words));
	}
}

static size_t describe_cell_count(const struct describe_section *section)
{
	size_t count = 0;

	while (count < DESCRIBE_CELLS && section->cells[count])
		count++;
	return count;
}

/* Cells in columns; the last one is as long as it likes. */
static void describe_row(const struct describe_section *section, const size_t widths[],
			 const json_t *row)
{
	size_t count = describe_cell_count(section);
	CLEANUP(text_done) struct text line = {0};
	CLEANUP(text_done) struct text cell = {0};
	size_t width = 2;

	text_add(&line, "  ");
	for (size_t i = 0; i + 1 < count; i++) {
		describe_fill(&cell, section->cells[i], row);
		text_add(&line, cell.size > 0 ? text_get(&cell) : "-");
		width += widths[i] + 2;
		describe_pad(&line, width);
	}
	describe_fill(&cell, section->cells[count - 1], row);
	describe_write(&line, text_get(&cell));
}

static void describe_rows(const struct describe_section *section, const json_t *rows,
			  const char *name)
{
	size_t count =
		json_array_size(rows) < DESCRIBE_ROWS ? json_array_size(rows) : DESCRIBE_ROWS;
	CLEANUP(text_done) struct text cell = {0};
	size_t widths[DESCRIBE_CELLS] = {1, 1, 1, 1, 1, 1}; /* "-" */

	if (count == 0 && section->quiet)
		return;
	printf("%s%s\n", section->name, count == 0 ? ": none" : "");
	for (size_t row = 0; row < count; row++) {
		for (size_t i = 0; i + 1 < describe_cell_count(section); i++) {
			describe_fill(&cell, section->cells[i], json_array_get(rows, row));
			size_t width = describe_width(text_get(&cell), cell.size);
			widths[i] = width > widths[i] ? width : widths[i];
		}
	}
	for (size_t row = 0; row < count; row++)
		describe_row(section, widths, json_array_get(rows, row));
	if (json_array_size(rows) > count)
		printf("  and %zu more: %s%s\n", json_array_size(rows) - count, section->more,
		       name);
}

/* --- asking --- */

/* Adds the rows of a section to `whole`; null when the caller may not see them. */
static int describe_ask(struct haasctl *haasctl, const struct command_input *input,
			const struct describe_section *section, const json_t *whose, json_t *whole)
{
	CLEANUP(haasctl_reply_done) struct haasctl_reply reply = {0};
	CLEANUP(text_done) struct text target = {0};
	const json_t *of = whose;
	json_t *rows = json_array();
	json_t *row;
	size_t i;

	if (section->target) {
		text_add(&target, section->target);
		if (target.data[target.size - 1] == '=')
			text_add_percent(&target, haasctl_word(whose, "name"));
		int status = haasctl_call(haasctl, input,
					  &(struct haasctl_call){.method = "GET",
								 .target = text_get(&target),
								 .untold = EXIT_DENIED},
					  &reply);
		if (status != EXIT_OK) {
			json_decref(rows);
			(void)json_object_set_new(whole, section->name, json_null());
			return status == EXIT_DENIED ? EXIT_OK : status;
		}
		of = reply.json;
	}
	json_array_foreach(haasctl_member(of, section->member), i, row)
	{
		if (!section->keep || section->keep(row, whose))
			(void)json_array_append(rows, row);
	}
	(void)json_object_set_new(whole, section->name, rows);
	return EXIT_OK;
}

static int describe_show(struct haasctl *haasctl, const struct command_input *input,
			 const struct describe_noun *noun)
{
	CLEANUP(haasctl_reply_done) struct haasctl_reply reply = {0};
	CLEANUP(json_decrefp) json_t *whole = json_object();
	CLEANUP(text_done) struct text target = {0};

	if (command_option(input, "--columns") ||
	    (!listing_for_people(input) && !listing_json(input, NULL)))
		return haasctl_usage("a description has no columns; take -o json, or %s show",
				     noun->noun);
	haasctl_path(&target, noun->before, input->words[0], "");
	haasctl_query(&target, input, "--tenant");
	int status = haasctl_get(haasctl, input, text_get(&target), &reply);
	if (status != EXIT_OK)
		return status;
	(void)json_object_set(whole, noun->noun, reply.json);
	for (size_t i = 0; i < noun->section_count && status == EXIT_OK; i++)
		status = describe_ask(haasctl, input, &noun->sections[i], reply.json, whole);
	if (status != EXIT_OK || listing_json(input, whole))
		return status;
	printf("%s %s\n", noun->noun, haasctl_word(reply.json, "name"));
	describe_lines(noun, reply.json);
	for (size_t i = 0; i < noun->section_count; i++) {
		const json_t *rows = json_object_get(whole, noun->sections[i].name);

		if (!json_is_null(rows))
			describe_rows(&noun->sections[i], rows, haasctl_word(reply.json, "name"));
	}
	return EXIT_OK;
}

/* --- rows of sections that are others' as well --- */

/* "leaf1" of an alert about leaf1 or leaf1:swp3. */
static bool describe_is_subject(const json_t *row, const char *kind, const json_t *of)
{
	const char *name = haasctl_word(of, "name");
	const char *subject = haasctl_word(row, "subject");
	size_t length = strlen(name);

	return strcmp(haasctl_word(row, "subject_kind"), kind) == 0 &&
	       strncmp(subject, name, length) == 0 && strchr(":", subject[length]);
}

static bool describe_of_node(const json_t *row, const json_t *of)
{
	return describe_is_subject(row, "node", of);
}

/* Two tenants may have a PDCI of one name. */
static bool describe_of_pdci(const json_t *row, const json_t *of)
{
	return describe_is_subject(row, "pdci", of) &&
	       strcmp(haasctl_word(row, "tenant"), haasctl_word(of, "tenant")) == 0;
}

static bool describe_of_switch(const json_t *row, const json_t *of)
{
	return describe_is_subject(row, "switch", of) || describe_is_subject(row, "port", of);
}

static bool describe_is_partial(const json_t *row, const json_t *of)
{
	(void)of;
	return strcmp(haasctl_word(row, "state"), "whole") != 0;
}

static bool describe_has_left(const json_t *row, const json_t *of)
{
	(void)of;
	return haasctl_word(row, "released_at")[0] &&
	       !json_is_true(json_object_get(row, "replacing"));
}

static bool describe_is_member(const json_t *row, const json_t *of)
{
	return !describe_has_left(row, of);
}

/* --- the nouns --- */

/* clang-format off */
#define DESCRIBE_EVENTS(kind, keep, list) \
	{"events", "/events?limit=10&order=newest&subject_kind=" kind "&subject=", "items", keep, \
	 {"{at}", "{actor}", "{message}[: {detail.reason}]"}, list, false}
#define DESCRIBE_ALERT {"{severity}", "{kind}", "{raised_at}", "{message}[; {hint}]"}

static const struct describe_line describe_node_lines[] = {
	{"state",     "{state}[, {dirty}][ since {state_since}][ by {state_actor}]"},
	{"reason",    "[{reason}]"},
	{"tenant",    "[{tenant}][, PDCI {pdci}][, since {rented_at}]"},
	{"hardware",  "[{class}][, rack {rack}][ unit {unit}][, {firmware}][, serial {serial}]"},
	{"Secure Boot", "{secure_boot}[, {attestation.attested}][, not attested: {attestation.why}][, {attestation.at}]"},
	{"power",     "{power}[, seen {power_at}]"},
	{"address",   "[{address}]"},
	{"BMC",       "[{bmc.driver}][ {bmc.address}][ port {bmc.port}][ {bmc.uri}]"},
	{"problem",   "[{bmc.problem.message}][; {bmc.problem.detail}][; {bmc.problem.hint}]"},
	{"effects",   "[{health.effects}]"},
};
static const struct describe_section describe_node_sections[] = {
	{"deployments", "/deployments?limit=3&node=", "items", NULL,
	 {"{id}", "{plan}", "{state}", "[{step}]", "{created_at}",
	  "[{problem.message}][; {problem.hint}][waits: {waiting.message}][ since {waiting.since}][; {waiting.hint}]"}, NULL, false},
	{"nics", NULL, "nics", NULL, {"{name}", "{mac}", "[{boot}]"}, "haasctl node show ", false},
	{"labels", "/labels?limit=500&node=", "items", NULL, {"{severity}", "{label}", "{raised_at}", "{reason}[; {hint}]"}, "haasctl health list --node ", false},
	{"alerts", "/alerts?limit=500&subject=", "items", describe_of_node, DESCRIBE_ALERT, "haasctl alert list --subject ", false},
	{"cables", "/locations?limit=500&node=", "items", NULL, {"{nic}", "{mac}", "[{switch}][:{port}]", "[seen {seen_at}]"}, "haasctl nic list --node ", false},
	{"planned", "/wiring?limit=500&node=", "items", NULL, {"[{nic}]", "{switch}:{port}"}, "haasctl wiring list --node ", true},
	DESCRIBE_EVENTS("node", NULL, "haasctl node trace "),
};

static const struct describe_line describe_pdci_lines[] = {
	{"state",     "{state}[, {locked}], {nodes_ready} of {nodes_wanted} nodes ready"},
	{"tenant",    "{tenant}"},
	{"asked",     "{created_at} by {actor}"},
	{"ready",     "[{ready_at}]"},
	{"ended",     "[{ended_at}]"},
	{"problem",   "[{problem.message}][; {problem.detail}][; {problem.hint}]"},
	{"waits for", "[{waiting.message}][ since {waiting.since}][; {waiting.hint}]"},
};
static const struct describe_section describe_pdci_sections[] = {
	{"members", NULL, "nodes", describe_is_member,
	 {"{node}", "[{address}]", "[{deployment.plan}]", "[{deployment.state}]", "[{deployment.step}]",
	  "[{problem.message}][, {problem.detail}][ since {problem.since}][waits: {deployment.waiting.message}]"}, "haasctl pdci show ", false},
	{"left", NULL, "nodes", describe_has_left, {"{node}", "{released_at}", "[now {replaced_by}]"}, "haasctl pdci show -o wide ", true},
	{"networks", NULL, "networks", NULL, {"{name}", "[{prefix}]"}, "haasctl pdci show ", false},
	{"volumes", NULL, "volumes", NULL, {"{name}", "{kind}", "{size_bytes}", "{state}"}, "haasctl volume list --pdci ", false},
	{"alerts", "/alerts?limit=500&subject=", "items", describe_of_pdci, DESCRIBE_ALERT, "haasctl alert list --subject ", false},
	DESCRIBE_EVENTS("pdci", describe_of_pdci, "haasctl event list --subject "),
};

static const struct describe_line describe_switch_lines[] = {
	{"state",     "{state}[, read {observed.read_at}]"},
	{"problem",   "[{observed.problem.message}][; {observed.problem.detail}][; {observed.problem.hint}]"},
	{"fabric",    "[{management.fabric}][, {management.role}]"},
	{"address",   "[{management.address}]"},
	{"family",    "[{observed.family}][, {observed.text}]"},
	{"ports",     "[{observed.up} of {observed.ports} up][, {observed.uplinks} uplinks]"},
};
static const struct describe_section describe_switch_sections[] = {
	{"unread", NULL, "observed.parts", describe_is_partial, {"{part}", "{state}", "{since}", "[{reason}]"}, "haasctl switch show ", true},
	{"alerts", "/alerts?limit=500", "items", describe_of_switch, {"{severity}", "{kind}", "{raised_at}", "{subject}: {message}[; {hint}]"}, "haasctl alert list --subject ", false},
	{"links", "/links?limit=500&switch=", "items", NULL, {"{a_switch}:{a_port}", "{b_switch}:{b_port}", "{state}", "[since {since}]"}, "haasctl link list --switch ", false},
	{"nodes", "/locations?limit=500&switch=", "items", NULL, {"{port}", "[{node}][:{nic}]", "{mac}", "[seen {seen_at}]"}, "haasctl nic list --switch ", false},
	DESCRIBE_EVENTS("switch", NULL, "haasctl event list --subject "),
};

static const struct describe_noun describe_nouns[] = {
	{"node", "/nodes/", COLUMNS(describe_node_lines), COLUMNS(describe_node_sections)},
	{"pdci", "/pdcis/", COLUMNS(describe_pdci_lines), COLUMNS(describe_pdci_sections)},
	{"switch", "/switches/", COLUMNS(describe_switch_lines), COLUMNS(describe_switch_sections)},
};
/* clang-format on */

int haasctl_describe_node(void *context, const struct command_input *input)
{
	return describe_show(context, input, &describe_nouns[0]);
}

int haasctl_describe_pdci(void *context, const struct command_input *input)
{
	return describe_show(context, input, &describe_nouns[1]);
}

int haasctl_describe_switch(void *context, const struct command_input *input)
{
	return describe_show(context, input, &describe_nouns[2]);
}
