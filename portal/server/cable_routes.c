/* /switches, /ports, /circuits, /circuit-rules: which cable goes where, and how relays tell. */
#include <stdlib.h>
#include <string.h>

#include "common/base/json_text.h"
#include "common/db/array.h"
#include "common/net/circuit_rule.h"
#include "common/net/ipv4.h"

#include "portal/server/cable_store_sql.h"
#include "portal/server/exchange.h"
#include "portal/server/fabric_store_sql.h"
#include "portal/server/list.h"
#include "portal/server/member_check.h"

#define PROPOSALS_MAX 4
#define OFFSET_MAX    65535
#define NUMBER_SIZE   24

/* clang-format off */
static const struct member_row switch_members[] = {
	{"ports",     MEMBER_TEXT, 0,               1, 63,    NULL},
	{"base",      MEMBER_IPV4, MEMBER_NULLABLE, 0, 0,     NULL},
	{"port_low",  MEMBER_INT,  0,               0, 65535, NULL},
	{"port_high", MEMBER_INT,  0,               0, 65535, NULL},
	{"moved",     MEMBER_WORD, 0,               0, 0,     cable_answer_words},
	{"swapped",   MEMBER_WORD, 0,               0, 0,     cable_answer_words},
};
static const struct member_row cable_routes_port_members[] = {
	{"switch",  MEMBER_TEXT, MEMBER_REQUIRED, 1, 63, NULL},
	{"port",    MEMBER_TEXT, MEMBER_REQUIRED, 1, 63, NULL},
	{"node",    MEMBER_NAME, MEMBER_NULLABLE, 0, 0,  NULL},
	{"address", MEMBER_IPV4, MEMBER_NULLABLE, 0, 0,  NULL},
};
static const struct member_row rule_members[] = {
	{"relay",       MEMBER_PREFIX, MEMBER_NULLABLE, 0,           0,          NULL},
	{"family",      MEMBER_TEXT,   0,               0,           63,         NULL},
	{"circuit",     MEMBER_TEXT,   0,               0,           600,        NULL},
	{"remote",      MEMBER_TEXT,   0,               0,           600,        NULL},
	{"switch",      MEMBER_TEXT,   0,               0,           63,         NULL},
	{"port",        MEMBER_TEXT,   0,               0,           63,         NULL},
	{"port_offset", MEMBER_INT,    0,               -OFFSET_MAX, OFFSET_MAX, NULL},
};
static const struct member_row proposal_members[] = {
	{"switch", MEMBER_TEXT, MEMBER_REQUIRED, 1, 63, NULL},
	{"port",   MEMBER_TEXT, MEMBER_REQUIRED, 1, 63, NULL},
};
/* clang-format on */

static const char *cable_routes_number_of(const struct exchange *exchange, const char *name,
					  int64_t fallback, char ret[NUMBER_SIZE])
{
	const json_t *number = json_object_get(exchange->body, name);

	(void)text_format(ret, NUMBER_SIZE, "%lld",
			  number ? (long long)json_integer_value(number) : (long long)fallback);
	return ret;
}

/* Names come from circuits, so they may be any printable text that needs no quoting. */
static void check_label(const char *label, const char *pointer, bool slash,
			struct error_list *errors)
{
	bool good = label && *label && strlen(label) < CIRCUIT_TEXT_SIZE;

	for (const char *at = label; good && *at; at++)
		good = *at >= ' ' && *at < 0x7f && *at != '"' && *at != '\\' &&
		       (slash || *at != '/');
	const char *allowed = slash ? "1 to 63 printable ASCII characters without \" and \\"
				    : "1 to 63 printable ASCII characters without \" \\ and /";

	if (!good && *pointer)
		error_list_value(errors, pointer, allowed);
	else if (!good)
		error_list_name(errors, label, allowed);
}

/* --- switches and ports --- */

static void check_pattern(const struct exchange *exchange, struct error_list *errors)
{
	const char *ports = exchange_text_or(exchange, "ports", "{port}");
	struct circuit_template template;
	const char *why = NULL;

	if (circuit_template_parse(ports, &template, &why) != 0)
		error_list_pointer(errors, "/ports", "it is not a pattern for the names of ports",
				   why);
	else if (!strstr(ports, "{port}"))
		error_list_pointer(errors, "/ports", "it finds no number", "Ethernet1/{port}");
}

static void switch_put(struct exchange *exchange)
{
	const char *name = exchange_arg(exchange, "{switch}");
	struct error_list errors = {0};
	char low[NUMBER_SIZE];
	char high[NUMBER_SIZE];

	members_check(exchange->body, switch_members, COUNT_OF(switch_members), "", &errors);
	check_label(name, "", false, &errors);
	check_pattern(exchange, &errors);
	if (exchange_refused(exchange, &errors))
		return;
	exchange_write(exchange,
		       (const struct exchange_step[]){
			       {&switch_put_query,
				{name, exchange_text_or(exchange, "ports", "{port}"),
				 exchange_text(exchange, "base"),
				 cable_routes_number_of(exchange, "port_low", 1, low),
				 cable_routes_number_of(exchange, "port_high", 1024, high),
				 exchange_text_or(exchange, "moved", "answer"),
				 exchange_text_or(exchange, "swapped", "answer")}},
			       {&switch_managed_query, {name}}},
		       2);
}

static void port_put(struct exchange *exchange)
{
	struct error_list errors = {0};

	members_check(exchange->body, cable_routes_port_members,
		      COUNT_OF(cable_routes_port_members), "", &errors);
	check_label(exchange_text_or(exchange, "switch", ""), "/switch", false, &errors);
	check_label(exchange_text_or(exchange, "port", ""), "/port", true, &errors);
	if (exchange_refused(exchange, &errors))
		return;
	exchange_write(
		exchange,
		(const struct exchange_step[]){
			{&port_put_query,
			 {exchange_text(exchange, "switch"), exchange_text(exchange, "port"),
			  exchange_text(exchange, "node"), exchange_text(exchange, "address")}}},
		1);
}

/* --- samples --- */

struct stored_sample {
	const char *id;
	const char *relay;
	uint32_t relay_address;
	uint8_t circuit[CIRCUIT_BYTES_MAX];
	uint8_t remote[CIRCUIT_BYTES_MAX];
	struct circuit_sample sample; /* of the two above */
};

static bool read_bytes(const char *hex, uint8_t ret[CIRCUIT_BYTES_MAX], size_t *ret_size)
{
	*ret_size = strlen(hex) / 2;
	return *ret_size <= CIRCUIT_BYTES_MAX && hex_decode(hex, ret, *ret_size) == 0;
}

static bool cable_routes_read_sample(const PGresult *result, int row, struct stored_sample *ret)
{
	ret->id = db_text(result, row, CIRCUIT_SAMPLES_ID, "");
	ret->relay = db_text(result, row, CIRCUIT_SAMPLES_RELAY, "");
	ret->sample.circuit = ret->circuit;
	ret->sample.remote = ret->remote;
	return ipv4_parse(ret->relay, &ret->relay_address) == 0 &&
	       read_bytes(db_text(result, row, CIRCUIT_SAMPLES_CIRCUIT, ""), ret->circuit,
			  &ret->sample.circuit_size) &&
	       read_bytes(db_text(result, row, CIRCUIT_SAMPLES_REMOTE, ""), ret->remote,
			  &ret->sample.remote_size);
}

/* A rule as it would be written down, with the relays that it is about. */
struct wanted_rule {
	struct circuit_rule_text text;
	struct ipv4_prefix relay; /* zeros = any */
};

/* `fn` is called for each sample that the rule reads. */
static size_t each_read(const struct wanted_rule *wanted, const PGresult *samples,
			void (*fn)(void *context, const struct stored_sample *sample,
				   const struct circuit_place *place),
			void *context)
{
	struct circuit_rule rule;
	const char *why;
	size_t count = 0;

	if (circuit_rule_compile(&wanted->text, &rule, &why) != 0)
		return 0;
	for (int row = 0; row < PQntuples(samples); row++) {
		struct stored_sample sample;
		struct circuit_place place;

		if (!cable_routes_read_sample(samples, row, &sample) ||
		    !ipv4_in_prefix(sample.relay_address, wanted->relay) ||
		    !circuit_rule_apply(&rule, &sample.sample, &place))
			continue;
		count++;
		fn(context, &sample, &place);
	}
	return count;
}

/* --- rules --- */

static struct wanted_rule rule_of(const struct exchange *exchange)
{
	const char *relay = exchange_text(exchange, "relay");
	struct wanted_rule wanted = {
		.text = {.family = exchange_text_or(exchange, "family", ""),
			 .circuit = exchange_text_or(exchange, "circuit", ""),
			 .remote = exchange_text_or(exchange, "remote", ""),
			 .switch_name = exchange_text_or(exchange, "switch", ""),
			 .port = exchange_text_or(exchange, "port", ""),
			 .port_offset = (int32_t)json_integer_value(
				 json_object_get(exchange->body, "port_offset"))}};

	if (relay && ipv4_prefix_parse(relay, &wanted.relay) != 0)
		wanted.relay = (struct ipv4_prefix){0}; /* refused with its member */
	return wanted;
}

static void check_rule(struct exchange *exchange, struct error_list *errors)
{
	const struct member_row name = {.kind = MEMBER_NAME};
	struct wanted_rule wanted;
	struct circuit_rule rule;
	const char *why = NULL;
	const char *allowed;
	char room[128];

	members_check(exchange->body, rule_members, COUNT_OF(rule_members), "", errors);
	allowed = member_text_check(&name, exchange_arg(exchange, "{rule}"), room);
	if (allowed)
		error_list_name(errors, exchange_arg(exchange, "{rule}"), allowed);
	if (errors->count > 0)
		return;
	wanted = rule_of(exchange);
	if (circuit_rule_compile(&wanted.text, &rule, &why) != 0)
		error_list_pointer(errors, "", "the rule cannot be read", why);
}

static void cable_routes_add_id(void *context, const struct stored_sample *sample,
				const struct circuit_place *place)
{
	(void)place;
	array_add(context, sample->id);
}

/* What the rule reads is unknown no more. */
static void rule_put_with_samples(struct exchange *exchange, const PGresult *samples)
{
	struct wanted_rule wanted = rule_of(exchange);
	struct text ids = {0};
	char offset[NUMBER_SIZE];

	array_begin(&ids);
	(void)each_read(&wanted, samples, cable_routes_add_id, &ids);
	array_end(&ids);
	exchange_write(exchange,
		       (const struct exchange_step[]){
			       {&rule_put_query,
				{exchange_arg(exchange, "{rule}"), exchange_text(exchange, "relay"),
				 wanted.text.family, wanted.text.circuit, wanted.text.remote,
				 wanted.text.switch_name, wanted.text.port,
				 cable_routes_number_of(exchange, "port_offset", 0, offset),
				 text_get(&ids)}},
			       {&rule_told_query, {exchange_arg(exchange, "{rule}")}}},
		       2);
	text_done(&ids);
}

static void rule_put(struct exchange *exchange)
{
	static const char *const no_sample[] = {NULL};
	struct error_list errors = {0};

	check_rule(exchange, &errors);
	if (exchange_refused(exchange, &errors))
		return;
	exchange_query(exchange, &circuit_samples_query, no_sample, rule_put_with_samples);
}

/* --- proposals --- */

static void add_match(void *context, const struct stored_sample *sample,
		      const struct circuit_place *place)
{
	struct text *json = context;

	json_begin_object(json, NULL);
	json_put_int(json, "circuit", strtoll(sample->id, NULL, 10));
	json_put_string(json, "relay", sample->relay);
	json_put_string(json, "switch", place->switch_name);
	json_put_string(json, "port", place->port);
	json_end_object(json);
}

/* A rule that says which switch it is holds for this relay and this remote-id only: others behind
 * the same relay are other switches. */
static int add_proposal(struct text *json, const struct stored_sample *of,
			const struct circuit_proposal *proposal, const char *switch_name,
			const PGresult *samples)
{
	CLEANUP(text_done) struct text remote = {0};
	char relay[PREFIX_TEXT_SIZE];
	struct wanted_rule wanted = {
		.text = {.family = proposal->family->name, .port_offset = proposal->port_offset}};
	size_t count;

	if (!proposal->names_switch) {
		int rc = circuit_template_of(of->remote, of->sample.remote_size, &remote);

		if (rc)
			return rc;
		wanted.text.remote = text_get(&remote);
		wanted.text.switch_name = switch_name;
		wanted.relay = (struct ipv4_prefix){of->relay_address, 32};
	}
	json_begin_object(json, NULL);
	json_put_string(json, "help", proposal->family->help);
	json_begin_object(json, "rule");
	json_put_string(json, "relay",
			proposal->names_switch ? NULL : ipv4_prefix_text(wanted.relay, relay));
	json_put_string(json, "family", wanted.text.family);
	json_put_string(json, "remote", wanted.text.remote ? wanted.text.remote : "");
	json_put_string(json, "switch", wanted.text.switch_name ? wanted.text.switch_name : "");
	json_put_int(json, "port_offset", wanted.text.port_offset);
	json_end_object(json);
	json_begin_array(json, "reads");
	count = each_read(&wanted, samples, add_match, json);
	json_end_array(json);
	json_put_int(json, "reads_count", (int64_t)count);
	json_end_object(json);
	return 0;
}

static void answer_proposals(struct exchange *exchange, const PGresult *samples)
{
	const char *switch_name = exchange_text_or(exchange, "switch", "");
	struct circuit_proposal found[PROPOSALS_MAX];
	CLEANUP(text_done) struct text json = {0};
	struct stored_sample of;
	size_t count;

	/* The one that was asked for comes first, when it is there. */
	if (PQntuples(samples) == 0 ||
	    strcmp(db_text(samples, 0, CIRCUIT_SAMPLES_ID, ""),
		   exchange_arg(exchange, "{circuit}")) != 0 ||
	    !cable_routes_read_sample(samples, 0, &of)) {
		exchange_not_found(exchange);
		return;
	}
	count = circuit_propose(&of.sample, switch_name, exchange_text_or(exchange, "port", ""),
				found, COUNT_OF(found));
	json_begin_object(&json, NULL);
	json_begin_array(&json, "items");
	for (size_t i = 0; i < count; i++)
		(void)add_proposal(&json, &of, &found[i], switch_name, samples);
	json_end_array(&json);
	json_end_object(&json);
	exchange_answer(exchange, 200, text_get(&json));
}

static void circuit_propose_rules(struct exchange *exchange)
{
	const char *params[] = {exchange_arg(exchange, "{circuit}")};
	struct error_list errors = {0};

	members_check(exchange->body, proposal_members, COUNT_OF(proposal_members), "", &errors);
	check_label(exchange_text_or(exchange, "switch", ""), "/switch", false, &errors);
	check_label(exchange_text_or(exchange, "port", ""), "/port", true, &errors);
	if (exchange_refused(exchange, &errors))
		return;
	exchange_query(exchange, &circuit_samples_query, params, answer_proposals);
}

static void family_list(struct exchange *exchange)
{
	CLEANUP(text_done) struct text json = {0};

	json_begin_object(&json, NULL);
	json_begin_array(&json, "items");
	for (size_t i = 0; i < circuit_family_count; i++) {
		const struct circuit_family *family = &circuit_families[i];

		json_begin_object(&json, NULL);
		json_put_string(&json, "name", family->name);
		json_put_string(&json, "circuit", family->circuit);
		json_put_string(&json, "remote", family->remote);
		json_put_string(&json, "switch", family->switch_name);
		json_put_string(&json, "port", family->port);
		json_put_int(&json, "port_offset", family->port_offset);
		json_put_string(&json, "help", family->help);
		json_end_object(&json);
	}
	json_end_array(&json);
	json_end_object(&json);
	exchange_answer(exchange, 200, text_get(&json));
}

/* --- routes --- */

static const struct query_row cable_routes_page_query[] = {QUERY_LIST, {0}};
static const struct query_row cable_routes_port_query[] = {
	QUERY_LIST,
	{"switch", QUERY_TEXT, 63, NULL, NULL, false, NULL},
	{"port", QUERY_TEXT, 63, NULL, NULL, false, NULL},
	{0},
};
static const struct query_row cable_routes_one_port_query[] = {
	{"switch", QUERY_TEXT, 63, NULL, NULL, true, NULL},
	{"port", QUERY_TEXT, 63, NULL, NULL, true, NULL},
	{0},
};
static const struct query_row cable_routes_force_query[] = {
	{"force", QUERY_BOOL, 0, NULL, "false", false, NULL}, {0}};
static const struct query_row circuit_query[] = {
	QUERY_LIST,
	{"relay", QUERY_ADDRESS, 0, NULL, NULL, false, NULL},
	{0},
};

/* clang-format off */
const struct route cable_routes[] = {
	{HTTP_GET, "/api/v1/switches", ROLE_OPERATOR, BODY_NONE, 0, exchange_list, cable_routes_page_query, &switch_list_query, {"?limit", "?cursor"}},
	{HTTP_GET, "/api/v1/switches/{switch}", ROLE_OPERATOR, BODY_NONE, 0, exchange_read_version, NULL, &switch_get_query, {"{switch}"}},
	{HTTP_PUT, "/api/v1/switches/{switch}", ROLE_OPERATOR, BODY_JSON, 0, switch_put, NULL, NULL, {NULL}},
	{HTTP_DELETE, "/api/v1/switches/{switch}", ROLE_OPERATOR, BODY_NONE, 0, exchange_change, cable_routes_force_query,
	 &switch_delete_query, {"{switch}", "@actor", "?force"}},
	{HTTP_GET, "/api/v1/ports", ROLE_OPERATOR, BODY_NONE, 0, exchange_list, cable_routes_port_query,
	 &port_list_query, {"?limit", "?cursor", "?switch", "?port"}},
	{HTTP_PUT, "/api/v1/ports", ROLE_OPERATOR, BODY_JSON, 0, port_put, NULL, NULL, {NULL}},
	{HTTP_DELETE, "/api/v1/ports", ROLE_OPERATOR, BODY_NONE, 0, exchange_change, cable_routes_one_port_query,
	 &port_delete_query, {"?switch", "?port"}},
	{HTTP_GET, "/api/v1/circuits", ROLE_OPERATOR, BODY_NONE, 0, exchange_list, circuit_query,
	 &circuit_list_query, {"?limit", "?cursor", "?relay"}},
	{HTTP_DELETE, "/api/v1/circuits/{circuit}", ROLE_OPERATOR, BODY_NONE, 0, exchange_change, NULL,
	 &circuit_drop_query, {"{circuit}"}},
	{HTTP_POST, "/api/v1/circuits/{circuit}/proposals", ROLE_OPERATOR, BODY_JSON, 0, circuit_propose_rules, NULL, NULL, {NULL}},
	{HTTP_GET, "/api/v1/circuit-families", ROLE_OPERATOR, BODY_NONE, 0, family_list, NULL, NULL, {NULL}},
	{HTTP_GET, "/api/v1/circuit-rules", ROLE_OPERATOR, BODY_NONE, 0, exchange_list, cable_routes_page_query, &rule_list_query, {"?limit", "?cursor"}},
	{HTTP_GET, "/api/v1/circuit-rules/{rule}", ROLE_OPERATOR, BODY_NONE, 0, exchange_read_version, NULL, &rule_get_query, {"{rule}"}},
	{HTTP_PUT, "/api/v1/circuit-rules/{rule}", ROLE_OPERATOR, BODY_JSON, 0, rule_put, NULL, NULL, {NULL}},
	{HTTP_DELETE, "/api/v1/circuit-rules/{rule}", ROLE_OPERATOR, BODY_NONE, 0, exchange_change, NULL,
	 &rule_delete_query, {"{rule}"}},
	{.pattern = NULL},
};
/* clang-format on */
