/* What tests of isolation on fabrics of any shape share. */
#pragma once

#include "peregrine/control/network/isolation_policy.h"
#include "tests/support/cmocka.h"
#include "tests/unit/random_fabric.h"

enum { SEEDS = 1500 };

/* Without its marks: nothing to be freed. */
static inline struct isolation_report check(const struct random_fabric *f, const port_state state[],
					    const port_state meant[], const port_state before[])
{
	struct isolation_report report;

	assert_int_equal(isolation_check(&f->model, state, meant, before, &report), 0);
	assert_int_equal(report.mark_count, report.count);
	free(TAKE(report.marks));
	return report;
}

static inline struct port_vlans random_vlans(struct random_fabric *f)
{
	struct port_vlans vlans = {
		.trunk = rf_random(f, 2),
		.native = (uint16_t)(rf_random(f, 3) ? RF_LOW + rf_random(f, 6) : rf_random(f, 2))};

	for (unsigned v = RF_LOW; vlans.trunk && v < RF_LOW + 6; v++) {
		if (rf_random(f, 3) == 0)
			vlan_set_add(&vlans.tagged, v);
	}
	return vlans;
}
