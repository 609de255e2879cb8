/* The states of the schema that several programs read, one enum and one table of words each
 * (docs/vocabulary.md). The tables end with NULL, which enum_value() passes over and lists of
 * allowed words need. */
#pragma once

enum node_state {
	NODE_DISCOVERED,
	NODE_FREE,
	NODE_RESERVED,
	NODE_ACTIVE,
	NODE_SCRUBBING,
	NODE_BROKEN,
	NODE_HELD,
	NODE_STATE_COUNT
};

enum node_firmware { FIRMWARE_BIOS, FIRMWARE_UEFI, FIRMWARE_COUNT };
/* What the network may start on a node. */
enum node_secure_boot {
	SECURE_BOOT_OFF,      /* anything */
	SECURE_BOOT_SIGNED,   /* what the site's key has signed: docs/secure-boot.md */
	SECURE_BOOT_ATTESTED, /* and its TPM has to prove that */
	SECURE_BOOT_COUNT
};
enum node_arch { ARCH_X86_64, ARCH_ARM64, ARCH_COUNT };

enum deployment_state {
	DEPLOYMENT_QUEUED,
	DEPLOYMENT_WAITING,
	DEPLOYMENT_CANCELLING,
	DEPLOYMENT_DONE,
	DEPLOYMENT_FAILED,
	DEPLOYMENT_CANCELLED,
	DEPLOYMENT_CLEARED,
	DEPLOYMENT_STATE_COUNT
};

/* What a node is to start next (boot_intent.target); NONE: its state decides. */
enum intent_target { INTENT_NONE, INTENT_AGENT, INTENT_DISK, INTENT_TARGET_COUNT };

extern const char *const node_state_words[NODE_STATE_COUNT + 1];
extern const char *const node_firmware_words[FIRMWARE_COUNT + 1];
extern const char *const node_secure_boot_words[SECURE_BOOT_COUNT + 1];
extern const char *const node_arch_words[ARCH_COUNT + 1];
extern const char *const deployment_state_words[DEPLOYMENT_STATE_COUNT + 1];
extern const char *const intent_target_words[INTENT_TARGET_COUNT + 1];
