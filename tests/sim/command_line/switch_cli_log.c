#include "tests/sim/command_line/switch_cli_log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct cli_log_port {
	unsigned untagged;
	struct vlan_set tagged;
};

struct cli_log {
	FILE *file;
	struct cli_log_port ports[CLI_PORTS_MAX + 1]; /* [0] is unused */
	struct vlan_set vlans;
	bool is_saved;
};

static struct cli_log_port switch_cli_log_port(const struct cli_store *store, unsigned number)
{
	struct cli_log_port port = {0};

	cli_store_membership(store, &store->running->ports[number], &port.untagged, &port.tagged);
	return port;
}

int cli_log_new(const char *path, const struct cli_store *store, struct cli_log **ret)
{
	struct cli_log *log = calloc(1, sizeof(*log));
	int rc;

	if (!log)
		return -ENOMEM;
	log->file = fopen(path, "ae");
	if (!log->file) {
		rc = -errno;
		free(log);
		return rc;
	}
	for (unsigned n = 1; n <= store->port_count; n++)
		log->ports[n] = switch_cli_log_port(store, n);
	log->vlans = store->running->vlans;
	log->is_saved = store->is_saved;
	*ret = log;
	return 0;
}

void cli_log_free(struct cli_log *log)
{
	if (!log)
		return;
	(void)fclose(log->file);
	free(log);
}

static void switch_cli_log_begin(struct cli_log *log, const char *peer, const char *what)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	(void)fprintf(log->file, "%lld.%06ld %s %s", (long long)now.tv_sec, now.tv_nsec / 1000,
		      peer, what);
}

void cli_log_session(struct cli_log *log, const char *peer)
{
	switch_cli_log_begin(log, peer, "session\n");
	(void)fflush(log->file);
}

static void switch_cli_log_ports(struct cli_log *log, const struct cli_store *store,
				 const char *peer)
{
	for (unsigned n = 1; n <= store->port_count; n++) {
		struct cli_log_port now = switch_cli_log_port(store, n);
		const char *between = " ";

		if (memcmp(&now, &log->ports[n], sizeof(now)) == 0)
			continue;
		log->ports[n] = now;
		switch_cli_log_begin(log, peer, "port");
		(void)fprintf(log->file, now.untagged ? " %u %u" : " %u -", n, now.untagged);
		for (unsigned v = vlan_set_next(&now.tagged, 1); v;
		     v = vlan_set_next(&now.tagged, v + 1), between = ",")
			(void)fprintf(log->file, "%s%u", between, v);
		(void)fputs(vlan_set_is_empty(&now.tagged) ? " -\n" : "\n", log->file);
	}
}

static void switch_cli_log_vlans(struct cli_log *log, const struct cli_store *store,
				 const char *peer)
{
	const struct vlan_set now = store->running->vlans;

	for (unsigned v = 1; v < VLAN_LIMIT; v++) {
		if (vlan_set_has(&now, v) == vlan_set_has(&log->vlans, v))
			continue;
		switch_cli_log_begin(log, peer, "vlan");
		(void)fprintf(log->file, " %u %s\n", v, vlan_set_has(&now, v) ? "made" : "gone");
	}
	log->vlans = now;
}

void cli_log_turn(struct cli_log *log, const struct cli_store *store, const char *peer)
{
	switch_cli_log_vlans(log, store, peer);
	switch_cli_log_ports(log, store, peer);
	if (store->is_saved && !log->is_saved)
		switch_cli_log_begin(log, peer, "saved\n");
	log->is_saved = store->is_saved;
	(void)fflush(log->file);
}
