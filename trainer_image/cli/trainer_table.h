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
extern const struct command_group record_group;  /* record_cli.c */
extern const struct command_group plan_group;    /* plan_cli.c */
extern const struct command_group run_group;     /* run_cli.c */

/* The set. Returns its commands, which the caller frees; NULL: no memory. */
MUST_USE struct command *trainer_table_new(struct command_set *ret);

/* ---- What commands share ---- */

/* Tells a problem on stderr, its detail and its hint; the exit status that fits. */
int trainer_tell(const struct problem *problem);
/* The value of an option as a number within bounds, `otherwise` when it is absent. False, after telling what is wrong. */
MUST_USE bool trainer_number(const struct command_input *input, const char *name, uint64_t least,
			     uint64_t most, uint64_t otherwise, uint64_t *ret);
/* The same for "8MiB", "512KiB", "4096". */
MUST_USE bool trainer_size(const struct command_input *input, const char *name, uint64_t least,
			   uint64_t most, uint64_t otherwise, uint64_t *ret);
/* Rows as --output and --columns say. NULL, after telling what is wrong. */
struct output *trainer_output(const struct command_input *input,
			      const struct output_column columns[], size_t count,
			      enum output_format people);
/* Ends it; an exit status. */
int trainer_output_end(struct output *output);
