/* DHCP servers that are not ours on the links where nodes boot: those that answer now, and those that
 * bampi-bootd heard in the last hour. */
#include <net/if.h>
#include <string.h>

#include "common/base/text.h"
#include "common/net/ipv4.h"

#include "portal/cli/site_check.h"
#include "portal/cli/site_dhcp.h"

struct site_check_dhcp_links {
	struct site_dhcp dhcp;
	size_t missing;
	char first_missing[IF_NAMESIZE];
};

static void site_check_dhcp_link(struct site_check *check, const char *value, void *context)
{
	struct site_check_dhcp_links *links = context;
	int index = (int)if_nametoindex(value);

	(void)check;
	if (index == 0) {
		if (links->missing++ == 0)
			(void)text_copy(links->first_missing, sizeof(links->first_missing), value);
		return;
	}
	if (links->dhcp.interface_count < SITE_DHCP_LINKS)
		links->dhcp.interfaces[links->dhcp.interface_count++] = index;
}

/* By server_address of the configuration, or by the database (NULL: it does not answer): another
 * bampi-bootd of ours. */
static bool site_check_dhcp_is_ours(struct site_check *check, PGconn *connection,
				    const char *address)
{
	const char *const params[] = {address};
	char own[PATH_MAX];
	bool ours;

	if (strcmp(site_check_setting(check, "bampi-bootd", "server_address", "", own), address) ==
	    0)
		return true;
	if (!connection)
		return false;
	CLEANUP(site_check_clear)
	PGresult *row = PQexecParams(connection, "select haas.dhcp_server_is_ours($1)", 1, NULL,
				     params, NULL, NULL, 0);
	ours = PQresultStatus(row) == PGRES_TUPLES_OK && strcmp(PQgetvalue(row, 0, 0), "t") == 0;
	return ours;
}

static size_t site_check_dhcp_answers(struct site_check *check, const struct site_dhcp *dhcp,
				      PGconn *connection)
{
	size_t foreign = 0;

	for (size_t i = 0; i < dhcp->answer_count; i++) {
		const struct site_dhcp_answer *answer = &dhcp->answers[i];
		char address[IPV4_TEXT_SIZE];
		char name[IF_NAMESIZE] = "";
		char mac[MAC_TEXT_SIZE];

		(void)ipv4_text(answer->server, address);
		if (site_check_dhcp_is_ours(check, connection, address))
			continue;
		(void)if_indextoname((unsigned)answer->interface, name);
		site_check_wrong(check, name, "a DHCP server that is not ours answers: %s, MAC %s",
				 address, mac_text(answer->mac, mac));
		foreign++;
	}
	return foreign;
}

static size_t site_check_dhcp_heard(struct site_check *check, PGconn *connection)
{
	CLEANUP(site_check_clear)
	PGresult *rows = site_check_rows_of(
		check, connection,
		"select link, host(address), coalesce(mac::text, 'unknown') from haas.dhcp_server "
		"where not ours and seen_at > now() - interval '1 hour' and not haas.dhcp_server_is_ours(address) "
		"order by link, address limit 64");
	int count = rows ? PQntuples(rows) : 0;

	for (int i = 0; i < count; i++)
		site_check_wrong(
			check, PQgetvalue(rows, i, 0),
			"a DHCP server that is not ours was heard in the last hour: %s, MAC %s",
			PQgetvalue(rows, i, 1), PQgetvalue(rows, i, 2));
	return (size_t)count;
}

/* Another row tells what is wrong with the database. */
static PGconn *site_check_dhcp_connect(struct site_check *check)
{
	PGconn *connection = NULL;

	if (check->database_away)
		return NULL;
	if (site_check_connect(check, &connection) && !site_check_has_schema(check, connection)) {
		check->skipped = false; /* the servers that answer are told all the same */
		site_check_finish(&connection);
		return NULL;
	}
	return connection;
}

void site_check_dhcp(struct site_check *check)
{
	struct site_check_dhcp_links links = {0};
	struct problem problem = {0};

	if (site_check_list(check, "bampi-bootd", "interfaces", site_check_dhcp_link, &links) ==
	    0) {
		site_check_skip(check, "interfaces of bampi-bootd.conf names no interface to ask");
		return;
	}
	if (links.dhcp.interface_count == 0) {
		site_check_skip(check, "interface %s is not there", links.first_missing);
		return;
	}
	if (site_dhcp_ask(&links.dhcp, &problem) < 0) {
		site_check_skip(check, "%s: %s", problem.message, problem.detail);
		return;
	}
	CLEANUP(site_check_finish) PGconn *connection = site_check_dhcp_connect(check);
	size_t foreign = site_check_dhcp_answers(check, &links.dhcp, connection);
	size_t heard = connection ? site_check_dhcp_heard(check, connection) : 0;
	site_check_say(check, "%zu interfaces asked, %zu foreign servers answer, %zu were heard",
		       links.dhcp.interface_count, foreign, heard);
}
