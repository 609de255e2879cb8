// links: peregrine_switch common_io common_base
/* SNMPv3 engines that are not as they should be, played by snmpd on the loopback: two switches with
 * one engine id (a copied configuration) and secrets, boots and times of their own; one that starts
 * again; one that lost its count of boots. Skipped where there is no snmpd. */
#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/macros.h"
#include "common/base/text.h"
#include "common/io/loop.h"

#include "peregrine/switch/snmp/snmp_client.h"
#include "tests/support/cmocka.h"

#define SNMPD  "/usr/sbin/snmpd"
#define ENGINE "0x80001f8804636c6f6e65"

struct agent {
	const char *name;
	const char *secret;
	uint16_t port;
	char folder[64];
	pid_t pid;
	struct snmp_peer *peer;
};

static struct world {
	struct loop *loop;
	struct snmp_client *client;
	struct agent agents[2];
	bool answered;
	int rc;
	char system[32];
	int64_t boots; /* snmpEngineBoots */
} only;

static void write_file(const char *folder, const char *name, const char *text)
{
	char path[128];
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

/* Below those that the kernel gives to whoever names none: nobody gets it before snmpd does. */
static uint16_t free_port(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	static unsigned last;
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	assert_true(fd >= 0);
	if (last == 0)
		last = (unsigned)getpid();
	do
		address.sin_port = htons((uint16_t)(12000 + ++last % 20000));
	while (bind(fd, (struct sockaddr *)&address, sizeof(address)) != 0);
	close(fd);
	return ntohs(address.sin_port);
}

/* Whether somebody is bound to it, on whatever address: what is sent there is kept for him. */
static bool is_bound(uint16_t port)
{
	FILE *file = fopen("/proc/net/udp", "r");
	char line[256];
	char wanted[16];
	bool found = false;

	assert_non_null(file);
	(void)snprintf(wanted, sizeof(wanted), ":%04X 00000000:", port);
	while (!found && fgets(line, sizeof(line), file))
		found = strstr(line, wanted) != NULL;
	(void)fclose(file);
	return found;
}

/* `boots`: of its earlier lives. */
static void agent_start_as(struct agent *agent, unsigned boots, const char *engine)
{
	char text[512];
	char conf[128];
	char persistent[128];
	char mibs[] = "MIBS=";
	char *const environment[] = {persistent, mibs, NULL};

	(void)snprintf(text, sizeof(text),
		       "agentaddress udp:127.0.0.1:%u\nsysName %s\n"
		       "createUser haas SHA-256 \"%s\" AES \"%s\"\nrouser haas authPriv\n",
		       agent->port, agent->name, agent->secret, agent->secret);
	write_file(agent->folder, "conf", text);
	(void)snprintf(text, sizeof(text),
		       "engineBoots %u\noldEngineID %s\nexactEngineID %s"
		       "\nagentaddress udp:127.0.0.1:%u\nsysName %s\n"
		       "createUser haas SHA-256 \"%s\" AES \"%s\"\nrouser haas authPriv\n",
		       boots, engine, engine, agent->port, agent->name, agent->secret,
		       agent->secret);
	write_file(agent->folder, "conf", text);
	(void)snprintf(conf, sizeof(conf), "%s/conf", agent->folder);
	(void)snprintf(persistent, sizeof(persistent), "SNMP_PERSISTENT_DIR=%s", agent->folder);
	agent->pid = fork();
	if (agent->pid == 0) {
		(void)execle(SNMPD, "snmpd", "-C", "-c", conf, "-f", "-Lf", "/dev/null",
			     (char *)NULL, environment);
		_exit(127);
	}
	assert_true(agent->pid > 0);
}

static void agent_start(struct agent *agent, unsigned boots)
{
	agent_start_as(agent, boots, ENGINE);
}

static void agent_stop(struct agent *agent)
{
	if (agent->pid <= 0)
		return;
	(void)kill(agent->pid, SIGKILL);
	(void)waitpid(agent->pid, NULL, 0);
	agent->pid = 0;
}

static void on_answer(void *context, struct snmp_answer *answer)
{
	struct world *world = context;
	struct snmp_binding binding;

	world->answered = true;
	world->rc = answer->rc;
	world->system[0] = '\0';
	if (!answer->rc && snmp_answer_next(answer, &binding) &&
	    binding.value.size < sizeof(world->system)) {
		memcpy(world->system, binding.value.bytes, binding.value.size);
		world->system[binding.value.size] = '\0';
		if (snmp_answer_next(answer, &binding))
			world->boots = binding.value.number;
	}
	loop_stop(world->loop);
}

/* The name that the agent gives; "" = an error, in only.rc. */
static const char *name_of(struct agent *agent)
{
	struct snmp_binding names[] = {{.name = OID(1, 3, 6, 1, 2, 1, 1, 5, 0)},
				       {.name = OID(1, 3, 6, 1, 6, 3, 10, 2, 1, 2, 0)}};
	struct snmp_ask ask = {.kind = SNMP_GET, .bindings = names, .count = COUNT_OF(names)};

	only.answered = false;
	assert_int_equal(snmp_peer_ask(agent->peer, &ask, on_answer, &only), 0);
	loop_run(only.loop);
	assert_true(only.answered);
	return only.system;
}

static void wait_until_up(struct agent *agent)
{
	int64_t end = clock_monotonic_ms() + 60000;

	while (!is_bound(agent->port)) {
		assert_true(clock_monotonic_ms() < end);
		usleep(5000);
	}
	while (strcmp(name_of(agent), agent->name) != 0)
		assert_true(clock_monotonic_ms() < end);
}

static int up(void **state)
{
	static const char *const names[] = {"leaf1", "leaf2"};
	static const char *const secrets[] = {"secret-of-leaf1", "secret-of-leaf2"};

	(void)state;
	assert_int_equal(access(SNMPD, X_OK), 0); /* packages.txt has it */
	assert_int_equal(loop_new(&only.loop), 0);
	assert_int_equal(snmp_client_new(only.loop, &only.client), 0);
	for (size_t i = 0; i < COUNT_OF(only.agents); i++) {
		struct agent *agent = &only.agents[i];
		struct switch_endpoint endpoint = {
			.address = "127.0.0.1",
			.snmp_user = "haas",
			.snmp_auth = SNMP_AUTH_SHA256,
			.snmp_priv = SNMP_PRIV_AES,
			.timeout_ms = 1000, /* or a busy machine has us ask twice */
			.retries = 3};
		struct problem problem = {0};

		*agent =
			(struct agent){.name = names[i], .secret = secrets[i], .port = free_port()};
		(void)snprintf(agent->folder, sizeof(agent->folder), "/tmp/snmp_engine.XXXXXX");
		assert_non_null(mkdtemp(agent->folder));
		agent_start(agent, i == 0 ? 5 : 50);
		text_copy(endpoint.name, sizeof(endpoint.name), agent->name);
		text_copy(endpoint.snmp_auth_secret, sizeof(endpoint.snmp_auth_secret),
			  agent->secret);
		text_copy(endpoint.snmp_priv_secret, sizeof(endpoint.snmp_priv_secret),
			  agent->secret);
		endpoint.snmp_port = agent->port;
		assert_int_equal(snmp_peer_new(only.client, &endpoint, 300, &agent->peer, &problem),
				 0);
	}
	return 0;
}

static int down(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(only.agents) && only.client; i++) {
		static const char *const files[] = {"conf", "snmpd.conf", "cert_indexes",
						    "mib_indexes"};

		snmp_peer_free(only.agents[i].peer);
		agent_stop(&only.agents[i]);
		for (size_t j = 0; j < COUNT_OF(files); j++) {
			char path[128];

			(void)snprintf(path, sizeof(path), "%s/%s", only.agents[i].folder,
				       files[j]);
			if (unlink(path) != 0)
				(void)rmdir(path);
		}
		(void)rmdir(only.agents[i].folder);
	}
	snmp_client_free(only.client);
	loop_free(only.loop);
	return 0;
}

static void two_switches_may_have_one_engine_id(void **state)
{
	uint32_t before[2];

	(void)state;
	wait_until_up(&only.agents[0]);
	assert_int_equal(only.boots, 6);
	assert_string_equal(snmp_peer_twin(only.agents[0].peer), "");
	wait_until_up(&only.agents[1]);
	for (size_t i = 0; i < 2; i++)
		before[i] = snmp_peer_requests(only.agents[i].peer);
	for (size_t i = 0; i < 20; i++)
		assert_string_equal(name_of(&only.agents[i % 2]), only.agents[i % 2].name);
	/* Each with keys and a clock of its own: not one of them had to be repeated. */
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(snmp_peer_requests(only.agents[i].peer) - before[i], 10);
	assert_string_equal(snmp_peer_twin(only.agents[0].peer), "leaf2");
	assert_string_equal(snmp_peer_twin(only.agents[1].peer), "leaf1");
}

static void an_engine_that_starts_again_is_followed(void **state)
{
	struct agent *agent = &only.agents[0];

	(void)state;
	agent_stop(agent);
	agent_start(agent, 7);
	wait_until_up(agent);
	assert_string_equal(name_of(&only.agents[1]), "leaf2");
	assert_string_equal(name_of(agent), "leaf1");
}

/* A replay to all that RFC 3414 knows; a new look at its engine id begins anew. */
static void an_engine_that_lost_its_boots_is_believed_again(void **state)
{
	struct agent *agent = &only.agents[0];

	(void)state;
	agent_stop(agent);
	agent_start(agent, 0);
	wait_until_up(agent);
	assert_int_equal(only.boots, 1);
	assert_string_equal(name_of(&only.agents[1]), "leaf2");
	assert_string_equal(name_of(agent), "leaf1");
}

static void an_engine_id_of_its_own_ends_it(void **state)
{
	struct agent *agent = &only.agents[0];

	(void)state;
	assert_string_equal(snmp_peer_twin(only.agents[1].peer), "leaf1");
	agent_stop(agent);
	agent_start_as(agent, 1, "0x80001f88046f776e");
	wait_until_up(agent);
	assert_string_equal(snmp_peer_twin(agent->peer), "");
	assert_string_equal(snmp_peer_twin(only.agents[1].peer), "");
	assert_string_equal(name_of(&only.agents[1]), "leaf2");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_switches_may_have_one_engine_id),
		cmocka_unit_test(an_engine_that_starts_again_is_followed),
		cmocka_unit_test(an_engine_that_lost_its_boots_is_believed_again),
		cmocka_unit_test(an_engine_id_of_its_own_ends_it),
	};

	return cmocka_run_group_tests(tests, up, down);
}
