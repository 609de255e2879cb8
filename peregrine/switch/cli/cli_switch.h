/* The state kept for one switch that is spoken to by its command line, shared by the parts of the
 * driver. */
#pragma once

#include "common/base/problem.h"

#include "peregrine/switch/cli/cli_config_wire.h"
#include "peregrine/switch/cli/cli_dialect.h"
#include "peregrine/switch/cli/cli_dialogue.h"
#include "peregrine/switch/switch_driver.h"
#include "peregrine/switch/switch_family_table.h"

struct loop_timer;
struct cli_change;
struct cli_read;
struct cli_round;
struct cli_switch;

/* Reads show_config and show_vlans into one->config; `done` comes from the loop, rc 0 or with a
 * problem. */
typedef void (*cli_config_fn)(struct cli_switch *one, int rc, const struct problem *problem);
struct cli_look {
	struct cli_switch *one;
	const char *command;
	cli_config_fn done;
};
struct cli_mirroring;
struct cli_lagging;

struct cli_switch {
	struct switch_endpoint endpoint;
	const struct switch_family *family;
	const struct cli_dialect *dialect;
	struct cli_dialogue *dialogue;
	struct loop_timer *timer; /* an end that may not come at once */

	/* The call under way; `fn` NULL: none. */
	const struct switch_request *request;
	switch_call_fn fn;
	void *context;
	int64_t deadline_ms;
	int early_rc; /* to be told in the next turn */
	struct problem early;
	uint32_t commands_before;
	bool again; /* the session is from an earlier call and may be dead: one more try is left */
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
/* Did a command that only reads fail because the session of an earlier call was dead? Then it may
 * be run again. Once per call. */
bool cli_switch_may_repeat(struct cli_switch *one, const struct cli_answer *answer);

/* Ends the call. `reading` may be NULL. */
void cli_switch_end(struct cli_switch *one, int rc, struct switch_reading *reading,
		    const struct problem *problem);
/* The rc for what the switch thinks of a command, with a problem that quotes both. */
int cli_switch_verdict(const struct cli_switch *one, enum cli_verdict verdict, const char *command,
		       const char *line, struct problem *ret);

void cli_look_start(struct cli_look *look, struct cli_switch *one, cli_config_fn done);

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
/* cli_locate.c */
int cli_locate_start(struct cli_switch *one);
bool cli_locates(const struct switch_family *family, uint16_t seconds, struct switch_located *ret);
