/* What others than this machine owe the site: switches that keep nodes apart while nobody rents them,
 * BMCs and switches whose sessions nobody on the way can read or forge, and secrets that are not
 * the same for ever. */
#include <libpq-fe.h>
#include <string.h>

#include "common/base/macros.h"

#include "portal/cli/site_check.h"

static const struct {
	const char *word, *message;
} site_check_network_states[] = {
	{"open", "nodes in the provisioning network hear each other at this switch"},
	{"between", "nodes in the provisioning network hear those at other switches"},
	{"cannot", "this switch cannot keep nodes in the provisioning network apart"},
	{"untold", "this switch does not show whether nodes in the provisioning network hear each "
		   "other"},
};

static const char *site_check_network_message(const char *word)
{
	for (size_t i = 0; i < COUNT_OF(site_check_network_states); i++) {
		if (strcmp(site_check_network_states[i].word, word) == 0)
			return site_check_network_states[i].message;
	}
	return NULL;
}

/* A switch where two nodes were never in it at once has not been judged yet. */
void site_check_provisioning(struct site_check *check)
{
	int judged = 0;
	CLEANUP(site_check_clear)
	PGresult *rows = site_check_ask(
		check,
		"select s.name, a.apart from haas.switch_endpoint e join haas.switch s on s.id = e.switch_id "
		"left join haas.switch_ability a on a.switch_id = e.switch_id where e.managed "
		"order by s.name");
	if (!rows)
		return;
	for (int i = 0; i < PQntuples(rows); i++) {
		const char *word = PQgetvalue(rows, i, 1);
		const char *message = site_check_network_message(word);

		judged += word[0] != '\0';
		if (message)
			site_check_wrong(check, PQgetvalue(rows, i, 0), "%s", message);
	}
	site_check_say(check, "%d of %d switches were judged", judged, PQntuples(rows));
}

/* Said by the operator: no finding, but nobody should have to search for it. */
void site_check_peers(struct site_check *check)
{
	CLEANUP(site_check_clear)
	PGresult *rows = site_check_ask(
		check,
		"select (select count(*) from haas.bmc where insecure or (driver = 'redfish' and tls <> 'verify')), "
		"(select count(*) from haas.switch_endpoint where (credentials ->> 'snmp_insecure')::boolean "
		"or (credentials ->> 'ssh_insecure')::boolean or credentials ->> 'ovsdb_peer' = 'plain')");
	if (!rows)
		return;
	if (strcmp(PQgetvalue(rows, 0, 0), "0") == 0 && strcmp(PQgetvalue(rows, 0, 1), "0") == 0)
		site_check_say(check, "every BMC and switch is reached by a protected way");
	else
		site_check_say(check, "insecure by the operator's word: %s BMCs, %s switches",
			       PQgetvalue(rows, 0, 0), PQgetvalue(rows, 0, 1));
}

/* How old is too old is the site's to say; an exchange that does not end is a finding. */
void site_check_secrets(struct site_check *check)
{
	CLEANUP(site_check_clear)
	PGresult *rows = site_check_ask(
		check,
		"select coalesce((select extract(day from now() - min(password_at))::int || ' days' from haas.bmc "
		"where password_sealed is not null), 'none'), "
		"coalesce((select string_agg(daemon || ' ' || extract(day from now() - changed_at)::int || ' days', ', ' "
		"order by daemon) from haas.daemon_key), 'none')");
	CLEANUP(site_check_clear)
	PGresult *stuck =
		!rows ? NULL
		      : site_check_ask(
				check,
				"select node, 'its BMC takes neither password' from haas.rotation r "
				"where state = 'failed' and exists (select from haas.bmc b where b.node_id = "
				"r.node_id and b.password_next is not null) and not exists (select from haas.rotation n "
				"where n.node_id = r.node_id and n.id > r.id) union select daemon, 'its ' || "
				"key || ' key waits to be exchanged' from haas.seal_rotation where state in ('begun', "
				"'sealing', 'known') and begun_at < now() - interval '1 hour' order by 1");

	if (!stuck)
		return;
	for (int i = 0; i < PQntuples(stuck); i++)
		site_check_wrong(check, PQgetvalue(stuck, i, 0), "%s", PQgetvalue(stuck, i, 1));
	site_check_say(check, "oldest BMC password: %s; seal keys: %s", PQgetvalue(rows, 0, 0),
		       PQgetvalue(rows, 0, 1));
}
