/* haasctl tenant limit: how much a tenant may have, and has. */
#include <stdlib.h>
#include <string.h>

#include "common/base/json_text.h"

#include "portal/cli/listing.h"

#define LIMIT_CLI_NONE    "none"
#define LIMIT_CLI_DEFAULT "default"

/* What is limited: by an option, or (NULL) by the last word. */
static const struct limit_row {
	const char *kind, *option;
	bool bytes;
} limit_rows[] = {
	{"nodes", NULL, false},
	{"volume_bytes", "--volumes", true},
	{"networks", "--networks", false},
	{"images", "--images", false},
	{"packages", "--packages", false},
	{"image_bytes", "--image-bytes", true},
};

/* "16", "20T", "none": no limit, "default": the site's. EXIT_OK, or the error told. */
static int limit_add(struct text *body, const struct limit_row *row, const char *class,
		     const char *word)
{
	const char *name = row->option ? row->option : "the number of nodes";
	int64_t amount = 0;
	int status = EXIT_OK;

	json_begin_object(body, NULL);
	json_put_string(body, "kind", row->kind);
	if (class)
		json_put_string(body, "class", class);
	if (strcmp(word, LIMIT_CLI_DEFAULT) == 0) {
		json_put_bool(body, "default", true);
	} else if (strcmp(word, LIMIT_CLI_NONE) == 0) {
		json_put_null(body, "amount");
	} else {
		if (strcmp(word, "0") != 0)
			status = row->bytes ? haasctl_size(name, word, &amount)
					    : haasctl_number(name, word, &amount);
		json_put_int(body, "amount", amount);
	}
	json_end_object(body);
	return status;
}

static int limit_set(struct haasctl *haasctl, const struct command_input *input, const char *tenant,
		     const char *nodes, const struct text *target)
{
	const char *class = command_option(input, "--class");
	CLEANUP(text_done) struct text body = {0};
	bool any = false;
	int status = EXIT_OK;

	if (class && !nodes)
		return haasctl_usage(
			"--class %s needs a number of nodes: limit set %s --class %s 16", class,
			tenant ? tenant : "--site", class);
	json_begin_object(&body, NULL);
	json_begin_array(&body, "limits");
	for (size_t i = 0; i < COUNT_OF(limit_rows) && status == EXIT_OK; i++) {
		const struct limit_row *row = &limit_rows[i];
		const char *word = row->option ? command_option(input, row->option) : nodes;

		if (!word)
			continue;
		any = true;
		status = limit_add(&body, row, row->option ? NULL : class, word);
	}
	json_end_array(&body);
	json_end_object(&body);
	if (status != EXIT_OK)
		return status;
	if (!any)
		return haasctl_usage("nothing to limit: say a number of nodes, --volumes, "
				     "--networks, --images, --packages or --image-bytes");
	return haasctl_do(
		haasctl, input,
		&(struct haasctl_call){.method = "PATCH",
				       .target = text_get(target),
				       .edits = text_get(target),
				       .body = text_get(&body),
				       .done = tenant ? NULL : "limits of the site saved"});
}

/* A number as people read it: its kind says the unit, and no key does. */
static void limit_for_people(json_t *row, const char *key, bool bytes)
{
	CLEANUP(text_done) struct text scratch = {0};
	const json_t *value = json_object_get(row, key);

	if (value)
		(void)json_object_set_new(
			row, key,
			json_string(listing_text(value, bytes ? "size_bytes" : key, &scratch)));
}

static int limit_list(struct haasctl *haasctl, const struct command_input *input, bool site,
		      const struct text *target)
{
	static const struct output_column columns[] = {COLUMN("kind"),  COLUMN("class"),
						       NUMBER("limit"), NUMBER("used"),
						       NUMBER("free"),  WIDE("own")};
	static const struct output_column site_columns[] = {COLUMN("kind"), COLUMN("class"),
							    NUMBER("limit")};
	CLEANUP(haasctl_reply_done) struct haasctl_reply reply = {0};
	json_t *row;
	json_t *rows;
	size_t i;

	int status = haasctl_get(haasctl, input, text_get(target), &reply);
	if (status != EXIT_OK)
		return status;
	rows = json_object_get(reply.json, "items");
	json_array_foreach(rows, i, row)
	{
		bool bytes = strstr(haasctl_word(row, "kind"), "_bytes") != NULL;

		if (!listing_for_people(input))
			break;
		limit_for_people(row, "limit", bytes);
		limit_for_people(row, "used", bytes);
		limit_for_people(row, "free", bytes);
	}
	if (site)
		return listing_rows(input, rows, COLUMNS(site_columns));
	return listing_rows(input, rows, COLUMNS(columns));
}

static int limit_cli_limit(void *context, const struct command_input *input)
{
	bool set = strcmp(input->words[0], "set") == 0;
	bool site = command_option(input, "--site") != NULL;
	const char *tenant = site || input->word_count < 2 ? NULL : input->words[1];
	const char *nodes = input->word_count > (site ? 1 : 2) ? input->words[site ? 1 : 2] : NULL;
	CLEANUP(text_done) struct text target = {0};

	if (!site && !tenant)
		return haasctl_usage("whose limits? say a tenant, or --site for those without");
	if (!set && nodes)
		return haasctl_usage("%s is too much: limit list shows all", nodes);
	if (site && input->word_count > 2)
		return haasctl_usage("say --site, or a tenant");
	if (tenant)
		haasctl_path(&target, "/tenants/", tenant, "/limits");
	else
		text_add(&target, "/limits");
	return set ? limit_set(context, input, tenant, nodes, &target)
		   : limit_list(context, input, site, &target);
}

static const struct option_row tenant_limit_options[] = {
	{"--class", 0, OPTION_VALUE, "CLASS", "the number of nodes is of this class"},
	{"--volumes", 0, OPTION_VALUE, "SIZE", "of volumes and archives together, 20T"},
	{"--networks", 0, OPTION_VALUE, "N", "how many"},
	{"--images", 0, OPTION_VALUE, "N", "how many of its own"},
	{"--packages", 0, OPTION_VALUE, "N", "how many of its own"},
	{"--image-bytes", 0, OPTION_VALUE, "SIZE", "of its images and packages together"},
	{"--site", 0, OPTION_FLAG, NULL, "of all tenants that have none of their own"},
};

static const struct command tenant_limit_commands[] = {
	{"tenant", "limit", "list|set TENANT [NODES]",
	 "limits of a tenant, and its use; NODES is a number, none or default",
	 OPTIONS(tenant_limit_options), 1, 3, limit_cli_limit,
	 .example = "tenant limit set acme --class gpu 16 --volumes 20T",
	 .done = "limits of tenant {2} saved"},
};
const struct command_group limit_group = {tenant_limit_commands, COUNT_OF(tenant_limit_commands)};
