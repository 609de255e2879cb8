/* The faults of an emulated command line: a file of `key=value` words, read again whenever it
 * changes. switch_fault_table.h is the same for the SNMP agent; words that both have mean the
 * same. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/base/macros.h"

#include "tests/sim/switch/switch_model.h"

struct cli_faults {
	uint32_t slow_ms;        /* before each command is answered */
	uint32_t refuse;         /* bits of enum switch_verb: answered with the family's error */
	uint32_t lost;           /* bits: answered as done, not done */
	uint32_t partial;        /* the session ends after so many changes; 0: never */
	uint32_t slow_change_ms; /* before a command that changed something is answered */
	uint32_t reboot_after;   /* a reboot when a session has made so many changes; 0: none */
	uint32_t sessions;       /* logged in at a time; 0: the family's limit */
	uint32_t reboot; /* another number than before: startup configuration, sessions dropped */
	uint32_t foreign_port, foreign_vid; /* somebody else puts this port into this VLAN */
	bool lost_save, locked, garbage, endless, silent;
};

/* The whole text; *ret is what it says, also when a word is wrong: then E_MALFORMED, and the word
 * is in `wrong`. "none" takes back what stands before it. */
MUST_USE int cli_faults_read(const char *text, struct cli_faults *ret, char wrong[64]);
/* What there is, a line each. */
void cli_faults_help(FILE *out);
