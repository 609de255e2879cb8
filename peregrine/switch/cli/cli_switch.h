/* The state kept for one switch that is spoken to by its command line, shared by the parts of the
 * driver. */
#pragma once

#include "common/base/problem.h"

#include "peregrine/switch/cli/cli_config_wire.h"
#include "peregrine/switch/cli/cli_dialect.h"
#include "peregrine/switch/cli/cli_dialogue.h"
#include "peregrine/switch/cli/cli_script.h"
#include "peregrine/switch/switch_call.h"
#include "peregrine/switch/switch_family_table.h"

struct cli_change;
struct cli_read;
struct cli_round;
struct cli_switch;

/* What a command that only shows something printed; with rc a problem, and no output. */
typedef void (*cli_shown_fn)(struct cli_switch *one, int rc, const char *output,
			     const struct problem *problem);
/* one->config was read, or not: rc and a problem. */
typedef void (*cli_config_fn)(struct cli_switch *one, int rc, const struct problem *problem);
struct cli_mirroring;
struct cli_lagging;

struct cli_switch {
	struct switch_call call;
	const struct cli_dialect *dialect;
	struct cli_dialogue *dialogue;

	struct cli_script script;
	const char *shown_by; /* the command that shows, under way */
	cli_shown_fn shown;
	cli_config_fn looked;
	struct cli_config *config; /* as last read in this call */
	struct cli_change *change;
	struct cli_read *read;
	struct cli_round *round;
	char collector[46]; /* of sFlow, that stands there for us; kept between calls */
	struct cli_mirroring *mirroring;
	struct cli_lagging *lagging;
};

/* Runs one command of the call under way. */
void cli_switch_run(struct cli_switch *one, const char *command, cli_answer_fn fn, void *context);

/* The rc for what the switch thinks of a command, with a problem that quotes both. */
int cli_switch_verdict(const struct cli_switch *one, enum cli_verdict verdict, const char *command,
		       const char *line, struct problem *ret);

/* Runs a command that only shows something. It is run again when the session of an earlier call was
 * dead. */
void cli_switch_show(struct cli_switch *one, const char *command, cli_shown_fn shown);
/* Reads show_config and show_vlans into one->config. `looked` comes from the loop. */
void cli_look_start(struct cli_switch *one, cli_config_fn looked);

/* cli_change.c */
int cli_change_start(struct cli_switch *one);
int cli_save_start(struct cli_switch *one);
void cli_change_free(struct cli_change *change);
/* cli_read.c */
int cli_read_start(struct cli_switch *one);
void cli_read_free(struct cli_read *read);
/* cli_sampling.c */
int cli_sampling_start(struct cli_switch *one);
void cli_round_free(struct cli_round *round);
/* cli_mirror.c */
int cli_mirror_start(struct cli_switch *one);
void cli_mirroring_free(struct cli_mirroring *mirroring);
/* cli_lag.c */
int cli_lag_start(struct cli_switch *one);
void cli_lagging_free(struct cli_lagging *lagging);
bool cli_lag_names(const struct switch_family *family, unsigned number, char ret[64]);
/* cli_apart.c */
int cli_apart_start(struct cli_switch *one);
/* cli_locate.c */
int cli_locate_start(struct cli_switch *one);
bool cli_locates(const struct switch_family *family, uint16_t seconds, struct switch_located *ret);
