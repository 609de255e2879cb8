/* The BMCs that speak Redfish: all of them behind one listening socket, a node's own by the address
 * that was called. Each is a model of redfish_bmc.h; here is what stands behind it, and what goes
 * wrong with it, by the same seed as with the others. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"

#include "tests/sim/fleet/fleet.h"
#include "tests/sim/redfish/redfish_http.h"

#define PORT_TLS   443
#define PORT_PLAIN 80
#define HOLD_MS    300 /* of a slow one, and how long one is busy after power on or off */

/* --- whose BMC speaks Redfish --- */

/* Spread evenly, whatever the share, and unrelated to what else depends on the index: multiples of
 * the golden ratio. A sheet needs no seed for it. */
bool fleet_is_redfish(const struct fleet_options *options, int index)
{
	uint32_t place = (uint32_t)index * 2654435769U;

	return (double)place / 4294967296.0 < options->redfish;
}

uint16_t fleet_redfish_port(const struct fleet_options *options)
{
	return options->certificate ? PORT_TLS : PORT_PLAIN;
}

/* --- what stands behind one --- */

static bool fleet_redfish_lies(struct fleet_node *node)
{
	return fleet_fault_always(node, FLEET_BMC_LIES);
}

static bool fleet_redfish_node_is_on(void *context)
{
	struct fleet_node *node = context;

	return fleet_redfish_lies(node) ? node->bmc.claims_on : node->bmc.on;
}

static void fleet_redfish_node_boot(void *context, const struct redfish_bmc_boot *boot)
{
	static const struct {
		const char *target;
		uint8_t device; /* as boot flags have it */
	} devices[] = {{"Pxe", 1}, {"UefiHttp", 1}, {"Hdd", 2}};
	struct fleet_node *node = context;
	struct fleet_bmc *bmc = &node->bmc;

	bmc->valid = false;
	bmc->persistent = strcmp(boot->enabled, "Continuous") == 0;
	bmc->efi = strcmp(boot->mode, "UEFI") == 0;
	if (strcmp(boot->enabled, "Disabled") == 0 || fleet_redfish_lies(node))
		return;
	for (size_t i = 0; i < COUNT_OF(devices); i++) {
		if (strcmp(devices[i].target, boot->target) != 0)
			continue;
		bmc->device = devices[i].device;
		bmc->valid = true;
	}
}

static void fleet_redfish_node_power(void *context, enum redfish_bmc_power action)
{
	struct fleet_node *node = context;

	if (fleet_redfish_lies(node)) {
		node->bmc.claims_on = action == REDFISH_BMC_ON || action == REDFISH_BMC_RESTART;
		return;
	}
	switch (action) {
	case REDFISH_BMC_ON: fleet_power(node, true); break;
	case REDFISH_BMC_OFF:
	case REDFISH_BMC_SOFT: fleet_power(node, false); break;
	case REDFISH_BMC_RESTART: fleet_reset(node); break;
	}
}

/* --- what goes wrong --- */

/* For good. */
static uint32_t lasting_faults(struct fleet_node *node)
{
	static const struct {
		enum fleet_fault fault;
		uint32_t bits;
	} rows[] = {
		{FLEET_BMC_DEAD, REDFISH_BMC_HANG},
		{FLEET_BMC_SLOW, REDFISH_BMC_SLOW},
		{FLEET_REDFISH_LAZY, REDFISH_BMC_LAZY},
		{FLEET_REDFISH_BUSY, REDFISH_BMC_NOT_YET_ON | REDFISH_BMC_IN_POST},
		{FLEET_REDFISH_ETAG, REDFISH_BMC_NEEDS_ETAG},
		{FLEET_REDFISH_STALE, REDFISH_BMC_STALE_BOOT},
	};
	uint32_t bits = 0;

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		if (fleet_fault_always(node, rows[i].fault))
			bits |= rows[i].bits;
	}
	return bits;
}

static bool is_login(const struct redfish_bmc_request *request)
{
	return strcmp(request->method, "POST") == 0 && strstr(request->path, "/Sessions");
}

static bool is_reset(const struct redfish_bmc_request *request)
{
	return strcmp(request->method, "POST") == 0 &&
	       strstr(request->path, "/Actions/ComputerSystem.Reset");
}

static bool is_restart(const struct redfish_bmc_request *request)
{
	return is_reset(request) && request->body && strstr(request->body, "Restart");
}

/* For this request. */
static uint32_t passing_faults(struct fleet_node *node, const struct redfish_bmc_request *request)
{
	uint32_t bits = 0;

	if (is_restart(request) && fleet_hold(node, FLEET_AT_RESTART, NULL))
		return REDFISH_BMC_HANG;
	if (is_login(request) && fleet_fault(node, FLEET_BMC_FULL))
		bits |= REDFISH_BMC_SESSION_FULL;
	if (is_reset(request) && fleet_fault(node, FLEET_BMC_DEAF))
		bits |= REDFISH_BMC_IGNORES_POWER;
	if (strcmp(request->method, "GET") == 0 && fleet_fault(node, FLEET_REDFISH_CUT))
		bits |= REDFISH_BMC_CUT;
	return bits;
}

/* --- requests --- */

static void fleet_redfish_count_request(struct fleet_stats *stats,
					const struct redfish_bmc_request *request, int status)
{
	stats->redfish_requests++;
	stats->redfish_basic += request->authorization != NULL;
	stats->redfish_sessions += is_login(request) && status == 201;
	stats->redfish_refused += status == 401 || (is_login(request) && status == 503);
}

static void fleet_redfish_serve(void *context, uint32_t local,
				const struct redfish_bmc_request *request,
				struct redfish_bmc_answer *ret)
{
	struct fleet *fleet = context;
	struct fleet_node *node = fleet_by_bmc(fleet, local);
	struct redfish_bmc_request asked = *request;

	if (!node || !node->redfish) {
		ret->status = 404;
		return;
	}
	asked.faults = passing_faults(node, request);
	redfish_bmc_serve(node->redfish, &asked, ret);
	fleet_redfish_count_request(&fleet->stats, request, ret->status);
}

/* --- start and end --- */

void fleet_redfish_init(struct fleet_node *node)
{
	char name[16];
	char serial[16];
	char uuid[40];
	struct redfish_bmc_options options = {
		.vendor = (enum redfish_bmc_vendor)(node->index / 7 % REDFISH_BMC_VENDOR_COUNT),
		.name = fleet_name(node, name),
		.serial = serial,
		.uuid = uuid,
		.username = FLEET_USER,
		.node = {fleet_redfish_node_is_on, fleet_redfish_node_power,
			 fleet_redfish_node_boot, node},
	};

	if (!fleet_is_redfish(&node->fleet->options, node->index))
		return;
	options.password = fleet_bmc_password(node);
	(void)text_format(serial, sizeof(serial), "FLEET%05d", node->index + 1);
	(void)text_format(uuid, sizeof(uuid), "666c6565-7400-4000-8000-%012d", node->index + 1);
	if (redfish_bmc_new(&options, &node->redfish) != 0)
		abort();
	redfish_bmc_set_faults(node->redfish, lasting_faults(node), HOLD_MS, "");
}

void fleet_redfish_done(struct fleet_node *node)
{
	redfish_bmc_free(node->redfish);
}

void fleet_redfish_count(struct fleet *fleet)
{
	fleet->stats.redfish_open = 0;
	fleet->stats.redfish_peak = 0;
	for (int i = 0; i < fleet->options.count; i++) {
		struct redfish_bmc_state state;

		if (!fleet->nodes[i].redfish)
			continue;
		redfish_bmc_state(fleet->nodes[i].redfish, 0, &state);
		fleet->stats.redfish_open += state.sessions;
		if (state.sessions_peak > fleet->stats.redfish_peak)
			fleet->stats.redfish_peak = state.sessions_peak;
	}
}

int fleet_redfish_listen(struct fleet *fleet, struct problem *problem)
{
	const struct redfish_http_options options = {.certificate = fleet->options.certificate,
						     .serve = fleet_redfish_serve,
						     .context = fleet};
	int rc = 0;

	if (fleet->options.redfish <= 0)
		return 0;
	rc = redfish_http_new(loop_base(fleet->loop), &options, &fleet->redfish, problem);
	if (rc == 0)
		rc = redfish_http_listen(fleet->redfish, 0, fleet_redfish_port(&fleet->options),
					 problem);
	return rc;
}
