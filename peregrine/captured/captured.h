/* peregrine-captured: the captures of one collector. Reads what is wanted (capture_work), starts
 * one peregrine-capture for each, writes down what they tell, keeps their files. It parses no
 * packet. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/problem.h"
#include "common/io/conf.h"
#include "common/io/loop.h"

struct daemon_spec;

struct captured_conf {
	char *database;
	char *user;
	char *name;
	char *socket_path;
	char *socket_caller;
	char *capture_dir;
	char *program;
	char *capture_user;
	int64_t limit;
	int64_t keep_days, keep_bytes, tenant_bytes;
};

extern const struct conf_table captured_conf_table;

extern const struct daemon_spec captured_daemon;
