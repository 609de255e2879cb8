/* Ports that our daemons listen on: free, or theirs. A dnsmasq on port 67 would answer our nodes. */
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/text.h"

#include "portal/cli/site_check.h"

#define SITE_CHECK_COMM_SIZE 16 /* TASK_COMM_LEN: the kernel cuts names of programs */

static const struct site_check_port {
	bool udp;
	int number;          /* usually */
	const char *program; /* whose it is; a site without it may have bampi-relay there */
	const char *setting; /* that changes the number; NULL = none does */
} site_check_ports_rows[] = {
	{true, 67, "bampi-bootd", NULL},
	{true, 69, "bampi-bootd", NULL},
	{false, 8080, "bampi-bootd", "http_port"},
	{true, 4011, "bampi-bootd", NULL},
	{true, 6343, "peregrine-flowd", "listen.port"},
	{true, 4739, "peregrine-flowd", "listen.ipfix_port"},
	{true, 2055, "peregrine-flowd", "listen.netflow_port"},
};

/* /proc/net/udp: "sl local_address rem_address st ...  inode" with "0100007F:0043". TCP: listening
 * ones. The next inode of a socket on `port`; 0 at the end. */
static unsigned long site_check_ports_next(FILE *file, bool udp, unsigned port)
{
	char line[512];

	while (fgets(line, sizeof(line), file)) {
		char *words[10] = {0};
		char *rest = line;
		size_t count = 0;

		for (char *word; count < COUNT_OF(words) && (word = strsep(&rest, " \t\n"));) {
			if (*word)
				words[count++] = word;
		}
		const char *colon = count == COUNT_OF(words) ? strchr(words[1], ':') : NULL;
		if (colon && strtoul(colon + 1, NULL, 16) == port &&
		    (udp || strcmp(words[3], "0A") == 0))
			return strtoul(words[9], NULL, 10);
	}
	return 0;
}

static bool site_check_ports_holds(const struct site_check *check, const char *process,
				   const char *socket)
{
	char path[PATH_MAX];
	DIR *folder;
	bool found = false;

	if (!site_check_path(check, path, "/proc/%s/fd", process))
		return false;
	folder = opendir(path);
	// NOLINTNEXTLINE(concurrency-mt-unsafe): one thread
	for (const struct dirent *entry; folder && !found && (entry = readdir(folder));) {
		char target[64];
		ssize_t size = readlinkat(dirfd(folder), entry->d_name, target, sizeof(target) - 1);

		if (size <= 0)
			continue;
		target[size] = '\0';
		found = strcmp(target, socket) == 0;
	}
	if (folder)
		(void)closedir(folder);
	return found;
}

static void site_check_ports_name(const struct site_check *check, const char *process,
				  char ret[SITE_CHECK_COMM_SIZE])
{
	char path[PATH_MAX];
	FILE *file;

	ret[0] = '\0';
	if (!site_check_path(check, path, "/proc/%s/comm", process))
		return;
	file = fopen(path, "re");
	if (file && fgets(ret, SITE_CHECK_COMM_SIZE, file))
		ret[strcspn(ret, "\n")] = '\0';
	if (file)
		(void)fclose(file);
}

/* The process that holds the socket, and its name; false: none is to be found. */
static bool site_check_ports_holder(const struct site_check *check, unsigned long inode,
				    char process[32], char name[SITE_CHECK_COMM_SIZE])
{
	char socket[64];
	char path[PATH_MAX];
	DIR *folder;
	bool found = false;

	(void)text_format(socket, sizeof(socket), "socket:[%lu]", inode);
	if (!site_check_path(check, path, "/proc"))
		return false;
	folder = opendir(path);
	// NOLINTNEXTLINE(concurrency-mt-unsafe): one thread
	for (const struct dirent *entry; folder && !found && (entry = readdir(folder));) {
		found = isdigit((unsigned char)entry->d_name[0]) &&
			site_check_ports_holds(check, entry->d_name, socket) &&
			text_copy(process, 32, entry->d_name);
	}
	if (folder)
		(void)closedir(folder);
	if (found)
		site_check_ports_name(check, process, name);
	return found;
}

static bool site_check_ports_is_ours(const char *name)
{
	for (size_t i = 0; i < site_program_count; i++) {
		if (strncmp(site_programs[i].name, name, SITE_CHECK_COMM_SIZE - 1) == 0)
			return true;
	}
	return false;
}

/* Sockets of one table, "udp6"; adds those of others to the findings. */
static void site_check_ports_table(struct site_check *check, const struct site_check_port *port,
				   int number, const char *table, size_t *ours)
{
	char path[PATH_MAX];
	char subject[32];
	FILE *file;

	if (!site_check_path(check, path, "/proc/net/%s", table))
		return;
	file = fopen(path, "re");
	(void)text_format(subject, sizeof(subject), "%s %d", port->udp ? "UDP" : "TCP", number);
	for (unsigned long inode;
	     file && (inode = site_check_ports_next(file, port->udp, (unsigned)number)) != 0;) {
		char name[SITE_CHECK_COMM_SIZE];
		char process[32];

		if (!site_check_ports_holder(check, inode, process, name)) {
			site_check_wrong(check, subject,
					 "a process that cannot be found holds this port of %s",
					 port->program);
		} else if (!site_check_ports_is_ours(name)) {
			site_check_wrong(check, subject,
					 "program %s, process %s, holds this port of %s", name,
					 process, port->program);
		} else {
			(*ours)++;
		}
	}
	if (file)
		(void)fclose(file);
}

void site_check_ports(struct site_check *check)
{
	size_t ours = 0;

	for (size_t i = 0; i < COUNT_OF(site_check_ports_rows); i++) {
		const struct site_check_port *port = &site_check_ports_rows[i];
		size_t sockets = 0;
		int number = port->setting ? site_check_number(check, port->program, port->setting,
							       port->number)
					   : port->number;

		if (number == 0)
			continue;
		site_check_ports_table(check, port, number, port->udp ? "udp" : "tcp", &sockets);
		site_check_ports_table(check, port, number, port->udp ? "udp6" : "tcp6", &sockets);
		ours += sockets > 0;
	}
	site_check_say(check, "%zu of %zu are used by our daemons", ours,
		       COUNT_OF(site_check_ports_rows));
}
