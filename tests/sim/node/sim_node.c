#include "tests/sim/node/sim_node.h"

#include <string.h>

#include "common/base/macros.h"
#include "common/base/text.h"

#define POLL_MS 1000

const char *const sim_seen_words[SIM_SEEN_COUNT] = {"dhcp",    "script", "kernel",
						    "ramdisk", "agent",  "callback"};

static const struct {
	const char *word;
	unsigned bit;
} sim_node_words[] = {
	{"no_dhcp", SIM_NO_DHCP},
	{"no_script", SIM_NO_SCRIPT},
	{"no_agent", SIM_NO_AGENT},
	{"no_callback", SIM_NO_CALLBACK},
	{"bmc_dead", SIM_BMC_DEAD},
	{"bmc_slow", SIM_BMC_SLOW},
	{"bad_drive", SIM_BAD_DRIVE},
	{"lying_drive", SIM_LYING_DRIVE},
	{"small_drive", SIM_SMALL_DRIVE},
	{"no_task", SIM_NO_TASK},
	{"bad_inventory", SIM_BAD_INVENTORY},
};

bool sim_node_fault(struct sim_node_state *node, const char *word)
{
	for (size_t i = 0; i < COUNT_OF(sim_node_words); i++)
		if (strcmp(sim_node_words[i].word, word) == 0) {
			node->faults |= sim_node_words[i].bit;
			return true;
		}
	if (strncmp(word, "hold:", 5) == 0)
		return text_copy(node->hold, sizeof(node->hold), word + 5);
	if (strncmp(word, "fail:", 5) == 0)
		return text_copy(node->fail, sizeof(node->fail), word + 5);
	if (strncmp(word, "die:", 4) == 0)
		return text_copy(node->die, sizeof(node->die), word + 4);
	return false;
}

static void sim_node_enter(struct sim_node_state *node, enum sim_phase phase, int64_t until_ms)
{
	node->phase = phase;
	node->until_ms = until_ms;
}

static void sim_node_see(struct sim_node_state *node, enum sim_seen kind)
{
	node->seen |= 1U << kind;
}

/* What bampi-bootd's target policy would answer. */
static void boot_network(struct sim_node_state *node, const struct sim_times *times, int64_t now_ms)
{
	if (node->faults & SIM_NO_DHCP) {
		sim_node_enter(node, SIM_STUCK, 0);
		return;
	}
	sim_node_see(node, SIM_SEEN_DHCP);
	if (node->faults & SIM_NO_SCRIPT) {
		sim_node_enter(node, SIM_STUCK, 0);
		return;
	}
	sim_node_see(node, SIM_SEEN_SCRIPT);
	if (strcmp(node->target, "agent") == 0) {
		sim_node_see(node, SIM_SEEN_KERNEL);
		sim_node_see(node, SIM_SEEN_RAMDISK);
		(void)text_copy(node->agent_token, sizeof(node->agent_token), node->token);
		sim_node_enter(node, node->faults & SIM_NO_AGENT ? SIM_STUCK : SIM_LOADING,
			       now_ms + times->load_ms);
	} else if (strcmp(node->target, "disk") == 0 || strcmp(node->node_state, "active") == 0) {
		sim_node_enter(node, SIM_STARTING, now_ms + times->start_ms);
	} else {
		node->wants_off = true;
		sim_node_enter(node, SIM_STUCK, 0);
	}
}

static void sim_node_work(struct sim_node_state *node, int64_t now_ms)
{
	if (now_ms - node->spoke_ms < POLL_MS)
		return;
	node->spoke_ms = now_ms;
	/* Without an intent for its token the mailbox answers 401: nobody hears it. */
	if (strcmp(node->agent_token, node->token) == 0 && strcmp(node->target, "agent") == 0)
		sim_node_see(node, SIM_SEEN_AGENT);
}

static void sim_node_call_back(struct sim_node_state *node)
{
	if (node->called || node->faults & SIM_NO_CALLBACK)
		return;
	if (node->disk_nonce[0] && strcmp(node->disk_nonce, node->nonce) == 0 &&
	    strcmp(node->target, "disk") == 0) {
		sim_node_see(node, SIM_SEEN_CALLBACK);
		node->called = true;
	}
}

void sim_node_tick(struct sim_node_state *node, bool power, uint64_t starts, bool boots_disk,
		   const struct sim_times *times, int64_t now_ms)
{
	if (!power || starts != node->starts) {
		node->starts = starts;
		node->task = (struct sim_task){0};
		node->wants_off = false;
		sim_node_enter(node, power ? SIM_POST : SIM_OFF, now_ms + times->post_ms);
		return;
	}
	switch (node->phase) {
	case SIM_OFF: sim_node_enter(node, SIM_POST, now_ms + times->post_ms); break;
	case SIM_POST:
		if (now_ms < node->until_ms)
			break;
		if (boots_disk)
			sim_node_enter(node, SIM_STARTING, now_ms + times->start_ms);
		else
			boot_network(node, times, now_ms);
		break;
	case SIM_LOADING:
		if (now_ms >= node->until_ms) {
			sim_node_enter(node, SIM_AGENT, 0);
			node->spoke_ms = now_ms - POLL_MS;
		}
		break;
	case SIM_AGENT: sim_node_work(node, now_ms); break;
	case SIM_STARTING:
		if (now_ms >= node->until_ms) {
			sim_node_enter(node, SIM_OS, 0);
			node->called = false;
		}
		break;
	case SIM_OS: sim_node_call_back(node); break;
	case SIM_STUCK: break;
	}
}

bool sim_node_idle(const struct sim_node_state *node)
{
	return node->phase == SIM_AGENT && node->task.id == 0 && !(node->faults & SIM_NO_TASK) &&
	       node->agent_token[0];
}
