/* SWITCH_MIRROR: what there is is read, one transaction makes it what is wanted, and the data plane
 * says that it has it. Whoever asks, asks again when the connection ends in between: it states the
 * whole, so once more does no harm. */

#include "common/base/error.h"

#include "peregrine/switch/ovsdb/ovsdb_mirror_policy.h"
#include "peregrine/switch/ovsdb/ovsdb_switch.h"

LEAKS_LEFT_TO_SANITIZER

static void on_mirrors(void *context, int rc, json_t *result, const struct problem *problem)
{
	struct ovsdb_switch *one = context;
	const struct switch_request *request = one->call.request;
	struct problem why = {0};

	if (switch_call_may_repeat(&one->call, rc)) {
		if (ovsdb_switch_ask(one, ovsdb_mirror_ask(), on_mirrors) != 0)
			ovsdb_switch_no_memory(one);
		return;
	}
	if (rc) {
		switch_call_end(&one->call, rc, NULL, problem);
		return;
	}
	ovsdb_plan_done(&one->plan);
	rc = ovsdb_facts_make(result, FACTS_VLANS, &one->facts, &why);
	if (rc == 0)
		rc = ovsdb_mirror_plan(&one->facts, request->mirrors, request->mirror_count,
				       &one->plan, request->results, &why);
	ovsdb_switch_transact(one, rc ? &why : NULL);
}

/* A port of type erspan or gre is a port as any other, once it is there: whoever keeps the switch's
 * addresses and routes makes it. None of ours is sent elsewhere, so ending them all ends nothing.
 */
static int refuse_tunnel(struct ovsdb_switch *one)
{
	if (one->call.request->mirror_count == 0) {
		switch_call_end_soon(&one->call);
		return 0;
	}
	(void)problem_set(&one->call.early, E_UNSUPPORTED,
			  "switch %s cannot be set by OVSDB to send mirrored frames",
			  one->call.endpoint.name);
	problem_hint(
		&one->call.early,
		"add a port of type erspan to its bridge, and name that: haasctl capture point "
		"%s --port PORT --kind erspan --interface INTERFACE",
		one->call.endpoint.name);
	return E_UNSUPPORTED;
}

int ovsdb_mirror_start(struct ovsdb_switch *one)
{
	if (one->call.request->tunnel.to[0])
		return refuse_tunnel(one);
	ovsdb_facts_done(&one->facts);
	return ovsdb_switch_ask(one, ovsdb_mirror_ask(), on_mirrors);
}
