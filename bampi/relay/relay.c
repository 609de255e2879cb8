#include "bampi/relay/relay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/http/local_server.h"
#include "common/http/metrics.h"
#include "common/http/server.h"
#include "common/http/tls.h"
#include "common/io/arp_proxy.h"
#include "common/io/daemon.h"
#include "common/io/log.h"
#include "common/io/process.h"
#include "common/io/ra_server.h"

#include "bampi/relay/cache/boot_cache.h"
#include "bampi/relay/dhcp/dhcp_relay.h"

struct relay {
	struct loop *loop;
	const struct relay_conf *conf;
	struct dhcp_relay *dhcp;
	struct boot_cache *boot;
	struct tls *served, *asked; /* as server and as client; NULL: no certificate */
	struct ra_server *ra;
	struct arp_proxy *arp;
	struct arp_proxy_counters arp_counters;
	struct http_server *metrics;
};

static void relay_answer_metrics(void *context, struct http_request *request)
{
	struct relay *relay = context;
	CLEANUP(text_done) struct text text = {0};
	size_t count;
	const struct metric_row *rows = dhcp_relay_metric_rows(&count);

	if (relay->dhcp)
		metrics_add(&text, rows, count, dhcp_relay_metric_values(relay->dhcp));
	if (relay->arp)
		metrics_add(&text, relay_arp_rows, relay_arp_row_count, &relay->arp_counters);
	rows = boot_cache_metric_rows(&count);
	if (relay->boot)
		metrics_add(&text, rows, count, boot_cache_metric_values(relay->boot));
	metrics_end(&text);
	local_server_answer_metrics(request, &text);
}

static int relay_start_metrics(struct relay *relay, struct problem *problem)
{
	static const struct http_route routes[] = {{HTTP_GET, "/metrics", relay_answer_metrics}};
	const struct http_server_options options = {
		.routes = routes, .route_count = COUNT_OF(routes), .context = relay};

	if (relay->conf->metrics_socket[0] == '\0')
		return 0;
	return local_server_new(relay->loop, &options, relay->conf->metrics_socket, &relay->metrics,
				problem);
}

/* What an interface needs before its nodes can fetch anything. */
static int start_interfaces(struct relay *relay, struct problem *problem)
{
	const struct dhcp_relay_options options = relay_conf_dhcp(relay->conf);

	if (relay->conf->ra_interfaces[0]) {
		int rc = ra_server_new(relay->loop, (const char *const *)relay->conf->ra_interfaces,
				       &relay->ra, problem);

		if (rc)
			return rc;
	}
	if (!relay->conf->dhcp.servers[0])
		return 0;
	return dhcp_relay_new(relay->loop, &options, &relay->dhcp, problem);
}

static int relay_start_arp(struct relay *relay, struct problem *problem)
{
	struct ipv4_prefix prefixes[RELAY_ARP_PREFIXES];
	struct arp_proxy_options options = {
		.interfaces = (const char *const *)relay->conf->arp.interfaces,
		.prefixes = prefixes,
	};
	int rc = relay_conf_arp(relay->conf, prefixes, &options.prefix_count, problem);

	if (rc || !relay->conf->arp.interfaces[0])
		return rc;
	return arp_proxy_new(relay->loop, &options, &relay->arp_counters, &relay->arp, problem);
}

static int relay_start_tls(struct relay *relay, struct problem *problem)
{
	const struct conf_tls *conf = &relay->conf->tls;
	const struct tls_files files = {
		.certificate = conf->certificate, .key = conf->key, .ca = conf->ca};
	int rc;

	if (!conf->certificate[0])
		return 0;
	rc = tls_new(TLS_SERVER, &files, &relay->served, problem);
	return rc ? rc : tls_new(TLS_CLIENT, &files, &relay->asked, problem);
}

static void relay_reload(void *state)
{
	struct relay *relay = state;
	struct problem problem = {0};
	int rc = relay->served ? tls_reload(relay->served, &problem) : 0;

	if (rc == 0 && relay->asked)
		rc = tls_reload(relay->asked, &problem);
	if (rc)
		log_problem(LOG_LEVEL_ERROR, "bampi-relay", &problem);
}

static int relay_start_boot(struct relay *relay, struct problem *problem)
{
	const struct relay_conf *conf = relay->conf;
	const struct boot_cache_options options = {
		.controller = conf->controller,
		.http_address = conf->http.address,
		.http_port = (uint16_t)conf->http.port,
		.served = relay->served,
		.asked = relay->asked,
		.https_port = (uint16_t)conf->https_port,
		.https_only = relay->served && conf->tls.mode == CONF_TLS_REQUIRED,
		.tftp = conf->tftp,
		.folder = conf->cache.folder,
		.limit = (uint64_t)conf->cache.limit_mib << 20,
		.keep = (const char *const *)conf->cache.keep,
	};

	if (!conf->controller[0])
		return 0;
	return boot_cache_new(relay->loop, &options, &relay->boot, problem);
}

static void relay_stop(void *state)
{
	struct relay *relay = state;

	http_server_free(relay->metrics);
	boot_cache_free(relay->boot);
	tls_free(relay->served);
	tls_free(relay->asked);
	dhcp_relay_free(relay->dhcp);
	arp_proxy_free(relay->arp);
	ra_server_free(relay->ra);
}

static int relay_start(void *state, struct loop *loop, const void *values, struct problem *problem)
{
	struct relay *relay = state;
	int rc;

	relay->loop = loop;
	relay->conf = values;
	rc = start_interfaces(relay, problem);
	if (rc == 0)
		rc = relay_start_arp(relay, problem);
	if (rc == 0)
		rc = relay_start_tls(relay, problem);
	if (rc == 0)
		rc = relay_start_boot(relay, problem);
	if (rc == 0)
		rc = relay_start_metrics(relay, problem);
	if (rc == 0)
		rc = process_drop_privileges(relay->conf->user, problem);
	if (rc == 0 && relay->boot)
		rc = boot_cache_open(relay->boot, problem);
	return rc;
}

const struct daemon_spec relay_daemon = {
	.name = "bampi-relay",
	.summary = "stands in for bampi-bootd in a remote segment: DHCP relay, boot cache",
	.default_conf = "/etc/haas/bampi-relay.conf",
	.conf = &relay_conf_table,
	.start = relay_start,
	.stop = relay_stop,
	.reload = relay_reload,
	.state_size = sizeof(struct relay),
};
