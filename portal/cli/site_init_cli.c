/* haasctl site init: a plan, asked on a terminal or read from a file; checks; the differences; the files; what
 * comes after them. Nothing is written before all of it was shown. Run again it does what is missing. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/cli/wrap.h"
#include "common/io/conf_edit.h"
#include "common/io/file.h"

#include "portal/cli/listing.h"
#include "portal/cli/site_change.h"
#include "portal/cli/site_check.h"
#include "portal/cli/site_init_act.h"
#include "portal/cli/site_plan.h"

#define SITE_INIT_FILE  "/etc/haas/site.conf"
#define SITE_INIT_ROWS  32
#define SITE_INIT_ASKED 1024
#define SITE_INIT_LIMIT ((size_t)1 << 16)

struct site_init {
	const struct command_input *input;
	struct haasctl *haasctl;
	struct text root;
	struct text conninfo;
	char path[PATH_MAX]; /* of the plan */
	struct site_plan plan;
	struct site_changes changes;
	json_t *whole; /* {"ok", "checks", "changes", "actions"} */
	bool people;
};

static void site_init_done(struct site_init *init)
{
	text_done(&init->root);
	text_done(&init->conninfo);
	site_plan_done(&init->plan);
	site_changes_done(&init->changes);
	json_decref(init->whole);
}

static int site_init_problem(const struct problem *problem)
{
	haasctl_problem(problem);
	return problem->code == E_CONFLICT ? EXIT_CONFLICT : EXIT_FAILED;
}

/* --- the questions --- */

struct site_init_values {
	char *values[SITE_INIT_ROWS]; /* by row; NULL: the usual one */
};

static void site_init_values_done(struct site_init_values *values)
{
	for (size_t i = 0; i < SITE_INIT_ROWS; i++)
		freep(&values->values[i]);
}

/* A value of the file as a person types it: ["a", "b"] is a b. */
static void site_init_shown(const char *value, bool commas, struct text *ret)
{
	bool inside = false;

	for (; *value; value++) {
		if (*value == '"')
			inside = !inside;
		else if (inside ||
			 (*value != '[' && *value != ']' && *value != ',' && *value != ' '))
			text_add_bytes(ret, value, 1);
		else if (*value == ',')
			text_add(ret, commas ? ", " : " ");
	}
}

/* Answers of the last time are proposed. */
static void site_init_remember(const char *path, struct site_init_values *values)
{
	CLEANUP(freep) char *text = NULL;
	size_t size = 0;

	if (file_read(path, SITE_INIT_LIMIT, &text, &size) < 0)
		return;
	for (size_t i = 0; i < site_plan_row_count && i < SITE_INIT_ROWS; i++) {
		CLEANUP(text_done) struct text value = {0};
		struct problem problem = {0};

		if (conf_edit_get(text, site_plan_rows[i].key, &value, &problem) == 0 &&
		    value.size > 0)
			values->values[i] = text_take(&value);
	}
}

/* False: the input has ended. */
static bool site_init_ask(size_t row, struct site_init_values *values)
{
	const struct conf_row *each = &site_plan_rows[row];
	CLEANUP(text_done) struct text before = {0};
	CLEANUP(text_done) struct text value = {0};
	char typed[SITE_INIT_ASKED];
	bool commas = strcmp(each->key, "subnets") == 0;

	if (values->values[row])
		site_init_shown(values->values[row], commas, &before);
	else
		text_add(&before, each->default_text);
	wrap_print(stderr, "", 0, each->help);
	fprintf(stderr, "%s [%s]: ", each->key, text_get(&before));
	(void)fflush(stderr);
	if (!fgets(typed, sizeof(typed), stdin))
		return false;
	typed[strcspn(typed, "\n")] = '\0';
	if (!typed[0])
		return true;
	site_plan_value(each, strcmp(typed, "none") == 0 ? "" : typed, &value);
	freep(&values->values[row]);
	values->values[row] = text_take(&value);
	return values->values[row] != NULL;
}

/* Asks, writes the answers into `path`, and asks again as long as they do not fit together. */
static int site_init_ask_all(struct site_init *init, const char *path)
{
	CLEANUP(site_init_values_done) struct site_init_values values = {0};
	struct problem problem = {0};
	int rc = 0;

	site_init_remember(path, &values);
	fprintf(stderr, "An empty answer takes the value in brackets; \"none\" is no value.\n\n");
	do {
		CLEANUP(text_done) struct text text = {0};

		for (size_t i = 0; i < site_plan_row_count; i++) {
			if (site_plan_asks(i, (const char *const *)values.values) &&
			    !site_init_ask(i, &values)) {
				fprintf(stderr, "\nhaasctl: nothing is done\n");
				return EXIT_FAILED;
			}
		}
		site_plan_print(&text, (const char *const *)values.values);
		rc = file_write_atomic(path, text_get(&text), text.size, 0644);
		if (rc)
			return haasctl_cannot("write", path, rc);
		rc = site_plan_load(path, &init->plan, &problem);
		if (rc)
			haasctl_problem(&problem);
	} while (rc);
	fprintf(stderr, "\nThe answers are in %s.\n", path);
	return EXIT_OK;
}

static int site_init_plan(struct site_init *init)
{
	const char *file = command_option(init->input, "--file");
	struct problem problem = {0};
	char usual[PATH_MAX];

	if (!text_format(usual, sizeof(usual), "%s" SITE_INIT_FILE, text_get(&init->root)))
		return haasctl_usage("--root is too long");
	if (!file && isatty(STDIN_FILENO) && init->people)
		return site_init_ask_all(init, usual);
	if (!file && access(usual, R_OK) < 0)
		return haasctl_usage(
			"site init asks on a terminal; elsewhere it needs --file FILE");
	return site_plan_load(file ? file : usual, &init->plan, &problem)
		       ? site_init_problem(&problem)
		       : EXIT_OK;
}

/* --- checks --- */

static bool site_init_accepted(const struct site_init *init, const char *name)
{
	for (const char *const *each = command_options(init->input, "--accept"); each && *each;
	     each++) {
		if (strcmp(*each, name) == 0)
			return true;
	}
	return false;
}

/* How many have findings that nobody has accepted. */
static size_t site_init_checks(struct site_init *init)
{
	struct site_check check = {.root = text_get(&init->root),
				   .conninfo = text_get(&init->conninfo),
				   .plan = &init->plan};
	json_t *rows = json_array();
	size_t wrong = 0;

	(void)json_object_set_new(init->whole, "checks", rows);
	for (size_t i = 0; i < site_init_row_count; i++) {
		json_t *row = site_check_run(&check, &site_init_rows[i]);

		(void)json_array_append_new(rows, row);
		if (init->people)
			site_check_print(row);
		wrong += json_array_size(json_object_get(row, "items")) > 0 &&
			 !site_init_accepted(init, site_init_rows[i].name);
	}
	return wrong;
}

/* --- differences --- */

/* A value, or all lines of a file. */
static void site_init_print_lines(char mark, const char *key, const char *sign, const char *value)
{
	while (*value) {
		CLEANUP(text_done) struct text line = {0};
		size_t size = strcspn(value, "\n");

		text_addf(&line, "  %c %s%s", mark, key, sign);
		text_add_bytes(&line, value, size);
		listing_line(&line);
		value += size + (value[size] == '\n');
	}
}

static void site_init_print_change(const struct site_change *change)
{
	const char *sign = change->key[0] ? " = " : "";

	site_init_print_lines('-', change->key, sign, change->before);
	site_init_print_lines('+', change->key, sign, change->after);
}

/* The conflicts: how many settings are a person's. */
static size_t site_init_changes(struct site_init *init)
{
	static const char *const words[] = {"same", "edit", "conflict"};
	json_t *rows = json_array();
	const char *path = "";
	size_t conflicts = 0;

	(void)json_object_set_new(init->whole, "changes", rows);
	for (size_t i = 0; i < init->changes.count; i++) {
		const struct site_change *change = &init->changes.rows[i];
		CLEANUP(text_done) struct text line = {0};

		if (change->state == SITE_CHANGE_SAME)
			continue;
		conflicts += change->state == SITE_CHANGE_CONFLICT;
		(void)json_array_append_new(
			rows, json_pack("{s:s, s:s, s:s, s:s, s:s}", "path", change->path, "key",
					change->key, "state", words[change->state], "before",
					change->before, "after", change->after));
		if (!init->people)
			continue;
		if (strcmp(path, change->path) != 0) {
			text_addf(&line, "%s", change->path);
			listing_line(&line);
		}
		path = change->path;
		if (change->state == SITE_CHANGE_CONFLICT)
			printf("  a person has set this:\n");
		site_init_print_change(change);
	}
	if (init->people && json_array_size(rows) == 0)
		printf("the files of /etc/haas are as in the plan\n");
	return conflicts;
}

static int site_init_refuse_edits(const struct site_init *init, size_t conflicts)
{
	const char *edits = command_option(init->input, "--edits");
	struct problem problem = {0};

	if (conflicts == 0 || edits)
		return EXIT_OK;
	(void)problem_set(&problem, E_CONFLICT, "%zu settings were edited by a person", conflicts);
	problem_hint(&problem,
		     "--edits keep leaves them, --edits replace writes what the plan says");
	haasctl_problem(&problem);
	return EXIT_CONFLICT;
}

static int site_init_confirm(const struct site_init *init)
{
	char typed[16];

	if (command_option(init->input, "--yes"))
		return EXIT_OK;
	if (!isatty(STDIN_FILENO))
		return haasctl_usage("nobody can be asked here, so nothing is done; --yes does it "
				     "without a question");
	fprintf(stderr, "Type yes to go on, anything else to leave it: ");
	(void)fflush(stderr);
	if (fgets(typed, sizeof(typed), stdin) && strcmp(typed, "yes\n") == 0)
		return EXIT_OK;
	fprintf(stderr, "haasctl: nothing is done\n");
	return EXIT_FAILED;
}

/* --- the whole --- */

static void site_init_print_actions(const json_t *rows)
{
	const json_t *row;
	size_t i;

	json_array_foreach(rows, i, row)
	{
		char first[40];

		(void)text_format(first, sizeof(first), "%-13s %-7s ", haasctl_word(row, "name"),
				  haasctl_word(row, "state"));
		wrap_print(stdout, first, 22, haasctl_word(row, "summary"));
		if (haasctl_word(row, "hint")[0])
			wrap_print(stdout, "      next: ", 12, haasctl_word(row, "hint"));
	}
}

static bool site_init_act(struct site_init *init, bool dry_run)
{
	struct site_act act = {.haasctl = init->haasctl,
			       .input = init->input,
			       .plan = &init->plan,
			       .changes = &init->changes,
			       .root = text_get(&init->root),
			       .dry_run = dry_run,
			       .rows = json_array()};
	bool good = site_act_run(&act);

	(void)json_object_set_new(init->whole, "actions", act.rows);
	if (init->people)
		site_init_print_actions(act.rows);
	return good;
}

static int site_init_write(struct site_init *init)
{
	const char *edits = command_option(init->input, "--edits");
	struct problem problem = {0};

	return site_changes_write(&init->changes, edits && strcmp(edits, "replace") == 0, &problem)
		       ? site_init_problem(&problem)
		       : EXIT_OK;
}

static int site_init_go(struct site_init *init)
{
	bool dry_run = command_option(init->input, "--dry-run") != NULL;
	struct problem problem = {0};
	size_t wrong = site_init_checks(init);

	if (site_changes_find(&init->plan, text_get(&init->root), &init->changes, &problem))
		return site_init_problem(&problem);
	size_t conflicts = site_init_changes(init);
	if (wrong > 0) {
		(void)problem_set(&problem, -1, "%zu checks have findings, so nothing is written",
				  wrong);
		problem_hint(
			&problem,
			"do what stands behind \"next\"; --accept CHECK goes on in spite of one");
		haasctl_problem(&problem);
		return EXIT_FAILED;
	}
	int status = site_init_refuse_edits(init, conflicts);
	if (status == EXIT_OK && dry_run)
		return site_init_act(init, true) ? EXIT_OK : EXIT_FAILED;
	if (status == EXIT_OK)
		status = site_init_confirm(init);
	if (status == EXIT_OK)
		status = site_init_write(init);
	if (status != EXIT_OK)
		return status;
	return site_init_act(init, false) ? EXIT_OK : EXIT_FAILED;
}

static int site_init_run(void *context, const struct command_input *input)
{
	CLEANUP(site_init_done)
	struct site_init init = {.input = input,
				 .haasctl = context,
				 .whole = json_object(),
				 .people = listing_for_people(input)};

	if (command_option(input, "--columns") || (!init.people && !listing_json(input, NULL)))
		return haasctl_usage("site init is no table; take -o json for programs");
	if (site_check_needs_root("site init", "only root can set a machine up") != EXIT_OK)
		return EXIT_DENIED;
	site_check_root(input, &init.root);
	site_check_conninfo(input, text_get(&init.root), &init.conninfo);
	int status = haasctl_use_here(context, input);
	if (status != EXIT_OK)
		return status;
	status = site_init_plan(&init);
	if (status == EXIT_OK)
		status = site_init_go(&init);
	(void)json_object_set_new(init.whole, "ok", json_boolean(status == EXIT_OK));
	if (json_object_get(init.whole, "checks"))
		(void)listing_json(input, init.whole);
	if (status == EXIT_OK && !command_option(input, "--dry-run"))
		haasctl_say_done(input, input->command->done, "", NULL);
	return status;
}

static const struct option_row site_init_options[] = {
	{"--file", 0, OPTION_VALUE, "FILE", "the plan (default " SITE_INIT_FILE ")"},
	{"--print-plan", 0, OPTION_FLAG, NULL, "write an empty plan to stdout"},
	{"--dry-run", 0, OPTION_FLAG, NULL, "check and show, write nothing"},
	{"--accept", 0, OPTION_REPEAT, "CHECK", "go on in spite of this check; may be repeated"},
	{"--edits", 0, OPTION_VALUE, "keep|replace", "what becomes of settings of a person"},
	{"--yes", 'y', OPTION_FLAG, NULL, "no question before it is done"},
	{"--database", 0, OPTION_VALUE, "CONNINFO", "of checks (default HAAS_DATABASE)"},
	{"--root", 0, OPTION_VALUE, "DIR", "the machine whose files lie below DIR"},
};

static int site_init_main(void *context, const struct command_input *input)
{
	static const char *const usual[SITE_INIT_ROWS];
	CLEANUP(text_done) struct text text = {0};

	if (!command_option(input, "--print-plan"))
		return site_init_run(context, input);
	site_plan_print(&text, usual);
	(void)fputs(text_get(&text), stdout);
	return EXIT_OK;
}

static const struct command site_init_commands[] = {
	{"site", "init", "", "set this machine up: asks, or reads a plan; can be run again",
	 OPTIONS(site_init_options), 0, 0, site_init_main, .example = "site init --file site.conf",
	 .done = "this machine is set up; haasctl site check"},
};
const struct command_group site_init_group = {site_init_commands, COUNT_OF(site_init_commands)};
