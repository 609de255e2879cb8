#include "bampi/bootd/bootd.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/text.h"
#include "common/db/db.h"
#include "common/http/local_server.h"
#include "common/http/metrics.h"
#include "common/http/server.h"
#include "common/http/tls.h"
#include "common/io/arp_proxy.h"
#include "common/io/daemon.h"
#include "common/io/log.h"
#include "common/io/process.h"
#include "common/io/ra_server.h"

#include "bampi/bootd/boot/boot.h"
#include "bampi/bootd/dhcp/dhcp.h"
#include "bampi/bootd/identify/cable.h"
#include "bampi/bootd/identify/identity.h"
#include "bampi/bootd/identify/inventory.h"
#include "bampi/bootd/identify/inventory_store.h"
#include "bampi/bootd/identify/observation.h"
#include "bampi/bootd/identify/sighting.h"
#include "bampi/bootd/identify/unknown_circuit.h"

/* Each agent holds one while it waits for a task: fewer, and those that wait keep the others of a
 * large site from their boot scripts. */
#define HTTP_CONNECTIONS 16384
#define STOP_WAIT_MS     1000 /* for what is on its way to the database */
#define CHANNELS_MAX     10
#define ARP_PREFIXES_MAX 64
#define SUBJECT          "bampi-bootd"

struct bootd {
	struct loop *loop;
	const struct bootd_conf *conf;
	struct db *db;
	struct inventory *inventory;
	struct cable *cable;
	struct inventory_store *inventory_store;
	struct sightings *sightings;
	struct unknown_circuits *circuits;
	struct identities *identities;
	struct observations *observations;
	struct dhcp *dhcp;
	struct boot *boot;
	struct tls *tls; /* NULL: no certificate is configured */
	struct tls_files tls_files;
	struct ra_server *ra;
	struct arp_proxy *arp;
	struct arp_proxy_counters arp_counters;
	struct http_server *metrics;
	const char *channels[CHANNELS_MAX];
	uint32_t relays[BOOTD_RELAYS];
	size_t relay_count;
	struct boot_file boot_files[BOOTD_BOOT_FILES];
	size_t boot_file_count;
	bool works; /* it has started: what it learnt is written at the end */
};

static void bootd_on_db_state(void *context, bool connected)
{
	struct bootd *bootd = context;

	if (connected) {
		inventory_store_wake(bootd->inventory_store);
		sightings_connected(bootd->sightings);
	}
	if (bootd->boot)
		boot_db_state(bootd->boot, connected);
}

static void on_db_notify(void *context, const char *channel)
{
	struct bootd *bootd = context;

	for (const char *const *each = inventory_channels; *each; each++) {
		if (strcmp(*each, channel) == 0)
			inventory_store_wake(bootd->inventory_store);
	}
	dhcp_notified(bootd->dhcp, channel);
	boot_notified(bootd->boot, channel);
}

static void bootd_on_inventory(void *context, int64_t read_ms)
{
	struct bootd *bootd = context;

	if (bootd->boot)
		boot_refreshed(bootd->boot, read_ms);
}

static void bootd_refresh(void *context)
{
	struct bootd *bootd = context;

	inventory_store_wake(bootd->inventory_store);
}

static void bootd_answer_metrics(void *context, struct http_request *request)
{
	struct bootd *bootd = context;
	CLEANUP(text_done) struct text text = {0};
	size_t count;
	const struct metric_row *rows = dhcp_metric_rows(&count);

	metrics_add(&text, rows, count, dhcp_metric_values(bootd->dhcp));
	if (bootd->arp)
		metrics_add(&text, arp_counter_rows, arp_counter_row_count, &bootd->arp_counters);
	rows = boot_metric_rows(&count);
	metrics_add(&text, rows, count, boot_metric_values(bootd->boot));
	metrics_end(&text);
	local_server_answer_metrics(request, &text);
}

static int bootd_start_metrics(struct bootd *bootd, struct problem *problem)
{
	static const struct http_route routes[] = {{HTTP_GET, "/metrics", bootd_answer_metrics}};
	const struct http_server_options options = {
		.routes = routes, .route_count = COUNT_OF(routes), .context = bootd};

	if (bootd->conf->metrics_socket[0] == '\0')
		return 0;
	return local_server_new(bootd->loop, &options, bootd->conf->metrics_socket, &bootd->metrics,
				problem);
}

/* What everybody else stands on. */
static int start_ground(struct bootd *bootd, struct problem *problem)
{
	struct db_options db = {.conninfo = bootd->conf->database,
				.application = "bampi-bootd",
				.daemon = "bampi-bootd",
				.setup = db_plan_anew,
				.on_state = bootd_on_db_state,
				.on_notify = on_db_notify,
				.channels = bootd->channels,
				.context = bootd};
	struct inventory_store_options store = {.fn = bootd_on_inventory, .context = bootd};
	size_t count = 0;
	int rc;

	for (const char *const *each = inventory_channels; *each; each++)
		bootd->channels[count++] = *each;
	bootd->channels[count++] = BOOT_CHANNEL;
	bootd->channels[count++] = DHCP_CHANNEL;
	rc = inventory_new(&bootd->inventory);
	if (rc == 0)
		rc = cable_new(&bootd->cable);
	if (rc == 0)
		rc = db_new(bootd->loop, &db, &bootd->db);
	store.db = bootd->db;
	store.inventory = bootd->inventory;
	store.cable = bootd->cable;
	if (rc == 0)
		rc = inventory_store_new(bootd->loop, &store, &bootd->inventory_store);
	if (rc == 0)
		rc = observations_new(bootd->loop, bootd->db, &bootd->observations);
	return rc ? problem_set(problem, rc, "cannot start: %s", error_text(rc)) : 0;
}

/* Who asks, by MAC, UUID and cable. */
static int start_identities(struct bootd *bootd, struct problem *problem)
{
	struct identities_options options = {.inventory = bootd->inventory, .cable = bootd->cable};
	int rc = sightings_new(bootd->loop, bootd->db, &bootd->sightings);

	if (rc == 0)
		rc = unknown_circuits_new(bootd->loop, bootd->db, &bootd->circuits);
	options.sightings = bootd->sightings;
	options.circuits = bootd->circuits;
	if (rc == 0)
		rc = identities_new(bootd->loop, &options, &bootd->identities);
	return rc ? problem_set(problem, rc, "cannot start: %s", error_text(rc)) : 0;
}

static bool bootd_https_only(const struct bootd *bootd)
{
	return bootd->tls && bootd->conf->tls.mode == CONF_TLS_REQUIRED;
}

static int bootd_start_tls(struct bootd *bootd, struct problem *problem)
{
	const struct conf_tls *conf = &bootd->conf->tls;

	bootd->tls_files = (struct tls_files){
		.certificate = conf->certificate, .key = conf->key, .ca = conf->ca};
	return conf->certificate[0] ? tls_new(TLS_SERVER, &bootd->tls_files, &bootd->tls, problem)
				    : 0;
}

static void bootd_reload(void *state)
{
	struct bootd *bootd = state;
	struct problem problem = {0};

	if (bootd->tls && tls_reload(bootd->tls, &problem))
		log_problem(LOG_LEVEL_ERROR, SUBJECT, &problem);
}

static int start_dhcp(struct bootd *bootd, struct problem *problem)
{
	const struct bootd_conf *conf = bootd->conf;
	const struct dhcp_options options = {
		.interfaces = (const char *const *)conf->interfaces,
		.conninfo = conf->database,
		.http_port = (uint16_t)conf->http_port,
		.https_port = bootd->tls ? (uint16_t)conf->https_port : 0,
		.https_only = bootd_https_only(bootd),
		.quarantine_s = (uint32_t)conf->quarantine_s,
		.lease_limit = (size_t)conf->lease_limit,
		.server_address = conf->server_address,
		.relay_rate = (uint32_t)conf->relay_rate,
		.boot_files = bootd->boot_files,
		.boot_file_count = bootd->boot_file_count,
		.inventory = bootd->inventory,
		.observations = bootd->observations,
		.identities = bootd->identities,
		.db = bootd->db,
	};
	int rc = dhcp_new(bootd->loop, &options, &bootd->dhcp, problem);

	if (rc || !conf->ra_interfaces || !conf->ra_interfaces[0])
		return rc;
	return ra_server_new(bootd->loop, (const char *const *)conf->ra_interfaces, &bootd->ra,
			     problem);
}

static int bootd_start_boot(struct bootd *bootd, struct problem *problem)
{
	static const uint32_t any = 0;
	const struct bootd_conf *conf = bootd->conf;
	const struct boot_options options = {
		.tftp_addresses = &any,
		.tftp_address_count = conf->tftp ? 1 : 0,
		.http_address = conf->http_address,
		.http_port = (uint16_t)conf->http_port,
		.tls = bootd->tls,
		.https_port = (uint16_t)conf->https_port,
		.https_only = bootd_https_only(bootd),
		.http_source_connections = (unsigned)conf->http_source_connections,
		.relays = bootd->relays,
		.relay_count = bootd->relay_count,
		.http_connections = HTTP_CONNECTIONS,
		.boot_dir = conf->boot_dir,
		.image_dir = conf->image_dir,
		.copy_dir = conf->copy_dir,
		.copy_address = conf->server_address ? conf->server_address : conf->http_address,
		.tls_files = &bootd->tls_files,
		.kernel_console = conf->kernel_console,
		.inventory = bootd->inventory,
		.observations = bootd->observations,
		.sightings = bootd->sightings,
		.db = bootd->db,
		.refresh = bootd_refresh,
		.refresh_context = bootd,
	};

	return boot_new(bootd->loop, &options, &bootd->boot, problem);
}

static int bootd_start_arp(struct bootd *bootd, struct problem *problem)
{
	const struct bootd_conf *conf = bootd->conf;
	struct ipv4_prefix prefixes[ARP_PREFIXES_MAX];
	struct arp_proxy_options options = {
		.interfaces = (const char *const *)conf->arp_interfaces,
		.prefixes = prefixes,
	};

	if (!conf->arp_interfaces || !conf->arp_interfaces[0])
		return 0;
	for (char **each = conf->arp_prefixes; each && *each; each++) {
		if (options.prefix_count == ARP_PREFIXES_MAX)
			return problem_set(problem, E_LIMIT, "more than %d arp_prefixes",
					   ARP_PREFIXES_MAX);
		if (ipv4_prefix_parse(*each, &prefixes[options.prefix_count++]))
			return E_MALFORMED; /* bootd_conf_check has said why */
	}
	return arp_proxy_new(bootd->loop, &options, &bootd->arp_counters, &bootd->arp, problem);
}

static int bootd_start(void *state, struct loop *loop, const void *values, struct problem *problem)
{
	struct bootd *bootd = state;
	int rc;

	bootd->loop = loop;
	bootd->conf = values;
	rc = bootd_conf_relays(bootd->conf, bootd->relays, &bootd->relay_count, problem);
	if (!rc)
		rc = bootd_conf_boot_files(bootd->conf, bootd->boot_files, &bootd->boot_file_count,
					   problem);
	if (rc == 0)
		rc = start_ground(bootd, problem);
	if (rc == 0)
		rc = start_identities(bootd, problem);
	if (rc == 0)
		rc = bootd_start_tls(bootd, problem);
	if (rc == 0)
		rc = start_dhcp(bootd, problem);
	if (rc == 0)
		rc = bootd_start_boot(bootd, problem);
	if (rc == 0)
		rc = bootd_start_arp(bootd, problem);
	if (rc == 0)
		rc = bootd_start_metrics(bootd, problem);
	if (rc == 0)
		rc = process_drop_privileges(bootd->conf->user, problem);
	bootd->works = rc == 0;
	return rc;
}

static void bootd_flush(struct bootd *bootd)
{
	int64_t until_ms = clock_monotonic_ms() + STOP_WAIT_MS;

	observations_flush(bootd->observations);
	sightings_flush(bootd->sightings);
	while (!dhcp_flush(bootd->dhcp) ||
	       (db_connected(bootd->db) && db_in_flight(bootd->db) > 0)) {
		if (clock_monotonic_ms() >= until_ms) {
			log_warn(SUBJECT,
				 "stopped before the database had everything; expiry times "
				 "or observations of the last second are lost");
			break;
		}
		loop_run_once(bootd->loop);
	}
}

/* Callbacks of what is in flight come out of db_free, so their receivers go after it. */
static void bootd_stop(void *state)
{
	struct bootd *bootd = state;

	if (bootd->works)
		bootd_flush(bootd);
	http_server_free(bootd->metrics);
	ra_server_free(bootd->ra);
	arp_proxy_free(bootd->arp);
	db_free(bootd->db);
	boot_free(bootd->boot);
	tls_free(bootd->tls);
	dhcp_free(bootd->dhcp);
	identities_free(bootd->identities);
	unknown_circuits_free(bootd->circuits);
	sightings_free(bootd->sightings);
	observations_free(bootd->observations);
	inventory_store_free(bootd->inventory_store);
	cable_free(bootd->cable);
	inventory_free(bootd->inventory);
}

const struct daemon_spec bootd_daemon = {
	.name = "bampi-bootd",
	.summary = "answers nodes that boot: DHCP, TFTP, HTTP",
	.default_conf = "/etc/haas/bampi-bootd.conf",
	.conf = &bootd_conf_table,
	.start = bootd_start,
	.stop = bootd_stop,
	.reload = bootd_reload,
	.state_size = sizeof(struct bootd),
};
