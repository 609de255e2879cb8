/* Where traffic is looked at: one text for the command line, the API and URLs, from a link down to
 * a flow.
 *
 *   ''                                            all links
 *   link:SWITCH:PORT                              what leaves by that port
 *   link:SWITCH:PORT/tenant:NAME/vlan:N/pair:A~B  of it: whose, in which VLAN, between whom
 *   tenant:NAME/vlan:N/pair:A~B                   where it entered, at all edge ports: counted once
 *   .../flow:SOURCE~PORT~TARGET~PORT~PROTOCOL~ETHERTYPE~forward|back
 *
 * nobody:REASON stands in place of tenant:NAME for what is no tenant's. Names
 * are printable ASCII; inside one, '%', '/', ':' and '~' are written %25, %2F, %3A and %7E (RFC
 * 3986 2.1). */
#pragma once

#include <stdbool.h>

#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/base/text.h"

enum drill_level {
	DRILL_ALL,
	DRILL_LINK,
	DRILL_OWNER, /* a tenant, or a reason why nobody */
	DRILL_VLAN,
	DRILL_PAIR,
	DRILL_FLOW,
	DRILL_LEVEL_COUNT
};
/* "all", "link", "owner", "vlan", "pair", "flow"; NULL-ended. */
extern const char *const drill_level_words[DRILL_LEVEL_COUNT + 1];

#define DRILL_NAME_SIZE 128
#define DRILL_PATH_SIZE 1536 /* of a text: longer ones are refused */
#define DRILL_KEYS_MAX  7
/* Of a network that has no tenant: peregrine-flowd knows the network, so it has no reason. */
#define DRILL_NO_TENANT "no_tenant"

struct drill_path {
	enum drill_level level; /* what is below it is unset */
	bool at_link;           /* else where it entered */
	char switch_name[DRILL_NAME_SIZE], port[DRILL_NAME_SIZE];
	bool nobody;
	char owner[DRILL_NAME_SIZE]; /* tenant or reason */
	int vlan;                    /* 0..4094, 0 = none */
	char a[DRILL_NAME_SIZE], b[DRILL_NAME_SIZE];
	struct {
		char source[DRILL_NAME_SIZE], target[DRILL_NAME_SIZE]; /* "" without IP */
		int source_port, target_port, protocol, ethertype;
		bool forward; /* from a to b */
	} flow;
};

/* 0, or E_MALFORMED with a problem that names the part and what it takes; *ret is then untouched.
 */
MUST_USE int drill_path_parse(const char *text, struct drill_path *ret, struct problem *problem);
void drill_path_print(const struct drill_path *path, struct text *out);
/* One level up; stays at the top. */
void drill_path_up(struct drill_path *path);
/* One level down: the child that `keys` name, as plain texts. False when a key does not fit, or
 * there is no level below. The keys by level:
 *
 *   link    switch, port
 *   tenant  name ("" = nobody), reason
 *   VLAN    number
 *   pair    both ends
 *   flow    source, its port, target, its port, protocol, EtherType, "t" when it goes forward */
MUST_USE bool drill_path_down(const struct drill_path *path, const char *const keys[],
			      struct drill_path *ret);
/* How many keys a child of a path of this level has. */
size_t drill_path_keys(enum drill_level level);
