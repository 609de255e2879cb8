/* Leases are renewed while an agent or an OS runs (RFC 2131 4.4.5): at half of the lease time from
 * the node's own address, at seven eighths of it from anybody who answers, through the relay. One
 * timer and one socket for all nodes: a wheel of seconds that nodes hang on. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/net/dhcp_wire.h"
#include "common/net/ipv4.h"

#include "tests/sim/fleet/fleet.h"

#define FLEET_RENEW_SERVER_PORT 67
#define TICK_MS                 1000
#define SLOTS                   1024 /* whose lease is longer goes round more than once */
#define FLEET_RENEW_AGAIN_MS    5000 /* RFC 2131 says a minute, for lines of its time */

struct fleet_wheel {
	struct fleet *fleet;
	struct loop_timer *timer;
	int64_t slot; /* seconds; the next one to be looked at */
	struct fleet_node *slots[SLOTS];
};

/* --- the wheel --- */

static void fleet_renew_unhang(struct fleet_lease *lease)
{
	if (!lease->at)
		return;
	*lease->at = lease->next;
	if (lease->next)
		lease->next->lease.at = lease->at;
	lease->at = NULL;
	lease->next = NULL;
}

static void fleet_renew_hang(struct fleet_node *node, int64_t due_ms)
{
	struct fleet_wheel *wheel = node->fleet->wheel;
	struct fleet_lease *lease = &node->lease;
	int64_t second = due_ms / TICK_MS + 1;
	struct fleet_node **at;

	fleet_renew_unhang(lease);
	lease->due_ms = due_ms;
	at = &wheel->slots[(second > wheel->slot ? second : wheel->slot) % SLOTS];
	lease->next = *at;
	lease->at = at;
	if (lease->next)
		lease->next->lease.at = &lease->next;
	*at = node;
}

static void fleet_renew(struct fleet_node *node, int64_t now_ms);

static void fleet_renew_look_at(struct fleet_wheel *wheel, int64_t slot, int64_t now_ms)
{
	struct fleet_node *node = wheel->slots[slot % SLOTS];

	while (node) {
		struct fleet_node *next = node->lease.next;

		if (node->lease.due_ms <= now_ms) {
			fleet_renew_unhang(&node->lease);
			fleet_renew(node, now_ms); /* hangs it up again, never in this slot */
		}
		node = next;
	}
}

static void fleet_renew_tick(void *context)
{
	struct fleet_wheel *wheel = context;
	int64_t now_ms = loop_now_ms(wheel->fleet->loop);

	for (; wheel->slot <= now_ms / TICK_MS; wheel->slot++)
		fleet_renew_look_at(wheel, wheel->slot, now_ms);
	loop_timer_arm(wheel->timer, TICK_MS);
}

/* --- renewing --- */

/* The fault duplicate_mac: two nodes are one client, and bampi-bootd answers a conflict by silence.
 */
static bool shares_mac(const struct fleet_node *node)
{
	const struct fleet *fleet = node->fleet;

	return !mac_equal(node->mac, fleet_mac(node->index)) ||
	       (node->index + 1 < fleet->options.count &&
		mac_equal(node->mac, fleet->nodes[node->index + 1].mac));
}

static void fleet_renew_broken(struct fleet_node *node, const char *what)
{
	char name[16];
	char address[IPV4_TEXT_SIZE];

	if (!shares_mac(node))
		fleet_violation(node->fleet, "lease_renewed", "node %s with %s %s",
				fleet_name(node, name), ipv4_text(node->address, address), what);
}

static void fleet_renew(struct fleet_node *node, int64_t now_ms)
{
	struct fleet_lease *lease = &node->lease;
	int64_t rebind_ms = lease->begun_ms + lease->length_ms / 8 * 7;
	int64_t end_ms = lease->begun_ms + lease->length_ms;
	int64_t next_ms = now_ms + FLEET_RENEW_AGAIN_MS;

	if (now_ms >= end_ms) {
		node->fleet->stats.leases_lost++;
		fleet_renew_broken(node, "asked in time, and nobody renewed it");
		lease->asked = false;
		return;
	}
	if (!lease->asked)
		node->xid++;
	lease->asked = true;
	node->fleet->stats.rebindings += now_ms >= rebind_ms;
	fleet_dhcp_renew(node, lease->server, now_ms >= rebind_ms);
	fleet_renew_hang(node, next_ms < end_ms ? next_ms : end_ms);
}

void fleet_renew_start(struct fleet_node *node, uint32_t server, uint32_t lease_s)
{
	struct fleet_lease *lease = &node->lease;

	fleet_renew_stop(node);
	if (lease_s == 0 || lease_s == UINT32_MAX)
		return;
	lease->server = server;
	lease->begun_ms = loop_now_ms(node->fleet->loop);
	lease->length_ms = (int64_t)lease_s * 1000;
	fleet_renew_hang(node, lease->begun_ms + lease->length_ms / 2);
}

void fleet_renew_stop(struct fleet_node *node)
{
	fleet_renew_unhang(&node->lease);
	node->lease.asked = false;
}

void fleet_renew_answer(struct fleet_node *node, const struct dhcp_message *reply)
{
	enum dhcp_type type = dhcp_type(reply);

	if (!node->lease.asked || (type != DHCP_ACK && type != DHCP_NAK))
		return;
	if (type == DHCP_NAK) {
		fleet_renew_broken(node, "was refused its own");
		fleet_renew_stop(node);
		return;
	}
	node->fleet->stats.renewals++;
	if (reply->yiaddr != node->address)
		fleet_renew_broken(node, "was given another");
	fleet_renew_start(node, dhcp_option_address(reply, DHCP_OPTION_SERVER_ID),
			  dhcp_option_address(reply, DHCP_OPTION_LEASE_TIME));
}

/* --- start and end --- */

int fleet_wheel_new(struct fleet *fleet, struct fleet_wheel **ret)
{
	struct fleet_wheel *wheel = calloc(1, sizeof(*wheel));
	int rc;

	if (!wheel)
		return -ENOMEM;
	wheel->fleet = fleet;
	wheel->slot = loop_now_ms(fleet->loop) / TICK_MS;
	rc = loop_timer_new(fleet->loop, fleet_renew_tick, wheel, &wheel->timer);
	if (rc) {
		free(wheel);
		return rc;
	}
	loop_timer_arm(wheel->timer, TICK_MS);
	*ret = wheel;
	return 0;
}

void fleet_wheel_free(struct fleet_wheel *wheel)
{
	if (!wheel)
		return;
	loop_timer_free(wheel->timer);
	free(wheel);
}
