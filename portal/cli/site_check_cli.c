/* haasctl site check: the rows of site_check_rows, one after the other. Like the noun db it asks
 * nothing of portald. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/text.h"
#include "common/cli/wrap.h"
#include "common/io/file.h"

#include "portal/cli/db_admin.h"
#include "portal/cli/listing.h"
#include "portal/cli/site_check.h"

static const char *site_check_cli_state(const struct site_check *check)
{
	return json_array_size(check->items) > 0 ? "wrong" : check->skipped ? "skipped" : "ok";
}

json_t *site_check_run(struct site_check *check, const struct site_check_row *row)
{
	json_t *ret = json_object();

	check->row = row;
	check->items = json_array();
	check->summary[0] = '\0';
	check->skipped = false;
	row->run(check);
	(void)json_object_set_new(ret, "name", json_string(row->name));
	(void)json_object_set_new(ret, "state", json_string(site_check_cli_state(check)));
	(void)json_object_set_new(ret, "summary", json_string(check->summary));
	(void)json_object_set_new(ret, "items", check->items);
	return ret;
}

/* Texts come without anything that a terminal obeys (site_check_machine.c). */
void site_check_print(const json_t *row)
{
	const json_t *item;
	char first[40];
	size_t i;

	(void)text_format(first, sizeof(first), "%-13s %-7s ", haasctl_word(row, "name"),
			  haasctl_word(row, "state"));
	wrap_print(stdout, first, 22, haasctl_word(row, "summary"));
	json_array_foreach(json_object_get(row, "items"), i, item)
	{
		CLEANUP(text_done) struct text line = {0};

		text_addf(&line, "%s: %s", haasctl_word(item, "subject"),
			  haasctl_word(item, "message"));
		wrap_print(stdout, "    ! ", 6, text_get(&line));
		wrap_print(stdout, "      next: ", 12, haasctl_word(item, "hint"));
	}
}

/* HAAS_DATABASE="..." of schema.env: a site with a PostgreSQL of its own names it there. */
static bool site_check_cli_named(const char *root, struct text *ret)
{
	static const char name[] = "HAAS_DATABASE=";
	CLEANUP(freep) char *file = NULL;
	char path[PATH_MAX];
	size_t size;

	if (!text_format(path, sizeof(path), "%s/etc/haas/schema.env", root) ||
	    file_read(path, 65536, &file, &size) < 0)
		return false;
	for (const char *line = file; *line; line += strcspn(line, "\n"), line += *line != 0) {
		const char *value = line + sizeof(name) - 1;
		size_t length = strcspn(line, "\n");

		if (strncmp(line, name, sizeof(name) - 1) != 0)
			continue;
		length -= sizeof(name) - 1;
		if (length > 1 && strchr("\"'", value[0]) && value[length - 1] == value[0]) {
			value++;
			length -= 2;
		}
		text_add_bytes(ret, value, length);
		return true;
	}
	return false;
}

void site_check_conninfo(const struct command_input *input, const char *root, struct text *ret)
{
	const char *given = command_option(input, "--database");

	if (!given)
		given = getenv("HAAS_DATABASE");
	if (given)
		text_add(ret, given);
	else if (!site_check_cli_named(root, ret))
		text_addf(ret, "host=%s" DB_DEFAULT_FOLDER " dbname=haas user=haas", root);
}

void site_check_root(const struct command_input *input, struct text *ret)
{
	if (command_option(input, "--root"))
		text_add(ret, command_option(input, "--root"));
	while (ret->size > 0 && ret->data[ret->size - 1] == '/')
		ret->data[--ret->size] = '\0';
}

int site_check_needs_root(const char *command, const char *why)
{
	struct problem problem = {0};

	if (geteuid() == 0)
		return EXIT_OK;
	(void)problem_set(&problem, -1, "%s", why);
	problem_hint(&problem, "sudo haasctl %s", command);
	haasctl_problem(&problem);
	return EXIT_DENIED;
}

json_t *site_check_all(struct site_check *check, void (*print)(const json_t *row))
{
	json_t *whole = json_object();
	json_t *rows = json_array();
	bool good = true;

	(void)json_object_set_new(whole, "checks", rows);
	for (size_t i = 0; i < site_check_row_count; i++) {
		json_t *row = site_check_run(check, &site_check_rows[i]);

		good = good && json_array_size(json_object_get(row, "items")) == 0;
		(void)json_array_append_new(rows, row);
		if (print)
			print(row);
	}
	(void)json_object_set_new(whole, "ok", json_boolean(good));
	return whole;
}

static int site_check_cli_check(void *context, const struct command_input *input)
{
	CLEANUP(json_decrefp) json_t *whole = NULL;
	CLEANUP(text_done) struct text conninfo = {0};
	CLEANUP(text_done) struct text root = {0};
	struct site_check check = {0};

	(void)context;
	if (command_option(input, "--columns") ||
	    (!listing_for_people(input) && !listing_json(input, NULL)))
		return haasctl_usage("checks are no table; take -o json for programs");
	if (site_check_needs_root("site check", "only root can read the keys of the daemons") !=
	    EXIT_OK)
		return EXIT_DENIED;
	site_check_root(input, &root);
	site_check_conninfo(input, text_get(&root), &conninfo);
	check.root = text_get(&root);
	check.conninfo = text_get(&conninfo);
	whole = site_check_all(&check, listing_for_people(input) ? site_check_print : NULL);
	(void)listing_json(input, whole);
	return json_is_true(json_object_get(whole, "ok")) ? EXIT_OK : EXIT_FAILED;
}

static const struct option_row site_check_cli_options[] = {
	{"--database", 0, OPTION_VALUE, "CONNINFO", "another PostgreSQL (default HAAS_DATABASE)"},
	{"--root", 0, OPTION_VALUE, "DIR", "the machine whose files lie below DIR"},
};
static const struct command site_check_cli_commands[] = {
	{"site", "check", "", "what this controller lacks, and what to do; exit 1 if anything",
	 OPTIONS(site_check_cli_options), 0, 0, site_check_cli_check, .example = "site check"},
};
const struct command_group site_check_group = {site_check_cli_commands,
					       COUNT_OF(site_check_cli_commands)};
