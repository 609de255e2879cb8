#include "portal/server/word_table.h"

#include <stddef.h>

const char *const node_event_request_words[] = {"accept", "hold",   "unhold",
						"break",  "repair", NULL};
const char *const node_action_words[] = {
	"power_on",     "power_off",   "power_cycle", "power_reset", "power_soft",
	"power_status", "boot_device", "identify",    "sensors",     "sel",
	"fru",          "users",       "lan",         NULL};
const char *const bmc_driver_words[] = {"ipmi", "redfish", "libvirt", "sim", NULL};
const char *const bmc_tls_words[] = {"verify", "unverified", "off", NULL};
const char *const bmc_workaround_words[] = {"authcap",         "intel20",
					    "supermicro20",    "sun20",
					    "opensesspriv",    "integritycheckvalue",
					    "nochecksumcheck", NULL};
const char *const boot_device_words[] = {"none", "pxe", "disk", NULL};
const char *const deployment_action_words[] = {"cancel", "retry", "clear", NULL};
const char *const label_action_words[] = {"add", "acknowledge", "silence", "clear", NULL};
const char *const severity_words[] = {"info", "warning", "critical", NULL};
const char *const effect_words[] = {"no_allocation", "no_automation", NULL};
const char *const plan_request_words[] = {"inspect", "install", "reinstall", "release", NULL};
const char *const image_state_words[] = {"uploading", "ready", "retired", "withdrawn", NULL};
const char *const job_state_words[] = {"running", "done", "failed", NULL};
const char *const order_words[] = {"newest", "oldest", NULL};
const char *const cable_answer_words[] = {"answer", "silence", NULL};
const char *const fabric_repair_words[] = {"repair", "report", NULL};
const char *const switch_role_words[] = {"leaf", "spine", NULL};
const char *const snmp_auth_words[] = {"none", "sha", "sha256", NULL};
const char *const snmp_priv_words[] = {"none", "aes", NULL};
const char *const link_state_words[] = {"confirmed", "claimed", "conflict", "gone", NULL};
const char *const alert_state_words[] = {"open", "silenced", "all", NULL};
const char *const silence_state_words[] = {"open", "all", NULL};
const char *const scheme_words[] = {"machine", "light", "dark", NULL};
const char *const delivery_state_words[] = {"waiting", "delivered", "failed", NULL};
const char *const case_entry_words[] = {"note", "finding", NULL};
const char *const attachment_mode_words[] = {"access", "native", "tagged", NULL};
const char *const network_kind_words[] = {"tenant", "provisioning", "bmc", "quarantine", NULL};
const char *const port_action_words[] = {"park", "release", NULL};
const char *const pdci_action_words[] = {"release", "replace", "lock", "unlock", NULL};
const char *const spare_words[] = {"none", "automatic", NULL};
const char *const pdci_state_words[] = {"requested", "infeasible", "building", "ready",
					"failed",    "releasing",  "released", NULL};
const char *const spread_words[] = {"near", "rack", NULL};
const char *const volume_action_words[] = {"attach", "detach", "resize", "archive", "secret", NULL};
const char *const volume_kind_words[] = {"shared", "local", NULL};
const char *const volume_state_words[] = {"creating",  "restoring", "failed",    "growing",
					  "archiving", "detached",  "attaching", "attached",
					  "detaching", "deleting",  "deleted",   NULL};
const char *const archive_state_words[] = {"archiving", "ready",   "failed",
					   "deleting",  "deleted", NULL};
const char *const grant_kind_words[] = {"image", "package", "archive", NULL};
const char *const limit_kind_words[] = {"nodes",    "volume_bytes", "networks", "images",
					"packages", "image_bytes",  NULL};
const char *const package_kind_words[] = {"deb", "bundle", NULL};
