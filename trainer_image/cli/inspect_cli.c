/* trainer inspect: says what a file of the trainer holds. The first bytes tell its kind. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/error.h"

#include "trainer_image/cli/trainer_table.h"
#include "trainer_image/train/checkpoint_wire.h"
#include "trainer_image/train/metrics_wire.h"

enum { INSPECT_CLI_BEGIN = 8 };

/* Each option belongs to one kind of file. */
static const struct option_row inspect_cli_options[] = {
	{"--classes", 0, OPTION_FLAG, NULL, "record file: labels, and how many samples each has"},
	{"--pages", 0, OPTION_FLAG, NULL, "record file: a row per page"},
	{"--samples", 0, OPTION_FLAG, NULL, "record file: a row per sample"},
	{"--regions", 0, OPTION_FLAG, NULL, "checkpoint: a row per region"},
	{"--steps", 0, OPTION_FLAG, NULL, "metrics: a row per step"},
	{"--all", 0, OPTION_FLAG, NULL, "metrics, with --steps: also those that are void"},
};

static const struct {
	bool (*begins)(const void *data, size_t size); /* NULL: anything else */
	const char *kind;
	const char *options[4];
	int (*inspect)(const struct command_input *input);
} inspect_cli_kinds[] = {
	{checkpoint_wire_begins, "a checkpoint", {"--regions"}, checkpoint_inspect},
	{metrics_wire_begins, "a file of metrics", {"--steps", "--all"}, metrics_inspect},
	{NULL, "a record file", {"--classes", "--pages", "--samples"}, record_inspect},
};

static size_t inspect_cli_kind(const char *path)
{
	char begin[INSPECT_CLI_BEGIN];
	FILE *file = fopen(path, "re");
	size_t size = file ? fread(begin, 1, sizeof(begin), file) : 0;
	size_t kind = 0;

	if (file)
		(void)fclose(file);
	while (inspect_cli_kinds[kind].begins && !inspect_cli_kinds[kind].begins(begin, size))
		kind++;
	return kind;
}

static bool inspect_cli_takes(size_t kind, const char *option)
{
	for (size_t i = 0; i < COUNT_OF(inspect_cli_kinds[kind].options); i++)
		if (inspect_cli_kinds[kind].options[i] &&
		    strcmp(inspect_cli_kinds[kind].options[i], option) == 0)
			return true;
	return false;
}

static int inspect_cli_run(void *context, const struct command_input *input)
{
	size_t kind = inspect_cli_kind(input->words[0]);
	struct stat status;

	(void)context;
	if (stat(input->words[0], &status) == 0 && S_ISDIR(status.st_mode)) {
		fprintf(stderr, "trainer: %s is a folder\n  hint: name one of its files\n",
			input->words[0]);
		return EXIT_USAGE;
	}
	for (size_t i = 0; i < COUNT_OF(inspect_cli_options); i++) {
		const char *option = inspect_cli_options[i].name;

		if (!command_option(input, option) || inspect_cli_takes(kind, option))
			continue;
		fprintf(stderr, "trainer: %s is %s, which has no %s\n", input->words[0],
			inspect_cli_kinds[kind].kind, option);
		return EXIT_USAGE;
	}
	return inspect_cli_kinds[kind].inspect(input);
}

static const struct command inspect_cli_rows[] = {
	{"inspect", "", "FILE", "what a record file, checkpoint or file of metrics holds",
	 inspect_cli_options, COUNT_OF(inspect_cli_options), 1, 1, inspect_cli_run,
	 "inspect set.rec --classes", NULL},
};

const struct command_group inspect_group = {inspect_cli_rows, COUNT_OF(inspect_cli_rows)};
