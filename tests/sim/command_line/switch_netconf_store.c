/* Datastores of an emulated switch: running, candidate, what a commit goes back to; and the faults
 * between "yes" and what is really done. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"

#include "tests/sim/command_line/switch_netconf.h"

static void switch_netconf_store_push(const struct netconf_device *at)
{
	at->device->store->is_saved = false;
	if (cli_store_push(at->device->store) != 0)
		(void)fprintf(stderr, "switch_cli: the data plane does not answer\n");
}

void netconf_forget_candidate(struct netconf_device *at)
{
	free(at->candidate);
	at->candidate = NULL;
}

void netconf_device_done(struct netconf_device *at)
{
	netconf_forget_candidate(at);
	free(at->before);
	at->before = NULL;
}

static void go_back(struct netconf_device *at)
{
	*at->device->store->running = *at->before;
	free(at->before);
	at->before = NULL;
	switch_netconf_store_push(at);
}

void netconf_device_refresh(struct netconf_device *at)
{
	if (at->generation != at->device->generation) {
		netconf_device_done(at);
		memset(at->locks, 0, sizeof(at->locks));
		at->generation = at->device->generation;
	}
	if (at->before && clock_monotonic_ms() >= at->confirm_until_ms)
		go_back(at);
}

void netconf_unlock_all(struct netconf_session *session)
{
	struct netconf_device *at = session->at;

	if (at->before && at->confirm_session == session->id)
		go_back(at);
	if (at->locks[NETCONF_CANDIDATE] == session->id)
		netconf_forget_candidate(at);
	for (int i = 0; i < NETCONF_STORES; i++) {
		if (at->locks[i] == session->id)
			at->locks[i] = 0;
	}
}

const struct cli_config *netconf_config_of(const struct netconf_device *at,
					   enum netconf_datastore store)
{
	if (store == NETCONF_STARTUP)
		return at->device->store->startup;
	if (store == NETCONF_CANDIDATE && at->candidate)
		return at->candidate;
	return at->device->store->running;
}

/* --- from one configuration to the next --- */

static uint32_t port_verbs(const struct cli_port *a, const struct cli_port *b)
{
	uint32_t verbs = 0;

	verbs |= (uint32_t)(a->mode != b->mode) << SWITCH_FRAMES;
	verbs |= (uint32_t)(a->access != b->access || a->native != b->native) << SWITCH_PVID;
	verbs |= (uint32_t)!vlan_set_equal(&a->allowed, &b->allowed) << SWITCH_EGRESS;
	verbs |= (uint32_t)(strcmp(a->description, b->description) != 0) << SWITCH_NAME;
	verbs |= (uint32_t)(a->is_shut != b->is_shut) << SWITCH_FILTER;
	return verbs;
}

static uint32_t vlan_verbs(const struct cli_config *a, const struct cli_config *b, unsigned vid)
{
	bool was = vlan_set_has(&a->vlans, vid);
	bool is = vlan_set_has(&b->vlans, vid);

	return (uint32_t)(is && !was) << SWITCH_CREATE | (uint32_t)(was && !is) << SWITCH_DELETE |
	       (uint32_t)(was && is && strcmp(a->names[vid], b->names[vid]) != 0) << SWITCH_NAME;
}

static uint32_t all_verbs(const struct netconf_device *at, const struct cli_config *a,
			  const struct cli_config *b)
{
	uint32_t verbs = 0;

	for (unsigned vid = VLAN_FIRST; vid <= VLAN_LAST; vid++)
		verbs |= vlan_verbs(a, b, vid);
	for (unsigned i = 1; i <= at->device->store->port_count; i++)
		verbs |= port_verbs(&a->ports[i], &b->ports[i]);
	return verbs;
}

/* True: go on. A session that must end in the middle ends before the next change. */
static bool count_change(struct netconf_session *session)
{
	struct cli_faults *faults = &session->at->device->faults;
	uint32_t partial = faults->partial;

	if (faults->reboot_after > 0 && session->changes >= faults->reboot_after) {
		faults->reboot_after = 0;
		cli_device_reboot(session->at->device);
		session->is_over = true;
		return false;
	}
	session->pause_ms = faults->slow_change_ms;
	if (partial > 0 && session->changes >= partial) {
		session->is_over = true;
		return false;
	}
	session->changes++;
	return true;
}

static void run_vlan(struct netconf_session *session, const struct cli_config *fresh, unsigned vid)
{
	struct cli_config *running = session->at->device->store->running;
	uint32_t verbs = vlan_verbs(running, fresh, vid);

	if (verbs == 0 || !count_change(session) || (verbs & session->at->device->faults.lost) != 0)
		return;
	if (vlan_set_has(&fresh->vlans, vid))
		vlan_set_add(&running->vlans, vid);
	else
		vlan_set_remove(&running->vlans, vid);
	memcpy(running->names[vid], fresh->names[vid], sizeof(running->names[vid]));
}

static void run_port(struct netconf_session *session, const struct cli_config *fresh, unsigned i)
{
	struct cli_port *is = &session->at->device->store->running->ports[i];
	const struct cli_port was = *is;
	uint32_t verbs = port_verbs(is, &fresh->ports[i]);
	uint32_t lost = session->at->device->faults.lost;

	if (verbs == 0 || !count_change(session))
		return;
	*is = fresh->ports[i];
	if (lost >> SWITCH_FRAMES & 1)
		is->mode = was.mode;
	if (lost >> SWITCH_PVID & 1) {
		is->access = was.access;
		is->native = was.native;
	}
	if (lost >> SWITCH_EGRESS & 1)
		is->allowed = was.allowed;
}

bool netconf_run(struct netconf_session *session, const struct cli_config *fresh,
		 struct netconf_error *error)
{
	struct netconf_device *at = session->at;
	uint32_t verbs = all_verbs(at, at->device->store->running, fresh);

	if ((verbs & at->device->faults.refuse) != 0)
		return netconf_fail(error, "operation-failed", "%s",
				    "the operation is not allowed on this device");
	for (unsigned vid = VLAN_FIRST; vid <= VLAN_LAST && !session->is_over; vid++)
		run_vlan(session, fresh, vid);
	for (unsigned i = 1; i <= at->device->store->port_count && !session->is_over; i++)
		run_port(session, fresh, i);
	switch_netconf_store_push(at);
	return true;
}
