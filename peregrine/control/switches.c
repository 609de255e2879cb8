#include "peregrine/control/switches.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/hash_table.h"
#include "common/base/text.h"
#include "common/db/seal_rotation.h"
#include "common/io/log.h"

#include "peregrine/control/switch_store.h"

LEAKS_LEFT_TO_SANITIZER

#define SWITCHES_SUBJECT   "switches"
#define GAP_MS             100
#define SWITCHES_PERIOD_MS 60000

struct known {
	struct switch_row row;
	bool kept; /* found by the read under way */
	UT_hash_handle hh;
};

struct switches {
	struct loop *loop;
	struct switches_options options;
	struct seal_key *key;
	struct seal_key_file key_file;
	char key_path[4096];
	struct seal_rotation *rotation;
	struct switch_host_keys host_keys;
	struct loop_timer *timer;
	struct known *table; /* by id */
	bool connected, reading, again;
	int64_t read_ms; /* start of the last read */
};

/* Answers with the row's problem when it cannot be spoken to. */
static int switches_put(struct switches *switches, struct switch_row *row,
			const struct switch_endpoint *endpoint)
{
	struct known *known = NULL;
	bool told;

	HASH_FIND(hh, switches->table, &row->id, sizeof(row->id), known);
	told = known && problem_is_set(&known->row.problem);
	if (problem_is_set(&row->problem) ||
	    switch_queue_put(switches->options.queue, endpoint, &row->problem) != 0) {
		switch_queue_remove(switches->options.queue, row->id);
		if (!told)
			log_problem(LOG_LEVEL_WARN, SWITCHES_SUBJECT, &row->problem);
	}
	if (!known) {
		known = calloc(1, sizeof(*known));
		if (!known)
			return -ENOMEM;
		known->row.id = row->id;
		HASH_ADD(hh, switches->table, row.id, sizeof(known->row.id), known);
	}
	known->row = *row;
	known->kept = true;
	switches->options.change(switches->options.context, row->id, &known->row);
	return 0;
}

static void switches_drop(struct switches *switches, struct known *known)
{
	HASH_DEL(switches->table, known);
	free(known);
}

static void switches_drop_gone(struct switches *switches)
{
	struct known *known;
	struct known *next;

	HASH_ITER(hh, switches->table, known, next)
	{
		if (known->kept)
			continue;
		switches->options.change(switches->options.context, known->row.id, NULL);
		switch_queue_remove(switches->options.queue, known->row.id);
		switches_drop(switches, known);
	}
}

/* Not before it is in the database: a peregrined that ends here would trust another one next. The
 * row that is read then has the key. */
static bool switches_first_host_key(void *context, const struct switch_endpoint *endpoint,
				    const char *key)
{
	const struct switches *switches = context;

	log_warn(SWITCHES_SUBJECT, "switch %s is seen for the first time: its SSH host key is %s",
		 endpoint->name, key);
	if (switch_store_host_key(switches->options.db, endpoint->id, key, NULL, NULL) != 0)
		log_warn(SWITCHES_SUBJECT, "the host key of switch %s was not kept",
			 endpoint->name);
	return false;
}

static void switches_on_read(void *context, int rc, const PGresult *result,
			     const struct problem *problem)
{
	struct switches *switches = context;
	int rows = rc ? 0 : PQntuples(result);

	switches->reading = false;
	if (rc && rc != E_UNAVAILABLE)
		log_problem(LOG_LEVEL_ERROR, SWITCHES_SUBJECT, problem);
	for (struct known *known = switches->table; rc == 0 && known; known = known->hh.next)
		known->kept = false;
	for (int i = 0; i < rows; i++) {
		struct switch_endpoint endpoint = {0};
		struct switch_row row;

		if (switch_row_read(result, i, switches->key, &row, &endpoint) != 0)
			endpoint = (struct switch_endpoint){0}; /* the row says why */
		endpoint.host_keys = &switches->host_keys;
		if (switches_put(switches, &row, &endpoint) != 0)
			log_error(SWITCHES_SUBJECT, "no memory for switch %s", row.name);
		switch_endpoint_wipe(&endpoint);
	}
	if (rc == 0)
		switches_drop_gone(switches);
	loop_timer_arm(switches->timer, switches->again ? GAP_MS : SWITCHES_PERIOD_MS);
	switches->again = false;
}

static void switches_start_read(void *context)
{
	struct switches *switches = context;

	if (switches->reading || !switches->connected)
		return;
	switches->read_ms = loop_now_ms(switches->loop);
	if (switch_store_read(switches->options.db, switches_on_read, switches) == 0)
		switches->reading = true;
	else
		loop_timer_arm(switches->timer, SWITCHES_PERIOD_MS);
}

void switches_wake(struct switches *switches)
{
	int64_t wait_ms = switches->read_ms + GAP_MS - loop_now_ms(switches->loop);

	if (switches->reading)
		switches->again = true;
	else
		loop_timer_arm(switches->timer, wait_ms > 0 ? wait_ms : 0);
}

void switches_db_state(struct switches *switches, bool connected)
{
	switches->connected = connected;
	seal_rotation_db_state(switches->rotation, connected);
	if (!connected)
		return;
	if (switch_store_publish(switches->options.db, switches->key, NULL, NULL) != 0)
		log_warn(SWITCHES_SUBJECT,
			 "the public key for secrets of switches was not published");
	switches_wake(switches);
}

void switches_rotate(struct switches *switches)
{
	seal_rotation_wake(switches->rotation);
}

const struct switch_row *switches_find(const struct switches *switches, const char *name)
{
	for (const struct known *known = switches->table; known; known = known->hh.next) {
		if (strcmp(known->row.name, name) == 0)
			return &known->row;
	}
	return NULL;
}

const struct seal_key *switches_key(const struct switches *switches)
{
	return switches->key;
}

static const struct seal_key *switches_present_key(void *context)
{
	return switches_key(context);
}

/* Secrets are opened anew with it, and portald seals to it from now on. */
static int switches_reload_key(void *context, struct problem *problem)
{
	struct switches *switches = context;
	int rc = seal_key_reload(&switches->key_file, &switches->key, problem);

	if (rc)
		return rc;
	rc = switch_store_publish(switches->options.db, switches->key, NULL, NULL);
	switches_wake(switches);
	return rc ? problem_set(problem, rc,
				"the public key for secrets of switches was not published")
		  : 0;
}

static int switches_start_rotation(struct switches *switches)
{
	const struct seal_rotation_options options = {.db = switches->options.db,
						      .daemon = "peregrined",
						      .file = &switches->key_file,
						      .key = switches_present_key,
						      .reload = switches_reload_key,
						      .context = switches};

	return seal_rotation_new(switches->loop, &options, &switches->rotation);
}

int switches_new(struct loop *loop, const struct switches_options *options, struct switches **ret,
		 struct problem *problem)
{
	struct switches *switches = calloc(1, sizeof(*switches));
	int rc;

	if (!switches)
		return problem_set(problem, -ENOMEM, "no memory");
	*switches = (struct switches){.loop = loop,
				      .options = *options,
				      .host_keys = {switches_first_host_key, switches}};
	switches->key_file = (struct seal_key_file){
		.path = switches->key_path,
		.what = "key for secrets of switches",
		.exposed_hint = "chmod 600 it; if others may have read it, make a new one and add "
				"the switches again"};
	rc = text_copy(switches->key_path, sizeof(switches->key_path), options->key_path)
		     ? seal_key_load(&switches->key_file, &switches->key, problem)
		     : problem_set(problem, E_LIMIT, "key_dir is too long");
	if (rc == 0)
		rc = switches_start_rotation(switches);
	if (rc == 0)
		rc = loop_timer_new(loop, switches_start_read, switches, &switches->timer);
	if (rc) {
		switches_free(switches);
		return rc;
	}
	*ret = switches;
	return 0;
}

void switches_free(struct switches *switches)
{
	struct known *known;
	struct known *next;

	if (!switches)
		return;
	HASH_ITER(hh, switches->table, known, next)
	switches_drop(switches, known);
	seal_rotation_free(switches->rotation);
	loop_timer_free(switches->timer);
	seal_key_free(switches->key);
	free(switches);
}
