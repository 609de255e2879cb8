#include "bampi/bootd/identify/inventory_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/enum_text.h"
#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/log.h"
#include "common/io/work_cycle.h"

#include "bampi/bootd/identify/inventory_store_sql.h"

#define GAP_MS                  100   /* at least, between two reads */
#define PERIOD_MS               30000 /* without a notification */
#define GAP_SHARE               10    /* a read may take a tenth of the time, but for PERIOD_MS */
#define INVENTORY_STORE_SUBJECT "inventory"

const char *const inventory_channels[] = {"inventory", "deployment", "boot_intent", "address",
					  NULL};

enum part {
	PART_NODES,
	PART_NICS,
	PART_SUBNETS,
	PART_RESERVATIONS,
	PART_RULES,
	PART_SWITCHES,
	INVENTORY_STORE_PART_PORTS,
	PARTS
};

static const struct db_query *const inventory_store_queries[PARTS] = {
	[PART_NODES] = &inventory_nodes_query,
	[PART_NICS] = &inventory_nics_query,
	[PART_SUBNETS] = &inventory_subnets_query,
	[PART_RESERVATIONS] = &inventory_reservations_query,
	[PART_RULES] = &inventory_circuit_rules_query,
	[PART_SWITCHES] = &inventory_switches_query,
	[INVENTORY_STORE_PART_PORTS] = &inventory_ports_query,
};

struct inventory_store {
	struct loop *loop;
	struct inventory_store_options options;
	struct work_cycle cycle;
	int64_t started_ms;
	unsigned reading; /* parts still to come */
	int rc;           /* of the read under way */
};

/* The value of a word column; a word that this build does not know makes the read fail, never a
 * guess. */
static int inventory_store_word(const char *const words[], size_t count, const PGresult *result,
				int row, int column, int *ret)
{
	int value = enum_value(words, count, db_text(result, row, column, ""));

	if (value < 0)
		return E_MALFORMED;
	*ret = value;
	return 0;
}

static int add_uuid(struct cable *cable, const char *text, int64_t node_id)
{
	struct uuid uuid = {0};
	int rc = text ? uuid_parse(text, &uuid) : 0;

	return rc || uuid_none(uuid) ? rc : cable_add_uuid(cable, uuid, node_id);
}

/* Digests, a blank between them. */
static int add_packages(struct inventory *inventory, int64_t node_id, const char *digests)
{
	int rc = 0;

	while (rc == 0 && *digests) {
		size_t length = strcspn(digests, " ");
		char digest[DIGEST_TEXT_SIZE];

		if (!text_format(digest, sizeof(digest), "%.*s", (int)length, digests))
			return E_MALFORMED;
		rc = inventory_add_package(inventory, node_id, digest);
		digests += length + (digests[length] == ' ');
	}
	return rc;
}

static int inventory_store_read_node(struct inventory_store *store, const PGresult *result, int row)
{
	struct inventory_node node = {.id = db_int(result, row, INVENTORY_NODES_ID, 0),
				      .dirty = db_bool(result, row, INVENTORY_NODES_DIRTY)};
	int firmware;
	int secure_boot;
	int arch;
	int state;
	int target;

	if (inventory_store_word(node_firmware_words, FIRMWARE_COUNT, result, row,
				 INVENTORY_NODES_FIRMWARE, &firmware) ||
	    inventory_store_word(node_secure_boot_words, SECURE_BOOT_COUNT, result, row,
				 INVENTORY_NODES_SECURE_BOOT, &secure_boot) ||
	    inventory_store_word(node_arch_words, ARCH_COUNT, result, row, INVENTORY_NODES_ARCH,
				 &arch) ||
	    inventory_store_word(node_state_words, NODE_STATE_COUNT, result, row,
				 INVENTORY_NODES_STATE, &state) ||
	    inventory_store_word(intent_target_words, INTENT_TARGET_COUNT, result, row,
				 INVENTORY_NODES_TARGET, &target))
		return E_MALFORMED;
	node.state = (enum node_state)state;
	node.firmware = (enum node_firmware)firmware;
	node.secure_boot = (enum node_secure_boot)secure_boot;
	node.arch = (enum node_arch)arch;
	node.intent.target = (enum intent_target)target;
	node.intent.deployment_id = db_int(result, row, INVENTORY_NODES_DEPLOYMENT_ID, 0);
	if (!text_copy(node.name, sizeof(node.name),
		       db_text(result, row, INVENTORY_NODES_NAME, "")) ||
	    !text_copy(node.intent.token, sizeof(node.intent.token),
		       db_text(result, row, INVENTORY_NODES_TOKEN, "")) ||
	    !text_copy(node.intent.nonce, sizeof(node.intent.nonce),
		       db_text(result, row, INVENTORY_NODES_NONCE, "")) ||
	    !text_copy(node.intent.stored_digest, sizeof(node.intent.stored_digest),
		       db_text(result, row, INVENTORY_NODES_STORED_DIGEST, "")) ||
	    !text_copy(node.intent.agent_key, sizeof(node.intent.agent_key),
		       db_text(result, row, INVENTORY_NODES_AGENT_KEY, "")))
		return E_MALFORMED;
	node.intent.ended = db_bool(result, row, INVENTORY_NODES_ENDED);
	return add_uuid(store->options.cable, db_text(result, row, INVENTORY_NODES_UUID, NULL),
			node.id) ||
			       add_packages(
				       store->options.inventory, node.id,
				       db_text(result, row, INVENTORY_NODES_PACKAGE_DIGESTS, ""))
		       ? E_MALFORMED
		       : inventory_add_node(store->options.inventory, &node);
}

static int inventory_store_read_nic(struct inventory_store *store, const PGresult *result, int row)
{
	struct mac mac;
	int rc = mac_parse(db_text(result, row, INVENTORY_NICS_MAC, ""), &mac);

	return rc ? rc
		  : inventory_add_nic(store->options.inventory, mac,
				      db_int(result, row, INVENTORY_NICS_NODE_ID, 0));
}

/* NULL is 0. */
static int inventory_store_read_address(const PGresult *result, int row, int column, uint32_t *ret)
{
	const char *text = db_text(result, row, column, NULL);

	if (!text) {
		*ret = 0;
		return 0;
	}
	return ipv4_parse(text, ret);
}

/* Words of `list` into at most `room` addresses; what is more is left out. */
static int inventory_store_read_list(char *list, uint32_t *ret, size_t room, size_t *ret_count)
{
	char *rest = NULL;

	for (char *word_at = strtok_r(list, " ", &rest); word_at;
	     word_at = strtok_r(NULL, " ", &rest)) {
		int rc;

		if (*ret_count == room)
			return 0;
		rc = ipv4_parse(word_at, &ret[*ret_count]);
		if (rc)
			return rc;
		(*ret_count)++;
	}
	return 0;
}

static int read_subnet(struct inventory_store *store, const PGresult *result, int row)
{
	struct inventory_subnet subnet = {
		.id = db_int(result, row, INVENTORY_SUBNETS_ID, 0),
		.reserved_only = db_bool(result, row, INVENTORY_SUBNETS_RESERVED_ONLY),
		.restored = db_bool(result, row, INVENTORY_SUBNETS_RESTORED),
		.lease_s = (uint32_t)db_int(result, row, INVENTORY_SUBNETS_LEASE_S, 3600)};
	char dns[256];
	char relays[512];
	int rc;

	if (!text_copy(subnet.name, sizeof(subnet.name),
		       db_text(result, row, INVENTORY_SUBNETS_NAME, "")) ||
	    !text_copy(subnet.shared_network, sizeof(subnet.shared_network),
		       db_text(result, row, INVENTORY_SUBNETS_SHARED_NETWORK, "")) ||
	    !text_copy(relays, sizeof(relays), db_text(result, row, INVENTORY_SUBNETS_RELAYS, "")))
		return E_MALFORMED;
	(void)text_copy(dns, sizeof(dns), db_text(result, row, INVENTORY_SUBNETS_DNS, ""));
	rc = ipv4_prefix_parse(db_text(result, row, INVENTORY_SUBNETS_PREFIX, ""), &subnet.prefix);
	if (rc == 0)
		rc = inventory_store_read_address(result, row, INVENTORY_SUBNETS_GATEWAY,
						  &subnet.gateway);
	if (rc == 0)
		/* the first four are enough for any client */
		rc = inventory_store_read_list(dns, subnet.dns, COUNT_OF(subnet.dns),
					       &subnet.dns_count);
	if (rc == 0)
		rc = inventory_store_read_list(relays, subnet.relays, COUNT_OF(subnet.relays),
					       &subnet.relay_count);
	if (rc == 0)
		rc = inventory_store_read_address(result, row, INVENTORY_SUBNETS_BOOT_SERVER,
						  &subnet.boot_server);
	if (rc == 0)
		rc = inventory_store_read_address(result, row, INVENTORY_SUBNETS_POOL_LOW,
						  &subnet.pool_low);
	if (rc == 0)
		rc = inventory_store_read_address(result, row, INVENTORY_SUBNETS_POOL_HIGH,
						  &subnet.pool_high);
	return rc ? rc : inventory_add_subnet(store->options.inventory, &subnet);
}

static int read_reservation(struct inventory_store *store, const PGresult *result, int row)
{
	struct mac mac;
	uint32_t address;
	int rc = mac_parse(db_text(result, row, INVENTORY_RESERVATIONS_MAC, ""), &mac);

	if (rc == 0)
		rc = inventory_store_read_address(result, row, INVENTORY_RESERVATIONS_ADDRESS,
						  &address);
	return rc ? rc
		  : inventory_add_reservation(
			    store->options.inventory, mac,
			    db_int(result, row, INVENTORY_RESERVATIONS_SUBNET_ID, 0), address);
}

/* A rule that this build cannot read is left out and said: the others still hold. */
static int read_rule(struct inventory_store *store, const PGresult *result, int row)
{
	const struct circuit_rule_text text = {
		.family = db_text(result, row, INVENTORY_CIRCUIT_RULES_FAMILY, ""),
		.circuit = db_text(result, row, INVENTORY_CIRCUIT_RULES_CIRCUIT, ""),
		.remote = db_text(result, row, INVENTORY_CIRCUIT_RULES_REMOTE, ""),
		.switch_name = db_text(result, row, INVENTORY_CIRCUIT_RULES_SWITCH, ""),
		.port = db_text(result, row, INVENTORY_CIRCUIT_RULES_PORT, ""),
		.port_offset = (int32_t)db_int(result, row, INVENTORY_CIRCUIT_RULES_PORT_OFFSET, 0),
	};
	const char *relay = db_text(result, row, INVENTORY_CIRCUIT_RULES_RELAY, NULL);
	struct ipv4_prefix prefix = {0};
	struct circuit_rule rule;
	const char *why = "";

	if (relay && ipv4_prefix_parse(relay, &prefix))
		return E_MALFORMED;
	if (circuit_rule_compile(&text, &rule, &why)) {
		log_warn(INVENTORY_STORE_SUBJECT, "circuit rule %s is left out: %s",
			 db_text(result, row, INVENTORY_CIRCUIT_RULES_NAME, ""), why);
		return 0;
	}
	return cable_add_rule(store->options.cable, prefix, &rule);
}

static int inventory_store_read_switch(struct inventory_store *store, const PGresult *result,
				       int row)
{
	struct cable_switch read = {
		.port_low = (uint32_t)db_int(result, row, INVENTORY_SWITCHES_PORT_LOW, 0),
		.port_high = (uint32_t)db_int(result, row, INVENTORY_SWITCHES_PORT_HIGH, 0),
		.moved_silent = db_bool(result, row, INVENTORY_SWITCHES_MOVED_SILENT),
		.swapped_silent = db_bool(result, row, INVENTORY_SWITCHES_SWAPPED_SILENT)};
	int rc = inventory_store_read_address(result, row, INVENTORY_SWITCHES_BASE, &read.base);

	if (rc ||
	    !text_copy(read.name, sizeof(read.name),
		       db_text(result, row, INVENTORY_SWITCHES_NAME, "")) ||
	    !text_copy(read.ports, sizeof(read.ports),
		       db_text(result, row, INVENTORY_SWITCHES_PORTS, "")))
		return E_MALFORMED;
	return cable_add_switch(store->options.cable, &read);
}

static int inventory_store_read_port(struct inventory_store *store, const PGresult *result, int row)
{
	struct cable_port port = {.node_id = db_int(result, row, INVENTORY_PORTS_NODE_ID, 0)};
	int rc = inventory_store_read_address(result, row, INVENTORY_PORTS_ADDRESS, &port.address);

	if (rc || circuit_place_set(&port.place, db_text(result, row, INVENTORY_PORTS_SWITCH, ""),
				    db_text(result, row, INVENTORY_PORTS_PORT, "")))
		return E_MALFORMED;
	return cable_add_port(store->options.cable, &port);
}

int64_t inventory_store_rest_ms(int64_t took_ms)
{
	int64_t rest_ms = took_ms * (GAP_SHARE - 1);

	return rest_ms < GAP_MS ? GAP_MS : rest_ms > PERIOD_MS ? PERIOD_MS : rest_ms;
}

static void inventory_store_ended(struct inventory_store *store)
{
	int64_t took_ms = loop_now_ms(store->loop) - store->started_ms;

	if (store->rc == 0)
		store->rc = inventory_commit(store->options.inventory);
	if (store->rc == 0)
		cable_commit(store->options.cable);
	if (store->rc && store->rc != E_UNAVAILABLE)
		log_warn(INVENTORY_STORE_SUBJECT, "not read, the last picture stays (%s)",
			 error_text(store->rc));
	if (store->rc == 0 && store->options.fn)
		store->options.fn(store->options.context, store->started_ms);

	work_cycle_rest(&store->cycle, inventory_store_rest_ms(took_ms));
	work_cycle_end(&store->cycle, PERIOD_MS);
}

static void inventory_store_take(struct inventory_store *store, int rc, const PGresult *result,
				 int (*read_row)(struct inventory_store *, const PGresult *, int))
{
	int count = rc ? 0 : PQntuples(result);

	for (int row = 0; rc == 0 && row < count; row++)
		rc = read_row(store, result, row);
	if (store->rc == 0)
		store->rc = rc;
	if (--store->reading == 0)
		inventory_store_ended(store);
}

static void inventory_store_on_nodes(void *context, int rc, const PGresult *result,
				     const struct problem *problem)
{
	(void)problem;
	inventory_store_take(context, rc, result, inventory_store_read_node);
}

static void inventory_store_on_nics(void *context, int rc, const PGresult *result,
				    const struct problem *problem)
{
	(void)problem;
	inventory_store_take(context, rc, result, inventory_store_read_nic);
}

static void on_subnets(void *context, int rc, const PGresult *result, const struct problem *problem)
{
	(void)problem;
	inventory_store_take(context, rc, result, read_subnet);
}

static void on_reservations(void *context, int rc, const PGresult *result,
			    const struct problem *problem)
{
	(void)problem;
	inventory_store_take(context, rc, result, read_reservation);
}

static void on_rules(void *context, int rc, const PGresult *result, const struct problem *problem)
{
	(void)problem;
	inventory_store_take(context, rc, result, read_rule);
}

static void on_switches(void *context, int rc, const PGresult *result,
			const struct problem *problem)
{
	(void)problem;
	inventory_store_take(context, rc, result, inventory_store_read_switch);
}

static void on_ports(void *context, int rc, const PGresult *result, const struct problem *problem)
{
	(void)problem;
	inventory_store_take(context, rc, result, inventory_store_read_port);
}

static const db_result_fn inventory_store_readers[PARTS] = {
	[PART_NODES] = inventory_store_on_nodes,
	[PART_NICS] = inventory_store_on_nics,
	[PART_SUBNETS] = on_subnets,
	[PART_RESERVATIONS] = on_reservations,
	[PART_RULES] = on_rules,
	[PART_SWITCHES] = on_switches,
	[INVENTORY_STORE_PART_PORTS] = on_ports,
};

static void inventory_store_start(void *context)
{
	struct inventory_store *store = context;
	struct db_call calls[PARTS];

	for (size_t i = 0; i < PARTS; i++)
		calls[i] = (struct db_call){.query = inventory_store_queries[i],
					    .fn = inventory_store_readers[i],
					    .context = store};
	store->started_ms = loop_now_ms(store->loop);
	store->rc = inventory_begin(store->options.inventory);
	cable_begin(store->options.cable);
	store->reading = PARTS;
	if (db_submit_all(store->options.db, calls, PARTS)) {
		store->reading = 0;
		work_cycle_end(&store->cycle, PERIOD_MS);
	}
}

void inventory_store_wake(struct inventory_store *store)
{
	work_cycle_wake(&store->cycle);
}

int inventory_store_new(struct loop *loop, const struct inventory_store_options *options,
			struct inventory_store **ret)
{
	struct inventory_store *store = calloc(1, sizeof(*store));
	int rc;

	if (!store)
		return -ENOMEM;
	store->loop = loop;
	store->options = *options;
	rc = work_cycle_open(&store->cycle, loop, inventory_store_start, store);
	if (rc) {
		free(store);
		return rc;
	}
	/* Without PostgreSQL a read fails, and the last picture stays. */
	work_cycle_connected(&store->cycle, true);
	*ret = store;
	return 0;
}

void inventory_store_free(struct inventory_store *store)
{
	if (!store)
		return;
	work_cycle_close(&store->cycle);
	free(store);
}
