#include "common/model/vocabulary.h"

const char *const node_state_words[NODE_STATE_COUNT + 1] = {
	[NODE_DISCOVERED] = "discovered",
	[NODE_FREE] = "free",
	[NODE_RESERVED] = "reserved",
	[NODE_ACTIVE] = "active",
	[NODE_SCRUBBING] = "scrubbing",
	[NODE_BROKEN] = "broken",
	[NODE_HELD] = "held",
};

const char *const node_firmware_words[FIRMWARE_COUNT + 1] = {
	[FIRMWARE_BIOS] = "bios",
	[FIRMWARE_UEFI] = "uefi",
};

const char *const node_secure_boot_words[SECURE_BOOT_COUNT + 1] = {
	[SECURE_BOOT_OFF] = "off",
	[SECURE_BOOT_SIGNED] = "signed",
	[SECURE_BOOT_ATTESTED] = "attested",
};

const char *const node_arch_words[ARCH_COUNT + 1] = {
	[ARCH_X86_64] = "x86_64",
	[ARCH_ARM64] = "arm64",
};

const char *const deployment_state_words[DEPLOYMENT_STATE_COUNT + 1] = {
	[DEPLOYMENT_QUEUED] = "queued",         [DEPLOYMENT_WAITING] = "waiting",
	[DEPLOYMENT_CANCELLING] = "cancelling", [DEPLOYMENT_DONE] = "done",
	[DEPLOYMENT_FAILED] = "failed",         [DEPLOYMENT_CANCELLED] = "cancelled",
	[DEPLOYMENT_CLEARED] = "cleared",
};

const char *const intent_target_words[INTENT_TARGET_COUNT + 1] = {
	[INTENT_NONE] = "",
	[INTENT_AGENT] = "agent",
	[INTENT_DISK] = "disk",
};
