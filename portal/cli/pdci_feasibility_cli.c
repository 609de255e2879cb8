/* Whether a PDCI could be had: what `haasctl pdci create --dry-run` tells. */
#include <stdio.h>
#include <string.h>

#include "common/base/count_text.h"

#include "portal/cli/listing.h"

#define LINE_WIDTH 79

/* Words, wrapped where a line is full; what follows the first line is set in further. */
static void tell_wrapped(const char *text)
{
	int at = fprintf(stderr, "  ");

	while (*text) {
		size_t length = strcspn(text, " ");

		if (at > 4 && at + 1 + (int)length > LINE_WIDTH)
			at = fprintf(stderr, "\n    ") - 1;
		else if (at > 4)
			at += fprintf(stderr, " ");
		at += fprintf(stderr, "%.*s", (int)length, text);
		text += length + strspn(text + length, " ");
	}
	fprintf(stderr, "\n");
}

/* "group 1 (class gpu): 2 of 3; 12 active, n7 held" */
static void tell_groups(const json_t *groups)
{
	const json_t *group;
	size_t i;

	json_array_foreach(groups, i, group)
	{
		const char *class = haasctl_word(group, "class");
		const char *why = json_string_value(json_object_get(group, "why"));
		CLEANUP(text_done) struct text line = {0};
		json_int_t possible = json_integer_value(json_object_get(group, "possible"));
		json_int_t wanted = json_integer_value(json_object_get(group, "wanted"));

		if (possible == wanted)
			continue;
		text_addf(&line,
			  "group %zu (%s%s): %" JSON_INTEGER_FORMAT " of %" JSON_INTEGER_FORMAT
			  "%s%s",
			  i + 1, *class ? "class " : "any class", class, possible, wanted,
			  why && *why ? "; " : "", why ? why : "");
		tell_wrapped(text_get(&line));
	}
}

/* "volume data of 8 GiB: storage s1", or the largest that there is room for. */
static void tell_volumes(const json_t *volumes, bool possible)
{
	const json_t *volume;
	size_t i;

	json_array_foreach(volumes, i, volume)
	{
		CLEANUP(text_done) struct text size = {0};
		CLEANUP(text_done) struct text largest = {0};
		const json_t *most = json_object_get(volume, "largest_bytes");
		bool fits = json_is_true(json_object_get(volume, "possible"));

		if (fits != possible)
			continue;
		fprintf(stderr, "  volume %s of %s: %s", haasctl_word(volume, "name"),
			listing_text(json_object_get(volume, "size_bytes"), "size_bytes", &size),
			fits ? "" : "no room");
		if (!fits && json_integer_value(most) > 0)
			fprintf(stderr, "; the largest that fits has %s,",
				listing_text(most, "size_bytes", &largest));
		if (fits || json_integer_value(most) > 0)
			fprintf(stderr, "%son storage %s", fits ? "" : " ",
				haasctl_word(volume, "storage"));
		fprintf(stderr, "\n");
	}
}

static bool has_impossible(const json_t *volumes)
{
	const json_t *volume;
	size_t i;

	json_array_foreach(volumes, i, volume)
	{
		if (!json_is_true(json_object_get(volume, "possible")))
			return true;
	}
	return false;
}

/* What of it cannot be had. Nodes are waited for, a volume without room is refused. */
static void tell_short(const json_t *answer)
{
	const json_t *volumes = json_object_get(answer, "volumes");
	bool room = !has_impossible(volumes);

	fprintf(stderr, "haasctl: %s\n",
		room ? "there are not enough free nodes"
		     : "the request is not possible as it stands");
	tell_groups(json_object_get(answer, "groups"));
	tell_volumes(volumes, false);
	fprintf(stderr, "  hint: reduce the request%s\n",
		room ? ", or ask without --dry-run: bampid then tries again by itself" : "");
}

int pdci_feasibility_tell(const struct command_input *input, json_t *answer)
{
	static const struct output_column columns[] = {NUMBER("group"), COLUMN("class"),
						       NUMBER("wanted"), NUMBER("possible")};
	bool feasible = json_is_true(json_object_get(answer, "feasible"));
	const json_t *nodes = json_object_get(answer, "nodes");
	CLEANUP(text_done) struct text names = {0};
	char racks[COUNT_TEXT_SIZE];
	char leaves[COUNT_TEXT_SIZE];
	json_t *group;
	size_t i;
	int status = EXIT_OK;

	if (!listing_json(input, answer)) {
		json_array_foreach(json_object_get(answer, "groups"), i, group)(void)
			json_object_set_new(group, "group", json_integer((json_int_t)i + 1));
		status = listing_rows(input, json_object_get(answer, "groups"), COLUMNS(columns));
	}
	if (feasible) {
		fprintf(stderr, "possible now: %s, %s%s%s\n",
			count_text(racks, json_integer_value(json_object_get(answer, "racks")),
				   "rack"),
			count_text(leaves, json_integer_value(json_object_get(answer, "leaves")),
				   "leaf switch"),
			json_array_size(nodes) > 0 ? ": " : "",
			json_array_size(nodes) > 0 ? listing_text(nodes, "nodes", &names) : "");
		tell_volumes(json_object_get(answer, "volumes"), true);
		return status;
	}
	tell_short(answer);
	return status == EXIT_OK ? EXIT_CONFLICT : status;
}
