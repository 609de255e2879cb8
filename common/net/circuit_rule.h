/* From the bytes of option 82 to (switch, port): a rule is a family of circuit_table.h with what
 * the operator changed in it. The rules of a site are rows; this is one of them, ready to apply. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/text.h"
#include "common/net/circuit_table.h"
#include "common/net/circuit_wire.h"

/* What a relay put into option 82; borrowed bytes, NULL and 0 when absent. */
struct circuit_sample {
	const uint8_t *circuit;
	size_t circuit_size;
	const uint8_t *remote;
	size_t remote_size;
};

/* A rule as it is written down; "" takes what the family says. */
struct circuit_rule_text {
	const char *family; /* "" = none: `circuit`, `switch_name` and `port` say all */
	const char *circuit;
	const char *remote;
	const char *switch_name;
	const char
		*port; /* "-" = the circuit names no port (a VLAN of a router): known, no place */
	int32_t port_offset; /* beside that of the family */
};

struct circuit_rule {
	struct circuit_template circuit;
	struct circuit_template remote;
	bool any_remote;
	bool no_port;
	char switch_name[CIRCUIT_TEXT_SIZE];
	char port[CIRCUIT_TEXT_SIZE];
	int32_t port_offset;
};

struct circuit_place {
	char switch_name[CIRCUIT_TEXT_SIZE];
	char port[CIRCUIT_TEXT_SIZE]; /* "" = it names no port */
};
/* E_MALFORMED: a text is too long. */
MUST_USE int circuit_place_set(struct circuit_place *ret, const char *switch_name,
			       const char *port);

/* E_MALFORMED with *ret_why, a static text; E_NOT_FOUND for a family that does not exist; E_LIMIT.
 */
MUST_USE int circuit_rule_compile(const struct circuit_rule_text *text, struct circuit_rule *ret,
				  const char **ret_why);
/* False when the rule is not about this sample. */
bool circuit_rule_apply(const struct circuit_rule *rule, const struct circuit_sample *sample,
			struct circuit_place *ret);

/* A number in the name of a port by a pattern like "Ethernet1/{port}"; false when it does not fit
 * or the pattern is none. */
bool circuit_port_number(const char *pattern, const char *port, uint32_t *ret);

/* Appends the template that matches exactly these bytes. E_LIMIT, -ENOMEM. */
MUST_USE int circuit_template_of(const void *bytes, size_t size, struct text *ret);

/* What could be meant by "this sample is port `port` of switch `switch_name`": families that match
 * it, the likeliest first. Unless the sample names the switch, a rule made of it says the switch
 * itself, and pins relay and remote-id. */
struct circuit_proposal {
	const struct circuit_family *family;
	bool names_switch;   /* the sample itself names the switch, and it is this one */
	int32_t port_offset; /* beside that of the family, so that the number comes out right */
};
/* At most `room` rows; returns how many. A family whose port has no number, or another name than
 * `port`, is none; nor is one whose offset would be beyond what switches do. */
size_t circuit_propose(const struct circuit_sample *sample, const char *switch_name,
		       const char *port, struct circuit_proposal ret[], size_t room);
