/* How the command lines of the families differ: constant rows, no control flow per vendor. A row
 * describes its prompts, its pager, the lines of a change, its refusals and its configuration. A
 * unit test refuses a family without error patterns: there a rejected command would be taken for
 * success. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CLI_PATTERN_LIMIT = 24, CLI_STEP_LIMIT = 14, CLI_RULE_LIMIT = 40 };

/* --- what is sent --- */

/* When a step is sent. Bits; all that are set must hold. 0 = always. */
enum cli_when {
	WHEN_ACCESS = 1 << 0,    /* the port becomes an access port */
	WHEN_TRUNK = 1 << 1,     /* ... a trunk */
	WHEN_NATIVE = 1 << 2,    /* untagged frames have a VLAN */
	WHEN_NO_NATIVE = 1 << 3, /* untagged frames are dropped */
	WHEN_WAS_TRUNK = 1 << 4, /* it is a trunk now */
	WHEN_ROUTED = 1 << 6,    /* the port is no port of a bridge now */
	WHEN_NAMED = 1 << 5,     /* the VLAN has a name */
};

/* Which VLANs a step is about. "Now" is what was read just before. */
enum cli_list {
	LIST_NONE,
	LIST_ALLOWED,       /* all that the trunk carries: tagged and native */
	LIST_ADD_ALLOWED,   /* of them, those it does not carry now */
	LIST_DROP_ALLOWED,  /* that it carries now and should not */
	LIST_ADD_TAGGED,    /* wanted tagged, not tagged now */
	LIST_DROP_TAGGED,   /* tagged now, not wanted tagged */
	LIST_ADD_UNTAGGED,  /* the native VLAN, when it is not untagged now */
	LIST_DROP_UNTAGGED, /* untagged now, not wanted untagged */
};

enum cli_step_flag {
	STEP_CONTEXT = 1 << 0,  /* its first line only chooses what the next ones are about */
	STEP_OPTIONAL = 1 << 1, /* some models do not know it: a refusal means nothing */
	STEP_PER_VLAN = 1 << 2, /* once for each VLAN of the list, as {vlan} */
};

/* Lines, '\n' between them. Words in braces: {vlan} {name} {port} {native} {list}; a list that does
 * not fit into one line is sent in pieces. */
struct cli_step {
	const char *text;
	unsigned when;
	unsigned flags;
	enum cli_list list; /* nothing to list: the step is left out, or: */
	const char *empty;  /* what is sent then */
	/* LIST_ALLOWED: how to say the same in pieces, when `text` sets the whole list. */
	const char *add, *remove;
};

/* A question that a command may ask, and the answer; both may come more than once. */
struct cli_reply {
	const char *question; /* somewhere in the last line */
	const char *answer;   /* without the newline */
};

/* --- what is read --- */

enum cli_section { SECTION_NONE, SECTION_PORT, SECTION_VLAN };

enum cli_fact {
	FACT_END,         /* of a section; also a section that is not ours */
	FACT_PORT,        /* %p: a section of this port begins */
	FACT_VLAN,        /* %l: these VLANs exist; a section of the first begins */
	FACT_VLAN_NAMED,  /* %n, %t: one line says both */
	FACT_VLAN_NAME,   /* %t */
	FACT_ALIAS,       /* %t */
	FACT_SHUT,        /* the port is down by configuration */
	FACT_ROUTED,      /* it is no port of a bridge */
	FACT_BRIDGED,     /* it is one */
	FACT_LAG,         /* %n: member of this aggregate */
	FACT_APART,       /* %n: exchanges no frames with others of this group; no number: 1 */
	FACT_MODE_ACCESS, /* from here on: of a port's section */
	FACT_MODE_TRUNK,
	FACT_MODE_HYBRID,
	FACT_MODE_OTHER,   /* dynamic, dot1q tunnel ...: whatever, it is not exact */
	FACT_ACCESS,       /* %n */
	FACT_NATIVE,       /* %n */
	FACT_NATIVE_NONE,  /* untagged frames are dropped */
	FACT_ALLOWED,      /* %l */
	FACT_ALLOWED_ADD,  /* %l: more of the same list */
	FACT_ALLOWED_DROP, /* %l */
	FACT_ALLOWED_ALL,
	FACT_ALLOWED_NONE,
	FACT_TAGGED,         /* %l: of the port */
	FACT_UNTAGGED,       /* %l */
	FACT_MEMBERS_DROP,   /* %l */
	FACT_PORTS_TAGGED,   /* %p..: of the VLAN's section */
	FACT_PORTS_UNTAGGED, /* %p.. */
	FACT_PORTS_DROP,     /* %p..: not members */
	FACT_ROW_TAGGED,     /* %n %p: one row of a table */
	FACT_ROW_UNTAGGED,   /* %n %p */
	FACT_APART_ON,
	FACT_APART_PORTS,  /* %n %p..: of this group, as FACT_APART */
	FACT_APART_FILTER, /* %s %p..: frames of the port leave by none of the list */
	FACT_APART_VAGUE,  /* something keeps ports apart that is not read */
};

/* A line of the configuration and its meaning. Words match as they are, whatever their case. The
 * first row that matches counts.
 *
 *   "%n"  a number                       to the end of the line:
 *   "%w"  any word                       "%l"  a list of VLANs
 *   "%v"  a word like "vlan10"           "%p"  a port or a list of ports
 *   "%q"  one word that is told: a list  "%t"  text
 *         without spaces, a name         "%*"  whatever
 *   "%s"  one more word that is told,
 *         without its quotes */
struct cli_rule {
	enum cli_section section; /* in which it is looked for; SECTION_NONE: everywhere */
	const char *line;
	enum cli_fact fact;
};

/* How what is configured becomes a membership. */
enum cli_model {
	MODEL_SWITCHPORT, /* a mode decides which of access VLAN, native VLAN and list counts */
	MODEL_MEMBERS,    /* sets of VLANs, untagged and tagged */
};

enum cli_prompt {
	PROMPT_PAREN, /* name# name> name(config-if)# */
	PROMPT_ANGLE, /* <name> [name-Port] */
	PROMPT_SHELL, /* user@name:path$ */
};

/* What makes a LED blink: {port}, {seconds} or {minutes} in it. `on` NULL: nothing. */
struct cli_locate {
	const char *on, *off;
	bool of_port;           /* else the LED of the whole switch */
	bool ends_itself;       /* after the time that was said */
	uint16_t low_s, high_s; /* of that time; 0 = any */
};

/* One table or list of blocks that a show command prints. A word that is NULL is not shown. */
struct cli_lldp_words {
	const char *command;
	const char *local, *chassis, *port, *port_text,
		*system; /* "Local Intf" of "Local Intf: x" */
};

struct cli_sampling;

struct cli_dialect {
	const char *name; /* of the family */
	enum cli_prompt prompt;
	const char *pager_off[3];
	const char *enable;       /* makes "name>" a "name#"; NULL = no such thing */
	const char *config_enter; /* NULL: changes are ordinary commands */
	const char *config_leave; /* from any depth */

	/* Part of a line, whatever its case; '^' at its front: the line begins with it. What the
	 * system's log writes into the terminal is passed over. */
	const char *errors[CLI_PATTERN_LIMIT]; /* at least one */
	const char *benign[8];                 /* of lines that look like errors and are none */
	const char *busy[8];                   /* somebody else holds the configuration */
	const char *denied[6];                 /* this user may not */

	struct cli_step vlan_create[4], vlan_delete[3], port[CLI_STEP_LIMIT];
	struct cli_reply replies[8]; /* to questions of changes and of `save` */
	const char *save;
	const char *saved; /* pattern without which it was not saved; NULL = it says nothing */

	/* Lists of VLANs: "10,20-30" or "10 20 to 30". */
	const char *list_comma, *list_dash;
	uint8_t list_items;    /* at most in a line; 0 = what fits */
	uint16_t list_size;    /* characters of a list in a line; 0 = 180 */
	bool native_required;  /* a trunk cannot drop untagged frames */
	bool allowed_required; /* a trunk cannot carry nothing: it would carry all */

	const char *show_config, *show_vlans; /* the latter NULL: all is in the former */
	const char *empty_sign; /* in what `show_config` prints when there is nothing; NULL: there
				   is always something, and nothing was not read */
	enum cli_model model;
	enum cli_fact default_mode; /* FACT_MODE_... of a port that says nothing */
	bool trunk_default_all;     /* a trunk's list that was never set: all, else VLAN 1 */
	bool trunk_default_none;    /* ... else nothing */
	bool trunk_by_list;      /* no mode is said: a port with a list or a native VLAN is one */
	bool routed_is_bare;     /* ports of no VLAN stand as "routed" in show_ports alone */
	bool apart_by_list;      /* FACT_APART_PORTS, which counts after FACT_APART_ON alone */
	bool routed_unless_said; /* a port is one of a bridge only when its section says so */
	bool member_converts;    /* MODEL_MEMBERS: "tagged" of an untagged member makes it one */
	bool pvid_apart;         /* MODEL_MEMBERS: where untagged frames go is said by itself */
	bool native_apart;       /* the native VLAN passes, and may not stand in the list */
	bool access_is_native;   /* a trunk's native VLAN is the access VLAN's setting */
	bool name_begins_with_letter; /* a VLAN's name: "v" is put before a digit */
	struct cli_rule rules[CLI_RULE_LIMIT];

	const char *show_ports, *show_fdb;
	struct cli_locate locate;
	const struct cli_sampling *sampling; /* cli_sampling_policy.h; NULL: not by command line */
	struct cli_lldp_words lldp;
	/* Of the line that says how many neighbours there are: the first of that kind, or the last.
	 * NULL = it does not say. */
	const char *lldp_total;
	bool lldp_total_first;
	bool lldp_typed; /* as lldpctl has it: "mac 52:54:..", "Ethernet0, via: LLDP, .." */
	/* Long and short forms of port names: "GigabitEthernet" "Gi"; the long one is ours. */
	const char *port_kinds[10][2];
	bool port_space;  /* "ethernet 1/5": a space between kind and number is part of the name */
	bool table_space; /* ... not of the name, but tables have one: "Eth 1/1/1" */
};

extern const struct cli_sampling cli_sampling_ios, cli_sampling_nxos, cli_sampling_os9,
	cli_sampling_os10, cli_sampling_aoscx, cli_sampling_sonic;
extern const struct cli_dialect *const cli_dialects[];
extern const size_t cli_dialect_count;

extern const struct cli_dialect cli_dialect_ios, cli_dialect_nxos, cli_dialect_procurve,
	cli_dialect_aoscx, cli_dialect_comware, cli_dialect_dnos, cli_dialect_os9, cli_dialect_os10,
	cli_dialect_ecs, cli_dialect_sonic;
