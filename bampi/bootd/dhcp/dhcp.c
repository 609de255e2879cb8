#include "bampi/bootd/dhcp/dhcp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/io/log.h"

#include "bampi/bootd/dhcp/dhcp_private.h"
#include "bampi/bootd/dhcp/reply_policy.h"

#define OFFERS_MAX        16384
#define OFFER_SWEEP_MS    10000
#define CLIENTS_LIMITED   4096
#define CLIENT_BURST      12 /* firmware, iPXE and kernel of one boot, with retries */
#define CLIENT_PER_SECOND 2
#define RELAYS_LIMITED    1024
#define RELAY_BURST_S     4 /* a rack that powers on */

/* A client that chose another server tells of that server. */
static void dhcp_note_choice(struct dhcp *dhcp, const struct handling *handling)
{
	const struct dhcp_message *request = &dhcp->request;
	uint32_t server = dhcp_option_address(request, DHCP_OPTION_SERVER_ID);

	if (dhcp_type(request) == DHCP_REQUEST && server && handling->link &&
	    server != handling->facts.server)
		foreign_server_chosen(dhcp->foreign, handling->arrival->interface, request->giaddr,
				      server);
}

static void dhcp_on_packet(void *context, const struct dhcp_arrival *arrival)
{
	struct dhcp *dhcp = context;
	struct dhcp_message *request = &dhcp->request;
	struct handling handling = {.arrival = arrival};
	enum dhcp_reason reason;

	if (dhcp_decode(arrival->data, arrival->size, request) || request->op != DHCP_OP_REQUEST ||
	    !dhcp_client_mac(request, &handling.who.mac)) {
		dhcp->counters.malformed++;
		return;
	}
	dhcp->counters.received[dhcp_type(request)]++;
	dhcp_find_client(dhcp, &handling);
	reason = dhcp_admit(dhcp, &handling);
	if (reason != REASON_OK) {
		dhcp->counters.silent[reason]++;
		dhcp_report_dropped(dhcp->report, &handling.who, request->giaddr, reason);
		return;
	}
	dhcp_conclude(dhcp, &handling);
	dhcp_gather_facts(dhcp, &handling);
	dhcp_report_identity(dhcp->report, &handling.identity);
	if (arrival->port == DHCP_PXE_PORT) {
		dhcp_act_pxe(dhcp, &handling);
		return;
	}
	dhcp_note_choice(dhcp, &handling);
	handling.decision = dhcp_policy(request, &handling.facts);
	dhcp_act(dhcp, &handling);
}

/* One commit for what one burst brought. */
static void on_burst(void *context)
{
	struct dhcp *dhcp = context;

	lease_store_flush(dhcp->bindings.store);
}

static void on_batch(void *context)
{
	struct dhcp *dhcp = context;

	dhcp_server_flush(dhcp->server);
}

static void dhcp_on_state(void *context, bool connected)
{
	struct dhcp *dhcp = context;

	dhcp_report_database(dhcp->report, connected);
}

static void on_sweep(void *context)
{
	struct dhcp *dhcp = context;

	binding_sweep_offers(&dhcp->bindings, loop_now_ms(dhcp->loop));
	loop_timer_arm(dhcp->sweep, OFFER_SWEEP_MS);
}

static bool dhcp_mac_of(void *context, uint32_t address, struct mac *ret, int64_t *ret_expires_s)
{
	const struct dhcp *dhcp = context;
	const struct lease *lease = lease_by_address(dhcp->bindings.leases, address);

	if (!lease || lease->state != LEASE_BOUND || !lease->committed)
		return false;
	*ret = lease->mac;
	*ret_expires_s = lease->expires_at;
	return true;
}

void dhcp_notified(struct dhcp *dhcp, const char *channel)
{
	if (strcmp(channel, DHCP_CHANNEL) == 0)
		lease_store_reload(dhcp->bindings.store);
}

bool dhcp_flush(struct dhcp *dhcp)
{
	lease_store_flush(dhcp->bindings.store);
	dhcp_report_flush(dhcp->report);
	return lease_store_idle(dhcp->bindings.store) ||
	       !lease_store_connected(dhcp->bindings.store);
}

const struct metric_row *dhcp_metric_rows(size_t *ret_count)
{
	*ret_count = dhcp_counter_row_count;
	return dhcp_counter_rows;
}

const void *dhcp_metric_values(struct dhcp *dhcp)
{
	struct dhcp_counters *counters = &dhcp->counters;

	counters->leases = lease_table_count(dhcp->bindings.leases);
	counters->lease_bytes = lease_table_size(dhcp->bindings.leases);
	counters->offers_held = lease_table_count(dhcp->bindings.offers);
	counters->commit_queue = lease_store_queued(dhcp->bindings.store);
	counters->commit_batches = lease_store_batches(dhcp->bindings.store);
	counters->committed_leases = lease_store_written(dhcp->bindings.store);
	counters->database_up = lease_store_connected(dhcp->bindings.store);
	counters->unknown_circuits_dropped = identities_dropped(dhcp->options.identities);
	counters->sightings = identities_sightings(dhcp->options.identities);
	counters->foreign_replies = foreign_servers_heard(dhcp->foreign);
	counters->send_failures = dhcp_server_send_failures(dhcp->server);
	return counters;
}

static int open_parts(struct dhcp *dhcp, struct problem *problem)
{
	const struct dhcp_options *options = &dhcp->options;
	const struct dhcp_server_options server = {.interfaces = options->interfaces,
						   .on_packet = dhcp_on_packet,
						   .on_burst = on_burst,
						   .context = dhcp};
	struct lease_store_options store = {.conninfo = options->conninfo,
					    .on_commit = dhcp_committed,
					    .on_batch = on_batch,
					    .on_state = dhcp_on_state,
					    .context = dhcp};
	const struct throttle_rate client_rate = {
		.places = CLIENTS_LIMITED, .burst = CLIENT_BURST, .per_second = CLIENT_PER_SECOND};
	const struct throttle_rate relay_rate = {.places = RELAYS_LIMITED,
						 .burst = options->relay_rate * RELAY_BURST_S,
						 .per_second = options->relay_rate,
						 .inherit = true};
	struct foreign_servers_options foreign = {.inventory = options->inventory,
						  .db = options->db,
						  .server_address = options->server_address};
	int rc = dhcp_server_new(dhcp->loop, &server, &dhcp->server, problem);

	if (rc)
		return rc;
	foreign.server = dhcp->server;
	rc = foreign_servers_new(dhcp->loop, &foreign, &dhcp->foreign, problem);
	if (rc)
		return rc;
	rc = throttle_init(&dhcp->clients, &client_rate);
	if (rc == 0)
		rc = throttle_init(&dhcp->relays, &relay_rate);
	if (rc == 0)
		rc = lease_table_new(options->lease_limit, &dhcp->bindings.leases);
	if (rc == 0)
		rc = lease_table_new(OFFERS_MAX, &dhcp->bindings.offers);
	if (rc == 0)
		rc = dhcp_report_new(dhcp->loop, options->db, options->inventory,
				     options->observations, &dhcp->report);
	if (rc == 0)
		rc = loop_timer_new(dhcp->loop, on_sweep, dhcp, &dhcp->sweep);
	store.table = dhcp->bindings.leases;
	if (rc == 0)
		rc = lease_store_new(dhcp->loop, &store, &dhcp->bindings.store);
	return rc ? problem_set(problem, rc, "cannot start DHCP: %s", error_text(rc)) : 0;
}

int dhcp_new(struct loop *loop, const struct dhcp_options *options, struct dhcp **ret,
	     struct problem *problem)
{
	struct dhcp *dhcp = calloc(1, sizeof(*dhcp));
	int rc;

	if (!dhcp)
		return problem_set(problem, -ENOMEM, "out of memory");
	dhcp->loop = loop;
	dhcp->options = *options;
	rc = open_parts(dhcp, problem);
	if (rc) {
		dhcp_free(dhcp);
		return rc;
	}
	inventory_set_lease_source(options->inventory, dhcp_mac_of, dhcp);
	loop_timer_arm(dhcp->sweep, OFFER_SWEEP_MS);
	*ret = dhcp;
	return 0;
}

void dhcp_free(struct dhcp *dhcp)
{
	if (!dhcp)
		return;
	inventory_set_lease_source(dhcp->options.inventory, NULL, NULL);
	lease_store_free(dhcp->bindings.store);
	dhcp_report_free(dhcp->report);
	foreign_servers_free(dhcp->foreign);
	dhcp_server_free(dhcp->server);
	loop_timer_free(dhcp->sweep);
	lease_table_free(dhcp->bindings.offers);
	lease_table_free(dhcp->bindings.leases);
	throttle_done(&dhcp->clients);
	throttle_done(&dhcp->relays);
	free(dhcp);
}
