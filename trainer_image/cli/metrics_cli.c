/* What trainer inspect says of a file of metrics. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/text.h"

#include "trainer_image/cli/trainer_table.h"
#include "trainer_image/train/metrics.h"

enum {
	METRICS_CLI_FIXED = 3,  /* step, time, void */
	METRICS_CLI_NARROW = 5, /* columns that fit into 80 beside the step; -o wide has all */
};

static const struct output_column metrics_cli_facts[] = {
	{"file", NULL, false, false},      {"steps", NULL, true, false},
	{"first_step", NULL, true, false}, {"last_step", NULL, true, false},
	{"begun", NULL, false, false},     {"last", NULL, false, false},
	{"void", NULL, true, false},       {"resumes", NULL, true, false},
	{"columns", NULL, false, false},   {"bytes", NULL, true, false},
	{"torn_bytes", NULL, true, false}, {"damaged_bytes", NULL, true, false},
};

/* The first frame that counts, or the last one; the count of all: there is none. */
static size_t metrics_cli_end(const struct metrics_series *series, bool is_last)
{
	for (size_t i = 0; i < series->count; i++) {
		size_t at = is_last ? series->count - 1 - i : i;

		if (!series->rows[at].is_void)
			return at;
	}
	return series->count;
}

static int metrics_cli_summary(const struct command_input *input,
			       const struct metrics_series *series)
{
	char cell[8][TRAINER_CELL];
	char begun[CLOCK_TEXT_SIZE];
	char last[CLOCK_TEXT_SIZE];
	struct text columns = {0};
	size_t ends[2] = {metrics_cli_end(series, false), metrics_cli_end(series, true)};
	bool any = ends[0] < series->count;
	struct metrics_frame first_frame = {0};
	struct metrics_frame last_frame = {0};

	if (any) {
		first_frame = metrics_series_frame(series, ends[0]);
		last_frame = metrics_series_frame(series, ends[1]);
	}
	for (size_t i = 0; i < series->columns.count; i++)
		text_addf(&columns, "%s%s", i > 0 ? " " : "", series->columns.name[i]);
	const char *const cells[COUNT_OF(metrics_cli_facts)] = {
		input->words[0],
		trainer_count(cell[0], series->count - series->voids),
		any ? trainer_count(cell[1], first_frame.step) : NULL,
		any ? trainer_count(cell[2], last_frame.step) : NULL,
		any ? clock_text(first_frame.wall_us, begun) : NULL,
		any ? clock_text(last_frame.wall_us, last) : NULL,
		trainer_count(cell[3], series->voids),
		trainer_count(cell[4], series->resumes),
		text_get(&columns),
		trainer_count(cell[5], series->size),
		trainer_count(cell[6], series->torn),
		trainer_count(cell[7], series->damaged),
	};
	int status = trainer_facts(input, metrics_cli_facts, cells, COUNT_OF(metrics_cli_facts));
	text_done(&columns);
	return status;
}

static void metrics_cli_row(struct output *output, const struct metrics_series *series, size_t nth)
{
	struct metrics_frame frame = metrics_series_frame(series, nth);
	const char *cells[METRICS_CLI_FIXED + METRICS_COLUMNS_MAX];
	char value[METRICS_COLUMNS_MAX][TRAINER_CELL];
	char step[TRAINER_CELL];
	char when[CLOCK_TEXT_SIZE];

	cells[0] = trainer_count(step, frame.step);
	cells[1] = clock_text(frame.wall_us, when);
	cells[2] = series->rows[nth].is_void ? "yes" : "no";
	for (size_t i = 0; i < series->columns.count; i++) {
		(void)text_format(value[i], TRAINER_CELL,
				  output_is_table(output) ? "%.6g" : "%.17g", frame.value[i]);
		/* Infinity is no number of JSON. */
		cells[METRICS_CLI_FIXED + i] = isfinite(frame.value[i]) ? value[i] : NULL;
	}
	output_row(output, cells);
}

static int metrics_cli_steps(const struct command_input *input, const struct metrics_series *series)
{
	struct output_column columns[METRICS_CLI_FIXED + METRICS_COLUMNS_MAX] = {
		{"step", NULL, true, false},
		{"time", NULL, false, true},
		{"void", NULL, false, true}};
	bool all = command_option(input, "--all") != NULL;

	for (size_t i = 0; i < series->columns.count; i++)
		columns[METRICS_CLI_FIXED + i] =
			(struct output_column){.key = series->columns.name[i],
					       .number = true,
					       .wide = i >= METRICS_CLI_NARROW};
	struct output *output = trainer_output(
		input, columns, METRICS_CLI_FIXED + series->columns.count, OUTPUT_TABLE);
	if (!output)
		return EXIT_USAGE;
	for (size_t i = 0; i < series->count; i++)
		if (all || !series->rows[i].is_void)
			metrics_cli_row(output, series, i);
	return trainer_output_end(output);
}

int metrics_inspect(const struct command_input *input)
{
	struct metrics_series series = {0};
	struct problem problem = {0};

	if (metrics_read(input->words[0], &series, &problem) < 0)
		return trainer_tell(&problem);
	int status = command_option(input, "--steps") ? metrics_cli_steps(input, &series)
						      : metrics_cli_summary(input, &series);
	metrics_series_done(&series);
	return status;
}
