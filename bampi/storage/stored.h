/* bampi-stored keeps volumes and serves them to the nodes of their PDCIs. The wanted state is rows.
 * Each pass looks at the rows, at the files and at the targets that are open, and does what is
 * missing. One struct holds all that changes. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/problem.h"
#include "common/io/conf.h"
#include "common/io/loop.h"

struct daemon_spec;

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

extern const struct conf_table stored_conf_table;

extern const struct daemon_spec stored_daemon;
