#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "tests/sim/switch/switch_ovs_private.h"

enum { WORDS = SWITCH_VSCTL_WORDS };

static void switch_ovs_bond_say(const char *words[WORDS], size_t *count, const char *const more[])
{
	for (; *more && *count + 1 < WORDS; more++)
		words[(*count)++] = *more;
	words[*count] = NULL;
}
#define SAY(...) switch_ovs_bond_say(words, &count, (const char *const[]){__VA_ARGS__, NULL})

int switch_ovs_vsctl(const char *const words[WORDS])
{
	char *arguments[WORDS];
	int status = -1;
	pid_t pid;
	int rc;

	memcpy(arguments, words, sizeof(arguments));
	rc = posix_spawnp(&pid, arguments[0], NULL, NULL, arguments, environ);
	if (rc != 0)
		return -rc;
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return E_PROTOCOL;
	return 0;
}

/* One transaction. The first port is where a node boots that speaks no LACP yet; VLAN 4095 is on no
 * wire. */
int switch_ovs_bond(struct switch_ovs *ovs, unsigned number,
		    const struct switch_ovs_member *members, size_t member_count, bool make)
{
	char database[128];
	char name[16];
	char primary[96];
	char requests[SWITCH_BOND_MAX][32];
	const char *words[WORDS] = {NULL};
	size_t count = 0;

	(void)text_format(database, sizeof(database), "--db=unix:%s", ovs->database.path);
	(void)text_format(name, sizeof(name), "lag%u", number);
	(void)text_format(primary, sizeof(primary), "other_config:bond-primary=%s",
			  members[0].name);
	if (member_count > SWITCH_BOND_MAX)
		return E_LIMIT;
	SAY("ovs-vsctl", "--timeout=20", database);
	if (!make)
		SAY("--", "del-port", ovs->bridge, name);
	for (size_t i = 0; i < member_count; i++) {
		if (make)
			SAY("--", "del-port", ovs->bridge, members[i].name);
		else
			SAY("--", "add-port", ovs->bridge, members[i].name, "vlan_mode=trunk",
			    "trunks=4095");
	}
	if (make)
		SAY("--", "add-bond", ovs->bridge, name);
	for (size_t i = 0; i < member_count && make; i++)
		SAY(members[i].name);
	if (make)
		SAY("vlan_mode=trunk", "trunks=4095", "lacp=active", "bond_mode=balance-tcp",
		    "other_config:lacp-time=fast", "other_config:lacp-fallback-ab=true", primary);
	for (size_t i = 0; i < member_count; i++) {
		(void)text_format(requests[i], sizeof(requests[i]), "ofport_request=%u",
				  members[i].number);
		SAY("--", "set", "interface", members[i].name, requests[i]);
	}
	return switch_ovs_vsctl(words);
}
