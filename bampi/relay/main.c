#include "common/base/macros.h"
#include "common/io/daemon.h"

#include "bampi/relay/relay.h"

int main(int argc, char **argv)
{
	const struct daemon_spec spec = {
		.name = "bampi-relay",
		.summary = "stands in for bampi-bootd in a remote segment: DHCP relay, boot cache",
		.default_conf = "/etc/haas/bampi-relay.conf",
		.rows = relay_conf_rows,
		.row_count = relay_conf_row_count,
		.check = relay_conf_check,
		.start = relay_start,
		.stop = relay_stop,
		.values_size = sizeof(struct relay_conf),
	};

	return daemon_main(&spec, argc, argv);
}
