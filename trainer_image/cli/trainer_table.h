/* The commands of trainer as one set: a group a file X_cli.c, a row a command. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/problem.h"
#include "common/cli/command.h"
#include "common/cli/output.h"

struct command_group {
	const struct command *rows;
	size_t count;
};

extern const struct command_group convert_group; /* convert_cli.c */
extern const struct command_group words_group;   /* words_cli.c */
extern const struct command_group inspect_group; /* inspect_cli.c */
extern const struct command_group record_group;  /* record_cli.c */
extern const struct command_group plan_group;    /* plan_cli.c */
extern const struct command_group run_group;     /* run_cli.c */
extern const struct command_group bench_group;   /* bench_cli.c */

/* The set. Returns its commands, which the caller frees; NULL: no memory. */
MUST_USE struct command *trainer_table_new(struct command_set *ret);

/* ---- What commands share ---- */

/* Tells a problem on stderr, its detail and its hint; the exit status that fits. */
int trainer_tell(const struct problem *problem);
/* The value of an option as a number within bounds, `otherwise` when it is absent. False, after telling what is wrong. */
MUST_USE bool trainer_number(const struct command_input *input, const char *name, uint64_t least,
			     uint64_t most, uint64_t otherwise, uint64_t *ret);
/* "3", or "0-3", of an option that is there. */
MUST_USE bool trainer_range(const struct command_input *input, const char *name, uint64_t most,
			    uint64_t *ret_first, uint64_t *ret_last);
/* As trainer_number() for "8MiB", "512KiB", "4096". */
MUST_USE bool trainer_size(const struct command_input *input, const char *name, uint64_t least,
			   uint64_t most, uint64_t otherwise, uint64_t *ret);
/* Rows as --output and --columns say. NULL, after telling what is wrong. */
struct output *trainer_output(const struct command_input *input,
			      const struct output_column columns[], size_t count,
			      enum output_format people);
/* One thing with its facts: a line each for people, one object for programs. An exit status. */
int trainer_facts(const struct command_input *input, const struct output_column facts[],
		  const char *const cells[], size_t count);
enum { TRAINER_CELL = 40 };
/* The number as a cell, in `ret`, which it returns. */
const char *trainer_count(char ret[TRAINER_CELL], uint64_t number);
/* What inspect says of each kind of file, as its options ask. An exit status. */
int record_inspect(const struct command_input *input);     /* record_cli.c */
int checkpoint_inspect(const struct command_input *input); /* checkpoint_cli.c */
int metrics_inspect(const struct command_input *input);    /* metrics_cli.c */
/* Ends it; an exit status. */
int trainer_output_end(struct output *output);
