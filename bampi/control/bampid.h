/* bampid: the step runner, the BMCs, consoles and certificates of a site. One struct holds all that
 * changes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/problem.h"
#include "common/io/conf.h"
#include "common/io/loop.h"

#include "bampi/bmc/refresh_policy.h"
#include "bampi/control/deploy/words.h"

struct daemon_spec;

struct bampid_conf {
	char *database;
	char *user;
	char *name; /* "" = host:pid */
	char *socket_path;
	char *socket_caller;
	char *key_dir;
	char *image_keys;
	char *signed_images;
	char *console_dir;
	int console_watch; /* enum console_watch */
	int64_t console_sessions;
	char *sim_rack;
	char *bmc_ca_file;
	int64_t boot_http_port;
	int64_t claim_s;
	int64_t bmc_workers;
	int64_t bmc_session_keep_s;
	int64_t refresh_s[REFRESH_COUNT];
	int64_t deadline_s[STEP_COUNT];
	int64_t backoff_s;
	int64_t agent_fresh_s;
	int64_t agent_stall_s;
	int64_t bmc_patience_s;
	int64_t settle_s;
	int64_t poll_s, seal_s, let_down_s;
};

extern const struct conf_table bampid_conf_table;

extern const struct daemon_spec bampid_daemon;
