/* Every step, and what several of them share. */
#pragma once

#include "bampi/control/deploy/step.h"

void step_netboot(const struct facts *facts, int64_t now_ms, struct outcome *ret);
void step_agent(const struct facts *facts, int64_t now_ms, struct outcome *ret);
void step_inventory(const struct facts *facts, int64_t now_ms, struct outcome *ret);
void step_write_image(const struct facts *facts, int64_t now_ms, struct outcome *ret);
void step_configure_os(const struct facts *facts, int64_t now_ms, struct outcome *ret);
void step_put_packages(const struct facts *facts, int64_t now_ms, struct outcome *ret);
void step_local_boot(const struct facts *facts, int64_t now_ms, struct outcome *ret);
void step_verify(const struct facts *facts, int64_t now_ms, struct outcome *ret);
void step_scrub(const struct facts *facts, int64_t now_ms, struct outcome *ret);
void step_verify_scrubbed(const struct facts *facts, int64_t now_ms, struct outcome *ret);
void step_power_off(const struct facts *facts, int64_t now_ms, struct outcome *ret);
void step_free(const struct facts *facts, int64_t now_ms, struct outcome *ret);
void step_isolate(const struct facts *facts, int64_t now_ms, struct outcome *ret);
void step_attach(const struct facts *facts, int64_t now_ms, struct outcome *ret);
void step_park(const struct facts *facts, int64_t now_ms, struct outcome *ret);
void step_abandon(const struct facts *facts, int64_t now_ms, struct outcome *ret);

/* A task for the agent, carried through: posts `kind` when there is none of this step worth waiting
 * for, waits with a stall limit, passes the agent's problem on. True when the newest task is done
 * and was judged by nobody yet: the step looks at facts->task.result and decides. False: *ret is
 * decided. `params` (owned) is only used when the task is posted. */
bool agent_work(const struct facts *facts, int64_t now_ms, enum task_kind kind, json_t *params,
		struct outcome *ret);
/* The attempt is over: bampi-bootd ended the boot (facts_boot_ended). The next begins a new one. */
void agent_work_ended(const struct facts *facts, struct outcome *ret);
/* This attempt did not post the task that is done: a result that was judged bad before is not
 * judged again. */
bool agent_work_is_old(const struct facts *facts);

/* The operator's word that this drive left the node and was destroyed: params.lost_drives. */
bool scrub_drive_lost(const struct facts *facts, const char *key);

/* Asks the BMC for `requests` in order. True when all of them are confirmed. */
bool bmc_work(const struct facts *facts, int64_t now_ms, const struct bmc_request requests[],
	      size_t count, struct outcome *ret);
/* Boot device (the disk for good, the network once) and then `how`, BMC_POWER_CYCLE or
 * BMC_POWER_RESET: a node is made to start anew. */
bool bmc_restart(const struct facts *facts, int64_t now_ms, enum bmc_boot_device device,
		 enum bmc_op how, struct outcome *ret);

/* The element of an array of objects whose member `key` is `value`; NULL when none. */
const json_t *find_by(const json_t *array, const char *key, const char *value);
/* A member as text, never NULL. */
const char *text_of(const json_t *object, const char *key);
