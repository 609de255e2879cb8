/* haasctl: what its nouns share. One file per noun (X_cli.c) exports a group of command rows;
 * main.c joins them. Data goes to stdout, talk to stderr; exit statuses are those of
 * common/cli/command.h. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/problem.h"
#include "common/base/text.h"
#include "common/cli/command.h"
#include "common/http/client.h"
#include "common/http/json_reader.h"
#include "common/io/loop.h"
#include "common/model/image_keys.h"

#include "portal/cli/say.h"

#define HAASCTL_DEFAULT_SOCKET "/run/haas/portald/socket"
#define HAASCTL_API            "/api/v1"

struct context; /* context.h */
struct haasctl; /* the connection to portald; every command's context */

struct command_group {
	const struct command *rows;
	size_t count;
};
/* The options of a command row. */
#define OPTIONS(rows) rows, COUNT_OF(rows)
#define NO_OPTIONS    NULL, 0

extern const struct command_group db_group, node_group, bmc_group, health_group, image_group,
	image_sign_group, image_key_group, deployment_group, pdci_group, network_group,
	node_network_group, site_group, cable_group, record_group, certificate_group, audit_group,
	fabric_group, switch_group, volume_group, grant_group, drill_group, alert_group, case_group,
	sampling_group, capture_group, status_group, site_check_group, site_init_group,
	site_report_group, ca_group, rotation_group, rotation_ca_group, account_group, login_group,
	context_group, limit_group, second_factor_group, webhook_group, setting_group;

/* node_sheet_cli.c: the columns of the sheet, for help and manual. */
extern const struct command_list node_sheet_list;

MUST_USE int haasctl_new(struct haasctl **ret);
void haasctl_free(struct haasctl *haasctl);
struct loop *haasctl_loop(struct haasctl *haasctl);
/* Did the person press Ctrl-C? Calls under way end with EXIT_INTERRUPTED. */
bool haasctl_interrupted(const struct haasctl *haasctl);
/* Ends the call or the sleep under way; the call is then EXIT_OK. */
void haasctl_stop(struct haasctl *haasctl);

/* "haasctl: message" with detail and hint on stderr. */
void haasctl_problem(const struct problem *problem);
/* The same; returns the exit status that fits its code. */
int haasctl_told(const struct problem *problem);
/* A problem that the server stored (message, detail, hint), after "subject: ". Null tells nothing.
 */
void haasctl_stored_problem(const char *subject, const json_t *problem);
/* Tells a usage error and returns EXIT_USAGE. */
int haasctl_usage(const char *format, ...) PRINTF_LIKE(1, 2);
/* "haasctl: cannot VERB PATH: reason"; returns EXIT_FAILED. */
int haasctl_cannot(const char *verb, const char *path, int rc);

/* --- asking portald --- */

/* One exchange. `target` is below /api/v1. A POST carries an Idempotency-Key, so that a lost answer may be
 * asked for again; two kinds do not: `once` and `harmless`. */
struct haasctl_reply;
struct haasctl_call {
	const char *method;
	const char *target;
	const char *body; /* NULL = none */
	size_t body_size; /* 0 = strlen(body) */
	const char *content_type;
	const char *if_match;
	/* An edit: haasctl_call() reads this target first, and sends the ETag that it had. A refusal shows
	 * what has changed. */
	const char *edits;
	/* The same of a caller that has read it: without JSON there was nothing. */
	const struct haasctl_reply *before;
	const char *accept;      /* NULL = JSON */
	enum exit_status untold; /* a failure of this kind is the caller's to tell */
	struct problem *problem; /* if not NULL any failure is: it is written here instead */
	bool by_itself;          /* no person asked: it is not kept in the case */
	bool once;     /* not asked again when the connection breaks: it would be done twice */
	bool harmless; /* a POST that may be done twice, and has no key at the server */
	/* Of haasctl_do: the word of the command line that it changes (NULL: the first), and what
	   is said of it instead of the command's own `done`. */
	const char *object;
	const char *done;
	/* Streams: pieces as they come; the call then returns at the end of the stream. */
	void (*on_data)(void *context, const void *data, size_t size);
	void *context;
};
struct haasctl_reply {
	int status;
	json_t *json; /* NULL when the body was empty */
	char etag[72];
};
void haasctl_reply_done(struct haasctl_reply *reply);
/* A client of the server that the options name. EXIT_OK, or the failure told. */
MUST_USE int haasctl_connect(struct haasctl *haasctl, const struct command_input *input,
			     struct http_client **ret);
/* Which server that is, and by whose word it is asked: haasctl_context() knows it then. EXIT_OK, or the
 * failure told. */
MUST_USE int haasctl_choose(struct haasctl *haasctl, const struct command_input *input);
const struct context *haasctl_context(const struct haasctl *haasctl);
/* The portald of this machine from now on: of a command that acts on this machine. EXIT_OK, or the failure
 * told. */
MUST_USE int haasctl_use_here(struct haasctl *haasctl, const struct command_input *input);
/* The server that the options name, by the session of its context. EXIT_OK, or the failure told. */
MUST_USE int haasctl_use_session(struct haasctl *haasctl, const struct command_input *input);
/* From now on this one, whatever the options say. Copied. */
void haasctl_use(struct haasctl *haasctl, const struct context *context);
/* The pin of the key that the server has shown; "" = none. */
const char *haasctl_shown_pin(const struct haasctl *haasctl);
/* Did a call reach the server? It is at this address then, for all clients to come. */
bool haasctl_is_connected(const struct haasctl *haasctl);
/* The number that --case or HAAS_CASE says, or NULL. */
const char *haasctl_case(const struct command_input *input);
/* EXIT_OK, or the exit status that fits the answer, after telling its problem. */
MUST_USE int haasctl_call(struct haasctl *haasctl, const struct command_input *input,
			  const struct haasctl_call *call, struct haasctl_reply *ret);
/* After a call for a stream with `untold` EXIT_UNREACHABLE: is it to be asked for again, from where it
 * broke? Says so, waits, counts `tries` since bytes came; else a failure is told, and *status says
 * it. */
MUST_USE bool haasctl_resume(struct haasctl *haasctl, unsigned *tries, int *status);
MUST_USE int haasctl_get(struct haasctl *haasctl, const struct command_input *input,
			 const char *target, struct haasctl_reply *ret);
/* Each row of "items" of all pages of a list; `target` has a query. Ends at the first that is not EXIT_OK. */
typedef int (*haasctl_row_fn)(void *context, const json_t *row);
MUST_USE int haasctl_pages(struct haasctl *haasctl, const struct command_input *input,
			   const char *target, haasctl_row_fn fn, void *context);
MUST_USE int haasctl_rows(const json_t *rows, haasctl_row_fn fn, void *context);
MUST_USE int haasctl_post(struct haasctl *haasctl, const struct command_input *input,
			  const char *target, const struct text *body, struct haasctl_reply *ret);
/* A POST that is `harmless`. */
MUST_USE int haasctl_post_harmless(struct haasctl *haasctl, const struct command_input *input,
				   const char *target, const struct text *body,
				   struct haasctl_reply *ret);
/* --- writing --- */

/* Names of options, NULL-ended. */
#define OPTION_NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})

/* What a command has done, in one line for people: `done` with "{1}" a word of the command line,
 * "{*}" the object (NULL: the first word), "{member}" of the answer (may be NULL). */
void haasctl_say_done(const struct command_input *input, const char *done, const char *object,
		      const json_t *answer);
/* The same on stderr, of what stdout does not hold: what to do next. */
void haasctl_say_next(const struct command_input *input, const char *next, const json_t *answer);
/* A call that changes something. People read what was done; -o json gives the API's answer. */
MUST_USE int haasctl_do(struct haasctl *haasctl, const struct command_input *input,
			const struct haasctl_call *call);
/* GETs `target` for its ETag and deletes the `object` that it was then. */
MUST_USE int haasctl_delete(struct haasctl *haasctl, const struct command_input *input,
			    const char *target, const char *object);
/* haasctl_do: an edit by PUT with a JSON body, and DELETE, of what the first word names. `before`: what
 * haasctl_get_before() said of it; NULL = it is read now. */
MUST_USE int haasctl_put(struct haasctl *haasctl, const struct command_input *input,
			 const struct text *target, const struct text *body,
			 const struct haasctl_reply *before);
MUST_USE int haasctl_remove(struct haasctl *haasctl, const struct command_input *input,
			    const struct text *target);
/* GETs a thing that a command is about to set. EXIT_OK with ret->json NULL when it does not exist
 * yet. */
MUST_USE int haasctl_get_before(struct haasctl *haasctl, const struct command_input *input,
				const char *target, struct haasctl_reply *ret);
/* String members of the body: "--boot-server" sets "boot_server", "none" leaves the member out.
 * Without the option the member is as in `before` (may be NULL). */
void haasctl_keep_words(struct text *body, const struct command_input *input,
			const char *const options[], const json_t *before);
/* A number likewise; EXIT_OK, or the usage error told. */
MUST_USE int haasctl_keep_number(struct text *body, const struct command_input *input,
				 const char *option, const char *member, const json_t *before);

/* switch_cli.c: lines NAME=VALUE of a file, "-" = stdin, as member "secrets". EXIT_OK, or the failure
 * told. */
MUST_USE int haasctl_read_secrets(json_t *body, const char *path);

/* `before`, the word encoded, `after`: "/nodes/" "n1" "/events". */
void haasctl_path(struct text *target, const char *before, const char *word, const char *after);
/* False: it is none, or longer than the room. */
bool haasctl_from_base64(const char *base64, unsigned char *ret, size_t room, size_t *ret_size);
/* NAME:VERSION as two words, which `name` has room for; NULL when it is none. */
const char *haasctl_split_version(const char *word, char name[128]);
/* `before`, then NAME/VERSION: "/images/" "debian:13". */
MUST_USE int haasctl_version_path(struct text *target, const char *before, const char *word);
/* Adds "?state=value" or "&state=value" when the option "--state" was given. */
void haasctl_query(struct text *target, const struct command_input *input, const char *option);
/* {"name": [words...]} members for a JSON body. */
void haasctl_json_words(struct text *body, const char *key, const char *const words[],
			size_t count);
/* A string member, "" when it is absent or no string. */
const char *haasctl_word(const json_t *object, const char *key);
/* A path of members, "bmc.address"; NULL when absent. */
const json_t *haasctl_member(const json_t *row, const char *path);

/* --- numbers and outcomes --- */

/* A positive number of an option or a word, told as a usage error when it is none. */
MUST_USE int haasctl_number(const char *name, const char *word, int64_t *ret);
/* Seconds of "90", "90s", "30m", "2h"; -1 when malformed. */
int64_t haasctl_duration_s(const char *text);
/* What --timeout says (default 1h), told as a usage error when malformed. */
MUST_USE int haasctl_timeout_s(const struct command_input *input, int64_t *ret);

/* Several things done one by one: all well is EXIT_OK, some EXIT_PARTIAL, none the last failure. */
struct tally {
	size_t good, bad;
	int failure;
};
void tally_add(struct tally *tally, int status);
int tally_status(const struct tally *tally);
/* One request without a body for each word of the command line: METHOD before/WORD/after. */
int haasctl_each(struct haasctl *haasctl, const struct command_input *input, const char *method,
		 const char *before, const char *after);

/* --- waiting --- */

/* Waits for a job to end, with progress on a terminal's stderr, and prints failures. Returns
 * EXIT_OK, EXIT_FAILED, EXIT_NOT_FOUND, EXIT_PARTIAL or EXIT_TIMEOUT. *ret_items gets a new reference; ret_items
 * may be NULL. */
MUST_USE int haasctl_wait_job(struct haasctl *haasctl, const struct command_input *input,
			      int64_t job, json_t **ret_items);
/* Sleeps in the loop so that Ctrl-C works; false when interrupted. */
MUST_USE bool haasctl_sleep(struct haasctl *haasctl, int64_t ms);
/* watch.c: one line per node until all have ended. `job` < 0: the deployments of `ids`; of no ids:
 * all active. EXIT_OK when all ended in state `good`: "done", "cancelled". */
MUST_USE int watch_deployments(struct haasctl *haasctl, const struct command_input *input,
			       int64_t job, const char *const ids[], size_t count,
			       const char *good);
/* pdci_watch.c: the deployments of a PDCI until it is ready, released, or not to be had. `target`
 * is its path. */
MUST_USE int watch_pdci(struct haasctl *haasctl, const struct command_input *input,
			const char *target);
/* pdci_feasibility_cli.c: what could be had per group and of volumes; why not more is told like a
 * refusal. EXIT_CONFLICT when it is not all. */
MUST_USE int pdci_feasibility_tell(const struct command_input *input, json_t *answer);
/* pdci_ask_cli.c: the body of POST /pdcis. EXIT_OK, or the error told. */
MUST_USE int pdci_create_body(struct text *body, const struct command_input *input);
/* pdci_ask_cli.c: words "NIC:NETWORK[:MODE]" (`separator` ':') as the array `key`. EXIT_OK, or the
 * error told and the body useless. */
MUST_USE int haasctl_add_nics(struct text *body, const char *key, const char *const words[],
			      size_t count, char separator);
/* network_cli.c: rows of the noun port stand together in cable_cli.c. */
int haasctl_port_park(void *context, const struct command_input *input);
int haasctl_port_release(void *context, const struct command_input *input);
/* node_sheet_cli.c: a row of the noun node, and its options. */
int haasctl_node_import(void *context, const struct command_input *input);
extern const struct option_row node_sheet_options[2];
/* describe.c: a row each of the nouns node, pdci and switch. */
int haasctl_describe_node(void *context, const struct command_input *input);
int haasctl_describe_pdci(void *context, const struct command_input *input);
int haasctl_pdci_sheet(void *context, const struct command_input *input);
int haasctl_describe_switch(void *context, const struct command_input *input);
/* switch_health_cli.c: a row of the noun switch. */
int haasctl_switch_health(void *context, const struct command_input *input);
/* aggregate_cli.c: a row of the noun switch. */
int haasctl_switch_aggregates(void *context, const struct command_input *input);
/* topology_cli.c: a row each of the nouns switch and port, and the options of the last. */
int haasctl_switch_topology(void *context, const struct command_input *input);
int haasctl_port_load(void *context, const struct command_input *input);
extern const struct option_row topology_load_options[3];
/* path_cli.c: a row of the noun network. */
int haasctl_network_path(void *context, const struct command_input *input);
/* volume_cli.c: bytes of "10G", "512M", "1048576"; EXIT_OK, or the error told. */
MUST_USE int haasctl_size(const char *name, const char *word, int64_t *ret);
/* deployment_cli.c: "ssh_keys", the lines of the files; "user_data", a file. EXIT_OK, or the error
 * told. */
MUST_USE int haasctl_add_ssh_keys(struct text *body, const char *const *paths);
MUST_USE int haasctl_add_user_data(struct text *body, const char *path);
/* A list of texts, when there are any; "packages" is one. */
void haasctl_add_words(struct text *body, const char *member, const char *const *words);
/* image_sign_cli.c: makes `path` and `path`.pub. E_CONFLICT: `path` is there, and stays. */
MUST_USE int haasctl_image_key_make(const char *path, struct problem *problem);
/* The secret key of a file; the caller wipes it. */
MUST_USE int haasctl_image_key_secret(const char *path,
				      unsigned char ret[crypto_sign_SECRETKEYBYTES],
				      struct problem *problem);
/* The public half of a secret key's file, in hex. */
MUST_USE int haasctl_image_key_public(const char *path, char ret[IMAGE_KEY_TEXT_SIZE],
				      struct problem *problem);
/* Of a manifest, in hex. */
#define HAASCTL_IMAGE_SIGNATURE_SIZE (2 * crypto_sign_BYTES + 1)
void haasctl_image_signature(const unsigned char secret[crypto_sign_SECRETKEYBYTES],
			     const char *manifest, size_t size,
			     char ret[HAASCTL_IMAGE_SIGNATURE_SIZE]);
/* console.c */
MUST_USE int console_run(struct haasctl *haasctl, const struct command_input *input,
			 const char *node);
/* console_log.c */
MUST_USE int console_log_show(struct haasctl *haasctl, const struct command_input *input,
			      const char *node);
