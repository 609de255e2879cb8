#include "trainer_image/cli/trainer_table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"

static const struct option_row trainer_globals[] = {
	{"--output", 'o', OPTION_VALUE, "table|wide|json|jsonl|csv", "default table"},
	{"--columns", 'c', OPTION_VALUE, "A,B", "only these columns, in this order"},
};

static const struct noun_row trainer_nouns[] = {
	{"sets", "convert", "pictures to a record file"},
	{"sets", "digits", "a generated set"},
	{"sets", "words", "text, or words, to a record file"},
	{"sets", "sentences", "a generated text"},
	{"sets", "inspect", "what a record file, checkpoint or file of metrics holds"},
	{"sets", "verify", "is it whole?"},
	{"training", "plan", "what fits into memory, at what cost"},
	{"training", "run", "train as a job's file says"},
	{"training", "bench", "how fast is a model here?"},
};

static const struct synonym_row trainer_synonyms[] = {
	{"import", "convert"},      {"pack", "convert"},      {"show", "inspect"},
	{"info", "inspect"},        {"check", "verify"},      {"fsck", "verify"},
	{"mnist", "digits"},        {"text", "words"},        {"tokens", "words"},
	{"tokenize", "words"},      {"--format", "--output"}, {"--json", "--output"},
	{"--size", "--resize-max"}, {"train", "run"},         {"fit", "run"},
};

static const struct command_group *const trainer_groups[] = {
	&convert_group, &words_group, &inspect_group, &record_group,
	&plan_group,    &run_group,   &bench_group};

struct command *trainer_table_new(struct command_set *ret)
{
	size_t count = 0;
	size_t used = 0;

	for (size_t i = 0; i < COUNT_OF(trainer_groups); i++)
		count += trainer_groups[i]->count;
	struct command *commands = calloc(count, sizeof(*commands));
	*ret = (struct command_set){.program = "trainer",
				    .summary = "train models, and make the sets for it",
				    .globals = trainer_globals,
				    .global_count = COUNT_OF(trainer_globals),
				    .commands = commands,
				    .command_count = count,
				    .nouns = trainer_nouns,
				    .noun_count = COUNT_OF(trainer_nouns),
				    .synonyms = trainer_synonyms,
				    .synonym_count = COUNT_OF(trainer_synonyms)};
	for (size_t i = 0; commands && i < COUNT_OF(trainer_groups); i++)
		for (size_t j = 0; j < trainer_groups[i]->count; j++)
			commands[used++] = trainer_groups[i]->rows[j];
	return commands;
}

int trainer_tell(const struct problem *problem)
{
	fprintf(stderr, "trainer: %s\n", problem->message);
	if (problem->detail[0])
		fprintf(stderr, "  %s\n", problem->detail);
	if (problem->hint[0])
		fprintf(stderr, "  hint: %s\n", problem->hint);
	if (problem->code == -ENOENT || problem->code == E_NOT_FOUND)
		return EXIT_NOT_FOUND;
	if (problem->code == -EACCES || problem->code == -EPERM)
		return EXIT_DENIED;
	if (problem->code == E_CONFLICT || problem->code == -EEXIST)
		return EXIT_CONFLICT;
	return EXIT_FAILED;
}

static bool trainer_digits(const char *text, const char **ret_end, uint64_t *ret)
{
	char *end = NULL;

	errno = 0;
	if (text[0] < '0' || text[0] > '9')
		return false;
	*ret = strtoull(text, &end, 10);
	*ret_end = end;
	return errno == 0;
}

static bool trainer_refuse(const char *name, const char *text, uint64_t least, uint64_t most,
			   const char *kind)
{
	fprintf(stderr, "trainer: %s %s is no %s\n  hint: one from %" PRIu64 " to %" PRIu64 "\n",
		name, text, kind, least, most);
	return false;
}

bool trainer_number(const struct command_input *input, const char *name, uint64_t least,
		    uint64_t most, uint64_t otherwise, uint64_t *ret)
{
	const char *text = command_option(input, name);
	const char *end = "";

	*ret = otherwise;
	if (!text)
		return true;
	if (!trainer_digits(text, &end, ret) || *end || *ret < least || *ret > most)
		return trainer_refuse(name, text, least, most, "number that it takes");
	return true;
}

bool trainer_range(const struct command_input *input, const char *name, uint64_t most,
		   uint64_t *ret_first, uint64_t *ret_last)
{
	const char *text = command_option(input, name);
	const char *end = text;
	bool is_range = trainer_digits(text, &end, ret_first);

	*ret_last = *ret_first;
	if (is_range && *end == '-')
		is_range = trainer_digits(end + 1, &end, ret_last);
	if (!is_range || *end || *ret_last < *ret_first || *ret_last > most)
		return trainer_refuse(name, text, 0, most, "rank, nor a range such as 0-3");
	return true;
}

bool trainer_size(const struct command_input *input, const char *name, uint64_t least,
		  uint64_t most, uint64_t otherwise, uint64_t *ret)
{
	static const struct {
		const char *unit;
		unsigned shift;
	} units[] = {{"", 0}, {"KiB", 10}, {"MiB", 20}, {"GiB", 30}};
	const char *text = command_option(input, name);
	const char *end = "";
	size_t unit = 0;

	*ret = otherwise;
	if (!text)
		return true;
	bool good = trainer_digits(text, &end, ret);
	while (good && unit < COUNT_OF(units) && strcmp(end, units[unit].unit) != 0)
		unit++;
	if (!good || unit == COUNT_OF(units) || *ret > most >> units[unit].shift ||
	    *ret << units[unit].shift < least)
		return trainer_refuse(name, text, least, most,
				      "number of bytes that it takes (8MiB, 512KiB)");
	*ret <<= units[unit].shift;
	return true;
}

struct output *trainer_output(const struct command_input *input,
			      const struct output_column columns[], size_t count,
			      enum output_format people)
{
	const char *word = command_option(input, "--output");
	enum output_format format = people;
	struct output *output = NULL;
	const char *error = NULL;

	/* The parser held it to the words there are. "table" is what people read. */
	if (word && strcmp(word, "table") != 0)
		format = (enum output_format)output_format_parse(word);
	if (output_new(stdout, format, columns, count, command_option(input, "--columns"), &output,
		       &error) < 0) {
		fprintf(stderr, "trainer: %s\n", error ? error : error_text(-ENOMEM));
		return NULL;
	}
	return output;
}

int trainer_facts(const struct command_input *input, const struct output_column facts[],
		  const char *const cells[], size_t count)
{
	static const struct output_column pair[] = {{"fact", NULL, false, false},
						    {"value", NULL, false, false}};
	const char *word = command_option(input, "--output");
	bool people = !word || strcmp(word, "table") == 0 || strcmp(word, "wide") == 0;
	struct output *output = trainer_output(input, people ? pair : facts,
					       people ? COUNT_OF(pair) : count, OUTPUT_TABLE);

	if (!output)
		return EXIT_USAGE;
	if (!people)
		output_row(output, cells);
	for (size_t i = 0; people && i < count; i++)
		output_row(output, (const char *const[]){facts[i].key, cells[i]});
	return trainer_output_end(output);
}

const char *trainer_count(char ret[TRAINER_CELL], uint64_t number)
{
	(void)text_format(ret, TRAINER_CELL, "%" PRIu64, number);
	return ret;
}

int trainer_output_end(struct output *output)
{
	int rc = output_end(output);

	if (rc < 0 && rc != -EPIPE)
		fprintf(stderr, "trainer: cannot write stdout: %s\n", error_text(rc));
	return rc < 0 ? EXIT_FAILED : EXIT_OK;
}
