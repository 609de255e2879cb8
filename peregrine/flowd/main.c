#include "common/base/macros.h"
#include "common/io/daemon.h"

#include "peregrine/flowd/flowd.h"

int main(int argc, char **argv)
{
	const struct daemon_spec spec = {
		.name = "peregrine-flowd",
		.summary = "traffic: receives sFlow, finds its tenants, sums it up",
		.default_conf = "/etc/haas/peregrine-flowd.conf",
		.rows = flowd_conf_rows,
		.row_count = flowd_conf_row_count,
		.check = flowd_conf_check,
		.start = flowd_start,
		.stop = flowd_stop,
		.reload = flowd_reload,
		.values_size = sizeof(struct flowd_conf),
	};

	return daemon_main(&spec, argc, argv);
}
