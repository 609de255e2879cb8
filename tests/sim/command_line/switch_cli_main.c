/* switch_cli: the command line of a switch that nobody here owns, over SSH. An emulator, written
 * from the vendors' documents; `switch_cli --help`, tests/sim/README.md. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/io/file.h"

#include "tests/sim/command_line/switch_cli_server.h"

enum { FILE_MAX = 1 << 20 };

struct switch_cli_main_options {
	struct cli_server_options server;
	const char *family, *netconf, *hostname, *seed, *faults, *password_file, *log;
	const char *database, *control, *bridge;
	unsigned ports;
	bool is_unprivileged;
};

static volatile sig_atomic_t
	switch_cli_main_stopping; /* set by a signal handler, read by the loop */

static void switch_cli_main_on_signal(int number)
{
	(void)number;
	switch_cli_main_stopping = 1;
}

static int switch_cli_main_usage(FILE *out, int status)
{
	(void)fprintf(
		out,
		"switch_cli --family NAME [--netconf MODEL] [--listen ADDRESS] [--port N] [--ports N] [--hostname NAME]\n"
		"           [--user NAME] [--password-file FILE] [--accounts FILE] [--host-key FILE] [--unprivileged]\n"
		"           [--seed FILE] [--faults FILE] [--log FILE] [--database SOCKET --control SOCKET [--bridge NAME]]\n"
		"  --listen         127.0.0.1          --port  0: any; it is printed as \"ready ADDRESS PORT\"\n"
		"  --user           admin              --password-file  else the password is \"admin\"\n"
		"  --accounts       lines \"USER PASSWORD\", read at each login, instead of --user\n"
		"  --host-key       made when it is not there; else another one each time\n"
		"  --unprivileged   `enable` is needed and asks for the password\n"
		"  --netconf        the model that the SSH subsystem \"netconf\" speaks; else the family's own\n"
		"  --ports          how many it has; 24\n"
		"  --seed           lines: vlan VID [NAME] | mac PORT VID MAC | neighbor PORT CHASSIS PORTID SYSTEM |\n"
		"                   lag PORT MEMBER MEMBER (by NETCONF: that port is an aggregate)\n"
		"  --database       of ovsdb-server: a bridge (br0) is the data plane, port N its OpenFlow port N\n"
		"  --control        of ovs-vswitchd\n"
		"  --faults         KEY=VALUE words, read again when the file changes\n"
		"  --log            what was changed, when and from where (switch_cli_log.h)\n"
		"by hand: ssh -p PORT admin@127.0.0.1\n"
		"\nfamilies:\n");
	for (size_t i = 0; cli_family_at(i); i++)
		(void)fprintf(out, "  %-18s %s\n", cli_family_at(i)->name, cli_family_at(i)->title);
	(void)fprintf(out, "\nmodels of NETCONF:\n");
	for (size_t i = 0; netconf_model_at(i); i++)
		(void)fprintf(out, "  %-18s %s\n", netconf_model_at(i)->name,
			      netconf_model_at(i)->title);
	(void)fprintf(out, "\nfaults:\n");
	cli_faults_help(out);
	return status;
}

static unsigned switch_cli_main_number_of(const char *text)
{
	return (unsigned)strtoul(text, NULL, 10);
}

static int switch_cli_main_read_options(struct switch_cli_main_options *options, int argc,
					char **argv)
{
	static const struct option rows[] = {
		{"family", required_argument, NULL, 'f'},
		{"netconf", required_argument, NULL, 'N'},
		{"listen", required_argument, NULL, 'l'},
		{"port", required_argument, NULL, 'p'},
		{"ports", required_argument, NULL, 'n'},
		{"hostname", required_argument, NULL, 'H'},
		{"user", required_argument, NULL, 'u'},
		{"password-file", required_argument, NULL, 'w'},
		{"accounts", required_argument, NULL, 'a'},
		{"host-key", required_argument, NULL, 'k'},
		{"unprivileged", no_argument, NULL, 'U'},
		{"seed", required_argument, NULL, 's'},
		{"faults", required_argument, NULL, 'F'},
		{"log", required_argument, NULL, 'L'},
		{"database", required_argument, NULL, 'd'},
		{"control", required_argument, NULL, 'c'},
		{"bridge", required_argument, NULL, 'b'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	int option;

	while ((option = getopt_long(argc, argv, "", rows, NULL)) != -1) {
		switch (option) {
		case 'f': options->family = optarg; break;
		case 'N': options->netconf = optarg; break;
		case 'l': options->server.address = optarg; break;
		case 'p': options->server.port = switch_cli_main_number_of(optarg); break;
		case 'n': options->ports = switch_cli_main_number_of(optarg); break;
		case 'H': options->hostname = optarg; break;
		case 'u': options->server.user = optarg; break;
		case 'w': options->password_file = optarg; break;
		case 'a': options->server.accounts = optarg; break;
		case 'k': options->server.host_key = optarg; break;
		case 'U': options->is_unprivileged = true; break;
		case 's': options->seed = optarg; break;
		case 'F': options->faults = optarg; break;
		case 'L': options->log = optarg; break;
		case 'd': options->database = optarg; break;
		case 'c': options->control = optarg; break;
		case 'b': options->bridge = optarg; break;
		case 'h': exit(switch_cli_main_usage(stdout, 0));
		default: return switch_cli_main_usage(stderr, 2);
		}
	}
	if (options->netconf && !netconf_model_find(options->netconf))
		return switch_cli_main_usage(stderr, 2);
	return options->family && cli_family_find(options->family)
		       ? 0
		       : switch_cli_main_usage(stderr, 2);
}

static int read_password(const struct switch_cli_main_options *options, char **ret)
{
	size_t size = 0;
	int rc;

	if (!options->password_file) {
		*ret = strdup("admin");
		return *ret ? 0 : -1;
	}
	rc = file_read(options->password_file, 4096, ret, &size);
	if (rc == 0)
		(*ret)[strcspn(*ret, "\r\n")] = '\0';
	return rc;
}

static int switch_cli_main_seed(struct cli_store *store, const char *path)
{
	char *text = NULL;
	char wrong[128] = "";
	size_t size = 0;
	int rc = file_read(path, FILE_MAX, &text, &size);

	if (rc == 0)
		rc = cli_store_seed(store, text, wrong);
	if (rc != 0)
		(void)fprintf(stderr, "switch_cli: %s: %s %s\n", path, error_text(rc), wrong);
	free(text);
	return rc;
}

static int open_store(const struct switch_cli_main_options *options,
		      const struct cli_family *family, struct cli_store **ret)
{
	CLEANUP(cli_store_freep) struct cli_store *store = NULL;
	int rc = cli_store_new(options->ports, &family->port, &store);

	if (rc == 0 && options->seed)
		rc = switch_cli_main_seed(store, options->seed);
	if (rc == 0 && options->database && options->control)
		rc = switch_ovs_new(options->database, options->control, options->bridge,
				    &store->ovs);
	if (rc == 0)
		rc = cli_store_push(store);
	if (rc == 0)
		*ret = TAKE(store);
	return rc;
}

int main(int argc, char **argv)
{
	struct switch_cli_main_options options = {
		.server = {.address = "127.0.0.1", .user = "admin"}, .bridge = "br0", .ports = 24};
	const struct sigaction action = {.sa_handler = switch_cli_main_on_signal};
	CLEANUP(cli_store_freep) struct cli_store *store = NULL;
	CLEANUP(freep) char *password = NULL;
	struct cli_device device = {0};
	struct netconf_device netconf = {.device = &device};
	int rc = switch_cli_main_read_options(&options, argc, argv);

	if (rc != 0)
		return rc;
	(void)sigaction(SIGTERM, &action, NULL);
	(void)sigaction(SIGINT, &action, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
	device.family = cli_family_find(options.family);
	netconf.model = options.netconf ? netconf_model_find(options.netconf)
					: netconf_model_of(device.family->name);
	device.is_unprivileged = options.is_unprivileged;
	device.faults_path = options.faults;
	(void)text_copy(device.hostname, sizeof(device.hostname),
			options.hostname ? options.hostname : device.family->hostname);
	rc = open_store(&options, device.family, &store);
	if (rc == 0)
		rc = read_password(&options, &password);
	if (rc == 0 && options.log)
		rc = cli_log_new(options.log, store, &options.server.log);
	device.store = store;
	device.password = options.server.password = password;
	if (rc == 0)
		rc = cli_server_run(&device, netconf.model ? &netconf : NULL, &options.server,
				    &switch_cli_main_stopping);
	netconf_device_done(&netconf);
	cli_log_free(options.server.log);
	if (rc != 0)
		(void)fprintf(stderr, "switch_cli: %s\n", error_text(rc));
	return rc == 0 ? 0 : 1;
}
