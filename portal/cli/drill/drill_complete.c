#include "portal/cli/drill/drill_complete.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "common/model/drill_path.h"

void drill_complete_word(const char *part, size_t size, struct text *out)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				    "0123456789.,:_~+-";

	for (size_t i = 0; i < size; i++) {
		bool is_code = part[i] == '%' && i + 2 < size &&
			       isxdigit((unsigned char)part[i + 1]) &&
			       isxdigit((unsigned char)part[i + 2]);

		if (is_code) {
			text_addf(out, "%%%c%c", toupper((unsigned char)part[i + 1]),
				  toupper((unsigned char)part[i + 2]));
			i += 2;
		} else if (part[i] && strchr(plain, part[i])) {
			text_add_bytes(out, part + i, 1);
		} else {
			text_addf(out, "%%%02X", (unsigned)(unsigned char)part[i]);
		}
	}
}

/* What was typed: up to its last '/', and behind it. */
struct prefix {
	const char *text;
	size_t parent;    /* bytes before the '/' */
	struct text last; /* as candidates are written */
};

/* The last part of `path`, when it goes on with what was typed. */
static void drill_complete_offer(const struct prefix *prefix, const char *path)
{
	CLEANUP(text_done) struct text word = {0};
	const char *slash = strrchr(path, '/');
	const char *part = slash ? slash + 1 : path;

	drill_complete_word(part, strlen(part), &word);
	if (strncmp(text_get(&word), text_get(&prefix->last), prefix->last.size) == 0)
		printf("%.*s%s%s\n", (int)prefix->parent, prefix->text, prefix->parent ? "/" : "",
		       text_get(&word));
}

/* The members of an array, or of all pages of a list: `key` of each as `before` + it. */
static int offer_answer(struct haasctl *haasctl, const struct command_input *input,
			const struct prefix *prefix, const char *target, bool tenants)
{
	CLEANUP(haasctl_reply_done) struct haasctl_reply reply = {0};
	struct problem unused = {0};
	const json_t *row;
	size_t i;
	int status = haasctl_call(
		haasctl, input,
		&(struct haasctl_call){
			.method = "GET", .target = target, .problem = &unused, .by_itself = true},
		&reply);

	json_array_foreach(json_object_get(reply.json, tenants ? "items" : "rows"), i, row)
	{
		char path[DRILL_NAME_SIZE + 8];

		if (!tenants)
			drill_complete_offer(prefix, haasctl_word(row, "path"));
		else if (text_format(path, sizeof(path), "tenant:%s", haasctl_word(row, "name")))
			drill_complete_offer(prefix, path);
	}
	return status;
}

int drill_complete_run(struct haasctl *haasctl, const struct command_input *input, const char *text)
{
	CLEANUP(text_done) struct text target = {0};
	CLEANUP(text_done) struct text parent = {0};
	const char *slash = strrchr(text, '/');
	struct prefix prefix = {.text = text, .parent = slash ? (size_t)(slash - text) : 0};
	const char *last = slash ? slash + 1 : text;
	struct problem unused = {0};
	struct drill_path path;

	text_add_bytes(&parent, text, prefix.parent);
	if (drill_path_parse(text_get(&parent), &path, &unused) != 0)
		return EXIT_OK;
	drill_complete_word(last, strlen(last), &prefix.last);
	text_add(&target, "/drill?limit=500");
	if (parent.size > 0) {
		text_add(&target, "&path=");
		text_add_percent(&target, text_get(&parent));
	}
	haasctl_query(&target, input, "--at");
	haasctl_query(&target, input, "--window");
	int status = offer_answer(haasctl, input, &prefix, text_get(&target), false);
	if (status == EXIT_OK && !slash)
		status = offer_answer(haasctl, input, &prefix, "/tenants?limit=500", true);
	text_done(&prefix.last);
	return status;
}
