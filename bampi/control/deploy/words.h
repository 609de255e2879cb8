/* The words of the schema that steps decide about, as enums with one table of texts each. */
#pragma once

#include <stddef.h>

enum plan { PLAN_INSPECT, PLAN_INSTALL, PLAN_REINSTALL, PLAN_RELEASE, PLAN_CANCEL, PLAN_COUNT };

enum step_id {
	STEP_NETBOOT,
	STEP_AGENT,
	STEP_INVENTORY,
	STEP_WRITE_IMAGE,
	STEP_CONFIGURE_OS,
	STEP_LOCAL_BOOT,
	STEP_VERIFY,
	STEP_SCRUB,
	STEP_VERIFY_SCRUBBED,
	STEP_POWER_OFF,
	STEP_FREE,
	STEP_ABANDON,
	STEP_COUNT
};

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

/* Those that steps fire; people's events never come from here. */
enum node_event {
	NODE_EVENT_NONE,
	NODE_EVENT_ACTIVATE,
	NODE_EVENT_SCRUBBED,
	NODE_EVENT_ABANDON,
	NODE_EVENT_HOLD,
	NODE_EVENT_COUNT
};

enum intent_target { INTENT_NONE, INTENT_AGENT, INTENT_DISK, INTENT_TARGET_COUNT };

enum seen {
	SEEN_DHCP,
	SEEN_TFTP,
	SEEN_SCRIPT,
	SEEN_KERNEL,
	SEEN_RAMDISK,
	SEEN_AGENT,
	SEEN_IMAGE,
	SEEN_CALLBACK,
	SEEN_COUNT
};

enum task_kind {
	TASK_NONE,
	TASK_INVENTORY,
	TASK_WRITE_IMAGE,
	TASK_CONFIGURE_OS,
	TASK_ERASE,
	TASK_VERIFY_ERASED,
	TASK_POWER_OFF,
	TASK_KIND_COUNT
};

enum task_state { TASK_QUEUED, TASK_TAKEN, TASK_DONE, TASK_FAILED, TASK_DROPPED, TASK_STATE_COUNT };

extern const char *const plan_words[PLAN_COUNT];
extern const char *const deployment_state_words[DEPLOYMENT_STATE_COUNT];
extern const char *const node_state_words[NODE_STATE_COUNT];
extern const char *const node_event_words[NODE_EVENT_COUNT];
extern const char *const intent_target_words[INTENT_TARGET_COUNT];
extern const char *const seen_words[SEEN_COUNT];
extern const char *const task_kind_words[TASK_KIND_COUNT];
extern const char *const task_state_words[TASK_STATE_COUNT];
