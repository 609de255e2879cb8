#include <stddef.h>

#include "common/base/error.h"
#include "common/io/conf_rows.h"

#include "bampi/storage/driver/storage_driver.h"
#include "bampi/storage/stored.h"

#define AT(member) offsetof(struct stored_conf, member)

/* clang-format off */
static const struct conf_row stored_conf_rows[] = {
	CONF_ROW_DATABASE(AT(database), "bampi_stored"),
	CONF_ROW_USER(AT(user), "haas-stored"),
	{"storage", CONF_STRING, AT(storage), "", 0, 0, NULL, NULL, "which of the storages this is (haasctl storage list)"},
	{"dir", CONF_STRING, AT(dir), "/var/lib/haas/bampi-stored/storage", 0, 0, NULL, NULL, "where volumes and archives lie; on a disk of its own"},
	{"key_dir", CONF_TEXT, AT(key_dir), "/var/lib/haas/bampi-stored/keys", 0, 0, NULL, NULL,
	 "folder of stored-seal.key (opens the secrets of volumes), made when missing"},
	{"driver", CONF_STRING, AT(driver), "tgt", 0, 0, NULL, NULL, "the target software"},
	{"control", CONF_TEXT, AT(control), "/run/haas/tgtd/socket.0", 0, 0, NULL, NULL, "its management socket (tgtd: $TGT_IPC_SOCKET and \".0\")"},
	{"uplink", CONF_STRING, AT(uplink), "", 0, 0, NULL, NULL,
	 "interface that is plugged into the port of `haasctl storage set --port`; empty = networks to volumes are not made here"},
	{"network_program", CONF_STRING, AT(network_program), "/usr/lib/haas/storage-network", 0, 0, NULL, NULL,
	 "makes an interface of such a network, and takes it away (docs/decision/way-to-a-volume.md)"},
	{"workers", CONF_INT, AT(workers), "4", 1, 64, NULL, "threads", "volumes that are made, copied or erased at once"},
	{"level", CONF_INT, AT(level), "3", 1, 19, NULL, NULL, "how hard zstd packs an archive"},
	{"checkpoint", CONF_INT, AT(checkpoint_mib), "64", 1, 65536, NULL, "MiB",
	 "of data: an archive or restore that is killed goes on where it was so long ago at most"},
	{"period", CONF_INT, AT(period_ms), "2000", 100, 60000, NULL, "milliseconds", "all volumes are checked this often, also without a request"},
	{"claim", CONF_INT, AT(claim_s), "30", 5, 3600, NULL, "seconds", "after so long without a sign of life another bampi-stored may take the storage over"},
};
/* clang-format on */

static int stored_conf_check(const void *values, struct problem *problem)
{
	const struct stored_conf *conf = values;

	if (!conf->storage[0]) {
		(void)problem_set(problem, E_MALFORMED, "storage is empty");
		problem_hint(problem,
			     "give the name that haasctl storage set has for this machine");
		return E_MALFORMED;
	}
	if (conf->dir[0] != '/')
		return problem_set(problem, E_MALFORMED, "dir \"%s\" is not an absolute path",
				   conf->dir);
	if (!storage_driver_find(conf->driver))
		return problem_set(problem, E_MALFORMED, "there is no driver \"%s\"", conf->driver);
	return 0;
}

const struct conf_table stored_conf_table = {
	.rows = stored_conf_rows,
	.count = COUNT_OF(stored_conf_rows),
	.values_size = sizeof(struct stored_conf),
	.check = stored_conf_check,
};
