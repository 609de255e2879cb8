#include "peregrine/switch/switch_proof.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/error.h"

#include "peregrine/switch/switch_family_table.h"
#include "peregrine/switch/switch_sign_table.h"

LEAKS_LEFT_TO_SANITIZER

enum { SWITCH_PROOF_MS = 45000 };

struct switch_proof {
	const struct switch_host *host;
	struct switch_endpoint endpoint;
	const struct switch_family *family;
	const struct switch_driver *driver; /* of the session */
	void *session;
	struct switch_request request;
	size_t way; /* row under way */
	switch_proof_fn fn;
	void *context;
};

/* --- ways --- */

static const struct switch_family *switch_proof_family(const struct switch_endpoint *endpoint)
{
	const struct switch_family *family = switch_family_find(endpoint->family);

	return family ? family : switch_family_detect("", "");
}

static bool switch_proof_by_snmp(const struct switch_endpoint *endpoint)
{
	return endpoint->snmp_user[0] || endpoint->snmp_community[0];
}

static bool switch_proof_by_netconf(const struct switch_endpoint *endpoint)
{
	const struct switch_family *family = switch_proof_family(endpoint);

	return endpoint->ssh_user[0] && (strcmp(family->read_driver, "netconf") == 0 ||
					 strcmp(family->write_driver, "netconf") == 0);
}

/* NETCONF and the command line share one account: one login proves it. */
static bool switch_proof_by_cli(const struct switch_endpoint *endpoint)
{
	return endpoint->ssh_user[0] && switch_proof_family(endpoint)->cli &&
	       !switch_proof_by_netconf(endpoint);
}

static bool switch_proof_snmp_secret(const struct switch_endpoint *endpoint)
{
	if (!endpoint->snmp_user[0])
		return endpoint->snmp_community[0];
	return (endpoint->snmp_auth == SNMP_AUTH_NONE || endpoint->snmp_auth_secret[0]) &&
	       (endpoint->snmp_priv == SNMP_PRIV_NONE || endpoint->snmp_priv_secret[0]);
}

static bool switch_proof_ssh_secret(const struct switch_endpoint *endpoint)
{
	return endpoint->ssh_password[0];
}

static const struct {
	const char *driver, *title;
	bool (*is_used)(const struct switch_endpoint *endpoint);
	bool (*has_secret)(const struct switch_endpoint *endpoint);
} switch_proof_ways[] = {
	{"snmp", "SNMP", switch_proof_by_snmp, switch_proof_snmp_secret},
	{"netconf", "NETCONF", switch_proof_by_netconf, switch_proof_ssh_secret},
	{"cli", "its command line", switch_proof_by_cli, switch_proof_ssh_secret},
};

/* Secrets that no look proves: without them the switch would be read, and not set any more. */
static const struct {
	const char *title;
	size_t at;
} switch_proof_kept[] = {
	{"writing by SNMP", offsetof(struct switch_endpoint, snmp_write_community)},
	{"the privileged mode of its command line", offsetof(struct switch_endpoint, ssh_enable)},
};

static const char *switch_proof_secret(const struct switch_endpoint *endpoint, size_t kept)
{
	return (const char *)endpoint + switch_proof_kept[kept].at;
}

static int switch_proof_lack(const struct switch_endpoint *endpoint, const char *title,
			     struct problem *problem)
{
	(void)problem_set(problem, E_DENIED, "switch %s: the new secrets have none for %s",
			  endpoint->name, title);
	problem_hint(problem, "secrets are replaced as a whole: give all of them");
	return E_DENIED;
}

int switch_proof_covers(const struct switch_endpoint *now, const struct switch_endpoint *next,
			struct problem *problem)
{
	bool any = false;

	for (size_t i = 0; i < COUNT_OF(switch_proof_kept); i++) {
		if (switch_proof_secret(now, i)[0] && !switch_proof_secret(next, i)[0])
			return switch_proof_lack(now, switch_proof_kept[i].title, problem);
	}
	for (size_t i = 0; i < COUNT_OF(switch_proof_ways); i++) {
		bool is_used =
			switch_proof_ways[i].is_used(now) || switch_proof_ways[i].is_used(next);

		any = any || is_used;
		if (is_used && !switch_proof_ways[i].has_secret(next))
			return switch_proof_lack(now, switch_proof_ways[i].title, problem);
	}
	if (any)
		return 0;
	(void)problem_set(problem, E_DENIED, "switch %s: no login uses its secrets", now->name);
	problem_hint(problem, "haasctl switch add %s gives it a user", now->name);
	return E_DENIED;
}

enum switch_proof_end switch_proof_end_of(int rc, const struct switch_driver *driver)
{
	if (rc == 0)
		return SWITCH_PROOF_TAKEN;
	if (rc == E_AUTHENTICATION || rc == E_DENIED || rc == E_UNSUPPORTED || rc == -EINVAL)
		return SWITCH_PROOF_REFUSED;
	return rc == E_TIMEOUT && driver && driver->refuses_mutely ? SWITCH_PROOF_MUTE
								   : SWITCH_PROOF_SILENT;
}

/* --- one after the other --- */

static int switch_proof_go_on(struct switch_proof *proof, struct problem *problem);

static void switch_proof_close(struct switch_proof *proof)
{
	if (proof->session)
		proof->driver->close(proof->session);
	proof->session = NULL;
}

static void switch_proof_on_looked(void *context, int rc, struct switch_reading *reading,
				   const struct problem *problem)
{
	struct switch_proof *proof = context;
	struct problem why = problem ? *problem : (struct problem){0};

	if (rc == 0 && reading)
		switch_reading_done(reading);
	switch_proof_close(proof);
	proof->way++;
	if (rc == 0)
		rc = switch_proof_go_on(proof, &why);
	if (rc || proof->way == COUNT_OF(switch_proof_ways))
		proof->fn(proof->context, switch_proof_end_of(rc, proof->driver), rc ? &why : NULL);
}

/* Begins with the next way that is used; there may be none left. */
static int switch_proof_go_on(struct switch_proof *proof, struct problem *problem)
{
	int rc;

	while (proof->way < COUNT_OF(switch_proof_ways) &&
	       !switch_proof_ways[proof->way].is_used(&proof->endpoint))
		proof->way++;
	if (proof->way == COUNT_OF(switch_proof_ways))
		return 0;
	proof->driver = switch_driver_find(switch_proof_ways[proof->way].driver);
	rc = proof->driver->open(&proof->endpoint, proof->family, proof->host, &proof->session,
				 problem);
	if (rc)
		return rc;
	rc = proof->driver->start(proof->session, &proof->request,
				  clock_monotonic_ms() + SWITCH_PROOF_MS, switch_proof_on_looked,
				  proof);
	return rc ? problem_set(problem, E_UNAVAILABLE, "switch %s: no room for a login",
				proof->endpoint.name)
		  : 0;
}

int switch_proof_new(const struct switch_host *host, const struct switch_endpoint *endpoint,
		     switch_proof_fn fn, void *context, struct switch_proof **ret,
		     struct problem *problem)
{
	struct switch_proof *proof;
	int rc = switch_proof_covers(endpoint, endpoint, problem);

	if (rc)
		return rc;
	proof = calloc(1, sizeof(*proof));
	if (!proof)
		return problem_set(problem, -ENOMEM, "no memory");
	*proof = (struct switch_proof){.host = host,
				       .endpoint = *endpoint,
				       .family = switch_proof_family(endpoint),
				       .request = {.op = SWITCH_READ, .parts = PART_IDENTITY},
				       .fn = fn,
				       .context = context};
	proof->endpoint.host_keys = NULL; /* an unknown key is the queue's to keep */
	rc = switch_proof_go_on(proof, problem);
	if (rc) {
		switch_proof_free(proof);
		return rc;
	}
	*ret = proof;
	return 0;
}

void switch_proof_free(struct switch_proof *proof)
{
	if (!proof)
		return;
	switch_proof_close(proof);
	switch_endpoint_wipe(&proof->endpoint);
	free(proof);
}
