/* One simulated node between its BMC (the shared rack of driver sim) and the database (what
 * bampi-bootd would write): firmware, agent and installed OS as a small state machine. Pure but for
 * the clock that is handed in. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/hex.h"

enum sim_phase { SIM_OFF, SIM_POST, SIM_LOADING, SIM_AGENT, SIM_STARTING, SIM_OS, SIM_STUCK };

/* What the node was told to do wrong; words in the faults file, "NAME WORD" per line. */
enum sim_word {
	SIM_NO_DHCP = 1 << 0,       /* no_dhcp: its NIC is not cabled */
	SIM_NO_SCRIPT = 1 << 1,     /* no_script: stops after DHCP */
	SIM_NO_AGENT = 1 << 2,      /* no_agent: the ramdisk does not come up */
	SIM_NO_CALLBACK = 1 << 3,   /* no_callback: the OS does not come up */
	SIM_BMC_DEAD = 1 << 4,      /* bmc_dead */
	SIM_BMC_SLOW = 1 << 5,      /* bmc_slow: power takes 2.5 s */
	SIM_BAD_DRIVE = 1 << 6,     /* bad_drive: one drive cannot be erased */
	SIM_LYING_DRIVE = 1 << 7,   /* lying_drive: one drive says erased and is not */
	SIM_NO_TASK = 1 << 8,       /* no_task: the agent calls but takes no task */
	SIM_BAD_INVENTORY = 1 << 9, /* bad_inventory: nonsense in its inventory */
	SIM_SMALL_DRIVE = 1 << 10   /* small_drive: one drive hides half of itself */
};

struct sim_task {
	int64_t id; /* 0 = none */
	char kind[24];
	char params_callback[64];      /* configure_os: the nonce */
	char digest[DIGEST_TEXT_SIZE]; /* write_image: of the manifest */
	int64_t until_ms;
	bool is_told; /* the database has it as taken */
};

struct sim_node_state {
	int number; /* node s<number>, BMC 10.99.<hi>.<lo> */
	int64_t node_id;
	enum sim_phase phase;
	int64_t until_ms;
	uint64_t starts; /* as seen in the rack */
	unsigned faults;
	char hold[24]; /* a task kind that never ends: "hold:erase" */
	char fail[24]; /* a task kind that fails: "fail:erase" */
	char die[24];  /* the agent dies when it takes this kind: "die:write_image" */

	/* The boot intent, as last read. */
	char target[8];
	char token[TOKEN_TEXT_SIZE];
	char nonce[TOKEN_TEXT_SIZE];
	char node_state[16];

	char agent_token[TOKEN_TEXT_SIZE];
	int64_t spoke_ms; /* the agent's last poll */
	char disk_nonce[TOKEN_TEXT_SIZE];
	bool called;
	struct sim_task task;

	/* What is to be written now. */
	unsigned seen; /* bits 1 << enum sim_seen */
	bool wants_off;
};

enum sim_seen {
	SIM_SEEN_DHCP,
	SIM_SEEN_SCRIPT,
	SIM_SEEN_KERNEL,
	SIM_SEEN_RAMDISK,
	SIM_SEEN_AGENT,
	SIM_SEEN_CALLBACK,
	SIM_SEEN_COUNT
};
extern const char *const sim_seen_words[SIM_SEEN_COUNT];

struct sim_times {
	int64_t post_ms, load_ms, start_ms, task_ms;
};

/* power: as the rack says; starts: its power-ons and resets; `boots_disk`: of this start. */
void sim_node_tick(struct sim_node_state *node, bool power, uint64_t starts, bool boots_disk,
		   const struct sim_times *times, int64_t now_ms);
/* The agent listens and has nothing to do. */
bool sim_node_idle(const struct sim_node_state *node);
/* One word of the faults file; false when it means nothing. */
bool sim_node_fault(struct sim_node_state *node, const char *word);
