/* The database: does it answer, is its schema ours, when was it kept last? */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/text.h"
#include "common/io/file.h"

#include "portal/cli/db_admin.h"
#include "portal/cli/site_check.h"

void site_check_finish(PGconn **connection)
{
	PQfinish(*connection);
}

void site_check_clear(PGresult **result)
{
	PQclear(*result);
}

PGresult *site_check_rows_of(struct site_check *check, PGconn *connection, const char *sql)
{
	PGresult *result = PQexec(connection, sql);

	if (PQresultStatus(result) == PGRES_TUPLES_OK)
		return result;
	site_check_wrong(check, "database", "it refuses a question: %s",
			 PQerrorMessage(connection));
	PQclear(result);
	return NULL;
}

bool site_check_connect(struct site_check *check, PGconn **ret)
{
	struct problem problem = {0};

	if (check->database_away) {
		site_check_skip(check, "the database does not answer");
		return false;
	}
	if (db_admin_connect(check->conninfo, ret, &problem) == 0)
		return true;
	check->database_away = true;
	site_check_say(check, "it does not answer");
	site_check_wrong(check, "database", "%s", problem.detail);
	return false;
}

bool site_check_has_schema(struct site_check *check, PGconn *connection)
{
	CLEANUP(site_check_clear)
	PGresult *row = PQexec(connection, "select to_regclass('haas.dhcp_server') is not null "
					   "and to_regclass('haas.alert') is not null");

	if (PQresultStatus(row) == PGRES_TUPLES_OK && strcmp(PQgetvalue(row, 0, 0), "t") == 0)
		return true;
	site_check_skip(check, "the schema is not applied");
	return false;
}

static void site_check_database_standbys(struct site_check *check, PGconn *connection, char *ret,
					 size_t room)
{
	CLEANUP(site_check_clear)
	PGresult *rows = site_check_rows_of(
		check, connection,
		"select coalesce(nullif(application_name, ''), 'standby'), round(extract(epoch from replay_lag)), "
		"coalesce(replay_lag > interval '30 s', false) from pg_stat_replication");
	int count = rows ? PQntuples(rows) : 0;

	for (int i = 0; i < count; i++) {
		if (strcmp(PQgetvalue(rows, i, 2), "t") != 0)
			continue;
		site_check_wrong(check, PQgetvalue(rows, i, 0), "this standby is %s s behind",
				 PQgetvalue(rows, i, 1));
		site_check_hint(check, "look at its log, its disk and the network between");
	}
	if (count == 0)
		(void)text_copy(ret, room, "no standby");
	else
		(void)text_format(ret, room, "%d standby", count);
}

/* Only a question that writes nothing is answered then: nobody else may be able to tell. */
static void site_check_database_waits(struct site_check *check, PGconn *connection)
{
	CLEANUP(site_check_clear)
	PGresult *rows = site_check_rows_of(
		check, connection,
		"select current_setting('synchronous_standby_names') where current_setting('synchronous_standby_names') <> '' "
		"and not pg_is_in_recovery() and not exists (select from pg_stat_replication "
		"where coalesce(sync_state, 'sync') in ('sync', 'quorum'))");

	if (!rows || PQntuples(rows) == 0)
		return;
	site_check_wrong(check, "standby",
			 "no synchronous standby is connected, so every commit waits (%s)",
			 PQgetvalue(rows, 0, 0));
	site_check_hint(
		check,
		"start the standby, or let the primary go on alone: docs/site.md, Two controllers");
}

void site_check_database(struct site_check *check)
{
	CLEANUP(site_check_finish) PGconn *connection = NULL;
	int64_t start_ms = clock_monotonic_ms();
	char standbys[40];

	if (!site_check_connect(check, &connection))
		return;
	CLEANUP(site_check_clear)
	PGresult *rows = site_check_rows_of(
		check, connection,
		"select pg_size_pretty(pg_database_size(current_database())), pg_is_in_recovery()");
	if (!rows)
		return;
	site_check_database_standbys(check, connection, standbys, sizeof(standbys));
	site_check_database_waits(check, connection);
	site_check_say(check, "answers in %d ms, %s, %s", (int)(clock_monotonic_ms() - start_ms),
		       PQgetvalue(rows, 0, 0), standbys);
	if (strcmp(PQgetvalue(rows, 0, 1), "t") == 0) {
		site_check_wrong(check, "database", "this is a standby: nothing can be written");
		site_check_hint(check, "name the primary in each `database` of /etc/haas/*.conf");
	}
}

void site_check_schema(struct site_check *check)
{
	CLEANUP(freep) struct db_migration_state *states = NULL;
	struct problem problem = {0};
	size_t count = 0;
	size_t pending = 0;

	if (check->database_away) {
		site_check_skip(check, "the database does not answer");
		return;
	}
	if (db_migration_states(check->conninfo, &states, &count, &pending, &problem) < 0) {
		site_check_problem(check, "schema", &problem);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		if (!states[i].applied)
			site_check_wrong(check, states[i].name, "this part is not applied yet");
	}
	site_check_say(check, "%zu of %zu parts applied", count - pending, count);
}

PGresult *site_check_ask(struct site_check *check, const char *sql)
{
	CLEANUP(site_check_finish) PGconn *connection = NULL;

	if (!site_check_connect(check, &connection) || !site_check_has_schema(check, connection))
		return NULL;
	return site_check_rows_of(check, connection, sql);
}

static bool site_check_database_here(const struct site_check *check, const char *folder,
				     const char *digest)
{
	char path[PATH_MAX];

	return folder[0] && text_format(path, sizeof(path), "%s/%s", folder, digest) &&
	       site_check_exists(check, path);
}

/* What one of several controllers has alone is lost with it. One that was not heard for a week is none. */
static void site_check_database_alone(struct site_check *check)
{
	CLEANUP(site_check_clear)
	PGresult *rows = site_check_ask(
		check,
		"set search_path = haas; with server as (select s.* from boot_server s join daemon d on d.name = 'bampi-bootd' "
		"and d.instance = s.instance and d.seen_at > now() - interval '7 days') "
		"select w.name, w.kind, min(c.instance), bool_or(s.url = '') from content_wanted w join content_copy c on c.digest = w.digest "
		"join server s on s.instance = c.instance where (select count(*) from server) > 1 group by w.name, w.kind having count(*) = 1 order by 1");

	for (int i = 0; rows && i < PQntuples(rows); i++) {
		site_check_wrong(check, PQgetvalue(rows, i, 0), "this %s is on %s alone",
				 PQgetvalue(rows, i, 1), PQgetvalue(rows, i, 2));
		if (strcmp(PQgetvalue(rows, i, 3), "t") == 0)
			site_check_hint(
				check,
				"nobody can copy it: there, set tls.certificate and server_address in bampi-bootd.conf");
		else
			site_check_hint(check,
					"look at the log of bampi-bootd on the other controller");
	}
}

/* Of two controllers each has its own files: what the database knows may be on the other one. */
void site_check_images(struct site_check *check)
{
	char folder[PATH_MAX];
	char copies[PATH_MAX];
	CLEANUP(site_check_clear)
	PGresult *rows = site_check_ask(
		check,
		"set search_path = haas; select name || ':' || version, stored_digest, 'image' from image where state = 'ready' "
		"union all select name || ':' || version, digest, 'package' from package where state = 'ready' order by 1");
	if (!rows)
		return;
	(void)site_check_setting(check, "bampi-bootd", "image_dir", "/var/lib/haas/images", folder);
	(void)site_check_setting(check, "bampi-bootd", "copy_dir",
				 "/var/lib/haas/bampi-bootd/images", copies);
	for (int i = 0; i < PQntuples(rows); i++) {
		if (site_check_database_here(check, folder, PQgetvalue(rows, i, 1)) ||
		    site_check_database_here(check, copies, PQgetvalue(rows, i, 1)))
			continue;
		site_check_wrong(check, PQgetvalue(rows, i, 0),
				 "this %s is not in %s: this controller cannot install it",
				 PQgetvalue(rows, i, 2), folder);
	}
	site_check_database_alone(check);
	site_check_say(check, "%d known", PQntuples(rows));
}

/* Two controllers that do not hear each other both take the address that nodes boot from; of two that see no link
 * neither does. A site of one controller has it without more ado. */
void site_check_boot_address(struct site_check *check)
{
	CLEANUP(site_check_clear)
	PGresult *rows = site_check_ask(
		check,
		"set search_path = haas; with server as (select s.* from boot_server s join daemon d on d.name = 'bampi-bootd' "
		"and d.instance = s.instance and d.seen_at > now() - interval '10 s') "
		"select x.address, count(s.instance), coalesce(string_agg(s.instance, ' and ' order by s.instance), '') "
		"from (select distinct host(boot_server) as address from subnet where not exists (select from unnest(relays) r where host(r) = host(boot_server))) x left join server s "
		"on exists (select from unnest(s.addresses) a where host(a) = x.address) where (select count(*) from server) > 1 "
		"group by 1 order by 1");

	for (int i = 0; rows && i < PQntuples(rows); i++) {
		const char *count = PQgetvalue(rows, i, 1);

		if (strcmp(count, "0") == 0)
			site_check_wrong(check, PQgetvalue(rows, i, 0),
					 "no controller has this address: nodes do not boot");
		else if (strcmp(count, "1") != 0)
			site_check_wrong(
				check, PQgetvalue(rows, i, 0),
				"%s have this address at once: they do not hear each other",
				PQgetvalue(rows, i, 2));
	}
	if (rows)
		site_check_say(check, "%d shared by several controllers", PQntuples(rows));
}

/* Whether a daemon here opens what portald seals. *ret_same is set where there is a key. */
static void site_check_database_key(struct site_check *check, const char *program,
				    const char *published, size_t *ret_same)
{
	unsigned char public_key[crypto_scalarmult_BYTES];
	char hex[2 * sizeof(public_key) + 1];
	CLEANUP(freep) char *secret = NULL;
	char usual[PATH_MAX];
	char folder[PATH_MAX];
	char shown[PATH_MAX];
	char path[PATH_MAX];
	size_t size = 0;

	(void)text_format(usual, sizeof(usual), "/var/lib/haas/%s/keys", program);
	if (!text_format(shown, sizeof(shown), "%s/%s-seal.key",
			 site_check_setting(check, program, "key_dir", usual, folder), program) ||
	    !site_check_path(check, path, "%s", shown) ||
	    file_read(path, crypto_scalarmult_SCALARBYTES + 1, &secret, &size) < 0 ||
	    size != crypto_scalarmult_SCALARBYTES)
		return; /* `keys` tells of it, or the daemon makes it */
	(void)crypto_scalarmult_base(public_key, (const unsigned char *)secret);
	sodium_memzero(secret, size);
	(void)sodium_bin2hex(hex, sizeof(hex), public_key, sizeof(public_key));
	if (strcmp(hex, published) == 0)
		(*ret_same)++;
	else
		site_check_wrong(check, shown, "passwords are sealed to another key than this");
}

void site_check_seals(struct site_check *check)
{
	size_t same = 0;
	CLEANUP(site_check_clear)
	PGresult *rows = site_check_ask(
		check,
		"set search_path = haas; select daemon, encode(public_key, 'hex') from daemon_key where daemon in ('bampid', 'peregrined', 'portal-outward')");
	if (!rows)
		return;
	for (int i = 0; i < PQntuples(rows); i++)
		site_check_database_key(check, PQgetvalue(rows, i, 0), PQgetvalue(rows, i, 1),
					&same);
	site_check_say(check, "%zu as in the database", same);
}

/* A site without nodes has nothing to lose yet. */
void site_check_backup(struct site_check *check)
{
	CLEANUP(site_check_clear)
	PGresult *rows = site_check_ask(
		check,
		"set search_path = haas; "
		"select (select file from backup order by made_at desc limit 1), "
		"(select floor(extract(epoch from clock_timestamp() - max(made_at)) / 3600) from backup), "
		"(select count(*) from node)");
	if (!rows)
		return;
	long hours = strtol(PQgetvalue(rows, 0, 1), NULL, 10);
	if (!PQgetisnull(rows, 0, 1)) {
		site_check_say(check, "the last one is %ld h old: %s", hours,
			       PQgetvalue(rows, 0, 0));
		if (hours >= 48)
			site_check_wrong(check, "database", "the last backup is %ld h old", hours);
		return;
	}
	site_check_say(check, "none was made");
	if (strcmp(PQgetvalue(rows, 0, 2), "0") != 0)
		site_check_wrong(check, "database", "%s nodes are in it, and no backup was made",
				 PQgetvalue(rows, 0, 2));
}

/* What peregrined cannot vouch for: ports that are not apart, and switches that do not show it. */
void site_check_isolation(struct site_check *check)
{
	CLEANUP(site_check_clear)
	PGresult *rows = site_check_ask(
		check,
		"set search_path = haas; "
		"select subject, message, coalesce(detail ->> 'hint', '') from alert "
		"where cleared_at is null and (kind = 'fabric.isolation' or kind like '%unproven') order by subject, kind limit 100");
	int count = rows ? PQntuples(rows) : 0;

	if (rows)
		site_check_say(check, "%d alerts of ports and switches", count);
	for (int i = 0; i < count; i++) {
		site_check_wrong(check, PQgetvalue(rows, i, 0), "%s", PQgetvalue(rows, i, 1));
		if (PQgetlength(rows, i, 2) > 0)
			site_check_hint(check, "%s", PQgetvalue(rows, i, 2));
	}
}
