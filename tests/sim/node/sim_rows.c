#include "tests/sim/node/sim_rows.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/hex.h"
#include "common/base/macros.h"
#include "common/base/text.h"

#include "tests/sim/node/sim_volume.h"

static void sim_rows_clearp(PGresult **result)
{
	PQclear(*result);
}

static PGresult *sim_rows_query(PGconn *connection, const char *sql, const char *param)
{
	PGresult *result =
		PQexecParams(connection, sql, param ? 1 : 0, NULL, &param, NULL, NULL, 0);
	ExecStatusType status = PQresultStatus(result);

	if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK)
		return result;
	(void)fprintf(stderr, "simnodes: %s", PQresultErrorMessage(result));
	PQclear(result);
	return NULL;
}

static int sim_rows_run(PGconn *connection, const char *sql, json_t *rows)
{
	CLEANUP(freep) char *text = json_dumps(rows, JSON_COMPACT);
	CLEANUP(sim_rows_clearp) PGresult *result = sim_rows_query(connection, sql, text);

	return result ? 0 : -1;
}

static struct sim_node_state *sim_rows_find(const struct sim_nodes *nodes, int number)
{
	return number >= 1 && (size_t)number <= nodes->count ? &nodes->rows[number - 1] : NULL;
}

static void sim_rows_copy(char *ret, size_t room, const PGresult *result, int row, int column)
{
	(void)text_copy(ret, room, PQgetvalue(result, row, column));
}

int sim_rows_read(PGconn *connection, struct sim_nodes *nodes)
{
	CLEANUP(sim_rows_clearp)
	PGresult *result = sim_rows_query(
		connection,
		"select substr(n.name, 2), n.id, n.state, i.target, i.token, i.nonce from haas.node n"
		" left join haas.boot_intent i on i.node_id = n.id where n.name ~ '^s[0-9]+$'",
		NULL);

	if (!result)
		return -1;
	for (int row = 0; row < PQntuples(result); row++) {
		struct sim_node_state *node =
			sim_rows_find(nodes, (int)strtol(PQgetvalue(result, row, 0), NULL, 10));

		if (!node)
			continue;
		node->node_id = strtoll(PQgetvalue(result, row, 1), NULL, 10);
		sim_rows_copy(node->node_state, sizeof(node->node_state), result, row, 2);
		sim_rows_copy(node->target, sizeof(node->target), result, row, 3);
		sim_rows_copy(node->token, sizeof(node->token), result, row, 4);
		sim_rows_copy(node->nonce, sizeof(node->nonce), result, row, 5);
	}
	return 0;
}

/* --- what an agent answers --- */

static json_t *sim_rows_drive(const struct sim_node_state *node, char letter)
{
	char serial[32];
	char name[16];

	(void)snprintf(serial, sizeof(serial), "S%d-%c", node->number, letter);
	(void)snprintf(name, sizeof(name), "nvme%cn1", letter == 'a' ? '0' : '1');
	return json_pack("{s:s, s:s, s:s, s:I, s:s}", "serial", serial, "name", name, "model",
			 "SIM 1", "size_bytes", (json_int_t)1 << 40, "kind", "nvme");
}

static json_t *sim_rows_inventory(const struct sim_node_state *node)
{
	char mac[32];
	json_t *drives = json_pack("[o, o]", sim_rows_drive(node, 'a'), sim_rows_drive(node, 'b'));

	if (node->faults & SIM_BAD_INVENTORY) {
		json_decref(drives);
		drives = json_pack("[i]", 7);
	}
	(void)snprintf(mac, sizeof(mac), "52:54:00:99:%02x:%02x", (unsigned)node->number >> 8,
		       (unsigned)node->number & 0xff);
	return json_pack("{s:o, s:[{s:s, s:s, s:s}], s:s, s:s, s:I}", "disks", drives, "nics",
			 "name", "eth0", "mac", mac, "driver", "sim", "firmware", "bios", "serial",
			 "", "memory_bytes", (json_int_t)1 << 38);
}

static json_t *sim_rows_erase(const struct sim_node_state *node)
{
	json_t *list = json_array();

	for (int i = 0; i < 2; i++) {
		bool bad = i == 1 && node->faults & SIM_BAD_DRIVE;
		json_t *row = sim_rows_drive(node, i ? 'b' : 'a');

		if (i == 1 && node->faults & SIM_SMALL_DRIVE)
			(void)json_object_set_new(row, "size_bytes",
						  json_integer(INT64_C(1) << 39));
		(void)json_object_set_new(row, "method", json_string("nvme_format_crypto"));
		(void)json_object_set_new(row, "verdict", json_string(bad ? "failed" : "erased"));
		(void)json_object_set_new(
			row, "reason", json_string(bad ? "the controller aborted the format" : ""));
		(void)json_array_append_new(list, row);
	}
	return json_pack("{s:o}", "drives", list);
}

static json_t *sim_rows_verify(const struct sim_node_state *node)
{
	json_t *list = json_array();

	for (int i = 0; i < 2; i++) {
		bool bad = i == 1 && node->faults & SIM_LYING_DRIVE;
		json_t *row = sim_rows_drive(node, i ? 'b' : 'a');

		(void)json_object_set_new(row, "samples", json_integer(1026));
		(void)json_object_set_new(row, "nonzero", json_integer(bad ? 1000 : 0));
		(void)json_object_set_new(row, "verdict", json_string(bad ? "failed" : "verified"));
		(void)json_array_append_new(list, row);
	}
	return json_pack("{s:o}", "drives", list);
}

static json_t *sim_rows_answer(const struct sim_node_state *node)
{
	const char *kind = node->task.kind;

	if (strcmp(kind, "inventory") == 0)
		return sim_rows_inventory(node);
	if (strcmp(kind, "erase") == 0)
		return sim_rows_erase(node);
	if (strcmp(kind, "verify_erased") == 0)
		return sim_rows_verify(node);
	if (strcmp(kind, "write_image") == 0)
		return json_pack("{s:s, s:s, s:s, s:I, s:f}", "disk", "nvme0n1", "serial", "S-a",
				 "digest", node->task.digest, "bytes", (json_int_t)1 << 30,
				 "seconds", 1.0);
	return json_object();
}

/* --- tasks --- */

static void sim_rows_journal(const struct sim_nodes *nodes, const struct sim_node_state *node,
			     const char *what)
{
	FILE *file = fopen(nodes->journal, "a");

	if (!file)
		return;
	(void)fprintf(file, "s%d %s %s %lld\n", node->number, what, node->task.kind,
		      (long long)node->task.id);
	(void)fclose(file);
}

/* Tells the database of what was taken; a task that it may not have heard of, because the
 * connection ended, is told again. */
static int tell_taken(PGconn *connection, struct sim_nodes *nodes, json_t *taken)
{
	int rc = 0;

	for (size_t i = 0; i < nodes->count; i++)
		if (nodes->rows[i].task.id != 0 && !nodes->rows[i].task.is_told)
			(void)json_array_append_new(
				taken,
				json_pack("{s:I}", "id", (json_int_t)nodes->rows[i].task.id));
	if (json_array_size(taken) > 0)
		rc = sim_rows_run(
			connection,
			"update haas.agent_task t set state = 'taken', updated_at = now() from jsonb_to_recordset($1::jsonb) as x (id bigint)"
			" where t.id = x.id and t.state = 'queued' and t.id = any (array(select id from haas.agent_task where id in"
			" (select id from jsonb_to_recordset($1::jsonb) as x (id bigint)) order by id for no key update))",
			taken);
	for (size_t i = 0; rc == 0 && i < nodes->count; i++)
		nodes->rows[i].task.is_told = true;
	return rc;
}

static int sim_rows_take(PGconn *connection, struct sim_nodes *nodes, int64_t now_ms)
{
	CLEANUP(sim_rows_clearp)
	PGresult *result = sim_rows_query(
		connection,
		"select substr(n.name, 2), t.id, t.kind, t.token, t.params ->> 'callback', t.deployment_id, coalesce(t.params ->> 'iscsi', ''),"
		" coalesce((t.params ->> 'manifest')::json ->> 'digest', '') from haas.agent_task t"
		" join haas.node n on n.id = t.node_id where t.state = 'queued' and n.name ~ '^s[0-9]+$' order by t.id",
		NULL);
	json_t *taken = json_array();
	int rc = 0;

	for (int row = 0; result && nodes->rows && row < PQntuples(result); row++) {
		struct sim_node_state *node =
			sim_rows_find(nodes, (int)strtol(PQgetvalue(result, row, 0), NULL, 10));
		const char *nonce = strrchr(PQgetvalue(result, row, 4), '/');

		if (!node || !sim_node_idle(node) ||
		    strcmp(node->agent_token, PQgetvalue(result, row, 3)) != 0 ||
		    strcmp(node->token, node->agent_token) != 0)
			continue;
		node->task = (struct sim_task){.id = strtoll(PQgetvalue(result, row, 1), NULL, 10),
					       .until_ms = now_ms + nodes->times.task_ms};
		sim_rows_copy(node->task.kind, sizeof(node->task.kind), result, row, 2);
		(void)text_copy(node->task.params_callback, sizeof(node->task.params_callback),
				nonce ? nonce + 1 : "");
		sim_rows_copy(node->task.digest, sizeof(node->task.digest), result, row, 7);
		if (strcmp(node->task.kind, "configure_os") == 0)
			(void)sim_volume_write(nodes->key, nodes->folder, node->number,
					       PQgetvalue(result, row, 6));
		sim_rows_journal(nodes, node, "begins");
		if (strcmp(node->task.kind, node->die) == 0) {
			(void)json_array_append_new(
				taken, json_pack("{s:I}", "id", (json_int_t)node->task.id));
			node->phase = SIM_STUCK;
			node->task = (struct sim_task){0};
		}
	}
	if (result && nodes->rows)
		rc = tell_taken(connection, nodes, taken);
	json_decref(taken);
	return result ? rc : -1;
}

static bool sim_rows_is_over(const struct sim_node_state *node, int64_t now_ms)
{
	return node->phase == SIM_AGENT && node->task.id != 0 && node->task.is_told &&
	       now_ms >= node->task.until_ms && strcmp(node->task.kind, node->hold) != 0;
}

static bool task_fails(const struct sim_node_state *node)
{
	return strcmp(node->task.kind, node->fail) == 0;
}

static json_t *task_result(const struct sim_node_state *node)
{
	bool fails = task_fails(node);

	return json_pack("{s:I, s:b, s:o}", "id", (json_int_t)node->task.id, "ok", !fails, "result",
			 fails ? json_null() : sim_rows_answer(node));
}

static void end_task(const struct sim_nodes *nodes, struct sim_node_state *node)
{
	bool fails = task_fails(node);

	sim_rows_journal(nodes, node, fails ? "fails" : "ends");
	if (!fails && strcmp(node->task.kind, "configure_os") == 0)
		(void)text_copy(node->disk_nonce, sizeof(node->disk_nonce),
				node->task.params_callback);
	if (!fails && strcmp(node->task.kind, "erase") == 0)
		node->disk_nonce[0] = '\0';
	node->task = (struct sim_task){0};
}

static int sim_rows_end(PGconn *connection, struct sim_nodes *nodes, int64_t now_ms)
{
	json_t *ended = json_array();
	int rc = 0;

	for (size_t i = 0; i < nodes->count; i++)
		if (sim_rows_is_over(&nodes->rows[i], now_ms))
			(void)json_array_append_new(ended, task_result(&nodes->rows[i]));
	/* What was dropped meanwhile is not wanted any more: bampi-bootd answers 410. */
	if (json_array_size(ended) > 0)
		rc = sim_rows_run(
			connection,
			"with touched as materialized (select haas.deployment_touch(array(select t.deployment_id from haas.agent_task t"
			"  join jsonb_to_recordset($1::jsonb) as x (id bigint) on t.id = x.id where t.state = 'taken'))),"
			"locked as materialized (select t.id from touched, haas.agent_task t where t.id in"
			"  (select id from jsonb_to_recordset($1::jsonb) as x (id bigint)) order by t.id for no key update of t),"
			"done as (update haas.agent_task t set state = case when x.ok then 'done' else 'failed' end, result = x.result,"
			"  problem = case when x.ok then null else '{\"message\":\"the simulated agent failed\"}'::jsonb end, updated_at = now()"
			"  from jsonb_to_recordset($1::jsonb) as x (id bigint, ok boolean, result jsonb) where t.id = x.id and t.state = 'taken'"
			"  and t.id = any (array(select id from locked))) "
			"select pg_notify('deployment', '')",
			ended);
	/* Like an agent: what could not be delivered is delivered later. */
	for (size_t i = 0; rc == 0 && i < nodes->count; i++)
		if (sim_rows_is_over(&nodes->rows[i], now_ms))
			end_task(nodes, &nodes->rows[i]);
	json_decref(ended);
	return rc;
}

int sim_rows_work(PGconn *connection, struct sim_nodes *nodes, int64_t now_ms)
{
	int rc = sim_rows_take(connection, nodes, now_ms);

	return rc ? rc : sim_rows_end(connection, nodes, now_ms);
}

int sim_rows_write(PGconn *connection, struct sim_nodes *nodes)
{
	json_t *rows = json_array();
	char asks[96];
	int rc = 0;

	(void)text_format(asks, sizeof(asks), "asks for work; seal %s", agent_key_text(nodes->key));
	for (size_t i = 0; i < nodes->count; i++) {
		struct sim_node_state *node = &nodes->rows[i];

		for (int kind = 0; kind < SIM_SEEN_COUNT; kind++)
			if (node->seen & 1U << kind && node->node_id != 0)
				(void)json_array_append_new(
					rows,
					json_pack("{s:I, s:s, s:s, s:s}", "node_id",
						  (json_int_t)node->node_id, "kind",
						  sim_seen_words[kind], "token", node->token,
						  "detail",
						  kind == SIM_SEEN_AGENT ? asks : "simulated"));
	}
	if (json_array_size(rows) > 0)
		rc = sim_rows_run(
			connection,
			"with x as (select * from rows from (jsonb_to_recordset($1::jsonb) as (node_id bigint, kind text, token text, detail text))"
			"  with ordinality as x (node_id, kind, token, detail, n)),"
			"touched as materialized (select haas.deployment_touch(array(select i.deployment_id from x"
			"  join haas.boot_intent i on i.node_id = x.node_id where x.kind in ('script', 'agent', 'callback')))),"
			"begun as materialized (select haas.boot_agent_begin(x.token, right(x.detail, 64), null, '{}') from touched, x where x.kind = 'agent'),"
			"seen as (insert into haas.boot_observation as o (node_id, kind, at, token, detail, bytes)"
			"  select x.node_id, x.kind, clock_timestamp(), x.token, x.detail, 1 from touched, (select count(*) from begun) b, x order by x.node_id, x.n"
			"  on conflict (node_id, kind) do update set at = excluded.at, token = excluded.token, detail = excluded.detail) "
			"select pg_notify('deployment', '')",
			rows);
	for (size_t i = 0; rc == 0 && i < nodes->count; i++)
		nodes->rows[i].seen = 0; /* else it is told when the database is back */
	json_decref(rows);
	return rc;
}
