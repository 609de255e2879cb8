#include "bampi/control/deploy/words.h"

const char *const plan_words[PLAN_COUNT] = {
	[PLAN_INSPECT] = "inspect", [PLAN_INSTALL] = "install", [PLAN_REINSTALL] = "reinstall",
	[PLAN_RELEASE] = "release", [PLAN_CANCEL] = "cancel",
};

const char *const node_event_words[NODE_EVENT_COUNT] = {
	[NODE_EVENT_NONE] = "",
	[NODE_EVENT_ACTIVATE] = "activate",
	[NODE_EVENT_SCRUBBED] = "scrubbed",
	[NODE_EVENT_ABANDON] = "abandon",
	[NODE_EVENT_HOLD] = "hold",
};

const char *const seen_words[SEEN_COUNT] = {
	[SEEN_DHCP] = "dhcp",     [SEEN_TFTP] = "tftp",         [SEEN_SCRIPT] = "script",
	[SEEN_KERNEL] = "kernel", [SEEN_RAMDISK] = "ramdisk",   [SEEN_AGENT] = "agent",
	[SEEN_IMAGE] = "image",   [SEEN_CALLBACK] = "callback", [SEEN_LOADER] = "loader",
};

const char *const place_words[PLACE_COUNT] = {
	[PLACE_NONE] = "",
	[PLACE_PARKING] = "parking",
	[PLACE_PROVISIONING] = "provisioning",
	[PLACE_TENANT] = "tenant",
};

const char *const task_kind_words[TASK_KIND_COUNT] = {
	[TASK_NONE] = "",
	[TASK_INVENTORY] = "inventory",
	[TASK_WRITE_IMAGE] = "write_image",
	[TASK_CONFIGURE_OS] = "configure_os",
	[TASK_PUT_PACKAGES] = "put_packages",
	[TASK_ERASE] = "erase",
	[TASK_VERIFY_ERASED] = "verify_erased",
	[TASK_POWER_OFF] = "power_off",
	[TASK_ATTEST] = "attest",
};

const char *const task_state_words[TASK_STATE_COUNT] = {
	[TASK_QUEUED] = "queued", [TASK_TAKEN] = "taken",     [TASK_DONE] = "done",
	[TASK_FAILED] = "failed", [TASK_DROPPED] = "dropped",
};

const char *const wait_kind_words[WAIT_KIND_COUNT] = {
	[WAIT_WORK] = "work",       [WAIT_RETRY] = "retry",     [WAIT_BMC] = "bmc",
	[WAIT_AGENT] = "agent",     [WAIT_CONSOLE] = "console", [WAIT_SWITCH] = "switch",
	[WAIT_STORAGE] = "storage",
};
