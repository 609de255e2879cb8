/* From a member of a request to the option or the word that made it. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "common/base/macros.h"

#include "portal/cli/haasctl.h"
#include "portal/cli/refusal.h"

/* Members that are not called like their option. A place is the end of a pointer without its indexes; the first row
 * whose option the command has decides. All others: "size_bytes" is --size-bytes or --size, "packages" --package. */
static const struct {
	const char *place, *option;
} refusal_place_rows[] = {
	/* clang-format off */
	{"disks/count", "--disks"},
	{"disks/min_bytes", "--min-disk"},
	{"disks/rotational", "--disk-kind"},
	{"groups/count", "--nodes"},
	{"nics/network", "--nic"},
	{"nics/mode", "--nic"},
	{"bonds/name", "--bond"},
	{"bonds/nics", "--bond"},
	{"networks/name", "--network"},
	{"networks/prefix", "--network"},
	{"volumes/name", "--volume"},
	{"volumes/size_bytes", "--volume"},
	{"volumes/archive", "--volume"},
	{"expires_at", "--until"},
	{"hours", "--for"},
	{"max_bytes", "--size"},
	{"snap_length", "--snap"},
	{"wrap", "--ring"},
	{"vlan_low", "--vlans"},
	{"vlan_high", "--vlans"},
	{"parking_vlan", "--parking"},
	{"parking_count", "--parking"},
	{"repair", "--foreign"},
	{"port_low", "--low"},
	{"port_high", "--high"},
	{"port_offset", "--offset"},
	{"X-Haas-Tenant", "--as-tenant"},
	{"X-Haas-Case", "--case"},
	{"Haas-Reason", "--why"},
	{"Idempotency-Key", "--idempotency-key"},
	/* clang-format on */
};

static const char *const refusal_place_units[] = {"_bytes", "_s", "s", "es"};

#define PLACE_PARTS 8
#define SHOWN_SIZE  80 /* bytes of a value */
#define CUT_SIZE    3  /* "..." */

/* A pointer without indexes, in parts: "/groups/0/count" is "groups", "count". */
struct refusal_path {
	char parts[PLACE_PARTS][64];
	size_t count;
};

static struct refusal_path refusal_path_of(const char *pointer)
{
	struct refusal_path path = {0};

	while (*pointer && path.count < PLACE_PARTS) {
		size_t length;

		pointer += *pointer == '/';
		length = strcspn(pointer, "/");
		if (length > 0 && strspn(pointer, "0123456789") < length)
			(void)text_format(path.parts[path.count++], sizeof(path.parts[0]), "%.*s",
					  (int)length, pointer);
		pointer += length;
	}
	return path;
}

static const struct option_row *refusal_option(const struct command_input *input, const char *name)
{
	for (size_t i = 0; i < input->option_count; i++) {
		if (strcmp(input->options[i].name, name) == 0)
			return &input->options[i];
	}
	return NULL;
}

/* The option of a part of the path: "--part", also without a unit or a plural behind it. */
static const struct option_row *refusal_option_of(const struct command_input *input,
						  const char *part)
{
	const struct option_row *row;
	char name[72];
	char shorter[72];

	(void)text_format(name, sizeof(name), "--%s", part);
	for (char *at = strchr(name, '_'); at; at = strchr(at, '_'))
		*at = '-';
	row = refusal_option(input, name);
	for (size_t i = 0; !row && i < COUNT_OF(refusal_place_units); i++) {
		size_t length = strlen(part);
		size_t unit = strlen(refusal_place_units[i]);

		if (length <= unit || strcmp(part + length - unit, refusal_place_units[i]) != 0)
			continue;
		(void)text_format(shorter, sizeof(shorter), "%.*s", (int)(length - unit + 2), name);
		row = refusal_option(input, shorter);
	}
	return row;
}

/* Is the end of the path the place of a row? */
static bool refusal_path_ends(const struct refusal_path *path, const char *place)
{
	const char *slash = strchr(place, '/');
	size_t count = path->count;

	if (count == 0 || strcmp(path->parts[count - 1], slash ? slash + 1 : place) != 0)
		return false;
	return !slash || (count > 1 && strlen(path->parts[count - 2]) == (size_t)(slash - place) &&
			  strncmp(path->parts[count - 2], place, (size_t)(slash - place)) == 0);
}

/* An option that may have made the member. */
struct refusal_option {
	const struct option_row *row;
	bool part; /* it makes more than this member */
};

/* The options that may have made the member, the likeliest first. */
static size_t refusal_candidates(const struct command_input *input, const struct refusal_path *path,
				 struct refusal_option ret[PLACE_PARTS + 1])
{
	size_t count = 0;

	for (size_t i = 0; count == 0 && i < COUNT_OF(refusal_place_rows); i++) {
		if (refusal_path_ends(path, refusal_place_rows[i].place))
			ret[count].row = refusal_option(input, refusal_place_rows[i].option);
		count += ret[count].row != NULL;
	}
	for (size_t i = path->count; i > 0; i--) {
		ret[count].row = refusal_option_of(input, path->parts[i - 1]);
		ret[count].part = i < path->count;
		count += ret[count].row != NULL;
	}
	return count;
}

/* Where a value that portald cut ("aaaa...") stands on the command line in full; any other is as it is. */
static const char *refusal_whole(const struct command_input *input, const char *given)
{
	size_t length = strlen(given);
	char begin[128];
	const char *found = NULL;

	if (length <= CUT_SIZE || strcmp(given + length - CUT_SIZE, "...") != 0 ||
	    !text_format(begin, sizeof(begin), "%.*s", (int)(length - CUT_SIZE), given))
		return given;
	for (size_t i = 0; !found && i < input->word_count; i++)
		found = strstr(input->words[i], begin);
	for (size_t i = 0; !found && i < input->option_count; i++) {
		const char *const *words = input->repeats[i];

		found = input->values[i] ? strstr(input->values[i], begin) : NULL;
		for (; !found && *words; words++)
			found = strstr(*words, begin);
	}
	return found ? found : given;
}

/* The begin of a long value is enough for a person who typed it. */
static void refusal_add_value(struct text *ret, const char *value)
{
	size_t length = strlen(value);
	size_t shown = length <= SHOWN_SIZE ? length : SHOWN_SIZE - CUT_SIZE;

	while (shown < length && shown > 0 && ((unsigned char)value[shown] & 0xc0) == 0x80)
		shown--;
	text_add_bytes(ret, value, shown);
	text_add(ret, shown < length ? "..." : "");
}

/* What was typed for an option, of several that one which holds the wrong value. NULL: it was not typed. */
static const char *refusal_typed(const struct command_input *input, const struct option_row *row,
				 const char *given)
{
	const char *value = command_option(input, row->name);
	const char *const *words = command_options(input, row->name);

	if (!value || row->kind == OPTION_VALUE)
		return value;
	if (row->kind == OPTION_FLAG || !*given)
		return "";
	while (*words && !strstr(*words, given))
		words++;
	return *words;
}

/* The name of a word in the command's usage, "NODE" of "LABEL NODE..."; the last one may be repeated. */
static void refusal_word_name(const struct command_input *input, size_t index, struct text *ret)
{
	const char *at = input->command->arguments;

	for (; index > 0 && strchr(at, ' '); index--)
		at = strchr(at, ' ') + 1;
	at += *at == '[';
	text_addf(ret, "%.*s", (int)strcspn(at, " ].["), at);
}

/* The word of the command line that is the wrong value, or has it as a part: "eth0=blue". */
static bool refusal_word(const struct command_input *input, const char *given, struct text *ret)
{
	size_t found = input->word_count;

	for (size_t i = input->word_count; *given && i > 0; i--) {
		if (strcmp(input->words[i - 1], given) == 0)
			found = i - 1;
	}
	for (size_t i = 0; *given && found == input->word_count && i < input->word_count; i++) {
		if (strstr(input->words[i], given))
			found = i;
	}
	if (!input->command || found == input->word_count)
		return false;
	refusal_word_name(input, found, ret);
	text_add(ret, " ");
	refusal_add_value(ret, input->words[found]);
	return true;
}

/* "s" of "for_s", "bytes" of "size_bytes". */
static const char *refusal_unit(const char *part)
{
	static const char *const units[] = {"_s", "_bytes"};
	size_t length = strlen(part);

	for (size_t i = 0; i < COUNT_OF(units); i++) {
		size_t unit = strlen(units[i]);

		if (length > unit && strcmp(part + length - unit, units[i]) == 0)
			return units[i] + 1;
	}
	return "";
}

/* "--size 0"; "--for 3000h, 10800000 s" of a value that was converted; "--secrets FILE, ssh_password" and
 * "--nic eth0:blue, network blue" of an option in parts. */
static void refusal_add_option(const struct refusal_option *option, const char *typed,
			       const char *part, const char *given, struct text *ret)
{
	bool same = !*given || strcmp(typed, given) == 0 || option->row->kind == OPTION_FLAG;
	bool parts = option->part || (option->row->kind == OPTION_REPEAT && !same);
	const char *unit = refusal_unit(part);

	text_addf(ret, "%s%s", option->row->name, *typed ? " " : "");
	refusal_add_value(ret, typed);
	if (parts || !same)
		text_add(ret, ",");
	if (parts)
		text_addf(ret, " %s", part);
	if (same)
		return;
	text_add(ret, " ");
	refusal_add_value(ret, given);
	text_addf(ret, "%s%s", *unit ? " " : "", unit);
}

bool refusal_place(const struct command_input *input, const json_t *error, struct text *ret)
{
	static const char *const places[] = {"pointer", "parameter", "header"};
	struct refusal_option options[PLACE_PARTS + 1] = {0};
	const char *given = refusal_whole(input, haasctl_word(error, "given"));
	const char *place = NULL;
	size_t count;

	for (size_t i = 0; !place && i < COUNT_OF(places); i++)
		place = json_string_value(json_object_get(error, places[i]));
	if (!place)
		return false;
	struct refusal_path path = refusal_path_of(place);
	count = refusal_candidates(input, &path, options);
	for (size_t i = 0; i < count; i++) {
		const char *typed = refusal_typed(input, options[i].row, given);

		if (!typed)
			continue;
		refusal_add_option(&options[i], typed, path.parts[path.count - 1], given, ret);
		return true;
	}
	if (refusal_word(input, given, ret))
		return true;
	if (count > 0 && !*given) {
		text_add(ret, options[0].row->name);
		return true;
	}
	for (size_t i = 0; i < path.count; i++)
		text_addf(ret, "%s%s", i > 0 ? "." : "", path.parts[i]);
	text_add(ret, path.count > 0 && *given ? " " : "");
	refusal_add_value(ret, given);
	return true;
}
