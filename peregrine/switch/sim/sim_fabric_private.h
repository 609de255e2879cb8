/* What sim_fabric.c (switches and frames) and sim_driver.c (their management) share. */
#pragma once

#include "peregrine/switch/sim/sim_fabric.h"

struct sim_fabric {
	struct loop *loop;
	struct sim_switch *switches;
	uint32_t count, room;
};

struct sim_switch *sim_fabric_find(struct sim_fabric *fabric, int64_t id);
void sim_switch_reboot(struct sim_fabric *fabric, struct sim_switch *at);
