#include "bampi/storage/network_host.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/text.h"

#define PROGRAM_MS 30000

static bool network_host_forwards(const char *name)
{
	char path[96];
	char value = '1'; /* not readable: taken for the worse */
	CLEANUP(closep) int fd = -1;

	(void)text_format(path, sizeof(path), "/proc/sys/net/ipv4/conf/%s/forwarding", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, &value, 1) != 1)
		return true;
	return value != '0';
}

static int network_host_by_name(const void *a, const void *b)
{
	const struct network_interface *one = a;
	const struct network_interface *two = b;

	return strcmp(one->name, two->name);
}

/* AF_PACKET has each interface once; AF_INET once for each address. */
static bool read_one(const struct ifaddrs *entry, struct network_interface *ret)
{
	int family = entry->ifa_addr ? entry->ifa_addr->sa_family : AF_UNSPEC;
	struct sockaddr_in address;
	struct sockaddr_in mask;

	if ((family != AF_PACKET && family != AF_INET) ||
	    !text_copy(ret->name, sizeof(ret->name), entry->ifa_name))
		return false;
	ret->up = (entry->ifa_flags & IFF_UP) != 0;
	ret->forwards = network_interface_vlan(ret->name) != 0 && network_host_forwards(ret->name);
	if (family != AF_INET || !entry->ifa_netmask)
		return family == AF_PACKET;
	memcpy(&address, entry->ifa_addr, sizeof(address));
	memcpy(&mask, entry->ifa_netmask, sizeof(mask));
	ret->length = __builtin_popcount(mask.sin_addr.s_addr);
	return inet_ntop(AF_INET, &address.sin_addr, ret->address, sizeof(ret->address)) != NULL;
}

int network_host_look(struct network_interface **ret, size_t *ret_count)
{
	struct ifaddrs *all = NULL;
	struct network_interface *list;
	size_t count = 0;

	if (getifaddrs(&all) != 0)
		return -errno;
	for (const struct ifaddrs *entry = all; entry; entry = entry->ifa_next)
		count++;
	list = calloc(count + 1, sizeof(*list));
	if (!list) {
		freeifaddrs(all);
		return -ENOMEM;
	}
	count = 0;
	for (const struct ifaddrs *entry = all; entry; entry = entry->ifa_next) {
		list[count] = (struct network_interface){0};
		count += read_one(entry, &list[count]);
	}
	freeifaddrs(all);
	qsort(list, count, sizeof(*list), network_host_by_name);
	*ret = list;
	*ret_count = count;
	return 0;
}

/* --- the program --- */

/* What it writes, until it ends or its time does; the last line stays in `ret`. */
static void listen_to(int fd, int64_t until_ms, char *ret, size_t room)
{
	size_t size = 0;

	for (;;) {
		struct pollfd wait = {.fd = fd, .events = POLLIN};
		int64_t left_ms = until_ms - clock_monotonic_ms();
		char chunk[256];
		ssize_t got;

		if (left_ms <= 0 || poll(&wait, 1, (int)left_ms) <= 0)
			break;
		got = read(fd, chunk, sizeof(chunk));
		if (got <= 0)
			break;
		for (ssize_t i = 0; i < got; i++) {
			if (size > 0 && ret[size - 1] == '\n')
				size = 0;
			if (size + 1 < room)
				ret[size++] = chunk[i];
		}
	}
	while (size > 0 && ret[size - 1] == '\n')
		size--;
	ret[size] = '\0';
}

static int network_host_end_of(pid_t child, int64_t until_ms, int *ret_status)
{
	for (;;) {
		pid_t done = waitpid(child, ret_status, WNOHANG);

		if (done == child)
			return 0;
		if (done < 0 && errno != EINTR)
			return -errno;
		if (clock_monotonic_ms() >= until_ms) {
			(void)kill(child, SIGKILL);
			(void)waitpid(child, ret_status, 0);
			return -ETIMEDOUT;
		}
		(void)poll(NULL, 0, 20);
	}
}

static int network_host_spawn(char *const argv[], char *const env[], int output, pid_t *ret)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none;
	int rc = posix_spawn_file_actions_init(&actions);

	if (rc)
		return -rc;
	rc = posix_spawnattr_init(&attributes);
	if (rc) {
		(void)posix_spawn_file_actions_destroy(&actions);
		return -rc;
	}
	(void)sigemptyset(&none);
	rc = posix_spawnattr_setsigmask(&attributes, &none);
	if (rc == 0)
		rc = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
	if (rc == 0)
		rc = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY,
						      0);
	if (rc == 0)
		rc = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
	if (rc == 0)
		rc = posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
	if (rc == 0)
		rc = posix_spawn(ret, argv[0], &actions, &attributes, argv, env);
	(void)posix_spawn_file_actions_destroy(&actions);
	(void)posix_spawnattr_destroy(&attributes);
	return -rc;
}

static int network_host_run_program(const char *program, char *const argv[], char *const env[],
				    struct problem *problem)
{
	int64_t until_ms = clock_monotonic_ms() + PROGRAM_MS;
	CLEANUP(closep) int reading = -1;
	CLEANUP(closep) int writing = -1;
	char said[200] = "";
	int pipes[2];
	int status = 0;
	pid_t child = -1;
	int rc;

	if (pipe2(pipes, O_CLOEXEC) != 0)
		return problem_set(problem, -errno, "no pipe: %s", error_text(-errno));
	reading = pipes[0];
	writing = pipes[1];
	rc = network_host_spawn(argv, env, writing, &child);
	if (rc)
		return problem_set(problem, rc, "%s cannot be run: %s", program, error_text(rc));
	closep(&writing);
	writing = -1;
	listen_to(reading, until_ms, said, sizeof(said));
	rc = network_host_end_of(child, until_ms, &status);
	if (rc == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	(void)problem_set(problem, rc ? rc : E_UNAVAILABLE, "%s %s %s failed", program, argv[1],
			  argv[2]);
	problem_detail(problem, "%s", said);
	problem_hint(problem, "it needs CAP_NET_ADMIN: docs/decision/way-to-a-volume.md");
	return problem->code;
}

int network_host_run(const struct network_host *host, int vlan,
		     const struct storage_network *network, struct problem *problem)
{
	char program[512];
	char up[] = "up";
	char down[] = "down";
	char interface[NETWORK_INTERFACE_SIZE];
	char number[8];
	char address[STORAGE_ADDRESS_SIZE + 4] = "";
	char uplink[64];
	char path[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";
	char *argv[] = {program, network ? up : down,      interface,
			number,  network ? address : NULL, NULL};
	char *env[] = {path, uplink, NULL};

	if (!text_copy(program, sizeof(program), host->program) ||
	    !text_format(uplink, sizeof(uplink), "STORAGE_UPLINK=%s", host->uplink) ||
	    !text_format(interface, sizeof(interface), NETWORK_INTERFACE_PREFIX "%d", vlan) ||
	    !text_format(number, sizeof(number), "%d", vlan) ||
	    (network &&
	     !text_format(address, sizeof(address), "%s/%d", network->address, network->length)))
		return problem_set(problem, E_LIMIT, "a name is too long");
	return network_host_run_program(host->program, argv, env, problem);
}
