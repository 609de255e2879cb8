/* haasctl volume, archive, storage: what tenants store, and where. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json_text.h"

#include "portal/cli/confirm.h"
#include "portal/cli/listing.h"
#include "portal/cli/volume_login.h"

#define VOLUME_CLI_POLL_MS 200

int haasctl_size(const char *name, const char *word, int64_t *ret)
{
	static const struct {
		const char *unit;
		int shift;
	} units[] = {{"", 0},   {"k", 10},   {"KiB", 10}, {"M", 20},  {"MiB", 20},
		     {"G", 30}, {"GiB", 30}, {"T", 40},   {"TiB", 40}};
	char *end = NULL;
	long long number = strtoll(word, &end, 10);

	for (size_t i = 0; *word >= '0' && *word <= '9' && number > 0 && i < COUNT_OF(units); i++) {
		if (strcmp(end, units[i].unit) == 0 && number <= INT64_MAX >> units[i].shift) {
			*ret = (int64_t)number << units[i].shift;
			return EXIT_OK;
		}
	}
	return haasctl_usage("%s %s is not a size; say 10G, 512M or bytes", name, word);
}

static void volume_target(struct text *target, const struct command_input *input, const char *name,
			  const char *after)
{
	haasctl_path(target, "/volumes/", name, after);
	haasctl_query(target, input, "--tenant");
}

static const struct output_column volume_columns[] = {
	COLUMN("name"),
	COLUMN("kind"),
	COLUMN("tenant"),
	COLUMN("pdci"),
	COLUMN("state"),
	TITLED_NUMBER("size_bytes", "SIZE"),
	TITLED_NUMBER("percent", "%"),
	WIDE_NUMBER("id"),
	WIDE("node"),
	WIDE("storage"),
	WIDE("archive"),
	WIDE("keep"),
	WIDE("created_at"),
	WIDE("ready_at"),
	WIDE("ended_at"),
	TITLED_WIDE("disk.model", "MODEL"),
	TITLED_WIDE("problem.message", "PROBLEM"),
};

/* How far the work under way is, where there is any. */
static void add_percent(json_t *row)
{
	static const char *const working[] = {"creating", "restoring", "growing", "deleting",
					      "archiving"};
	json_int_t size = json_integer_value(json_object_get(row, "size_bytes"));
	json_int_t done = json_integer_value(json_object_get(row, "done_bytes"));

	for (size_t i = 0; size > 0 && i < COUNT_OF(working); i++) {
		if (strcmp(haasctl_word(row, "state"), working[i]) == 0)
			(void)json_object_set_new(
				row, "percent",
				json_integer((done < size ? done : size) * 100 / size));
	}
}

/* Volumes and archives alike: those that are gone only when asked for. */
static int volume_cli_list(struct haasctl *haasctl, const struct command_input *input,
			   struct text *target, const struct output_column columns[], size_t count)
{
	if (!command_option(input, "--all") && !command_option(input, "--state"))
		text_addf(target, "%cactive=true", strchr(text_get(target), '?') ? '&' : '?');
	return listing_source_pages(
		haasctl, input,
		&(struct listing_source){.target = text_get(target), .prepare = add_percent},
		columns, count);
}

static int volume_list(void *context, const struct command_input *input)
{
	CLEANUP(text_done) struct text target = {0};

	text_add(&target, "/volumes");
	haasctl_query(&target, input, "--tenant");
	haasctl_query(&target, input, "--pdci");
	haasctl_query(&target, input, "--kind");
	haasctl_query(&target, input, "--state");
	return volume_cli_list(context, input, &target, COLUMNS(volume_columns));
}

static const char *const volume_order[] = {
	"name",   "tenant",  "pdci",    "state",      "size_bytes", "storage",
	"target", "portal",  "unit",    "user",       "secret",     "initiators",
	"keep",   "archive", "problem", "created_at", NULL};

static int volume_show(void *context, const struct command_input *input)
{
	CLEANUP(text_done) struct text target = {0};

	volume_target(&target, input, input->words[0], "");
	return listing_show(context, input, text_get(&target),
			    &(struct show){volume_order, COLUMNS(volume_columns)});
}

/* --- following --- */

static bool volume_cli_settled(const char *state, const char *const ends[])
{
	for (; *ends; ends++) {
		if (strcmp(state, *ends) == 0)
			return true;
	}
	return false;
}

/* What ends a wait well, by the path that is asked; "failed" ends it badly. */
static int volume_cli_wait_for(struct haasctl *haasctl, const struct command_input *input,
			       const char *target, const char *const ends[])
{
	int64_t limit_s = 0;
	int status = haasctl_timeout_s(input, &limit_s);

	for (int64_t waited_ms = 0; status == EXIT_OK; waited_ms += VOLUME_CLI_POLL_MS) {
		struct haasctl_reply reply = {0};
		const char *state;

		status = haasctl_get(haasctl, input, target, &reply);
		if (status != EXIT_OK)
			return status;
		state = haasctl_word(reply.json, "state");
		if (volume_cli_settled(state, ends)) {
			haasctl_reply_done(&reply);
			return EXIT_OK;
		}
		if (strcmp(state, "failed") == 0) {
			haasctl_stored_problem(haasctl_word(reply.json, "name"),
					       json_object_get(reply.json, "problem"));
			status = EXIT_FAILED;
		} else if (waited_ms >= limit_s * 1000) {
			fprintf(stderr, "haasctl: %s is still %s\n",
				haasctl_word(reply.json, "name"), state);
			status = EXIT_TIMEOUT;
		}
		haasctl_reply_done(&reply);
		if (status == EXIT_OK && !haasctl_sleep(haasctl, VOLUME_CLI_POLL_MS))
			status = EXIT_INTERRUPTED;
	}
	return status;
}

static const char *const volume_ends[] = {"detached", "attached", "deleted", NULL};

/* Shows what came of it; with --wait only when it has come true. */
static int volume_cli_follow(void *context, const struct command_input *input,
			     struct haasctl_reply *reply, const char *path,
			     const char *const ends[])
{
	CLEANUP(text_done) struct text target = {0};
	bool archive = strcmp(path, "/archives/") == 0;
	int status = EXIT_OK;

	text_addf(&target, "%s%" JSON_INTEGER_FORMAT, path,
		  json_integer_value(json_object_get(reply->json, "id")));
	if (command_option(input, "--wait")) {
		status = volume_cli_wait_for(context, input, text_get(&target), ends);
		haasctl_reply_done(reply);
		if (status == EXIT_OK)
			status = haasctl_get(context, input, text_get(&target), reply);
		if (status != EXIT_OK)
			return status;
	}
	if (!listing_json(input, reply->json)) {
		static const struct output_column columns[] = {
			COLUMN("name"), COLUMN("tenant"), COLUMN("state"),
			TITLED_NUMBER("size_bytes", "SIZE"),
			TITLED_NUMBER("stored_bytes", "STORED")};
		json_t *rows = json_pack("[O]", reply->json);

		status = listing_rows(input, rows, columns, COUNT_OF(columns) - (archive ? 0 : 1));
		json_decref(rows);
	}
	haasctl_reply_done(reply);
	return status;
}

static int volume_cli_volume_make(void *context, const struct command_input *input,
				  const char *archive)
{
	static const char *const texts[][2] = {
		{"--tenant", "tenant"}, {"--pdci", "pdci"}, {"--storage", "storage"}};
	CLEANUP(text_done) struct text body = {0};
	struct haasctl_reply reply = {0};
	const char *size = command_option(input, "--size");
	int64_t bytes = 0;
	int status = EXIT_OK;

	json_begin_object(&body, NULL);
	json_put_string(&body, "name", input->words[archive ? 1 : 0]);
	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		if (command_option(input, texts[i][0]))
			json_put_string(&body, texts[i][1], command_option(input, texts[i][0]));
	}
	if (archive)
		json_put_string(&body, "archive", archive);
	else if (!size)
		return haasctl_usage("a volume needs a size: --size 10G");
	if (size)
		status = haasctl_size("--size", size, &bytes);
	if (status != EXIT_OK)
		return status;
	if (size)
		json_put_int(&body, "size_bytes", bytes);
	if (command_option(input, "--with-pdci"))
		json_put_bool(&body, "keep", false);
	json_end_object(&body);
	status = haasctl_post(context, input, "/volumes", &body, &reply);
	return status == EXIT_OK
		       ? volume_cli_follow(context, input, &reply, "/volumes/", volume_ends)
		       : status;
}

static int volume_cli_volume_create(void *context, const struct command_input *input)
{
	return volume_cli_volume_make(context, input, NULL);
}

static int volume_cli_volume_restore(void *context, const struct command_input *input)
{
	return volume_cli_volume_make(context, input, input->words[0]);
}

/* --- actions --- */

static int volume_cli_act(void *context, const struct command_input *input, struct text *body,
			  struct haasctl_reply *ret)
{
	CLEANUP(text_done) struct text target = {0};

	volume_target(&target, input, input->words[0], "/actions");
	return haasctl_post(context, input, text_get(&target), body, ret);
}

static int act_and_follow(void *context, const struct command_input *input, const char *action,
			  const char *member, const char *value)
{
	static const char *const archive_ends[] = {"ready", NULL};
	bool archive = strcmp(action, "archive") == 0;
	CLEANUP(text_done) struct text body = {0};
	struct haasctl_reply reply = {0};
	int status;

	json_begin_object(&body, NULL);
	json_put_string(&body, "action", action);
	if (member)
		json_put_string(&body, member, value);
	json_end_object(&body);
	status = volume_cli_act(context, input, &body, &reply);
	if (status != EXIT_OK)
		return status;
	return archive ? volume_cli_follow(context, input, &reply, "/archives/", archive_ends)
		       : volume_cli_follow(context, input, &reply, "/volumes/", volume_ends);
}

static int volume_attach(void *context, const struct command_input *input)
{
	return act_and_follow(context, input, "attach", "pdci", input->words[1]);
}

static int volume_detach(void *context, const struct command_input *input)
{
	return act_and_follow(context, input, "detach", NULL, NULL);
}

static int volume_cli_volume_archive(void *context, const struct command_input *input)
{
	return act_and_follow(context, input, "archive", "name", input->words[1]);
}

static int volume_resize(void *context, const struct command_input *input)
{
	CLEANUP(text_done) struct text body = {0};
	struct haasctl_reply reply = {0};
	int64_t bytes = 0;
	int status = haasctl_size("the size", input->words[1], &bytes);

	json_begin_object(&body, NULL);
	json_put_string(&body, "action", "resize");
	json_put_int(&body, "size_bytes", bytes);
	json_end_object(&body);
	if (status == EXIT_OK)
		status = volume_cli_act(context, input, &body, &reply);
	return status == EXIT_OK
		       ? volume_cli_follow(context, input, &reply, "/volumes/", volume_ends)
		       : status;
}

/* Told once, with all that an initiator has to know. */
static int volume_secret(void *context, const struct command_input *input)
{
	static const struct output_column columns[] = {COLUMN("target"), COLUMN("portal"),
						       NUMBER("unit"), COLUMN("user"),
						       COLUMN("secret")};
	CLEANUP(text_done) struct text body = {0};
	struct haasctl_reply reply = {0};
	int status;

	json_begin_object(&body, NULL);
	json_put_string(&body, "action", "secret");
	json_end_object(&body);
	status = volume_cli_act(context, input, &body, &reply);
	if (status == EXIT_OK && !listing_json(input, reply.json)) {
		json_t *rows = json_pack("[O]", reply.json);

		status = listing_rows(input, rows, COLUMNS(columns));
		json_decref(rows);
	}
	haasctl_reply_done(&reply);
	return status;
}

static int volume_cli_volume_delete(void *context, const struct command_input *input)
{
	static const struct confirm_row row = {CONFIRM_VOLUMES, 0, "will be destroyed"};
	struct tally tally = {0};
	int asked = confirm_ask(context, input, &row);

	if (asked != EXIT_OK)
		return asked;
	for (size_t i = 0; i < input->word_count; i++) {
		CLEANUP(text_done) struct text target = {0};
		struct haasctl_reply reply = {0};
		int status;

		volume_target(&target, input, input->words[i], "");
		status = haasctl_call(
			context, input,
			&(struct haasctl_call){.method = "DELETE", .target = text_get(&target)},
			&reply);
		if (status == EXIT_OK)
			status =
				volume_cli_follow(context, input, &reply, "/volumes/", volume_ends);
		tally_add(&tally, status);
	}
	return tally_status(&tally);
}

/* --- archives --- */

static const struct output_column archive_columns[] = {
	COLUMN("name"),
	COLUMN("tenant"),
	COLUMN("volume"),
	COLUMN("state"),
	TITLED_NUMBER("size_bytes", "SIZE"),
	TITLED_NUMBER("stored_bytes", "STORED"),
	TITLED_NUMBER("percent", "%"),
	COLUMN("created_at"),
	WIDE_NUMBER("id"),
	WIDE("storage"),
	WIDE("granted"),
	WIDE("digest"),
	WIDE("stored_digest"),
	WIDE("ready_at"),
	TITLED_WIDE("problem.message", "PROBLEM"),
};

static int archive_list(void *context, const struct command_input *input)
{
	CLEANUP(text_done) struct text target = {0};

	text_add(&target, "/archives");
	haasctl_query(&target, input, "--tenant");
	haasctl_query(&target, input, "--state");
	return volume_cli_list(context, input, &target, COLUMNS(archive_columns));
}

static int archive_show(void *context, const struct command_input *input)
{
	static const char *const order[] = {"name",       "tenant",       "volume", "state",
					    "size_bytes", "stored_bytes", "digest", NULL};
	CLEANUP(text_done) struct text target = {0};

	haasctl_path(&target, "/archives/", input->words[0], "");
	haasctl_query(&target, input, "--tenant");
	return listing_show(context, input, text_get(&target),
			    &(struct show){order, COLUMNS(archive_columns)});
}

static int volume_cli_archive_delete(void *context, const struct command_input *input)
{
	static const struct confirm_row row = {CONFIRM_ARCHIVES, 0, "will be destroyed"};
	static const char *const ends[] = {"deleted", NULL};
	CLEANUP(text_done) struct text target = {0};
	struct haasctl_reply reply = {0};
	int status = confirm_ask(context, input, &row);

	if (status != EXIT_OK)
		return status;
	haasctl_path(&target, "/archives/", input->words[0], "");
	haasctl_query(&target, input, "--tenant");
	status = haasctl_call(
		context, input,
		&(struct haasctl_call){.method = "DELETE", .target = text_get(&target)}, &reply);
	return status == EXIT_OK ? volume_cli_follow(context, input, &reply, "/archives/", ends)
				 : status;
}

/* --- storages --- */

static const struct output_column storage_columns[] = {
	COLUMN("name"),
	COLUMN("state"),
	COLUMN("portal"),
	TITLED_NUMBER("used_bytes", "USED"),
	TITLED_NUMBER("capacity_bytes", "CAPACITY"),
	TITLED_NUMBER("free_bytes", "FREE"),
	COLUMN("accepts"),
	WIDE_NUMBER("total_bytes"),
	WIDE("driver"),
	WIDE("iqn"),
	WIDE("login"),
	WIDE("port"),
	WIDE("prefix"),
	WIDE("seen_at"),
	TITLED_WIDE("problem.message", "PROBLEM"),
};

static int storage_list(void *context, const struct command_input *input)
{
	return listing_pages(context, input, "/storages", 0, COLUMNS(storage_columns));
}

static int storage_set(void *context, const struct command_input *input)
{
	static const char *const texts[][2] = {{"--portal", "portal"},
					       {"--login", "login"},
					       {"--port", "port"},
					       {"--prefix", "prefix"}};
	const char *capacity = command_option(input, "--capacity");
	const char *accepts = command_option(input, "--accepts");
	CLEANUP(text_done) struct text target = {0};
	CLEANUP(text_done) struct text body = {0};
	int64_t bytes = 0;
	int status = capacity ? haasctl_size("--capacity", capacity, &bytes) : EXIT_OK;

	json_begin_object(&body, NULL);
	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		if (command_option(input, texts[i][0]))
			json_put_string(&body, texts[i][1], command_option(input, texts[i][0]));
	}
	if (capacity)
		json_put_int(&body, "capacity_bytes", bytes);
	if (accepts)
		json_put_bool(&body, "accepts", strcmp(accepts, "yes") == 0);
	json_end_object(&body);
	haasctl_path(&target, "/storages/", input->words[0], "");
	return status == EXIT_OK ? haasctl_put(context, input, &target, &body, NULL) : status;
}

#define WAIT_OPTIONS                                                                      \
	{"--wait", 0, OPTION_FLAG, NULL, "wait until it is done"},                        \
	{                                                                                 \
		"--timeout", 0, OPTION_VALUE, "TIME", "wait at most so long (default 1h)" \
	}
#define TENANT_OPTION                                                                              \
	{                                                                                          \
		"--tenant", 0, OPTION_VALUE, "TENANT", "owner, when several have one of this name" \
	}

static const struct option_row volume_cli_list_options[] = {
	{"--tenant", 0, OPTION_VALUE, "TENANT", "only of this tenant"},
	{"--pdci", 0, OPTION_VALUE, "PDCI", "only of this PDCI"},
	{"--kind", 0, OPTION_VALUE, "shared|local", "shared volumes, or disks of nodes"},
	{"--state", 0, OPTION_VALUE, "STATE", "only in this state: detached, attached ..."},
	{"--all", 0, OPTION_FLAG, NULL, "also those that are deleted"},
	{"--limit", 0, OPTION_VALUE, "N", "at most N rows (default all)"},
	LIST_OPTIONS,
};
static const struct option_row volume_cli_create_options[] = {
	{"--size", 0, OPTION_VALUE, "SIZE", "10G, 512M or bytes"},
	{"--tenant", 0, OPTION_VALUE, "TENANT", "for whom"},
	{"--pdci", 0, OPTION_VALUE, "PDCI", "attached to it"},
	{"--with-pdci", 0, OPTION_FLAG, NULL, "deleted when its PDCI is released"},
	{"--storage", 0, OPTION_VALUE, "STORAGE", "where (default: that with the most room)"},
	WAIT_OPTIONS,
};
static const struct option_row volume_cli_restore_options[] = {
	{"--size", 0, OPTION_VALUE, "SIZE", "larger than the archive (default as large)"},
	{"--tenant", 0, OPTION_VALUE, "TENANT", "for whom"},
	{"--pdci", 0, OPTION_VALUE, "PDCI", "attached to it"},
	WAIT_OPTIONS,
};
static const struct option_row volume_cli_one_options[] = {TENANT_OPTION};
static const struct option_row volume_cli_act_options[] = {TENANT_OPTION, WAIT_OPTIONS};
static const struct option_row volume_cli_delete_options[] = {TENANT_OPTION, CONFIRM_OPTION,
							      WAIT_OPTIONS};
static const struct option_row archive_list_options[] = {
	{"--tenant", 0, OPTION_VALUE, "TENANT", "only of this tenant"},
	{"--state", 0, OPTION_VALUE, "archiving|ready|failed|deleting|deleted",
	 "only in this state"},
	{"--all", 0, OPTION_FLAG, NULL, "also those that are deleted"},
	{"--limit", 0, OPTION_VALUE, "N", "at most N rows (default all)"},
	LIST_OPTIONS,
};
static const struct option_row storage_list_options[] = {
	{"--limit", 0, OPTION_VALUE, "N", "at most N rows (default all)"},
	LIST_OPTIONS,
};
static const struct option_row storage_options[] = {
	{"--portal", 0, OPTION_VALUE, "ADDRESS:PORT", "where nodes reach it"},
	{"--port", 0, OPTION_VALUE, "SWITCH:PORT", "its switch port (\"\" = not ours)"},
	{"--prefix", 0, OPTION_VALUE, "PREFIX", "addresses of its networks to PDCIs"},
	{"--capacity", 0, OPTION_VALUE, "SIZE", "at most so much (default: the disk)"},
	{"--accepts", 0, OPTION_VALUE, "yes|no", "new volumes"},
	{"--login", 0, OPTION_VALUE, "ROLE", "the database role of its bampi-stored"},
};

static const struct command volume_cli_commands[] = {
	{"volume", "list", "", "volumes and local disks", OPTIONS(volume_cli_list_options), 0, 0,
	 volume_list, .example = "volume list --tenant acme"},
	{"volume", "show", "VOLUME", "one volume, and how nodes reach it",
	 OPTIONS(volume_cli_one_options), 1, 1, volume_show, .example = "volume show data"},
	{"volume", "create", "NAME", "make a shared volume", OPTIONS(volume_cli_create_options), 1,
	 1, volume_cli_volume_create, .example = "volume create data --size 200G --tenant acme"},
	{"volume", "attach", "VOLUME PDCI", "let the nodes of a PDCI reach it",
	 OPTIONS(volume_cli_act_options), 2, 2, volume_attach,
	 .example = "volume attach data web --wait"},
	{"volume", "detach", "VOLUME", "close a volume to its PDCI",
	 OPTIONS(volume_cli_act_options), 1, 1, volume_detach, .example = "volume detach data"},
	{"volume", "secret", "VOLUME", "a new CHAP secret, told once",
	 OPTIONS(volume_cli_one_options), 1, 1, volume_secret, .example = "volume secret data"},
	{"volume", "login", "VOLUME NODE", "a script with which an installed node logs in",
	 OPTIONS(volume_cli_one_options), 2, 2, haasctl_volume_login,
	 .example = "volume login data n1"},
	{"volume", "resize", "VOLUME SIZE", "make a detached volume larger",
	 OPTIONS(volume_cli_act_options), 2, 2, volume_resize,
	 .example = "volume resize data 400G"},
	{"volume", "archive", "VOLUME NAME", "keep a copy of a detached volume",
	 OPTIONS(volume_cli_act_options), 2, 2, volume_cli_volume_archive,
	 .example = "volume archive data data-2026-11"},
	{"volume", "restore", "ARCHIVE NAME", "make a volume of an archive",
	 OPTIONS(volume_cli_restore_options), 2, 2, volume_cli_volume_restore,
	 .example = "volume restore data-2026-11 data2"},
	{"volume", "delete", "VOLUME...", "destroy detached volumes, with their data",
	 OPTIONS(volume_cli_delete_options), 1, 1000, volume_cli_volume_delete,
	 .example = "volume delete data2"},
	{"archive", "list", "", "archives, newest first", OPTIONS(archive_list_options), 0, 0,
	 archive_list, .example = "archive list --tenant acme"},
	{"archive", "show", "ARCHIVE", "one archive", OPTIONS(volume_cli_one_options), 1, 1,
	 archive_show, .example = "archive show data-2026-11"},
	{"archive", "delete", "ARCHIVE", "destroy an archive, with its data",
	 OPTIONS(volume_cli_delete_options), 1, 1, volume_cli_archive_delete,
	 .example = "archive delete data-2026-11"},
	{"storage", "list", "", "storages and their room", OPTIONS(storage_list_options), 0, 0,
	 storage_list, .example = "storage list"},
	{"storage", "set", "NAME", "add or change a storage", OPTIONS(storage_options), 1, 1,
	 storage_set, .example = "storage set store1 --capacity 20T --accepts yes",
	 .done = "storage {1} saved"},
};
const struct command_group volume_group = {volume_cli_commands, COUNT_OF(volume_cli_commands)};
