#include "portal/cli/confirm.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "portal/cli/ask.h"
#include "portal/cli/listing.h"

#define CONFIRM_SHOWN      20 /* things; of more the rest is counted */
#define CONFIRM_ANSWER_MAX 128

/* What would go. */
struct confirm {
	struct haasctl *haasctl;
	const struct command_input *input;
	const char *const *words;
	size_t word_count;
	json_t *things; /* {"name", "what", "tenant", "since", "size_bytes"} */
};

static void confirm_done(struct confirm *confirm)
{
	json_decref(confirm->things);
}

/* What does not exist is the command's to tell. */
static int confirm_get(const struct confirm *confirm, const char *path, const char *word,
		       const char *after, struct haasctl_reply *ret)
{
	CLEANUP(text_done) struct text target = {0};

	haasctl_path(&target, path, word, after);
	haasctl_query(&target, confirm->input, "--tenant");
	return haasctl_get_before(confirm->haasctl, confirm->input, text_get(&target), ret);
}

/* `object` has the members of the API; `since` names the one that says since when. */
static void confirm_add(struct confirm *confirm, const char *what, const json_t *object,
			const char *name, const char *since)
{
	json_t *thing = json_object();
	const json_t *size = json_object_get(object, "size_bytes");

	(void)json_object_set_new(thing, "what", json_string(what));
	(void)json_object_set_new(thing, "name", json_string(name));
	(void)json_object_set_new(thing, "tenant", json_string(haasctl_word(object, "tenant")));
	(void)json_object_set_new(thing, "since_at", json_string(haasctl_word(object, since)));
	if (json_is_integer(size))
		(void)json_object_set_new(thing, "size_bytes",
					  json_integer(json_integer_value(size)));
	(void)json_array_append_new(confirm->things, thing);
}

/* --- gathering --- */

static int confirm_nodes(struct confirm *confirm)
{
	for (size_t i = 0; i < confirm->word_count; i++) {
		CLEANUP(haasctl_reply_done) struct haasctl_reply reply = {0};
		CLEANUP(text_done) struct text target = {0};
		int status;

		haasctl_path(&target, "/nodes/", confirm->words[i], "");
		status = haasctl_get_before(confirm->haasctl, confirm->input, text_get(&target),
					    &reply);
		if (status != EXIT_OK)
			return status;
		if (haasctl_word(reply.json, "tenant")[0])
			confirm_add(confirm, "node", reply.json, haasctl_word(reply.json, "name"),
				    haasctl_word(reply.json, "rented_at")[0] ? "rented_at"
									     : "updated_at");
	}
	return EXIT_OK;
}

/* Those that are still there, or the one that is named. */
static void confirm_members(struct confirm *confirm, const json_t *pdci, const char *node)
{
	const char *since = haasctl_word(pdci, "ready_at")[0] ? "ready_at" : "created_at";
	const json_t *member;
	size_t i;

	json_array_foreach(json_object_get(pdci, "nodes"), i, member)
	{
		const char *name = haasctl_word(member, "node");

		if (!haasctl_word(member, "released_at")[0] && (!node || strcmp(node, name) == 0))
			confirm_add(confirm, "node", pdci, name, since);
	}
}

static int confirm_pdci(struct confirm *confirm)
{
	CLEANUP(haasctl_reply_done) struct haasctl_reply pdci = {0};
	CLEANUP(haasctl_reply_done) struct haasctl_reply volumes = {0};
	const json_t *volume;
	size_t i;
	int status = confirm_get(confirm, "/pdcis/", confirm->words[0], "", &pdci);

	if (status != EXIT_OK || strcmp(haasctl_word(pdci.json, "wanted"), "present") != 0)
		return status;
	confirm_members(confirm, pdci.json, NULL);
	status = confirm_get(confirm, "/pdcis/", confirm->words[0], "/volumes", &volumes);
	json_array_foreach(json_object_get(volumes.json, "items"), i, volume)
	{
		if (strcmp(haasctl_word(volume, "kind"), "shared") == 0 &&
		    !json_is_true(json_object_get(volume, "keep")))
			confirm_add(confirm, "volume", volume, haasctl_word(volume, "name"),
				    "created_at");
	}
	return status;
}

static int confirm_pdci_node(struct confirm *confirm)
{
	CLEANUP(haasctl_reply_done) struct haasctl_reply pdci = {0};
	int status = confirm_get(confirm, "/pdcis/", confirm->words[0], "", &pdci);

	if (status == EXIT_OK)
		confirm_members(confirm, pdci.json, confirm->words[1]);
	return status;
}

static int confirm_stored(struct confirm *confirm, const char *path, const char *what)
{
	for (size_t i = 0; i < confirm->word_count; i++) {
		CLEANUP(haasctl_reply_done) struct haasctl_reply reply = {0};
		int status = confirm_get(confirm, path, confirm->words[i], "", &reply);

		if (status != EXIT_OK)
			return status;
		if (reply.json)
			confirm_add(confirm, what, reply.json, haasctl_word(reply.json, "name"),
				    "created_at");
	}
	return EXIT_OK;
}

static int confirm_volumes(struct confirm *confirm)
{
	return confirm_stored(confirm, "/volumes/", "volume");
}

static int confirm_archives(struct confirm *confirm)
{
	return confirm_stored(confirm, "/archives/", "archive");
}

/* NAME:VERSION */
static int confirm_images(struct confirm *confirm)
{
	for (size_t i = 0; i < confirm->word_count; i++) {
		CLEANUP(haasctl_reply_done) struct haasctl_reply reply = {0};
		CLEANUP(text_done) struct text target = {0};
		int status = haasctl_version_path(&target, "/images/", confirm->words[i]);

		if (status == EXIT_OK)
			status = haasctl_get_before(confirm->haasctl, confirm->input,
						    text_get(&target), &reply);
		if (status != EXIT_OK)
			return status;
		if (reply.json)
			confirm_add(confirm, "image", reply.json, confirm->words[i], "created_at");
	}
	return EXIT_OK;
}

static int (*const confirm_gather[CONFIRM_KIND_COUNT])(struct confirm *) = {
	[CONFIRM_NODES] = confirm_nodes,         [CONFIRM_PDCI] = confirm_pdci,
	[CONFIRM_PDCI_NODE] = confirm_pdci_node, [CONFIRM_VOLUMES] = confirm_volumes,
	[CONFIRM_ARCHIVES] = confirm_archives,   [CONFIRM_IMAGES] = confirm_images,
};

/* --- asking --- */

static void confirm_show(const struct confirm *confirm, const struct confirm_row *row)
{
	size_t count = json_array_size(confirm->things);
	const json_t *thing;
	size_t i;

	fprintf(stderr, "%zu %s %s:\n", count, count == 1 ? "thing" : "things", row->effect);
	json_array_foreach(confirm->things, i, thing)
	{
		CLEANUP(text_done) struct text since = {0};
		CLEANUP(text_done) struct text size = {0};
		const json_t *bytes = json_object_get(thing, "size_bytes");

		if (i == CONFIRM_SHOWN) {
			fprintf(stderr, "  and %zu more\n", count - i);
			break;
		}
		fprintf(stderr, "  %s %s%s%s%s%s, since %s\n", haasctl_word(thing, "what"),
			haasctl_word(thing, "name"), bytes ? ", " : "",
			bytes ? listing_text(bytes, "size_bytes", &size) : "",
			haasctl_word(thing, "tenant")[0] ? ", of " : "",
			haasctl_word(thing, "tenant"),
			listing_text(json_object_get(thing, "since_at"), "since_at", &since));
	}
}

/* The name of the one thing, or of the PDCI that all of them are in; else their number. */
static void confirm_word(const struct confirm *confirm, const struct confirm_row *row,
			 char ret[CONFIRM_ANSWER_MAX])
{
	size_t count = json_array_size(confirm->things);

	if (row->kind == CONFIRM_PDCI)
		(void)text_copy(ret, CONFIRM_ANSWER_MAX, confirm->words[0]);
	else if (count == 1)
		(void)text_copy(ret, CONFIRM_ANSWER_MAX,
				haasctl_word(json_array_get(confirm->things, 0), "name"));
	else
		(void)text_format(ret, CONFIRM_ANSWER_MAX, "%zu", count);
}

int confirm_ask_words(struct haasctl *haasctl, const struct command_input *input,
		      const struct confirm_row *row, const char *const words[], size_t count)
{
	CLEANUP(confirm_done)
	struct confirm confirm = {.haasctl = haasctl,
				  .input = input,
				  .words = words,
				  .word_count = count,
				  .things = json_array()};
	char wanted[CONFIRM_ANSWER_MAX];
	int status;

	if (command_option(input, "--yes"))
		return EXIT_OK;
	status = confirm_gather[row->kind](&confirm);
	if (status != EXIT_OK || json_array_size(confirm.things) == 0)
		return status;
	confirm_show(&confirm, row);
	if (!isatty(STDIN_FILENO))
		return haasctl_usage("nobody can be asked here, so nothing is done; --yes does it "
				     "without a question");
	confirm_word(&confirm, row, wanted);
	return ask_to_go_on(haasctl, wanted);
}

int confirm_ask(struct haasctl *haasctl, const struct command_input *input,
		const struct confirm_row *row)
{
	size_t first = row->first_word < input->word_count ? row->first_word : input->word_count;

	return confirm_ask_words(haasctl, input, row, input->words + first,
				 input->word_count - first);
}
