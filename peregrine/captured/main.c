#include "common/base/macros.h"
#include "common/io/daemon.h"

#include "peregrine/captured/captured.h"

int main(int argc, char **argv)
{
	const struct daemon_spec spec = {
		.name = "peregrine-captured",
		.summary = "captures: starts a process for each, keeps and serves their packets",
		.default_conf = "/etc/haas/peregrine-captured.conf",
		.rows = captured_conf_rows,
		.row_count = captured_conf_row_count,
		.check = captured_conf_check,
		.start = captured_start,
		.stop = captured_stop,
		.values_size = sizeof(struct captured_conf),
	};

	return daemon_main(&spec, argc, argv);
}
