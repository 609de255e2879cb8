#include "common/model/drill_path.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/model/attribution_reason.h"

const char *const drill_level_words[DRILL_LEVEL_COUNT + 1] = {
	[DRILL_ALL] = "all",   [DRILL_LINK] = "link", [DRILL_OWNER] = "owner",
	[DRILL_VLAN] = "vlan", [DRILL_PAIR] = "pair", [DRILL_FLOW] = "flow",
};

#define VLAN_MAX 4094
#define WORD_MAX 65535
#define BYTE_MAX 255

/* Names between the separators of one part. */
struct names {
	char at[DRILL_KEYS_MAX][DRILL_NAME_SIZE];
};

/* A part of a path: "word:name" with `count` names between `separator`s. */
struct part_row {
	const char *word;
	enum drill_level level;
	size_t count;
	char separator;
	const char *form; /* for hints */
};

static const struct part_row drill_path_parts[] = {
	{"link", DRILL_LINK, 2, ':', "link:SWITCH:PORT"},
	{"tenant", DRILL_OWNER, 1, ':', "tenant:NAME"},
	{"nobody", DRILL_OWNER, 1, ':', "nobody:REASON"},
	{"vlan", DRILL_VLAN, 1, ':', "vlan:N"},
	{"pair", DRILL_PAIR, 2, '~', "pair:A~B"},
	{"flow", DRILL_FLOW, 7, '~',
	 "flow:SOURCE~PORT~TARGET~PORT~PROTOCOL~ETHERTYPE~forward|back"},
};

/* --- parse --- */

static int drill_path_wrong(struct problem *problem, const char *what, const char *part,
			    size_t size, const char *form)
{
	(void)problem_set(problem, E_MALFORMED, "the path is wrong at %.*s: %s",
			  (int)(size < 60 ? size : 60), part, what);
	problem_hint(problem, "here goes %s, with %%25 %%2F %%3A %%7E for %% / : ~ inside a name",
		     form);
	return E_MALFORMED;
}

static int drill_path_hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Returns what is wrong, or NULL. */
static const char *drill_path_decode(const char *text, size_t size, char ret[DRILL_NAME_SIZE])
{
	size_t used = 0;

	for (size_t i = 0; i < size; i++) {
		int c = (unsigned char)text[i];

		if (c == '%') {
			int high = i + 1 < size ? drill_path_hex_digit(text[i + 1]) : -1;
			int low = i + 2 < size ? drill_path_hex_digit(text[i + 2]) : -1;

			if (high < 0 || low < 0)
				return "% is not followed by two hexadecimal digits";
			c = high * 16 + low;
			i += 2;
		} else if (c == ':' || c == '~') {
			return "a : or ~ too many";
		}
		if (c < ' ' || c > '~')
			return "a name is printable ASCII";
		if (used + 1 >= DRILL_NAME_SIZE)
			return "a name is too long";
		ret[used++] = (char)c;
	}
	ret[used] = '\0';
	return NULL;
}

static const char *drill_path_split(const struct part_row *row, const char *text, size_t size,
				    struct names *ret)
{
	for (size_t i = 0; i < row->count; i++) {
		const char *end =
			i + 1 < row->count ? memchr(text, row->separator, size) : text + size;
		const char *why;

		if (!end)
			return "something is missing";
		why = drill_path_decode(text, (size_t)(end - text), ret->at[i]);
		if (why)
			return why;
		size -= (size_t)(end - text) + (i + 1 < row->count);
		text = end + (i + 1 < row->count);
	}
	return NULL;
}

/* Decimal without sign, blanks and leading zeros. */
static bool drill_path_number(const char *text, int max, int *ret)
{
	size_t digits = strspn(text, "0123456789");
	long value;

	if (digits == 0 || digits > 5 || text[digits] != '\0' || (digits > 1 && text[0] == '0'))
		return false;
	value = strtol(text, NULL, 10);
	if (value > max)
		return false;
	*ret = (int)value;
	return true;
}

static const char *drill_path_take_flow(const struct names *names, struct drill_path *path)
{
	bool forward = strcmp(names->at[6], "forward") == 0;

	(void)text_copy(path->flow.source, sizeof(path->flow.source), names->at[0]);
	(void)text_copy(path->flow.target, sizeof(path->flow.target), names->at[2]);
	path->flow.forward = forward;
	if (!drill_path_number(names->at[1], WORD_MAX, &path->flow.source_port) ||
	    !drill_path_number(names->at[3], WORD_MAX, &path->flow.target_port))
		return "a port is a number up to 65535";
	if (!drill_path_number(names->at[4], BYTE_MAX, &path->flow.protocol))
		return "the protocol is a number up to 255";
	if (!drill_path_number(names->at[5], WORD_MAX, &path->flow.ethertype))
		return "the EtherType is a number up to 65535";
	return forward || strcmp(names->at[6], "back") == 0 ? NULL : "forward or back comes last";
}

static bool is_reason(const char *word)
{
	for (size_t i = REASON_NONE + 1; i < ATTRIBUTION_REASON_COUNT; i++)
		if (!strcmp(word, attribution_reason_words[i]))
			return true;
	return !strcmp(word, DRILL_NO_TENANT);
}

static int wrong_reason(struct problem *problem, const char *part, size_t size)
{
	CLEANUP(text_done) struct text words = {0};

	(void)problem_set(problem, E_MALFORMED, "the path is wrong at %.*s: no such reason",
			  (int)(size < 60 ? size : 60), part);
	for (size_t i = REASON_NONE + 1; i < ATTRIBUTION_REASON_COUNT; i++)
		text_addf(&words, "%s, ", attribution_reason_words[i]);
	problem_hint(problem, "the reasons are %sand " DRILL_NO_TENANT, text_get(&words));
	return E_MALFORMED;
}

/* Into the members of the row's level. */
static const char *drill_path_take(const struct part_row *row, const struct names *names,
				   struct drill_path *path)
{
	if (row->level != DRILL_FLOW && (!names->at[0][0] || (row->count > 1 && !names->at[1][0])))
		return "a name is empty";
	path->level = row->level;
	switch (row->level) {
	case DRILL_LINK:
		path->at_link = true;
		(void)text_copy(path->switch_name, sizeof(path->switch_name), names->at[0]);
		(void)text_copy(path->port, sizeof(path->port), names->at[1]);
		return NULL;
	case DRILL_OWNER:
		path->nobody = row->word[0] == 'n';
		(void)text_copy(path->owner, sizeof(path->owner), names->at[0]);
		return NULL;
	case DRILL_VLAN:
		return drill_path_number(names->at[0], VLAN_MAX, &path->vlan)
			       ? NULL
			       : "a VLAN is a number up to 4094";
	case DRILL_PAIR:
		(void)text_copy(path->a, sizeof(path->a), names->at[0]);
		(void)text_copy(path->b, sizeof(path->b), names->at[1]);
		return NULL;
	case DRILL_FLOW: return drill_path_take_flow(names, path);
	case DRILL_ALL:
	case DRILL_LEVEL_COUNT: break;
	}
	return "this word is not known";
}

/* What may come behind this level. */
static const char *form_of(const struct drill_path *path)
{
	static const char *const forms[] = {
		[DRILL_ALL] = "link:SWITCH:PORT, tenant:NAME or nobody:REASON",
		[DRILL_LINK] = "tenant:NAME or nobody:REASON",
		[DRILL_OWNER] = "vlan:N",
		[DRILL_VLAN] = "pair:A~B",
		[DRILL_PAIR] = "flow:SOURCE~PORT~TARGET~PORT~PROTOCOL~ETHERTYPE~forward|back",
		[DRILL_FLOW] = "nothing",
	};

	return forms[path->level];
}

/* Each level follows the one above; an owner may also come first. */
static bool may_follow(const struct drill_path *path, const struct part_row *row)
{
	return row->level == path->level + 1 ||
	       (row->level == DRILL_OWNER && path->level == DRILL_ALL);
}

static int parse_part(const char *part, size_t size, struct drill_path *path,
		      struct problem *problem)
{
	const char *colon = memchr(part, ':', size);
	size_t word = colon ? (size_t)(colon - part) : size;

	for (size_t i = 0; i < COUNT_OF(drill_path_parts); i++) {
		const struct part_row *row = &drill_path_parts[i];
		struct names names = {0};
		const char *why;

		if (strlen(row->word) != word || memcmp(row->word, part, word) != 0)
			continue;
		if (!may_follow(path, row))
			return drill_path_wrong(problem, "it does not belong here", part, size,
						form_of(path));
		if (!colon)
			return drill_path_wrong(problem, "something is missing", part, size,
						row->form);
		why = drill_path_split(row, colon + 1, size - word - 1, &names);
		if (!why)
			why = drill_path_take(row, &names, path);
		if (why)
			return drill_path_wrong(problem, why, part, size, row->form);
		return row->level == DRILL_OWNER && path->nobody && !is_reason(path->owner)
			       ? wrong_reason(problem, part, size)
			       : 0;
	}
	return drill_path_wrong(problem, "no such level", part, size, form_of(path));
}

/* Nothing stands before a '/'. */
static int wrong_slash(struct problem *problem, const char *text, const struct drill_path *path)
{
	if (path->level != DRILL_ALL)
		return drill_path_wrong(problem, "nothing is between two /", text - 1, 2,
					form_of(path));
	(void)problem_set(problem, E_MALFORMED,
			  "the path is wrong at its first /: nothing stands before it");
	problem_hint(problem, "all links is the empty path; a path begins with %s", form_of(path));
	return E_MALFORMED;
}

int drill_path_parse(const char *text, struct drill_path *ret, struct problem *problem)
{
	struct drill_path path = {0};

	if (strlen(text) >= DRILL_PATH_SIZE)
		return drill_path_wrong(problem, "it is too long", text, strlen(text),
					"a shorter one");
	while (*text) {
		size_t size = strcspn(text, "/");
		int rc = size ? parse_part(text, size, &path, problem)
			      : wrong_slash(problem, text, &path);

		if (rc)
			return rc;
		text += size;
		if (*text == '/' && *++text == '\0')
			return drill_path_wrong(problem, "nothing follows the last /", "/", 1,
						form_of(&path));
	}
	*ret = path;
	return 0;
}

/* --- print --- */

static void drill_path_encode(struct text *out, const char *name)
{
	for (; *name; name++) {
		if (*name < ' ' || *name > '~' || strchr("%/:~", *name))
			text_addf(out, "%%%02X", (unsigned)(unsigned char)*name);
		else
			text_add_bytes(out, name, 1);
	}
}

static void add_two(struct text *out, const char *word, const char *a, char separator,
		    const char *b)
{
	text_add(out, word);
	drill_path_encode(out, a);
	text_add_bytes(out, &separator, 1);
	drill_path_encode(out, b);
}

static void drill_path_add_flow(struct text *out, const struct drill_path *path)
{
	text_add(out, "/flow:");
	drill_path_encode(out, path->flow.source);
	text_addf(out, "~%d~", path->flow.source_port);
	drill_path_encode(out, path->flow.target);
	text_addf(out, "~%d~%d~%d~%s", path->flow.target_port, path->flow.protocol,
		  path->flow.ethertype, path->flow.forward ? "forward" : "back");
}

void drill_path_print(const struct drill_path *path, struct text *out)
{
	if (path->at_link)
		add_two(out, "link:", path->switch_name, ':', path->port);
	if (path->level >= DRILL_OWNER) {
		text_addf(out, "%s%s:", path->at_link ? "/" : "",
			  path->nobody ? "nobody" : "tenant");
		drill_path_encode(out, path->owner);
	}
	if (path->level >= DRILL_VLAN)
		text_addf(out, "/vlan:%d", path->vlan);
	if (path->level >= DRILL_PAIR)
		add_two(out, "/pair:", path->a, '~', path->b);
	if (path->level >= DRILL_FLOW)
		drill_path_add_flow(out, path);
}

/* --- up and down --- */

void drill_path_up(struct drill_path *path)
{
	if (path->level == DRILL_OWNER && !path->at_link)
		path->level = DRILL_ALL;
	else if (path->level > DRILL_ALL)
		path->level--;
	if (path->level == DRILL_ALL)
		path->at_link = false;
}

size_t drill_path_keys(enum drill_level level)
{
	static const size_t counts[DRILL_LEVEL_COUNT] = {
		[DRILL_ALL] = 2,  [DRILL_LINK] = 2, [DRILL_OWNER] = 1,
		[DRILL_VLAN] = 2, [DRILL_PAIR] = 7, [DRILL_FLOW] = 0,
	};

	return counts[level];
}

/* The row of parts for what is below; keys[0] says whose it is. */
static const struct part_row *row_below(const struct drill_path *path, const char *const keys[])
{
	const char *word = path->level == DRILL_LINK && !keys[0][0] ? "nobody" : NULL;

	for (size_t i = 0; i < COUNT_OF(drill_path_parts); i++) {
		if (word ? strcmp(drill_path_parts[i].word, word) == 0
			 : drill_path_parts[i].level == path->level + 1)
			return &drill_path_parts[i];
	}
	return NULL;
}

bool drill_path_down(const struct drill_path *path, const char *const keys[],
		     struct drill_path *ret)
{
	struct names names = {0};
	struct drill_path child = *path;
	const struct part_row *row = path->level == DRILL_FLOW ? NULL : row_below(path, keys);

	if (!row)
		return false;
	for (size_t i = 0; i < drill_path_keys(path->level); i++) {
		if (!text_copy(names.at[i], DRILL_NAME_SIZE, keys[i]))
			return false;
	}
	if (path->level == DRILL_PAIR)
		(void)text_copy(names.at[6], DRILL_NAME_SIZE,
				keys[6][0] == 't' ? "forward" : "back");
	if (path->level == DRILL_LINK && !keys[0][0])
		(void)text_copy(names.at[0], DRILL_NAME_SIZE,
				keys[1][0] ? keys[1] : DRILL_NO_TENANT);
	if (drill_path_take(row, &names, &child))
		return false;
	*ret = child;
	return true;
}
