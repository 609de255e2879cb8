/* An agent of SNMPv1 drops what is newer without a word, as it drops a wrong community. One GET in v1
 * tells the two apart. A slow agent answers it as well, so the same GET in v2c follows. It is not
 * read so: without GETBULK and without an answer for each object of a GET a reading would be
 * hundreds of requests. */
#include "common/base/error.h"

#include "peregrine/switch/snmp/snmp_switch.h"

/* One GET of sysObjectID, once. */
static int snmp_version_ask(struct snmp_switch *one, struct snmp_peer *peer, snmp_answer_fn fn)
{
	const struct snmp_binding binding = {.name = fact_scalars[1]};

	return snmp_peer_ask(
		peer,
		&(struct snmp_ask){
			.kind = SNMP_GET, .bindings = &binding, .count = 1, .once = true},
		fn, one);
}

/* The agent answers v1. Does it answer what is newer? Then it was only slow. */
static void snmp_version_on_newer(void *context, struct snmp_answer *answer)
{
	struct snmp_switch *one = context;
	struct problem problem;

	if (!answer->rc) {
		snmp_switch_fail(one, E_TIMEOUT, "reading", "");
		return;
	}
	(void)problem_set(&problem, E_UNSUPPORTED, "switch %s speaks SNMPv1 alone",
			  one->call.endpoint.name);
	problem_detail(&problem, "it answers a GET of SNMPv1, and none of SNMPv2c");
	problem_hint(&problem, "turn on SNMPv3 or SNMPv2c there; its community is right");
	switch_call_end(&one->call, E_UNSUPPORTED, NULL, &problem);
}

static void snmp_version_on_old(void *context, struct snmp_answer *answer)
{
	struct snmp_switch *one = context;

	if (answer->rc || snmp_version_ask(one, one->peer, snmp_version_on_newer) != 0)
		snmp_switch_fail(one, E_TIMEOUT, "reading", "");
}

bool snmp_switch_look_for_v1(struct snmp_switch *one, int rc)
{
	struct problem problem;

	if (rc != E_TIMEOUT || one->call.endpoint.snmp_user[0] ||
	    snmp_peer_has_answered(one->peer) || one->old_peer)
		return false;
	if (snmp_peer_new(one->client, &one->call.endpoint, switch_call_timeout_ms(&one->call),
			  &one->old_peer, &problem) != 0)
		return false;
	snmp_peer_speak_v1(one->old_peer);
	if (snmp_version_ask(one, one->old_peer, snmp_version_on_old) == 0)
		return true;
	snmp_switch_forget_v1(one);
	return false;
}

void snmp_switch_forget_v1(struct snmp_switch *one)
{
	if (one->old_peer)
		snmp_peer_forget(one->peer, one);
	snmp_peer_free(one->old_peer);
	one->old_peer = NULL;
}
