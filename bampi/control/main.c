#include "common/base/macros.h"
#include "common/io/daemon.h"

#include "bampi/control/bampid.h"

int main(int argc, char **argv)
{
	const struct daemon_spec spec = {
		.name = "bampid",
		.summary = "step runner, BMCs, consoles and certificates",
		.default_conf = "/etc/haas/bampid.conf",
		.rows = bampid_conf_rows,
		.row_count = bampid_conf_row_count,
		.check = bampid_conf_check,
		.start = bampid_start,
		.stop = bampid_stop,
		.reload = bampid_reload,
		.values_size = sizeof(struct bampid_conf),
	};

	return daemon_main(&spec, argc, argv);
}
