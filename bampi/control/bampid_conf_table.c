#include <stddef.h>

#include "common/base/error.h"
#include "common/io/conf_rows.h"

#include "bampi/control/bampid.h"
#include "bampi/control/consoles.h"

#define BAMPID_CONF_TABLE_AT(member) offsetof(struct bampid_conf, member)
/* How long one attempt of a step may take; the numbers are those of step_table (plan_table.c). */
#define DEADLINE(step, name, seconds, help)                                                 \
	{                                                                                   \
		"deadline." name, CONF_INT, offsetof(struct bampid_conf, deadline_s[step]), \
			seconds, 1, 604800, NULL, "seconds", help                           \
	}
/* How often; all BMCs are spread evenly over it. */
#define REFRESH(class, name, seconds, help)                                                \
	{                                                                                  \
		"refresh." name, CONF_INT, offsetof(struct bampid_conf, refresh_s[class]), \
			seconds, 0, 604800, NULL, "seconds", help "; 0 = never"            \
	}

/* clang-format off */
static const struct conf_row bampid_conf_rows[] = {
	CONF_ROW_DATABASE(BAMPID_CONF_TABLE_AT(database), "bampid"),
	CONF_ROW_USER(BAMPID_CONF_TABLE_AT(user), "haas-bampid"),
	{"name", CONF_STRING, BAMPID_CONF_TABLE_AT(name), "", 0, 0, NULL, NULL, "of this bampid among several, in claims; empty = host and process id"},
	{"socket.path", CONF_TEXT, BAMPID_CONF_TABLE_AT(socket_path), "/run/haas/bampid/socket", 0, 0, NULL, NULL, "where consoles and metrics are served"},
	CONF_ROW_SOCKET_CALLER(BAMPID_CONF_TABLE_AT(socket_caller)),
	{"key_dir", CONF_TEXT, BAMPID_CONF_TABLE_AT(key_dir), "/var/lib/haas/bampid/keys", 0, 0, NULL, NULL,
	 "folder of bampid-seal.key (opens BMC passwords), bampid-certificate.key and bampid-task.key (signs the agents' tasks), made when missing"},
	{"image_keys", CONF_STRING, BAMPID_CONF_TABLE_AT(image_keys), "/etc/haas/image-keys", 0, 0, NULL, NULL, "folder of public keys (NAME.pub) that may sign images"},
	{"signed_images", CONF_STRING, BAMPID_CONF_TABLE_AT(signed_images), "/var/lib/haas/boot", 0, 0, NULL, NULL, "folder with what the site's signed images measure (agent.efi.pcr11)"},
	{"console_dir", CONF_STRING, BAMPID_CONF_TABLE_AT(console_dir), "/var/lib/haas/bampid/consoles", 0, 0, NULL, NULL,
	 "folder where the last 64 KiB of each node's console are kept; empty = nowhere"},
	{"console_watch", CONF_ENUM, BAMPID_CONF_TABLE_AT(console_watch), "work", 0, 0, console_watch_words, NULL,
	 "consoles listened to: work = while a deployment works on the node; unrented = also of nodes without a tenant; all = also tenants'"},
	{"console_sessions", CONF_INT, BAMPID_CONF_TABLE_AT(console_sessions), "1000", 1, 100000, NULL, "consoles",
	 "listened to at once, about 140 KB each; the others wait for a seat, but one that a person opens begins at once"},
	{"boot_http_port", CONF_INT, BAMPID_CONF_TABLE_AT(boot_http_port), "8080", 1, 65535, NULL, "port", "http_port of bampi-bootd, for callback URLs"},
	{"bmc_workers", CONF_INT, BAMPID_CONF_TABLE_AT(bmc_workers), "16", 1, 256, NULL, "threads",
	 "for calls that block: sensor records, FRU, users of BMCs, libvirt; power and readings need none"},
	REFRESH(REFRESH_POWER, "power", "60", "each BMC is asked for the power of its node this often"),
	REFRESH(REFRESH_SENSORS, "sensors", "300", "for its sensors"),
	REFRESH(REFRESH_SEL, "sel", "300", "for new entries of its event log"),
	REFRESH(REFRESH_INFO, "info", "86400", "for its firmware version"),
	REFRESH(REFRESH_FRU, "fru", "86400", "for its inventory (FRU)"),
	{"bmc_session_keep", CONF_INT, BAMPID_CONF_TABLE_AT(bmc_session_keep_s), "150", 0, 86400, NULL, "seconds",
	 "an unused session at a BMC is kept so long; 0 = it is closed after each call"},
	{"bmc_patience", CONF_INT, BAMPID_CONF_TABLE_AT(bmc_patience_s), "120", 0, 3600, NULL, "seconds",
	 "a BMC that does not answer is asked again for so long before an attempt has failed"},
	{"bmc_ca_file", CONF_STRING, BAMPID_CONF_TABLE_AT(bmc_ca_file), "", 0, 0, NULL, NULL,
	 "PEM file of the CAs of Redfish BMCs without a fingerprint; empty = the system's"},
	{"sim_rack", CONF_STRING, BAMPID_CONF_TABLE_AT(sim_rack), "", 0, 0, NULL, NULL, "file of the simulated rack for BMCs with driver sim; empty = none"},
	{"claim", CONF_INT, BAMPID_CONF_TABLE_AT(claim_s), "30", 2, 3600, NULL, "seconds", "after so long without a sign of life another bampid takes over"},
	{"poll", CONF_INT, BAMPID_CONF_TABLE_AT(poll_s), "20", 1, 3600, NULL, "seconds", "a waiting deployment is looked at this often even if nothing wakes it"},
	{"seal", CONF_INT, BAMPID_CONF_TABLE_AT(seal_s), "10", 1, 3600, NULL, "seconds", "events are sealed in signed blocks this often"},
	{"backoff", CONF_INT, BAMPID_CONF_TABLE_AT(backoff_s), "5", 0, 3600, NULL, "seconds", "before the second attempt of a step; doubles from there"},
	{"settle", CONF_INT, BAMPID_CONF_TABLE_AT(settle_s), "6", 0, 20, NULL, "seconds", "after cancel, before the power is read once more"},
	{"let_down", CONF_INT, BAMPID_CONF_TABLE_AT(let_down_s), "90", 5, 3600, NULL, "seconds",
	 "a node that took an address and then asked for no boot file for so long is started again, 3 times at most"},
	{"agent.fresh", CONF_INT, BAMPID_CONF_TABLE_AT(agent_fresh_s), "60", 2, 3600, NULL, "seconds", "an agent that said nothing for so long is not counted on"},
	{"agent.stall", CONF_INT, BAMPID_CONF_TABLE_AT(agent_stall_s), "120", 2, 86400, NULL, "seconds", "an agent that works and says nothing for so long is lost"},
	DEADLINE(STEP_NETBOOT, "netboot", "900", "power on to our boot script"),
	DEADLINE(STEP_AGENT, "agent", "300", "boot script to agent"),
	DEADLINE(STEP_INVENTORY, "inventory", "180", "inventory by the agent"),
	DEADLINE(STEP_WRITE_IMAGE, "write_image", "7200", "writing the image"),
	DEADLINE(STEP_CONFIGURE_OS, "configure_os", "300", "configuring the written OS"),
	DEADLINE(STEP_PUT_PACKAGES, "put_packages", "7200", "bringing packages into the written OS"),
	DEADLINE(STEP_LOCAL_BOOT, "local_boot", "300", "power cycle to the disk"),
	DEADLINE(STEP_VERIFY, "verify", "900", "power cycle to the callback of the OS"),
	DEADLINE(STEP_SCRUB, "scrub", "86400", "erasing all drives"),
	DEADLINE(STEP_VERIFY_SCRUBBED, "verify_scrubbed", "3600", "reading erased drives back"),
	DEADLINE(STEP_POWER_OFF, "power_off", "120", "switching off (45 s at most in a cancel)"),
	DEADLINE(STEP_FREE, "free", "60", "certificate and new state"),
	DEADLINE(STEP_ABANDON, "abandon", "60", "new state after a cancel"),
	DEADLINE(STEP_ISOLATE, "isolate", "300", "switches: into the provisioning network"),
	DEADLINE(STEP_ATTACH, "attach", "300", "switches: into the tenant's networks"),
	DEADLINE(STEP_DETACH, "detach", "300", "switches: off every network, before a release"),
	DEADLINE(STEP_STOP, "stop", "120", "switching off before a release"),
	DEADLINE(STEP_PARK, "park", "300", "switches: off every network, after an inspect"),
};
/* clang-format on */

static int bampid_conf_check(const void *values, struct problem *problem)
{
	const struct bampid_conf *conf = values;

	if (conf->agent_stall_s < conf->agent_fresh_s) {
		(void)problem_set(problem, E_MALFORMED, "agent.stall is shorter than agent.fresh");
		problem_hint(problem, "a working agent may be silent for longer than an idle one");
		return problem->code;
	}
	return 0;
}

const struct conf_table bampid_conf_table = {
	.rows = bampid_conf_rows,
	.count = COUNT_OF(bampid_conf_rows),
	.values_size = sizeof(struct bampid_conf),
	.check = bampid_conf_check,
};
