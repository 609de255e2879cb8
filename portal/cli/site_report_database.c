/* Figures of the database: sizes, versions, waits. No row of a tenant, no text of a query. */
#include <libpq-fe.h>
#include <string.h>

#include "common/base/text.h"

#include "portal/cli/db_admin.h"
#include "portal/cli/site_check.h"
#include "portal/cli/site_report.h"

static const struct {
	const char *title, *sql;
} site_report_database_rows[] = {
	{"server",
	 "select version(), pg_is_in_recovery() as standby, now() - pg_postmaster_start_time() as up, "
	 "pg_size_pretty(pg_database_size(current_database())) as size"},
	{"settings",
	 "select name, setting, unit, source from pg_settings where source not in ('default', 'client') "
	 "and name not like '%password%' and name not like 'ssl_%' and name not like '%conninfo%' order by name"},
	{"standbys",
	 "select application_name, state, sync_state, write_lag, flush_lag, replay_lag from pg_stat_replication"},
	{"connections",
	 "select usename, application_name, state, wait_event_type, wait_event, count(*), max(now() - state_change) as longest "
	 "from pg_stat_activity group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5"},
	{"locks that wait",
	 "select mode, relation::regclass, count(*) from pg_locks where not granted group by 1, 2"},
	{"schema", "select * from haas.schema_migration order by 1"},
	{"tables",
	 "select relname, n_live_tup, n_dead_tup, seq_scan, idx_scan, last_autovacuum, last_autoanalyze, "
	 "pg_size_pretty(pg_total_relation_size(relid)) as size from pg_stat_user_tables order by pg_total_relation_size(relid) desc, 1 limit 200"},
	{"daemons",
	 "select name, instance, version, started_at, seen_at from haas.daemon order by 1, 2"},
	{"backups", "select made_at, bytes from haas.backup order by made_at desc limit 20"},
	{"nodes", "select state, count(*) from haas.node group by 1 order by 1"},
	{"deployments",
	 "select plan, state, count(*) from haas.deployment group by 1, 2 order by 1, 2"},
	{"alerts",
	 "select kind, severity, count(*) from haas.alert where cleared_at is null group by 1, 2 order by 1, 2"},
};

static void site_report_database_table(const PGresult *result, struct text *ret)
{
	int columns = PQnfields(result);

	for (int row = -1; row < PQntuples(result); row++) {
		for (int column = 0; column < columns; column++) {
			const char *word =
				row < 0 ? PQfname(result, column) : PQgetvalue(result, row, column);

			text_addf(ret, "%s%s", column > 0 ? " | " : "", word);
		}
		text_add(ret, "\n");
	}
}

void site_report_database(const char *conninfo, struct text *ret)
{
	CLEANUP(site_check_finish) PGconn *connection = NULL;
	struct problem problem = {0};

	if (db_admin_connect(conninfo, &connection, &problem) < 0) {
		text_addf(ret, "%s: %s\n", problem.message, problem.detail);
		return;
	}
	PQclear(PQexec(connection, "set statement_timeout = '10s'"));
	for (size_t i = 0; i < COUNT_OF(site_report_database_rows); i++) {
		CLEANUP(site_check_clear)
		PGresult *result = PQexec(connection, site_report_database_rows[i].sql);

		text_addf(ret, "== %s\n", site_report_database_rows[i].title);
		if (PQresultStatus(result) == PGRES_TUPLES_OK)
			site_report_database_table(result, ret);
		else
			text_add(ret, PQerrorMessage(connection));
		text_add(ret, "\n");
	}
}
