/* /fabrics, how /switches are managed, /links, /locations, /wiring: what is plugged in
 * where, and what is wrong with it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/http/wipe.h"

#include "portal/server/daemon_call.h"
#include "portal/server/exchange.h"
#include "portal/server/fabric_store_sql.h"
#include "portal/server/list.h"
#include "portal/server/member_check.h"
#include "portal/server/seal.h"
#include "portal/server/store_text_sql.h"

#define WIRING_MAX 20000
#define READ_MS    65000 /* a reading of a large switch, and its place in the line */
#define SOON_MS    25000

/* clang-format off */
static const struct member_row fabric_members[] = {
	{"vlan_low",     MEMBER_INT,  0, 2, 4094,  NULL},
	{"vlan_high",    MEMBER_INT,  0, 2, 4094,  NULL},
	{"parking_vlan", MEMBER_INT,  0, 2, 4094,  NULL},
	{"parking_count", MEMBER_INT, 0, 1, 1024,  NULL},
	{"quarantine_s", MEMBER_INT,  0, 0, 86400, NULL},
	{"repair",       MEMBER_WORD, 0, 0, 0,     fabric_repair_words},
	{"take",         MEMBER_BOOL, 0, 0, 0,     NULL},
};
static const struct member_row management_members[] = {
	{"fabric",      MEMBER_NAME,   0, 0, 0,     NULL},
	{"role",        MEMBER_WORD,   0, 0, 0,     switch_role_words},
	{"family",      MEMBER_TEXT,   0, 0, 23,    NULL},
	{"address",     MEMBER_IPV4,   0, 0, 0,     NULL},
	{"managed",     MEMBER_BOOL,   0, 0, 0,     NULL},
	{"force",       MEMBER_BOOL,   0, 0, 0,     NULL},
	{"poll_s",      MEMBER_INT,    0, 1, 86400, NULL},
	{"ports",       MEMBER_OBJECT, 0, 0, 0,     NULL},
	{"credentials", MEMBER_OBJECT, 0, 0, 0,     NULL},
	{"secrets",     MEMBER_OBJECT, 0, 0, 0,     NULL},
};
static const struct member_row fabric_routes_port_members[] = {
	{"snmp",    MEMBER_INT, 0, 1, 65535, NULL},
	{"cli",     MEMBER_INT, 0, 1, 65535, NULL},
	{"netconf", MEMBER_INT, 0, 1, 65535, NULL},
	{"ovsdb",   MEMBER_INT, 0, 1, 65535, NULL},
};
static const struct member_row credential_members[] = {
	{"snmp_user",    MEMBER_TEXT, 0, 0, 32, NULL},
	{"snmp_auth",    MEMBER_WORD, 0, 0, 0,  snmp_auth_words},
	{"snmp_priv",    MEMBER_WORD, 0, 0, 0,  snmp_priv_words},
	{"snmp_insecure", MEMBER_BOOL, 0, 0, 0, NULL},
	{"ssh_insecure", MEMBER_BOOL, 0, 0, 0,  NULL},
	{"ssh_user",     MEMBER_TEXT, 0, 0, 32, NULL},
	{"host_key",     MEMBER_TEXT, 0, 0, 63, NULL},
	{"host_key_any", MEMBER_BOOL, 0, 0, 0,  NULL},
	{"ovsdb_peer",   MEMBER_TEXT, 0, 0, 102, NULL},
};
static const struct member_row secret_members[] = {
	{"snmp_community",       MEMBER_TEXT, 0, 1, 63,  NULL},
	{"snmp_write_community", MEMBER_TEXT, 0, 1, 63,  NULL},
	{"snmp_auth_secret",     MEMBER_TEXT, 0, 8, 64,  NULL},
	{"snmp_priv_secret",     MEMBER_TEXT, 0, 8, 64,  NULL},
	{"ssh_password",         MEMBER_TEXT, 0, 1, 128, NULL},
	{"ssh_enable",           MEMBER_TEXT, 0, 1, 128, NULL},
};
/* Users alone: what else is said of a switch stays. */
static const struct member_row rotation_credential_members[] = {
	{"snmp_user", MEMBER_TEXT, 0, 1, 32, NULL},
	{"ssh_user",  MEMBER_TEXT, 0, 1, 32, NULL},
};
static const struct member_row switch_rotation_members[] = {
	{"credentials", MEMBER_OBJECT, 0,               0, 0,        NULL},
	{"secrets",     MEMBER_OBJECT, MEMBER_REQUIRED, 0, 0,        NULL},
	{"keep_s",      MEMBER_INT,    0,               0, 31536000, NULL},
};
static const struct member_row locate_members[] = {
	{"port",    MEMBER_TEXT, MEMBER_REQUIRED, 1, 63,  NULL},
	{"seconds", MEMBER_INT,  0,               0, 600, NULL},
};
static const struct member_row wiring_members[] = {
	{"rows",    MEMBER_LIST, MEMBER_REQUIRED, 0, WIRING_MAX, NULL},
	{"replace", MEMBER_BOOL, 0,               0, 0,          NULL},
	{"dry_run", MEMBER_BOOL, 0,               0, 0,          NULL},
};
static const struct member_row wiring_row_members[] = {
	{"row",         MEMBER_INT,  0,               0, 1000000, NULL},
	{"switch",      MEMBER_TEXT, MEMBER_REQUIRED, 1, 63,      NULL},
	{"port",        MEMBER_TEXT, MEMBER_REQUIRED, 1, 63,      NULL},
	{"node",        MEMBER_TEXT, 0,               0, 63,      NULL},
	{"nic",         MEMBER_TEXT, 0,               0, 15,      NULL},
	{"peer_switch", MEMBER_TEXT, 0,               0, 63,      NULL},
	{"peer_port",   MEMBER_TEXT, 0,               0, 63,      NULL},
};
/* clang-format on */

/* --- fabrics --- */

static void fabric_put(struct exchange *exchange)
{
	const struct member_row name_row = {.kind = MEMBER_NAME};
	const char *name = exchange_arg(exchange, "{fabric}");
	CLEANUP(freep) char *spec = NULL;
	struct error_list errors = {0};
	const char *allowed;
	char room[128];

	members_check(exchange->body, fabric_members, COUNT_OF(fabric_members), "", &errors);
	allowed = member_text_check(&name_row, name, room);
	if (allowed)
		error_list_name(&errors, name, allowed);
	if (exchange_refused(exchange, &errors))
		return;
	spec = json_dumps(exchange->body, JSON_COMPACT);
	exchange_write(exchange,
		       (const struct exchange_step[]){
			       {&fabric_put_query, {name, spec, exchange->actor}},
			       {&fabric_placed_query, {name}},
		       },
		       2);
}

/* --- how a switch is managed --- */

struct body_part {
	const char *name, *pointer;
	const struct member_row *rows;
	size_t count;
};

static void check_parts(const struct exchange *exchange, const struct body_part *parts,
			size_t count, struct error_list *errors)
{
	for (size_t i = 0; i < count; i++) {
		json_t *part = json_object_get(exchange->body, parts[i].name);

		if (json_is_object(part))
			members_check(part, parts[i].rows, parts[i].count, parts[i].pointer,
				      errors);
	}
}

static void check_management(const struct exchange *exchange, struct error_list *errors)
{
	static const struct body_part parts[] = {
		{"ports", "/ports", fabric_routes_port_members,
		 COUNT_OF(fabric_routes_port_members)},
		{"credentials", "/credentials", credential_members, COUNT_OF(credential_members)},
		{"secrets", "/secrets", secret_members, COUNT_OF(secret_members)},
	};
	const char *name = exchange_arg(exchange, "{switch}");

	members_check(exchange->body, management_members, COUNT_OF(management_members), "", errors);
	check_parts(exchange, parts, COUNT_OF(parts), errors);
	for (const char *at = name; *at; at++) {
		if (*at < ' ' || *at >= 0x7f || strchr("\"\\/", *at) || at - name >= 63) {
			error_list_name(errors, name,
					"1 to 63 printable ASCII characters without \" \\ and /");
			break;
		}
	}
}

static void check_rotation(const struct exchange *exchange, struct error_list *errors)
{
	static const struct body_part parts[] = {
		{"credentials", "/credentials", rotation_credential_members,
		 COUNT_OF(rotation_credential_members)},
		{"secrets", "/secrets", secret_members, COUNT_OF(secret_members)},
	};

	members_check(exchange->body, switch_rotation_members, COUNT_OF(switch_rotation_members),
		      "", errors);
	check_parts(exchange, parts, COUNT_OF(parts), errors);
}

/* The secrets as one text, sealed, in place of themselves. */
static int seal_secrets(json_t *body, const char *public_key, struct problem *problem)
{
	const json_t *secrets = json_object_get(body, "secrets");
	CLEANUP(freep) char *sealed = NULL;
	char *plain;
	int rc;

	if (!secrets)
		return 0;
	if (!public_key) {
		(void)problem_set(
			problem, E_UNAVAILABLE,
			"peregrined has not published the key that secrets are sealed to");
		problem_hint(problem, "start peregrined once, then repeat the request");
		return E_UNAVAILABLE;
	}
	plain = json_dumps(secrets, JSON_COMPACT);
	rc = plain ? seal_text(public_key, plain, &sealed) : -ENOMEM;
	if (plain)
		wipe_borrowed(plain, strlen(plain));
	free(plain);
	if (rc == 0 && (json_object_set_new(body, "secrets_sealed", json_of_utf8(sealed)) != 0 ||
			json_object_del(body, "secrets") != 0))
		rc = -ENOMEM;
	return rc ? problem_set(problem, rc, "the secrets could not be sealed: %s", error_text(rc))
		  : 0;
}

/* Of the body without its secrets. */
static int fabric_routes_digest(struct exchange *exchange)
{
	CLEANUP(json_decrefp) json_t *copy = json_copy(exchange->body);
	CLEANUP(freep) char *plain = NULL;

	(void)json_object_del(copy, "secrets");
	plain = json_dumps(copy, JSON_COMPACT | JSON_SORT_KEYS);
	if (!plain)
		return -ENOMEM;
	exchange_digest(exchange, plain, strlen(plain));
	return 0;
}

/* The body with sealed secrets; NULL: it was refused. */
static char *sealed_body(struct exchange *exchange, const PGresult *key,
			 void (*check)(const struct exchange *exchange, struct error_list *errors))
{
	struct error_list errors = {0};
	struct problem problem = {0};
	int rc = exchange_read_body(exchange, &problem);

	if (rc == 0) {
		check(exchange, &errors);
		if (errors.count > 0) {
			exchange_refuse(exchange, &errors);
			return NULL;
		}
		rc = fabric_routes_digest(exchange);
		if (rc == 0)
			rc = seal_secrets(exchange->body,
					  PQntuples(key) > 0
						  ? db_text(key, 0, PUBLIC_KEY_PUBLIC_KEY, NULL)
						  : NULL,
					  &problem);
		else
			(void)problem_set(&problem, rc, "out of memory");
	}
	if (rc != 0) {
		exchange_problem(exchange, exchange_status_of(rc), &problem);
		return NULL;
	}
	return json_dumps(exchange->body, JSON_COMPACT);
}

static void manage_with_key(struct exchange *exchange, const PGresult *key)
{
	const char *name = exchange_arg(exchange, "{switch}");
	CLEANUP(freep) char *spec = NULL;

	if (!exchange->request)
		return;
	spec = sealed_body(exchange, key, check_management);
	if (!spec)
		return;
	exchange_write(exchange,
		       (const struct exchange_step[]){
			       {&switch_manage_query, {name, spec, exchange->actor}},
			       {&switch_managed_query, {name}},
		       },
		       2);
}

static void switch_manage(struct exchange *exchange)
{
	exchange_query(exchange, &switch_key_query, NULL, manage_with_key);
}

static void rotate_with_key(struct exchange *exchange, const PGresult *key)
{
	const char *name = exchange_arg(exchange, "{switch}");
	CLEANUP(freep) char *spec = NULL;

	if (!exchange->request)
		return;
	spec = sealed_body(exchange, key, check_rotation);
	if (!spec)
		return;
	exchange_write(exchange,
		       (const struct exchange_step[]){
			       {&switch_rotation_begin_query, {name, spec, exchange->actor}},
		       },
		       1);
}

static void switch_rotate(struct exchange *exchange)
{
	exchange_query(exchange, &switch_key_query, NULL, rotate_with_key);
}

/* --- what only the switch can answer --- */

static void ask_peregrined(struct exchange *exchange, const PGresult *known, int64_t timeout_ms)
{
	if (!exchange->request)
		return;
	if (PQntuples(known) == 0) {
		exchange_not_found(exchange);
		return;
	}
	daemon_pass_on(exchange,
		       &(struct daemon_ask){.daemon = "peregrined",
					    .socket = exchange->portal->conf->peregrined_socket,
					    .timeout_ms = timeout_ms});
}

static void ask_long(struct exchange *exchange, const PGresult *known)
{
	ask_peregrined(exchange, known, READ_MS);
}

static void ask_soon(struct exchange *exchange, const PGresult *known)
{
	ask_peregrined(exchange, known, SOON_MS);
}

/* Only a switch that somebody speaks to: its name is one that the database knows. */
static void with_switch(struct exchange *exchange, exchange_result_fn fn)
{
	const char *params[] = {exchange_arg(exchange, "{switch}")};

	exchange_query(exchange, &switch_known_query, params, fn);
}

static void fabric_routes_switch_read(struct exchange *exchange)
{
	with_switch(exchange, ask_long);
}

static void switch_ask(struct exchange *exchange)
{
	with_switch(exchange, ask_soon);
}

static void switch_locate(struct exchange *exchange)
{
	struct error_list errors = {0};

	members_check(exchange->body, locate_members, COUNT_OF(locate_members), "", &errors);
	if (errors.count > 0)
		exchange_refuse(exchange, &errors);
	else
		with_switch(exchange, ask_soon);
}

/* --- the plan --- */

static const char *bool_of(const struct exchange *exchange, const char *name)
{
	return json_is_true(json_object_get(exchange->body, name)) ? "true" : "false";
}

static void wiring_put(struct exchange *exchange)
{
	json_t *rows = json_object_get(exchange->body, "rows");
	const char *dry_run = bool_of(exchange, "dry_run");
	CLEANUP(freep) char *text = NULL;
	struct error_list errors = {0};

	members_check(exchange->body, wiring_members, COUNT_OF(wiring_members), "", &errors);
	if (json_is_array(rows))
		objects_check(rows, wiring_row_members, COUNT_OF(wiring_row_members), "/rows",
			      &errors);
	if (exchange_refused(exchange, &errors))
		return;
	text = json_dumps(rows, JSON_COMPACT);
	exchange_write(exchange,
		       (const struct exchange_step[]){
			       {&wiring_put_query,
				{text, bool_of(exchange, "replace"), dry_run, exchange->actor}},
			       {&wiring_told_query, {dry_run}},
		       },
		       2);
}

/* --- routes --- */

static const struct query_row fabric_routes_page_query[] = {QUERY_LIST, {0}};
static const struct query_row aggregate_query[] = {
	QUERY_LIST, {"switch", QUERY_TEXT, 63, NULL, NULL, false, NULL}, {0}};
static const struct query_row link_query[] = {
	QUERY_LIST,
	{"fabric", QUERY_TEXT, 63, NULL, NULL, false, NULL},
	{"switch", QUERY_TEXT, 63, NULL, NULL, false, NULL},
	{"state", QUERY_WORD, 0, link_state_words, NULL, false, NULL},
	{0},
};
static const struct query_row location_query[] = {
	QUERY_LIST,
	{"mac", QUERY_MAC, 0, NULL, NULL, false, NULL},
	{"node", QUERY_TEXT, 63, NULL, NULL, false, NULL},
	{"nic", QUERY_TEXT, 15, NULL, NULL, false, NULL},
	{"switch", QUERY_TEXT, 63, NULL, NULL, false, NULL},
	{"port", QUERY_TEXT, 63, NULL, NULL, false, NULL},
	{0},
};
static const struct query_row wiring_query[] = {
	QUERY_LIST,
	{"switch", QUERY_TEXT, 63, NULL, NULL, false, NULL},
	{"node", QUERY_TEXT, 63, NULL, NULL, false, NULL},
	{0},
};
static const struct query_row fabric_routes_force_query[] = {
	{"force", QUERY_BOOL, 0, NULL, "false", false, NULL}, {0}};
static const struct query_row fabric_routes_one_port_query[] = {
	{"switch", QUERY_TEXT, 63, NULL, NULL, true, NULL},
	{"port", QUERY_TEXT, 63, NULL, NULL, true, NULL},
	{0},
};
/* clang-format off */
const struct route fabric_routes[] = {
	{HTTP_GET, "/api/v1/fabrics", ROLE_OPERATOR, BODY_NONE, 0, exchange_list, fabric_routes_page_query, &fabric_list_query, {"?limit", "?cursor"}},
	{HTTP_GET, "/api/v1/fabrics/{fabric}", ROLE_OPERATOR, BODY_NONE, 0, exchange_read_version, NULL, &fabric_get_query, {"{fabric}"}},
	{HTTP_PUT, "/api/v1/fabrics/{fabric}", ROLE_OPERATOR, BODY_JSON, 0, fabric_put, NULL, NULL, {NULL}},
	{HTTP_DELETE, "/api/v1/fabrics/{fabric}", ROLE_OPERATOR, BODY_NONE, 0, exchange_change, NULL, &fabric_delete_query, {"{fabric}", "@actor"}},
	{HTTP_PUT, "/api/v1/switches/{switch}/management", ROLE_OPERATOR, BODY_JSON, ROUTE_SECRET, switch_manage, NULL, NULL, {NULL}},
	{HTTP_DELETE, "/api/v1/switches/{switch}/management", ROLE_OPERATOR, BODY_NONE, 0, exchange_change, fabric_routes_force_query,
	 &switch_release_query, {"{switch}", "@actor", "?force"}},
	{HTTP_GET, "/api/v1/aggregates", ROLE_OPERATOR, BODY_NONE, 0, exchange_list, aggregate_query, &aggregate_list_query, {"?limit", "?cursor", "?switch"}},
	{HTTP_POST, "/api/v1/switches/{switch}/rotation", ROLE_OPERATOR, BODY_JSON, ROUTE_IDEMPOTENT | ROUTE_SECRET, switch_rotate, NULL, NULL, {NULL}},
	{HTTP_GET, "/api/v1/switches/{switch}/ports", ROLE_OPERATOR, BODY_NONE, 0, exchange_read, NULL, &switch_ports_query, {"{switch}"}},
	{HTTP_GET, "/api/v1/switches/{switch}/diff", ROLE_OPERATOR, BODY_NONE, 0, switch_ask, NULL, NULL, {NULL}},
	{HTTP_POST, "/api/v1/switches/{switch}/read", ROLE_OPERATOR, BODY_NONE, ROUTE_ON_CALL, fabric_routes_switch_read, NULL, NULL, {NULL}},
	{HTTP_POST, "/api/v1/switches/{switch}/reconcile", ROLE_OPERATOR, BODY_NONE, 0, switch_ask, NULL, NULL, {NULL}},
	{HTTP_POST, "/api/v1/switches/{switch}/locate", ROLE_OPERATOR, BODY_JSON, ROUTE_ON_CALL, switch_locate, NULL, NULL, {NULL}},
	{HTTP_GET, "/api/v1/links", ROLE_OPERATOR, BODY_NONE, 0, exchange_list, link_query,
	 &link_list_query, {"?limit", "?cursor", "?fabric", "?switch", "?state"}},
	{HTTP_GET, "/api/v1/locations", ROLE_OPERATOR, BODY_NONE, 0, exchange_list, location_query,
	 &location_list_query, {"?limit", "?cursor", "?mac", "?node", "?nic", "?switch", "?port"}},
	{HTTP_GET, "/api/v1/wiring", ROLE_OPERATOR, BODY_NONE, 0, exchange_list, wiring_query,
	 &wiring_list_query, {"?limit", "?cursor", "?switch", "?node"}},
	{HTTP_GET, "/api/v1/wiring/plan", ROLE_OPERATOR, BODY_NONE, 0, exchange_read_version, NULL, &wiring_plan_query, {NULL}},
	{HTTP_PUT, "/api/v1/wiring", ROLE_OPERATOR, BODY_JSON, 0, wiring_put, NULL, NULL, {NULL}},
	{HTTP_DELETE, "/api/v1/wiring", ROLE_OPERATOR, BODY_NONE, 0, exchange_change, fabric_routes_one_port_query,
	 &wiring_delete_query, {"?switch", "?port", "@actor"}},
	{.pattern = NULL},
};
/* clang-format on */
