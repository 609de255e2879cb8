/* What an operator wants a machine to be: the file of `haasctl site init`, in the format of the daemons'
 * configurations. Its rows are also the questions on a terminal. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/base/text.h"
#include "common/io/conf.h"

enum site_https { SITE_HTTPS_OFF, SITE_HTTPS_OFFERED, SITE_HTTPS_REQUIRED };
extern const char *const site_https_words[];

struct site_plan {
	char **roles, **interfaces, **subnets, **operators;
	int64_t controllers;
	uint32_t server_address;
	char *database, *keys, *kernel, *site;
	int https; /* enum site_https */
	char *storage_name, *storage_uplink;
	char **relay_interfaces, **relay_servers;
	char *relay_controller;
};
extern const struct conf_row site_plan_rows[];
extern const size_t site_plan_row_count;

/* Reads a file and checks what can be said of it alone. */
MUST_USE int site_plan_load(const char *path, struct site_plan *ret, struct problem *problem);
void site_plan_done(struct site_plan *plan);
bool site_plan_has(const struct site_plan *plan, const char *role);
/* The file, with the help of each row, with `values` (libconfig; NULL: the usual one) in the order of the
 * rows. */
void site_plan_print(struct text *ret, const char *const values[]);
/* What a person typed at a question, as a value of the file: "eth1 eth2" becomes ["eth1", "eth2"]. */
void site_plan_value(const struct conf_row *row, const char *typed, struct text *ret);
/* Is it a question for a machine with the answers so far? Values as in site_plan_print. */
bool site_plan_asks(size_t row, const char *const values[]);

/* "rack1 10.2.0.0/24 server=10.2.0.1 pool=10.2.0.100-10.2.0.199 gateway=10.2.0.254 open" */
struct site_subnet {
	char name[64];
	char prefix[20], server[16], low[16], high[16], gateway[16]; /* "" = none */
	bool open;
};
MUST_USE int site_subnet_parse(const char *text, struct site_subnet *ret, struct problem *problem);
