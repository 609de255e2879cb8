/* Words of the schema that steps alone decide about, as enums with one table of texts each. The
 * others stand in common/model/vocabulary.h. */
#pragma once

#include <stddef.h>

#include "common/model/vocabulary.h"

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
	STEP_ISOLATE,
	STEP_ATTACH,
	STEP_DETACH,
	STEP_STOP,
	STEP_PARK,
	STEP_PUT_PACKAGES,
	STEP_COUNT
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

enum seen {
	SEEN_DHCP,
	SEEN_TFTP,
	SEEN_SCRIPT,
	SEEN_KERNEL,
	SEEN_RAMDISK,
	SEEN_AGENT,
	SEEN_IMAGE,
	SEEN_CALLBACK,
	SEEN_LOADER,
	SEEN_COUNT
};

enum task_kind {
	TASK_NONE,
	TASK_INVENTORY,
	TASK_WRITE_IMAGE,
	TASK_CONFIGURE_OS,
	TASK_PUT_PACKAGES,
	TASK_ERASE,
	TASK_VERIFY_ERASED,
	TASK_POWER_OFF,
	TASK_ATTEST,
	TASK_KIND_COUNT
};

/* Where a node's ports are meant to lead (node_place.place). */
enum place { PLACE_NONE, PLACE_PARKING, PLACE_PROVISIONING, PLACE_TENANT, PLACE_COUNT };

/* For what a step waits: its own work as usual, or something outside of it. */
enum wait_kind {
	WAIT_WORK,
	WAIT_RETRY,
	WAIT_BMC,
	WAIT_AGENT,
	WAIT_CONSOLE,
	WAIT_SWITCH,
	WAIT_STORAGE,
	WAIT_KIND_COUNT
};

enum task_state { TASK_QUEUED, TASK_TAKEN, TASK_DONE, TASK_FAILED, TASK_DROPPED, TASK_STATE_COUNT };

extern const char *const plan_words[PLAN_COUNT];
extern const char *const node_event_words[NODE_EVENT_COUNT];
extern const char *const seen_words[SEEN_COUNT];
extern const char *const place_words[PLACE_COUNT];
extern const char *const task_kind_words[TASK_KIND_COUNT];
extern const char *const task_state_words[TASK_STATE_COUNT];
extern const char *const wait_kind_words[WAIT_KIND_COUNT];
