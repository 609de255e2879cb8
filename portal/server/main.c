/* portald: the API of the controller. */
#include <stdio.h>
#include <string.h>

#include "common/io/daemon.h"

#include "portal/server/portal.h"
#include "portal/server/route.h"

int main(int argc, char **argv)
{
	const struct daemon_spec spec = {
		.name = "portald",
		.summary =
			"the API: checks requests, writes intent, reads views, relays consoles (--print-routes lists what it answers)",
		.default_conf = "/etc/haas/portald.conf",
		.rows = portal_conf_table,
		.row_count = portal_conf_count,
		.check = portal_conf_check,
		.start = portal_start,
		.stop = portal_stop,
		.reload = portal_reload,
		.values_size = sizeof(struct portal_conf),
	};

	if (argc == 2 && strcmp(argv[1], "--print-routes") == 0) {
		route_print(stdout);
		return 0;
	}
	return daemon_main(&spec, argc, argv);
}
