#include "common/base/macros.h"
#include "common/io/daemon.h"

#include "peregrine/control/peregrined.h"

int main(int argc, char **argv)
{
	const struct daemon_spec spec = {
		.name = "peregrined",
		.summary = "tenant networks: finds the fabric, keeps ports as they are wanted",
		.default_conf = "/etc/haas/peregrined.conf",
		.rows = peregrined_conf_rows,
		.row_count = peregrined_conf_row_count,
		.check = peregrined_conf_check,
		.start = peregrined_start,
		.stop = peregrined_stop,
		.reload = peregrined_reload,
		.values_size = sizeof(struct peregrined_conf),
	};

	return daemon_main(&spec, argc, argv);
}
