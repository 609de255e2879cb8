/* haasctl site check: is this machine a controller that can work? A row of site_check_rows for each
 * check; each says what is wrong by name, and what to do. Everything is read where it lies: portald
 * need not run. */
#pragma once

#include <jansson.h>
#include <libpq-fe.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/embedded.h"
#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/cli/command.h"

struct site_check;
struct site_plan;

struct site_check_row {
	const char *name;
	void (*run)(struct site_check *check);
	const char *hint; /* the next step of a finding; "{}" is its subject */
};
extern const struct site_check_row site_check_rows[];
extern const size_t site_check_row_count;
/* site_init_check.c: what a machine needs before anything is written. */
extern const struct site_check_row site_init_rows[];
extern const size_t site_init_row_count;

/* Runs one: {"name", "state", "summary", "items": [{"subject", "message", "hint"}]}. */
json_t *site_check_run(struct site_check *check, const struct site_check_row *row);
/* All of site_check_rows: {"ok", "checks"}. Each row goes to `print` (may be NULL) when it is done. */
json_t *site_check_all(struct site_check *check, void (*print)(const json_t *row));
/* The same for people. */
void site_check_print(const json_t *row);
/* --database, else HAAS_DATABASE, else that of schema.env below `root`, else the private cluster. */
void site_check_conninfo(const struct command_input *input, const char *root, struct text *ret);
/* --root without a slash at its end. */
void site_check_root(const struct command_input *input, struct text *ret);
/* Tells it unless root asks; EXIT_OK or EXIT_DENIED. */
int site_check_needs_root(const char *command, const char *why);

struct site_check {
	const char *root;                 /* "", or the folder that stands for "/" (--root) */
	const char *conninfo;             /* of the database, as its administrator */
	const struct site_plan *plan;     /* of site init; NULL: of site check */
	const struct site_check_row *row; /* the one that runs */
	json_t *items;                    /* its findings */
	char summary[160];
	bool skipped;
	bool database_away; /* the checks after it need not ask again */
	uint32_t off;       /* bit I: the operator has switched site_programs[I] off */
};

/* What the row says when nothing is wrong, and before its findings. */
void site_check_say(struct site_check *check, const char *format, ...) PRINTF_LIKE(2, 3);
/* The row could not be checked: `format` is why. */
void site_check_skip(struct site_check *check, const char *format, ...) PRINTF_LIKE(2, 3);
/* A finding, with the row's hint. */
void site_check_wrong(struct site_check *check, const char *subject, const char *format, ...)
	PRINTF_LIKE(3, 4);
/* The finding told last has a next step of its own. */
void site_check_hint(struct site_check *check, const char *format, ...) PRINTF_LIKE(2, 3);
/* A finding with the words of `problem`, and its hint when it has one. */
void site_check_problem(struct site_check *check, const char *subject,
			const struct problem *problem);

/* --- the machine below `root` --- */

/* The path of a file of the machine; false: it is too long. */
MUST_USE bool site_check_path(const struct site_check *check, char ret[PATH_MAX],
			      const char *format, ...) PRINTF_LIKE(3, 4);
/* Is there such a file? */
bool site_check_exists(const struct site_check *check, const char *path);
/* Of its /etc/passwd and /etc/group. False: there is none. */
bool site_check_uid(const struct site_check *check, const char *name, uid_t *ret_uid,
		    gid_t *ret_gid);
bool site_check_gid(const struct site_check *check, const char *name, gid_t *ret);
bool site_check_is_member(const struct site_check *check, const char *user, const char *group);
/* A string setting of /etc/haas/PROGRAM.conf, "socket.path"; `usual` when it is not set. */
const char *site_check_setting(const struct site_check *check, const char *program,
			       const char *setting, const char *usual, char ret[PATH_MAX]);
/* The same of a number. */
int site_check_number(const struct site_check *check, const char *program, const char *setting,
		      int usual);

/* Calls `each` with every string of a list setting, "interfaces"; how many there are. */
size_t site_check_list(struct site_check *check, const char *program, const char *setting,
		       void (*each)(struct site_check *check, const char *value, void *context),
		       void *context);

/* --- the database --- */

/* False, told: it does not answer. PQfinish'ed by the caller (CLEANUP(site_check_finish)). */
bool site_check_connect(struct site_check *check, PGconn **ret);
void site_check_finish(PGconn **connection);
/* Rows of a query, PQclear'ed by the caller (CLEANUP(site_check_clear)); NULL after telling its
 * failure. */
PGresult *site_check_rows_of(struct site_check *check, PGconn *connection, const char *sql);
void site_check_clear(PGresult **result);
/* False, told as skipped: the row "schema" says what is missing. */
bool site_check_has_schema(struct site_check *check, PGconn *connection);
/* A check that is one query: its rows by a connection of its own. NULL: told, or skipped as above. */
PGresult *site_check_ask(struct site_check *check, const char *sql);

/* --- what is installed --- */

enum site_package { SITE_CONTROLLER, SITE_STORAGE, SITE_RELAY, SITE_PACKAGES };
/* haas-controller always; the others where their accounts' file lies. */
bool site_check_has(const struct site_check *check, enum site_package package);

/* A unit of deploy/, what it runs as, and what it keeps. */
struct site_program {
	const char *name; /* of the unit; with `conf` also of the program and its configuration */
	enum site_package package;
	const char *user;
	const char *state; /* its folder below /var/lib/haas; NULL = none */
	mode_t state_mode;
	bool conf, keys, socket;
};
extern const struct site_program site_programs[];
extern const size_t site_program_count;

/* deploy/PACKAGE/tmpfiles and sysusers, as they are when this program is built. */
extern const struct embedded site_check_tmpfiles[], site_check_sysusers[];

#define SITE_WORDS     6
#define SITE_WORD_SIZE 96
/* The words of the next line that is no comment; a quoted text is cut into words too. False at the
 * end. Missing words are empty. */
bool site_check_line(const char **at, char ret[SITE_WORDS][SITE_WORD_SIZE]);

struct site_folder {
	char path[SITE_WORD_SIZE];
	mode_t mode;
	char user[SITE_WORD_SIZE], group[SITE_WORD_SIZE];
};
/* The next folder of a tmpfiles. */
bool site_check_next_folder(const char **at, struct site_folder *ret);

/* --- decisions, for a test --- */

/* What is wrong with a unit, from the lines of `systemctl show`; NULL = nothing. *ret_off: it is
 * switched off, which is the operator's wish. */
const char *site_check_unit_fault(const char *lines, char ret[120], bool *ret_off);

/* --- the rows --- */

void site_check_accounts(struct site_check *check);
void site_check_folders(struct site_check *check);
void site_check_sockets(struct site_check *check);
void site_check_units(struct site_check *check);
void site_check_configuration(struct site_check *check);
void site_check_clock(struct site_check *check);
void site_check_memory(struct site_check *check);
void site_check_disks(struct site_check *check);
void site_check_keys(struct site_check *check);
void site_check_certificates(struct site_check *check);
void site_check_boot_https(struct site_check *check);
void site_check_image_keys(struct site_check *check);
void site_check_boot_files(struct site_check *check);
void site_check_task_key(struct site_check *check);
void site_check_signed_image(struct site_check *check);
void site_check_ports(struct site_check *check);
void site_check_dhcp(struct site_check *check);
void site_check_postgresql(struct site_check *check);
void site_check_database(struct site_check *check);
void site_check_schema(struct site_check *check);
void site_check_images(struct site_check *check);
void site_check_boot_address(struct site_check *check);
void site_check_seals(struct site_check *check);
void site_check_backup(struct site_check *check);
void site_check_isolation(struct site_check *check);
void site_check_peers(struct site_check *check);
void site_check_provisioning(struct site_check *check);
void site_check_secrets(struct site_check *check);
