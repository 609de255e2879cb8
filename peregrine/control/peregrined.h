/* peregrined: the switches of a site. It finds the cabling, and makes ports what is wanted of them.
 * One struct holds all that changes. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/problem.h"
#include "common/io/conf.h"
#include "common/io/loop.h"

struct daemon_spec;

struct peregrined_conf {
	char *database;
	char *user;
	char *name; /* "" = host:pid */
	char *socket_path;
	char *socket_caller;
	char *key_dir;
	int64_t switch_workers;
	int64_t failing_calls;
	int64_t full_read_s;
	int64_t seen_s;
	int64_t health_s;
	int64_t claim_s;
};

extern const struct conf_table peregrined_conf_table;

extern const struct daemon_spec peregrined_daemon;
