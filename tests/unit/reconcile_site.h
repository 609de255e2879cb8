/* A site for tests of the reconcile engine: two spines and three leaves, simulated, a real
 * PostgreSQL, three tenants, and frames of every port through each state of the fabric. */
#pragma once

#include <errno.h>
#include <libpq-fe.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/error.h"

#include "tests/support/cmocka.h"
#include "tests/support/scratch.h"
#include "tests/support/sim_access.h"

enum { LEAVES = 3, SPINES = 2, LEAF_PORTS = 8, WAIT_MS = 60000, SWITCHES = LEAVES + SPINES };

struct site {
	char folder[SCRATCH_SIZE];
	char conninfo[256];
	char admin[256];
	PGconn *operator; /* the test's own connection */
	struct loop *loop;
	struct db *db;
	struct sim_fabric *fabric;
	struct sim_access access;
	struct reconcile *reconcile;
	/* which network (1, 2, ...) a port was meant for, of the intents that may be in force */
	unsigned char meant[SWITCHES][LEAF_PORTS + SPINES];
	unsigned char also[SWITCHES][LEAF_PORTS + SPINES];
	unsigned frames, leaks, copies, arrivals;
	struct plane *probed; /* through which the last frames went; NULL = none did */
	bool ours; /* no port is in VLAN 1 any more, which runs in a circle as delivered */
	uint32_t from_at, from_port;
	bool no_lags;      /* no aggregate can be made */
	int64_t lacking;   /* the switch that is read and not set; 0 = none */
	uint32_t patience; /* times as long as usual until a call or a claim is given up; 0 = 1 */
};

/* All that decides where a frame arrives and whether it may. */
struct plane {
	struct sim_port ports[SWITCHES][LEAF_PORTS + SPINES];
	struct vlan_set vlans[SWITCHES];
	unsigned char meant[SWITCHES][LEAF_PORTS + SPINES];
	unsigned char also[SWITCHES][LEAF_PORTS + SPINES];
	unsigned leaks, copies; /* a test that counts anew begins with frames of its own */
};

/* --- the site --- */

static inline PGresult *sql_result(const struct site *site, const char *text)
{
	PGresult *result = PQexec(site->operator, text);
	ExecStatusType status = PQresultStatus(result);

	if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
		print_error("%s in: %.1000s\n", PQerrorMessage(site->operator), text);
	assert_true(status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK);
	return result;
}

static inline void sql(const struct site *site, const char *text)
{
	PQclear(sql_result(site, text));
}

/* The first number of the answer; -1 = no row. */
static inline long ask(const struct site *site, const char *text)
{
	PGresult *result = sql_result(site, text);
	long value = PQntuples(result) > 0 ? strtol(PQgetvalue(result, 0, 0), NULL, 10) : -1;

	PQclear(result);
	return value;
}

static inline void on_state(void *context, bool connected)
{
	struct site *site = context;

	if (site->reconcile)
		reconcile_db_state(site->reconcile, connected);
}

static inline void on_notify(void *context, const char *channel)
{
	struct site *site = context;

	(void)channel;
	if (site->reconcile)
		reconcile_wake(site->reconcile);
}

static inline bool site_lacks(void *context, int64_t switch_id, struct problem *ret)
{
	const struct site *site = CONTAINER_OF(context, struct site, access);

	if (switch_id != site->lacking)
		return false;
	(void)problem_set(ret, E_DENIED, "nobody said how it is set");
	return true;
}

static inline void engine_start(struct site *site)
{
	static const char *const channels[] = {"network", NULL};
	const struct db_options options = {.conninfo = site->conninfo,
					   .application = "reconcile_test",
					   .on_state = on_state,
					   .on_notify = on_notify,
					   .channels = channels,
					   .context = site};

	assert_int_equal(db_new(site->loop, &options, &site->db), 0);
	sim_access_init(&site->access, site->loop, site->fabric);

	uint32_t patience = site->patience ? site->patience : 1;
	const struct reconcile_options engine = {
		.db = site->db,
		.access = {.context = &site->access,
			   .call = sim_access_call,
			   .lag_name = site->no_lags ? NULL : sim_access_lag_name,
			   .lacks = site_lacks},
		.owner = "test",
		.claim_ms = 4000 * patience,
		.call_ms = 600 * patience,
		.read_ms = 500 * patience,
		.again_ms = 10,
		.look_ms = 200,
	};

	assert_int_equal(reconcile_new(site->loop, &engine, &site->reconcile), 0);
}

/* As kill -9: nothing is sent or written any more. */
static inline void engine_kill(struct site *site)
{
	struct reconcile *reconcile = TAKE(site->reconcile);

	reconcile_db_state(reconcile, false);
	db_free(TAKE(site->db));
	sim_access_done(&site->access);
	reconcile_free(reconcile);
}

static inline void fabric_make(struct site *site)
{
	assert_int_equal(sim_fabric_new(site->loop, &site->fabric), 0);
	for (int i = 0; i < SWITCHES; i++) {
		char name[16];

		(void)text_format(name, sizeof(name), i < LEAVES ? "leaf%d" : "spine%d",
				  i < LEAVES ? i + 1 : i - LEAVES + 1);
		(void)sim_fabric_add(site->fabric, i + 1, name,
				     i < LEAVES ? LEAF_PORTS + SPINES : LEAVES);
	}
	for (uint32_t l = 0; l < LEAVES; l++) {
		for (uint32_t s = 0; s < SPINES; s++)
			sim_fabric_cable(site->fabric, l, LEAF_PORTS + s, LEAVES + s, l);
	}
}

static inline int site_start(void **state)
{
	struct site *site = calloc(1, sizeof(*site));
	char command[512];
	FILE *out;

	assert_non_null(site);
	scratch_make(site->folder, "reconcile");
	assert_int_equal(chmod(site->folder, 0755), 0);
	(void)text_format(command, sizeof(command), "%s/support/pg start %s/pg", TEST_SOURCE_DIR,
			  site->folder);
	out = popen(command, "r");
	assert_non_null(out);
	assert_non_null(fgets(site->admin, sizeof(site->admin), out));
	site->admin[strcspn(site->admin, "\n")] = '\0';
	assert_int_equal(pclose(out), 0);
	(void)text_format(site->conninfo, sizeof(site->conninfo),
			  "host=%s/pg dbname=haas user=peregrined", site->folder);
	site->operator= PQconnectdb(site->admin);
	assert_int_equal(PQstatus(site->operator), CONNECTION_OK);
	sql(site, "set client_min_messages = warning; set search_path = haas; set haas.scope = "
		  "'operator'");
	*state = site;
	return 0;
}

/* Who was killed may have a statement under way at the database: its locks and those of a truncate
 * would wait for each other. */
static inline void end_sessions(const struct site *site)
{
	sql(site, "select pg_terminate_backend(pid, 60000) from pg_stat_activity where usename = "
		  "'peregrined'");
	assert_int_equal(
		ask(site, "select count(*) from pg_stat_activity where usename = 'peregrined'"), 0);
}

/* Every test begins with the same rows, and switches as delivered. */
static inline int case_start(void **state)
{
	struct site *site = *state;
	CLEANUP(text_done) struct text rows = {0};

	text_add(&rows,
		 /* Triggers let nothing be taken out of cases and events. */
		 "set session_replication_role = replica;"
		 "truncate tenant, fabric, switch, network, attachment, port_intent, change_batch, "
		 "network_vlan, vlan_history, alert, event, fabric_claim restart identity cascade;"
		 "set session_replication_role = origin;"
		 "insert into tenant (name) values ('acme'), ('globex'), ('initech');"
		 "insert into fabric (name, vlan_low, vlan_high, parking_vlan, "
		 "parking_count, quarantine_s) values ('f1', 100, 104, 30, 20, 1);");
	for (int i = 0; i < SWITCHES; i++)
		text_addf(&rows,
			  "insert into switch (name) values ('%s%d');"
			  "insert into switch_endpoint (switch_id, fabric_id, role, address) "
			  "values (%d, 1, '%s', '10.0.0.%d');",
			  i < LEAVES ? "leaf" : "spine", i < LEAVES ? i + 1 : i - LEAVES + 1, i + 1,
			  i < LEAVES ? "leaf" : "spine", i + 1);
	for (int l = 0; l < LEAVES; l++) {
		for (int s = 0; s < SPINES; s++)
			text_addf(&rows,
				  "insert into link (a_switch, a_port, b_switch, b_port, state, "
				  "certainty, since, seen_at) values (%d, 'p%d', %d, 'p%d', "
				  "'confirmed', 100, now(), now());",
				  l + 1, LEAF_PORTS + s + 1, LEAVES + s + 1, l + 1);
	}
	text_add(&rows, "select network_create('red', 'tenant', 'acme', null, null, 't');"
			"select network_create('blue', 'tenant', 'globex', null, null, 't');"
			"select network_create('green', 'tenant', 'initech', null, null, 't');"
			"select port_park(s.name, 'p' || n, 't') from switch s, "
			"generate_series(1, 8) n where s.name ~ 'leaf' order by s.id, n;");
	assert_int_equal(loop_new(&site->loop), 0);
	fabric_make(site);
	end_sessions(site);
	sql(site, text_get(&rows));
	memset(site->meant, 0, sizeof(site->meant));
	memset(site->also, 0, sizeof(site->also));
	site->frames = site->leaks = site->copies = site->arrivals = 0;
	site->ours = false;
	free(TAKE(site->probed));
	engine_start(site);
	return 0;
}

static inline int case_stop(void **state)
{
	struct site *site = *state;

	if (site->reconcile)
		engine_kill(site);
	sim_fabric_free(TAKE(site->fabric));
	loop_free(TAKE(site->loop));
	return 0;
}

static inline int site_stop(void **state)
{
	struct site *site = *state;

	PQfinish(site->operator);
	(void)shell("%s/support/pg stop %s/pg", TEST_SOURCE_DIR, site->folder);
	scratch_remove(site->folder);
	free(site->probed);
	free(site);
	return 0;
}

/* --- frames --- */

static inline void on_arrived(void *context, uint32_t at, uint32_t port, unsigned tag)
{
	struct site *site = context;
	unsigned from = site->meant[site->from_at][site->from_port];
	unsigned from_also = site->also[site->from_at][site->from_port];
	unsigned to = site->meant[at][port];
	unsigned to_also = site->also[at][port];

	site->arrivals++;
	/* A port on its way from one network to another may be in either, until it has arrived. 0
	 * is parked: free ports of one switch are nobody's. */
	if (tag != 0 || (to != from && to != from_also && to_also != from && to_also != from_also))
		site->leaks++;
}

static inline bool is_parked(const struct port_vlans *vlans)
{
	return !vlans->trunk && vlans->native >= 30 && vlans->native <= 49;
}

/* Every edge port sends, untagged and with every tag of our range. */
static inline void probe(struct site *site)
{
	for (uint32_t at = 0; at < LEAVES; at++) {
		for (uint32_t port = 0; port < LEAF_PORTS; port++) {
			site->from_at = at;
			site->from_port = port;
			for (unsigned tag = 98; tag <= 105; tag++) {
				site->copies +=
					sim_fabric_send(site->fabric, at, port, tag == 98 ? 0 : tag,
							on_arrived, site);
				site->frames++;
			}
		}
	}
}

static inline void plane_read(const struct site *site, struct plane *ret)
{
	for (uint32_t at = 0; at < SWITCHES; at++) {
		const struct sim_switch *from = sim_fabric_switch(site->fabric, at);

		memcpy(ret->ports[at], from->ports, from->port_count * sizeof(*from->ports));
		ret->vlans[at] = from->vlans;
	}
	memcpy(ret->meant, site->meant, sizeof(ret->meant));
	memcpy(ret->also, site->also, sizeof(ret->also));
	ret->leaks = site->leaks;
	ret->copies = site->copies;
}

/* The same frames would go the same ways again: they are sent anew when something has changed. */
static inline void probe_changes(struct site *site)
{
	struct plane *now = calloc(1, sizeof(*now));

	assert_non_null(now);
	plane_read(site, now);
	if (site->probed && memcmp(now, site->probed, sizeof(*now)) == 0) {
		free(now);
		return;
	}
	probe(site);
	now->leaks = site->leaks;
	now->copies = site->copies;
	free(site->probed);
	site->probed = now;
}

static inline void turn(struct site *site)
{
	loop_run_once(site->loop);
	probe_changes(site);
	usleep(300);
}

struct target {
	uint32_t at, port;
	bool hit;
};

static inline void on_target(void *context, uint32_t at, uint32_t port, unsigned tag)
{
	struct target *target = context;

	(void)tag;
	target->hit |= at == target->at && port == target->port;
}

static inline bool reaches(struct site *site, uint32_t a, uint32_t a_port, uint32_t b,
			   uint32_t b_port)
{
	struct target target = {.at = b, .port = b_port};

	(void)sim_fabric_send(site->fabric, a, a_port, 0, on_target, &target);
	return target.hit;
}

/* --- what is asked for --- */

static inline void want(struct site *site, uint32_t at, uint32_t port, unsigned network)
{
	char text[200];

	site->also[at][port] = site->meant[at][port];
	site->meant[at][port] = (unsigned char)network;
	if (network)
		(void)text_format(text, sizeof(text),
				  "select port_park('leaf%u', 'p%u', 't'); "
				  "select attachment_put('leaf%u', 'p%u', %u, 'access', 't');",
				  at + 1, port + 1, at + 1, port + 1, network);
	else
		(void)text_format(text, sizeof(text), "select port_park('leaf%u', 'p%u', 't');",
				  at + 1, port + 1);
	sql(site, text);
}

static inline bool wait_sql(struct site *site, const char *text, long value)
{
	int64_t deadline = clock_monotonic_ms() + WAIT_MS;

	while (clock_monotonic_ms() < deadline) {
		for (int i = 0; i < 20; i++)
			turn(site);
		if (ask(site, text) == value)
			return true;
	}
	(void)shell(
		"psql -qXAt '%s' -c \"set search_path = haas\" -c \"select port, wanted_version, "
		"applied_version, problem from port_intent where applied_version <> "
		"wanted_version\" -c 'select * from change_batch order by id desc limit 5' -c "
		"'select * from alert' >&2",
		site->admin);
	return false;
}

/* A port that drifted, or whose switch lost its power, is parked as soon as it was read again. */
static inline bool wait_parked(struct site *site, const struct port_vlans *vlans)
{
	int64_t deadline = clock_monotonic_ms() + WAIT_MS;

	while (!is_parked(vlans) && clock_monotonic_ms() < deadline)
		turn(site);
	return is_parked(vlans);
}

static inline void settle(struct site *site)
{
	assert_true(wait_sql(site,
			     "select count(*) from port_intent where applied_version <> "
			     "wanted_version",
			     0));
	memcpy(site->also, site->meant, sizeof(site->also));
	if (!site->ours)
		site->copies = 0;
	site->ours = true;
}

static inline void assert_no_leak(struct site *site)
{
	print_message("frames sent %u, arrived %u, leaked %u, copies %u\n", site->frames,
		      site->arrivals, site->leaks, site->copies);
	assert_true(site->frames > 0);
	assert_int_equal(site->leaks, 0);
	assert_int_equal(site->copies, 0);
}

static inline struct sim_switch *leaf(struct site *site, uint32_t at)
{
	return sim_fabric_switch(site->fabric, at);
}

/* What it starts with is what it has. */
static inline bool wait_saved(struct site *site, uint32_t at)
{
	int64_t until_ms = clock_monotonic_ms() + WAIT_MS;
	bool same = false;

	while (!same && clock_monotonic_ms() < until_ms) {
		turn(site);
		same = true;
		for (uint32_t p = 0; p < leaf(site, at)->port_count; p++)
			same &= port_vlans_equal(&leaf(site, at)->ports[p].vlans,
						 &leaf(site, at)->ports[p].saved);
	}
	return same;
}

/* Calls may take five times as long as those of case_start. */
static inline int patient_start(void **state)
{
	struct site *site = *state;

	site->patience = 5;
	return case_start(state);
}

/* Networks 1 and 2 on all leaves. */
static inline void spread(struct site *site)
{
	settle(site);
	for (uint32_t at = 0; at < LEAVES; at++) {
		want(site, at, 0, 1);
		want(site, at, 1, 2);
	}
	settle(site);
	assert_true(reaches(site, 0, 0, 1, 0));
}
