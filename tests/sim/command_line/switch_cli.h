/* An emulated command line: the device, one session on it, and what a family has of its own. No
 * sockets here: bytes in, bytes out. tests/sim/README.md says what the emulators are and are not.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "common/base/macros.h"
#include "common/base/text.h"

#include "tests/sim/command_line/switch_cli_fault_table.h"
#include "tests/sim/command_line/switch_cli_parse.h"
#include "tests/sim/command_line/switch_cli_store.h"

/* Where in the command tree a session is. */
enum cli_mode {
	CLI_EXEC,
	CLI_ENABLE,
	CLI_CONFIG,
	CLI_VLAN,      /* in one VLAN, or several */
	CLI_PORT,      /* in one port, or several */
	CLI_DATABASE,  /* `vlan database` */
	CLI_MIRROR,    /* in a mirror session */
	CLI_MIRROR_TO, /* in its destination */
	CLI_FLOW_MODE, /* in a part of Flexible NetFlow */
	CLI_SVI,       /* a VLAN's own interface, where that is another thing than the VLAN */
	CLI_MODES
};
#define CLI_IN(mode) (1U << (mode))

/* Complaints that several commands share; "{}" stands for a number or a word. */
enum cli_say {
	CLI_SAYS_NO_VLAN,      /* the VLAN does not exist */
	CLI_SAYS_RESERVED,     /* the switch keeps this VLAN for itself */
	CLI_SAYS_DEFAULT_VLAN, /* VLAN 1 stays */
	CLI_SAYS_RANGE,        /* no number of a VLAN; NULL: as an invalid word */
	CLI_SAYS_CREATING,     /* a VLAN that was not there is made along the way */
	CLI_SAYS_LOCKED,       /* somebody else configures; NULL: there is no such lock */
	CLI_SAYS_REJECTED,     /* what a fault says that refuses */
	CLI_SAYS_SAVED,
	CLI_SAYS_COUNT
};

struct cli_session;
struct shell_program;

struct cli_call {
	struct cli_session *session;
	const struct cli_command *command;
	const struct cli_value *values;
	struct text *out;
};

/* What a port told to be in a VLAN that is not there does. */
enum cli_unknown { CLI_UNKNOWN_TAKEN, CLI_UNKNOWN_MADE, CLI_UNKNOWN_REFUSED };

struct cli_family {
	const char *name, *title;
	const struct cli_command *commands;
	size_t command_count;
	struct cli_port_naming naming;
	struct cli_port port; /* from the factory */
	unsigned vid_high;    /* 4094, or less */
	unsigned reserved_low, reserved_high;
	const char *hostname;
	const char *login_text;                    /* before the first prompt; NULL: nothing */
	bool login_key;                            /* and a key is wanted after it */
	const char *more, *more_erase, *more_quit; /* the pager, and the keys that end it */
	unsigned pager;                            /* lines at login; 0: off */
	bool is_unprivileged;                      /* sessions start below `enable` */
	bool needs_lock;                           /* one session configures at a time */
	bool vlan_on_exit;                         /* a VLAN is made when its mode is left */
	enum cli_unknown unknown_access, unknown_listed;
	unsigned sessions; /* at a time; 0: no limit */
	const char *says[CLI_SAYS_COUNT];
	/* By mode: {h} the host name, {l} the level, {d} "-range" when it is several ports. */
	const char *prompts[CLI_MODES];
	/* What is wrong with a line, by result: {w} the word, {l} the line; after a caret under the
	 * word, if the family draws one, `caret_shift` columns away. */
	const char *complaints[CLI_TOO_MANY + 1];
	bool has_caret, caret_at_end; /* also where words are missing */
	int caret_shift;
	const char *configure_text; /* on entering configuration */
	/* `ports` NULL: everything. */
	void (*running)(const struct cli_session *session, const struct cli_config *config,
			const struct cli_ports *ports, struct text *out);
	const char *prompt_before, *prompt_after; /* escape sequences around it */
	const char *line_after;                   /* what the terminal is told when a line ends */
	/* A Linux shell (switch_cli_shell.h) instead of commands: NULL where there is none. */
	const struct shell_program *programs;
	size_t program_count;
};

struct cli_device {
	const struct cli_family *family;
	struct cli_store *store;
	struct cli_faults faults;
	const char *faults_path, *password;
	struct timespec faults_read;
	bool is_unprivileged;
	char hostname[CLI_NAME_SIZE];
	unsigned session_count;
	unsigned generation;       /* reboots so far; sessions of an older one are over */
	unsigned reboots, foreign; /* of the fault file, done already */
	const struct cli_session *configuring; /* who holds the configuration */
};

typedef void (*cli_answer)(struct cli_session *session, const char *line, struct text *out);

struct cli_session {
	struct cli_device *device;
	enum cli_mode mode;
	struct vlan_set vids;   /* of CLI_VLAN */
	struct cli_ports ports; /* of CLI_PORT */
	unsigned mirror;        /* of CLI_MIRROR */
	unsigned flow;          /* of CLI_FLOW_MODE */
	char pending_name[CLI_NAME_SIZE];
	char level_name[CLI_NAME_SIZE]; /* what the prompt says of it */
	unsigned pager, generation, changes;
	uint32_t pause_ms; /* before what is in `out` is sent */
	struct text in, line, paged, out;
	size_t in_at, paged_at;
	bool is_paging, is_endless, is_over, was_return;
	bool is_silent_echo;    /* a password is typed */
	bool wants_key, is_raw; /* the answer is one key; no echo, no prompt: `ssh HOST COMMAND` */
	cli_answer answer;      /* of a question that was asked */
	unsigned width;         /* columns of the terminal; 0: not known, lines are not wrapped */
	struct text unfinished; /* of a shell: an open quote */
	int status;             /* of the program before */
};

/* Faults that were switched since, a reboot and a foreign change among them. */
void cli_device_refresh(struct cli_device *device);
/* To the startup configuration; sessions are over at their next turn. */
void cli_device_reboot(struct cli_device *device);

MUST_USE int cli_session_new(struct cli_device *device, struct cli_session **ret);
void cli_session_free(struct cli_session *session);
/* Keys that were typed. */
void cli_session_feed(struct cli_session *session, const void *keys, size_t size);
/* Is a whole line waiting, so that the next turn does something that takes time? */
bool cli_session_has_line(const struct cli_session *session);
/* One line at most; true when there is more to do at once. What to send is in `out`. */
bool cli_session_turn(struct cli_session *session);
/* One command without a terminal. */
void cli_session_command(struct cli_session *session, const char *line);

/* --- for commands --- */

void cli_say(struct cli_call *call, enum cli_say what, unsigned number);
void cli_prompt(const struct cli_session *session, struct text *ret);
void cli_complain(const struct cli_session *session, const struct cli_parsed *parsed,
		  const char *line, struct text *out);
void cli_ask(struct cli_session *session, struct text *out, const char *question,
	     cli_answer answer);
/* Leaves a level, with what that does. */
void cli_leave(struct cli_session *session, enum cli_mode mode);
bool cli_configure(struct cli_call *call);

/* A change is wanted: is it made? */
enum cli_fate { CLI_FATE_DONE, CLI_FATE_REFUSED, CLI_FATE_LOST };
enum cli_fate cli_fate_of(const struct cli_session *session, enum switch_verb verb);
/* One was made, or lost. */
void cli_changed(struct cli_session *session, struct text *out);
void cli_do(struct cli_call *about, const char *line);
bool cli_is_reserved(const struct cli_session *session, unsigned vid);

extern const struct cli_family cli_ios, cli_nxos, cli_os10, cli_aoscx, cli_procurve, cli_comware,
	cli_delln, cli_os9, cli_ecs, cli_sonic, cli_sonic201911;
const struct cli_family *cli_family_find(const char *name);
const struct cli_family *cli_family_at(size_t i);
