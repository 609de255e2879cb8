/* bampi-stored keeps volumes and serves them to the nodes of their PDCIs. The wanted state is rows.
 * Each pass looks at the rows, at the files and at the targets that are open, and does what is
 * missing. One struct holds all that changes. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/problem.h"
#include "common/io/conf.h"
#include "common/io/loop.h"

struct stored_conf {
	char *database;
	char *user;
	char *storage; /* its name among the storages */
	char *dir;
	char *key_dir;
	char *driver;
	char *control;
	char *uplink;
	char *network_program;
	int64_t workers;
	int64_t level;
	int64_t checkpoint_mib;
	int64_t period_ms;
	int64_t claim_s;
};

extern const struct conf_row stored_conf_rows[];
extern const size_t stored_conf_row_count;
int stored_conf_check(const void *values, struct problem *problem);

int stored_start(struct loop *loop, const void *values, void **ret_state, struct problem *problem);
void stored_stop(void *state);
/* Looks at once. */
void stored_reload(void *state);
