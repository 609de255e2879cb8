#include "common/base/macros.h"
#include "common/io/daemon.h"

#include "bampi/storage/stored.h"

int main(int argc, char **argv)
{
	const struct daemon_spec spec = {
		.name = "bampi-stored",
		.summary = "volumes: keeps them, serves them to the nodes of their PDCI",
		.default_conf = "/etc/haas/bampi-stored.conf",
		.rows = stored_conf_rows,
		.row_count = stored_conf_row_count,
		.check = stored_conf_check,
		.start = stored_start,
		.stop = stored_stop,
		.reload = stored_reload,
		.values_size = sizeof(struct stored_conf),
	};

	return daemon_main(&spec, argc, argv);
}
