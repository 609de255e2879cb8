#include "common/base/macros.h"
#include "common/io/daemon.h"

#include "bampi/bootd/bootd.h"

int main(int argc, char **argv)
{
	const struct daemon_spec spec = {
		.name = "bampi-bootd",
		.summary = "answers nodes that boot: DHCP, TFTP, HTTP",
		.default_conf = "/etc/haas/bampi-bootd.conf",
		.rows = bootd_conf_rows,
		.row_count = bootd_conf_row_count,
		.check = bootd_conf_check,
		.start = bootd_start,
		.stop = bootd_stop,
		.values_size = sizeof(struct bootd_conf),
	};

	return daemon_main(&spec, argc, argv);
}
