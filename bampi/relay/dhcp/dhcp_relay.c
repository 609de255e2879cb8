#include "bampi/relay/dhcp/dhcp_relay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/io/log.h"
#include "common/net/dhcp_wire.h"
#include "common/net/ipv4.h"

#include "bampi/relay/dhcp/dhcp_relay_counters.h"
#include "bampi/relay/dhcp/interface.h"
#include "bampi/relay/dhcp/option82_wire.h"
#include "bampi/relay/dhcp/pending.h"
#include "bampi/relay/dhcp/relay_policy.h"
#include "bampi/relay/dhcp/relay_socket.h"

#define DHCP_RELAY_SERVER_PORT 67
#define REFRESH_EVERY_MS       5000 /* interfaces come and go, and addresses on them */
#define SUBJECT                "dhcp"

struct dhcp_relay {
	struct loop *loop;
	struct relay_socket *sockets;
	struct loop_timer *refresh;
	struct interfaces interfaces;
	uint32_t servers[DHCP_RELAY_SERVERS];
	size_t server_count;
	uint8_t hop_limit;
	size_t packet_limit;
	struct rate_limit client_rate, interface_rate;
	struct rate_clients clients;
	struct pending pending;
	struct dhcp_relay_counters counters;
	struct log_limit drops;
	/* Here because it is large and one packet is handled at a time. */
	struct dhcp_message message;
	uint8_t packet[RELAY_PACKET_ROOM];
};

static void log_drop(struct dhcp_relay *relay, const struct relay_arrival *arrival,
		     const struct interface *interface, enum relay_verdict verdict)
{
	char mac[MAC_TEXT_SIZE] = "unknown";
	char source[IPV4_TEXT_SIZE];
	char giaddr[IPV4_TEXT_SIZE];
	struct mac client;

	if (!log_allowed(&relay->drops, loop_now_ms(relay->loop)))
		return;
	if (dhcp_client_mac(&relay->message, &client))
		(void)mac_text(client, mac);
	log_warn(SUBJECT, "%s dropped: %s (mac=%s interface=%s source=%s giaddr=%s)",
		 dhcp_type_text(dhcp_type(&relay->message)), relay_verdict_text(verdict), mac,
		 interface ? interface->name : "none", ipv4_text(arrival->source, source),
		 ipv4_text(relay->message.giaddr, giaddr));
}

/* --- requests --- */

/* Adds our option where it has room. *data moves to where the marked message is. */
static bool dhcp_relay_mark(struct dhcp_relay *relay, const struct interface *interface,
			    uint8_t **data, size_t *size)
{
	if (option82_insert(*data, *size, &interface->option, relay->packet_limit, relay->packet,
			    size)) {
		/* RFC 3046 2.1: without it rather than not at all. */
		relay->counters.oversized++;
		return false;
	}
	*data = relay->packet;
	return true;
}

static void forward_request(struct dhcp_relay *relay, const struct relay_arrival *arrival,
			    const struct interface *interface, enum relay_verdict verdict)
{
	const struct dhcp_message *request = &relay->message;
	struct pending_entry entry = {
		.xid = request->xid,
		.interface = (uint16_t)(interface - relay->interfaces.list),
		.at_ms = loop_now_ms(relay->loop),
	};
	uint8_t *data = arrival->data;
	size_t size = arrival->size;
	struct mac mac = {0};
	uint32_t ours;

	entry.added = verdict == RELAY_ADD && dhcp_relay_mark(relay, interface, &data, &size);
	/* Without our option nothing but giaddr can say which interface it is. */
	ours = entry.added ? interfaces_giaddr(&relay->interfaces, interface) : interface->address;
	entry.giaddr = request->giaddr ? request->giaddr : ours;
	option82_set_relay(data, (uint8_t)(request->hops + 1), entry.giaddr);
	(void)dhcp_client_mac(request, &mac); /* the policy looked */
	entry.client = mac_key(mac);
	pending_put(&relay->pending, &entry);
	for (size_t i = 0; i < relay->server_count; i++) {
		if (relay_socket_send_server(relay->sockets, relay->servers[i], ours, data, size))
			relay->counters.send_failures++;
	}
	if (log_enabled(LOG_LEVEL_DEBUG)) {
		char text[MAC_TEXT_SIZE];

		log_debug(SUBJECT, "%s to %zu servers (mac=%s interface=%s bytes=%zu)",
			  dhcp_type_text(dhcp_type(request)), relay->server_count,
			  mac_text(mac, text), interface->name, size);
	}
}

static void dhcp_relay_take_request(struct dhcp_relay *relay, const struct relay_arrival *arrival,
				    struct interface *interface)
{
	struct relay_request_facts facts = {
		.interface_address = interface->address,
		.trusted = interface->trusted,
		.giaddr_is_ours = interfaces_own_address(&relay->interfaces, relay->message.giaddr),
		.hop_limit = relay->hop_limit,
	};
	enum relay_verdict verdict = relay_request_policy(&relay->message, &facts);
	int64_t now_ms = loop_now_ms(relay->loop);
	struct mac mac;

	if (verdict != RELAY_ADD && verdict != RELAY_PASS) {
		relay->counters.requests[verdict]++;
		log_drop(relay, arrival, interface, verdict);
		return;
	}
	if (dhcp_client_mac(&relay->message, &mac) &&
	    !rate_allows_client(&relay->clients, relay->client_rate, mac, now_ms)) {
		relay->counters.throttled_client++;
		return;
	}
	if (!rate_allows(&interface->bucket, relay->interface_rate, now_ms)) {
		relay->counters.throttled_interface++;
		return;
	}
	relay->counters.requests[verdict]++;
	forward_request(relay, arrival, interface, verdict);
}

/* --- replies --- */

static bool dhcp_relay_is_server(const struct dhcp_relay *relay,
				 const struct relay_arrival *arrival)
{
	for (size_t i = 0;
	     arrival->source_port == DHCP_RELAY_SERVER_PORT && i < relay->server_count; i++) {
		if (relay->servers[i] == arrival->source)
			return true;
	}
	return false;
}

static enum relay_option option_of(const struct dhcp_relay *relay,
				   const struct interface *interface)
{
	size_t size;
	const uint8_t *bytes = dhcp_option(&relay->message, DHCP_OPTION_RELAY, &size);

	if (!bytes)
		return RELAY_OPTION_NONE;
	return interface && size == interface->option.size &&
			       memcmp(bytes, interface->option.bytes, size) == 0
		       ? RELAY_OPTION_OURS
		       : RELAY_OPTION_OTHER;
}

static void dhcp_relay_deliver(struct dhcp_relay *relay, const struct relay_arrival *arrival,
			       const struct interface *interface, enum relay_verdict verdict)
{
	struct relay_target target = relay_target(&relay->message);
	struct relay_frame frame = {interface->index, target.mac, interface->address,
				    target.address};
	const uint8_t *data = arrival->data;
	size_t size = arrival->size;
	char mac[MAC_TEXT_SIZE];

	/* What came in with the option fits without it, but for BOOTP's padding. */
	if (verdict == RELAY_ADD) {
		if (option82_strip(arrival->data, arrival->size, sizeof(relay->packet),
				   relay->packet, &size)) {
			relay->counters.malformed++;
			return;
		}
		data = relay->packet;
	}
	if (relay_socket_send_client(relay->sockets, &frame, data, size))
		relay->counters.send_failures++;
	if (log_enabled(LOG_LEVEL_DEBUG))
		log_debug(SUBJECT, "%s to %s (interface=%s bytes=%zu)",
			  dhcp_type_text(dhcp_type(&relay->message)), mac_text(target.mac, mac),
			  interface->name, size);
}

static void take_reply(struct dhcp_relay *relay, const struct relay_arrival *arrival)
{
	const struct dhcp_message *reply = &relay->message;
	struct mac mac;
	const struct pending_entry *asked =
		dhcp_client_mac(reply, &mac)
			? pending_find(&relay->pending, mac, reply->xid, loop_now_ms(relay->loop))
			: NULL;
	struct interface *interface = asked ? &relay->interfaces.list[asked->interface] : NULL;
	struct relay_reply_facts facts = {
		.from_server = dhcp_relay_is_server(relay, arrival),
		.asked = asked && interface->index,
		.added = asked && asked->added,
		.giaddr = asked ? asked->giaddr : 0,
		.option = option_of(relay, interface),
	};
	enum relay_verdict verdict = relay_reply_policy(reply, &facts);

	relay->counters.replies[verdict]++;
	if (interface && (verdict == RELAY_ADD || verdict == RELAY_PASS))
		dhcp_relay_deliver(relay, arrival, interface, verdict);
	else
		log_drop(relay, arrival, interface, verdict);
}

/* --- the whole --- */

static void on_arrival(void *context, const struct relay_arrival *arrival)
{
	struct dhcp_relay *relay = context;
	struct interface *interface = interfaces_by_index(&relay->interfaces, arrival->interface);

	if (dhcp_decode(arrival->data, arrival->size, &relay->message)) {
		relay->counters.malformed++;
		return;
	}
	/* The way to the servers may be one of the interfaces. */
	if (relay->message.op == DHCP_OP_REPLY)
		take_reply(relay, arrival);
	else if (interface)
		dhcp_relay_take_request(relay, arrival, interface);
	else
		relay->counters.elsewhere++;
}

static void dhcp_relay_refresh(void *context)
{
	struct dhcp_relay *relay = context;
	uint64_t ready = 0;
	int rc = interfaces_refresh(&relay->interfaces);

	if (rc)
		log_error(SUBJECT, "the interfaces cannot be listed: %s", error_text(rc));
	for (size_t i = 0; i < relay->interfaces.count; i++)
		ready += relay->interfaces.list[i].index && relay->interfaces.list[i].address;
	if (ready != relay->counters.interfaces_ready)
		log_info(SUBJECT, "%llu of %zu interfaces are there and have an address",
			 (unsigned long long)ready, relay->interfaces.count);
	relay->counters.interfaces_ready = ready;
	loop_timer_arm(relay->refresh, REFRESH_EVERY_MS);
}

static int dhcp_relay_take_options(struct dhcp_relay *relay,
				   const struct dhcp_relay_options *options,
				   struct problem *problem)
{
	relay->hop_limit = options->hop_limit;
	relay->packet_limit = options->packet_limit;
	relay->client_rate = options->client_rate;
	relay->interface_rate = options->interface_rate;
	relay->interfaces.upstream_address = options->upstream_address;
	relay->interfaces.server_override = options->server_override;
	relay->drops = (struct log_limit){.burst = 20, .per_minute = 60};
	for (const char *const *each = options->servers; each && *each; each++) {
		if (relay->server_count == DHCP_RELAY_SERVERS)
			return problem_set(problem, E_LIMIT, "more than %d DHCP servers",
					   DHCP_RELAY_SERVERS);
		if (ipv4_parse(*each, &relay->servers[relay->server_count]))
			return problem_set(problem, E_MALFORMED,
					   "\"%s\" is not the IPv4 address of a DHCP server",
					   *each);
		relay->server_count++;
	}
	return interfaces_init(&relay->interfaces, options->interfaces, problem);
}

int dhcp_relay_check(const struct dhcp_relay_options *options, struct problem *problem)
{
	struct dhcp_relay *relay = calloc(1, sizeof(*relay));
	int rc = relay ? dhcp_relay_take_options(relay, options, problem)
		       : problem_set(problem, -ENOMEM, "out of memory");

	dhcp_relay_free(relay);
	return rc;
}

int dhcp_relay_new(struct loop *loop, const struct dhcp_relay_options *options,
		   struct dhcp_relay **ret, struct problem *problem)
{
	struct dhcp_relay *relay = calloc(1, sizeof(*relay));
	int rc;

	if (!relay)
		return problem_set(problem, -ENOMEM, "out of memory");
	relay->loop = loop;
	rc = dhcp_relay_take_options(relay, options, problem);
	if (rc == 0)
		rc = relay_socket_new(loop, on_arrival, relay, &relay->sockets, problem);
	if (rc == 0)
		rc = loop_timer_new(loop, dhcp_relay_refresh, relay, &relay->refresh);
	if (rc) {
		dhcp_relay_free(relay);
		return rc;
	}
	dhcp_relay_refresh(relay);
	*ret = relay;
	return 0;
}

void dhcp_relay_free(struct dhcp_relay *relay)
{
	if (!relay)
		return;
	loop_timer_free(relay->refresh);
	relay_socket_free(relay->sockets);
	interfaces_done(&relay->interfaces);
	free(relay);
}

const struct metric_row *dhcp_relay_metric_rows(size_t *ret_count)
{
	*ret_count = dhcp_relay_counter_row_count;
	return dhcp_relay_counter_rows;
}

const void *dhcp_relay_metric_values(struct dhcp_relay *relay)
{
	return &relay->counters;
}
