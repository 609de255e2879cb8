/* fleet: see tests/sim/README.md and `fleet --help`. */
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/json_text.h"
#include "common/base/text.h"
#include "common/net/ipv4.h"

#include "tests/sim/fleet/fleet.h"
#include "tests/sim/fleet/fleet_rmcp_wire.h"
#include "tests/sim/redfish/redfish_http.h"

#define RELAY_PORT 67
#define DHCP_PORT  68 /* of clients that have their address */
#define FLEET_MAIN_TFTP_PORT \
	2070 /* of the transfers; the one beside is for those that only ask the size */
#define IPMI_PORT 623

enum kind { FLEET_MAIN_NUMBER, SHARE, ADDRESS, TEXT, FLAG, FAULT, MIXED };

static const struct option_line {
	const char *name, *placeholder, *fallback, *help;
	enum kind kind;
	size_t offset;
} fleet_main_lines[] = {
	{"nodes", "N", "200", "how many, at most 20000", FLEET_MAIN_NUMBER,
	 offsetof(struct fleet_options, count)},
	{"seed", "N", "1", "of all that is left to chance", FLEET_MAIN_NUMBER,
	 offsetof(struct fleet_options, seed)},
	{"server", "ADDRESS", "10.127.0.1", "of bampi-bootd", ADDRESS,
	 offsetof(struct fleet_options, server)},
	{"database", "CONNINFO", "",
	 "where the invariants are checked (role haas); none: they are not", TEXT,
	 offsetof(struct fleet_options, database)},
	{"redfish", "SHARE", "0", "of the BMCs that speak Redfish, 0 to 1; the others speak RMCP+",
	 SHARE, offsetof(struct fleet_options, redfish)},
	{"certificate", "PEM", "",
	 "with its key, of those BMCs, which then serve HTTPS; none: plain HTTP", TEXT,
	 offsetof(struct fleet_options, certificate)},
	{"post-ms", "MS", "0", "power-on to the first DHCP, 50 to 150 % of it", FLEET_MAIN_NUMBER,
	 offsetof(struct fleet_options, times.post_ms)},
	{"load-ms", "MS", "0", "kernel to agent", FLEET_MAIN_NUMBER,
	 offsetof(struct fleet_options, times.load_ms)},
	{"task-ms", "MS", "0", "each task of the agent", FLEET_MAIN_NUMBER,
	 offsetof(struct fleet_options, times.task_ms)},
	{"start-ms", "MS", "0", "the installed OS, to its callback", FLEET_MAIN_NUMBER,
	 offsetof(struct fleet_options, times.start_ms)},
	{"overdue", "SECONDS", "120", "a deployment that nobody looks at for so long is forgotten",
	 FLEET_MAIN_NUMBER, offsetof(struct fleet_options, overdue_s)},
	{"report", "SECONDS", "10", "a line on stderr this often; 0 = never", FLEET_MAIN_NUMBER,
	 offsetof(struct fleet_options, report_s)},
	{"hold", NULL, NULL, "nodes stop at seven places in turn until SIGUSR1", FLAG,
	 offsetof(struct fleet_options, hold)},
	{"json", NULL, NULL, "the verdict as JSON", FLAG, offsetof(struct fleet_options, json)},
	{"fault", "NAME=P", NULL,
	 "with this probability; may be repeated (fleet faults lists them)", FAULT, 0},
	{"mixed", NULL, NULL, "all faults with their usual probabilities", MIXED, 0},
};

static void *fleet_main_at(struct fleet_options *options, const struct option_line *line)
{
	return (char *)options + line->offset;
}

static void fleet_main_usage(FILE *out)
{
	(void)fprintf(
		out,
		"fleet run [OPTION...]    simulated machines until SIGTERM or SIGINT, then the verdict; exit 1 when an invariant broke\n"
		"fleet sheet [--nodes N] [--redfish SHARE] [--certificate PEM]  the nodes as a sheet for haasctl node import\n"
		"fleet subnets [--nodes N] [--server A]  haasctl commands that make the racks' subnets\n"
		"fleet faults             what may go wrong\n\n"
		"Run it as root in a network namespace of its own that has\n"
		"    ip route add local 10.128.0.0/9 dev lo\n"
		"and a link to the namespace of the daemons, which routes 10.128.0.0/9 there.\n\n");
	for (size_t i = 0; i < COUNT_OF(fleet_main_lines); i++) {
		char left[40];

		(void)text_format(left, sizeof(left), "--%s %s", fleet_main_lines[i].name,
				  fleet_main_lines[i].placeholder ? fleet_main_lines[i].placeholder
								  : "");
		(void)fprintf(out, "  %-22s %s", left, fleet_main_lines[i].help);
		if (fleet_main_lines[i].fallback && fleet_main_lines[i].fallback[0])
			(void)fprintf(out, " (default %s)", fleet_main_lines[i].fallback);
		(void)fprintf(out, "\n");
	}
}

static bool set_fault(struct fleet_options *options, const char *value)
{
	const char *equals = strchr(value, '=');
	int fault = equals ? fleet_fault_find(value, (size_t)(equals - value)) : -1;
	char *end = NULL;

	if (fault < 0)
		return false;
	options->faults[fault] = strtod(equals + 1, &end);
	return *end == '\0' && options->faults[fault] >= 0 && options->faults[fault] <= 1;
}

static bool fleet_main_set(struct fleet_options *options, const struct option_line *line,
			   const char *value)
{
	char *end = NULL;

	switch (line->kind) {
	case FLEET_MAIN_NUMBER:
		*(int64_t *)fleet_main_at(options, line) = strtoll(value, &end, 10);
		return *end == '\0';
	case SHARE:
		*(double *)fleet_main_at(options, line) = strtod(value, &end);
		return *end == '\0' && value[0] && *(double *)fleet_main_at(options, line) >= 0 &&
		       *(double *)fleet_main_at(options, line) <= 1;
	case ADDRESS: return ipv4_parse(value, fleet_main_at(options, line)) == 0;
	case TEXT:
		free(*(char **)fleet_main_at(options, line));
		*(char **)fleet_main_at(options, line) = value[0] ? strdup(value) : NULL;
		return true;
	case FLAG: *(bool *)fleet_main_at(options, line) = true; return true;
	case FAULT: return set_fault(options, value);
	case MIXED:
		for (size_t i = 0; i < FLEET_FAULTS; i++)
			options->faults[i] = fleet_fault_table[i].mixed;
		return true;
	}
	return false;
}

static bool fleet_main_parse(int argc, char **argv, struct fleet_options *options)
{
	struct option known[COUNT_OF(fleet_main_lines) + 1] = {{0}};
	int index = 0;
	int letter;

	for (size_t i = 0; i < COUNT_OF(fleet_main_lines); i++) {
		known[i] = (struct option){
			fleet_main_lines[i].name,
			fleet_main_lines[i].placeholder ? required_argument : no_argument, NULL, 1};
		if (fleet_main_lines[i].fallback)
			(void)fleet_main_set(options, &fleet_main_lines[i],
					     fleet_main_lines[i].fallback);
	}
	while ((letter = getopt_long(argc, argv, "", known, &index)) != -1) {
		if (letter != 1)
			return false;
		if (!fleet_main_set(options, &fleet_main_lines[index], optarg ? optarg : "")) {
			(void)fprintf(stderr, "fleet: --%s %s means nothing\n",
				      fleet_main_lines[index].name, optarg);
			return false;
		}
	}
	if (options->count < 1 || options->count > FLEET_NODES_MAX) {
		(void)fprintf(stderr, "fleet: --nodes is 1 to %d\n", FLEET_NODES_MAX);
		return false;
	}
	return optind == argc;
}

/* --- the commands that print --- */

/* The last cells of a row: how its BMC is spoken to. */
static void print_bmc(const struct fleet_options *options, int index, const char *pin)
{
	if (!fleet_is_redfish(options, index))
		(void)printf("ipmi,%d,,\n", index % 2 ? 3 : 17);
	else
		(void)printf("redfish,,%s,%s\n", options->certificate ? "verify" : "off", pin);
}

static int fleet_main_sheet(struct fleet_options *options)
{
	char pin[REDFISH_HTTP_PIN_SIZE] = "";
	struct problem problem = {0};

	if (options->certificate && redfish_http_pin(options->certificate, pin, &problem)) {
		(void)fprintf(stderr, "fleet: %s\n", problem.message);
		return 1;
	}
	(void)printf(
		"name,class,rack,unit,firmware,serial,mac,bmc_address,bmc_username,bmc_password,bmc_driver,bmc_cipher_suite,bmc_tls,bmc_fingerprint\n");
	for (int i = 0; i < options->count; i++) {
		struct fleet_node node = {.index = i};
		const struct fleet_model *model = fleet_model(&node);
		char mac[MAC_TEXT_SIZE];
		char bmc[IPV4_TEXT_SIZE];

		(void)printf("f%d,fleet,r%d,%d,%s,FLEET%05d,%s,%s,%s,%s,", i + 1,
			     i / FLEET_RACK_SIZE + 1, i % 100 + 1, model->firmware, i + 1,
			     mac_text(fleet_mac(i), mac),
			     ipv4_text(FLEET_BMC_BASE + (uint32_t)i, bmc), FLEET_USER,
			     FLEET_PASSWORD);
		print_bmc(options, i, pin);
	}
	return 0;
}

static int fleet_main_subnets(struct fleet_options *options)
{
	char server[IPV4_TEXT_SIZE];

	/* One more than there are racks: where a moved cable may end. */
	for (int rack = 0; rack <= options->count / FLEET_RACK_SIZE; rack++) {
		char text[4][IPV4_TEXT_SIZE];
		uint32_t base = FLEET_NODE_BASE + (uint32_t)rack * 256;

		(void)printf(
			"haasctl subnet set rack%d --prefix %s/24 --gateway %s --boot-server %s --pool-low %s --pool-high %s\n",
			rack + 1, ipv4_text(base, text[0]), ipv4_text(base + 1, text[1]),
			ipv4_text(options->server, server),
			ipv4_text(base + FLEET_POOL_FIRST, text[2]),
			ipv4_text(base + 254, text[3]));
	}
	return 0;
}

static int fleet_main_faults(struct fleet_options *options)
{
	(void)options;
	(void)printf("%-14s %-8s %-6s %s\n", "FAULT", "PER", "MIXED", "WHAT");
	for (size_t i = 0; i < FLEET_FAULTS; i++)
		(void)printf("%-14s %-8s %-6g %s\n", fleet_fault_table[i].name,
			     fleet_fault_table[i].occasion, fleet_fault_table[i].mixed,
			     fleet_fault_table[i].help);
	return 0;
}

/* --- run --- */

struct run {
	struct fleet fleet;
	struct loop_timer *report;
};

static void count_phases(const struct fleet *fleet, unsigned ret[FLEET_PHASES])
{
	memset(ret, 0, FLEET_PHASES * sizeof(*ret));
	for (int i = 0; i < fleet->options.count; i++)
		ret[fleet->nodes[i].phase]++;
}

static void print_report(void *context)
{
	struct run *run = context;
	unsigned phases[FLEET_PHASES];

	count_phases(&run->fleet, phases);
	(void)fprintf(stderr, "fleet:");
	for (size_t i = 0; i < FLEET_PHASES; i++) {
		if (phases[i])
			(void)fprintf(stderr, " %s=%u", fleet_phase_words[i], phases[i]);
	}
	(void)fprintf(stderr,
		      " boots=%" PRIu64 " images=%" PRIu64 " callbacks=%" PRIu64
		      " violations=%" PRIu64 "\n",
		      run->fleet.stats.boots, run->fleet.stats.images, run->fleet.stats.callbacks,
		      run->fleet.stats.violations);
	loop_timer_arm(run->report, run->fleet.options.report_s * 1000);
}

static const struct {
	const char *name;
	size_t offset;
} fleet_main_counters[] = {
#define COUNTER(name)                                     \
	{                                                 \
#name, offsetof(struct fleet_stats, name) \
	}
	COUNTER(boots),         COUNTER(images),           COUNTER(image_bytes),
	COUNTER(tasks),         COUNTER(callbacks),        COUNTER(refused_callbacks),
	COUNTER(dhcp_sent),     COUNTER(dhcp_received),    COUNTER(tftp_blocks),
	COUNTER(renewals),      COUNTER(rebindings),       COUNTER(leases_lost),
	COUNTER(http_requests), COUNTER(http_connections), COUNTER(http_failures),
	COUNTER(bmc_packets),   COUNTER(bmc_sessions),     COUNTER(bmc_refused),
	COUNTER(bmc_commands),  COUNTER(redfish_requests), COUNTER(redfish_sessions),
	COUNTER(redfish_basic), COUNTER(redfish_refused),  COUNTER(redfish_open),
	COUNTER(redfish_peak),  COUNTER(checks),           COUNTER(violations),
#undef COUNTER
};

static uint64_t fleet_main_counter(const struct fleet *fleet, size_t index)
{
	return *(const uint64_t *)((const char *)&fleet->stats + fleet_main_counters[index].offset);
}

static void verdict_json(const struct fleet *fleet, bool ok)
{
	CLEANUP(text_done) struct text text = {0};
	unsigned phases[FLEET_PHASES];

	count_phases(fleet, phases);
	json_begin_object(&text, NULL);
	json_put_bool(&text, "ok", ok);
	json_put_int(&text, "seed", fleet->options.seed);
	json_put_int(&text, "nodes", fleet->options.count);
	json_begin_object(&text, "phases");
	for (size_t i = 0; i < FLEET_PHASES; i++)
		json_put_int(&text, fleet_phase_words[i], phases[i]);
	json_end_object(&text);
	json_begin_object(&text, "counters");
	for (size_t i = 0; i < COUNT_OF(fleet_main_counters); i++)
		json_put_int(&text, fleet_main_counters[i].name,
			     (int64_t)fleet_main_counter(fleet, i));
	json_end_object(&text);
	json_begin_object(&text, "faults");
	for (size_t i = 0; i < FLEET_FAULTS; i++)
		json_put_int(&text, fleet_fault_table[i].name, (int64_t)fleet->stats.faults[i]);
	json_end_object(&text);
	json_end_object(&text);
	(void)puts(text_get(&text));
}

static void verdict_text(const struct fleet *fleet, bool ok)
{
	(void)printf("faults:");
	for (size_t i = 0; i < FLEET_FAULTS; i++) {
		if (fleet->stats.faults[i])
			(void)printf(" %s=%" PRIu64, fleet_fault_table[i].name,
				     fleet->stats.faults[i]);
	}
	(void)printf("\ncounters:");
	for (size_t i = 0; i < COUNT_OF(fleet_main_counters); i++)
		(void)printf(" %s=%" PRIu64, fleet_main_counters[i].name,
			     fleet_main_counter(fleet, i));
	(void)printf("\nfleet: %s nodes=%" PRId64 " seed=%" PRId64 " checks=%" PRIu64
		     " violations=%" PRIu64 "\n",
		     ok ? "OK" : "BROKEN", fleet->options.count, fleet->options.seed,
		     fleet->stats.checks, fleet->stats.violations);
}

static void fleet_main_end(struct fleet *fleet, bool asked)
{
	(void)asked;
	loop_stop(fleet->loop);
}

static void fleet_main_on_end(void *context)
{
	struct run *run = context;

	if (run->fleet.check)
		fleet_check_last(run->fleet.check, fleet_main_end);
	else
		fleet_main_end(&run->fleet, false);
}

static void on_lift(void *context)
{
	fleet_hold_lift(context);
}

static int listen_all(struct fleet *fleet, struct problem *problem)
{
	const struct {
		uint16_t port;
		int *fd;
		struct loop_watch **watch;
		loop_watch_fn fn;
	} sockets[] = {
		{RELAY_PORT, &fleet->relay_fd, &fleet->relay_watch, fleet_dhcp_readable},
		{DHCP_PORT, &fleet->client_fd, &fleet->client_watch, fleet_client_readable},
		{FLEET_MAIN_TFTP_PORT, &fleet->tftp_fd, &fleet->tftp_watch, fleet_tftp_readable},
		{FLEET_MAIN_TFTP_PORT + 1, &fleet->size_fd, &fleet->size_watch,
		 fleet_size_readable},
		{IPMI_PORT, &fleet->bmc_fd, &fleet->bmc_watch, fleet_bmc_readable},
	};
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < COUNT_OF(sockets); i++) {
		rc = fleet_udp_open(sockets[i].port, sockets[i].fd, problem);
		if (rc == 0)
			rc = loop_watch_new(fleet->loop, *sockets[i].fd, LOOP_READ, sockets[i].fn,
					    fleet, sockets[i].watch);
	}
	return rc ? rc : fleet_redfish_listen(fleet, problem);
}

static void close_all(struct fleet *fleet)
{
	int *fds[] = {&fleet->relay_fd, &fleet->client_fd, &fleet->tftp_fd, &fleet->size_fd,
		      &fleet->bmc_fd};
	struct loop_watch *watches[] = {fleet->relay_watch, fleet->client_watch, fleet->tftp_watch,
					fleet->size_watch, fleet->bmc_watch};

	for (size_t i = 0; i < COUNT_OF(fds); i++) {
		loop_watch_free(watches[i]);
		if (*fds[i] >= 0)
			(void)close(*fds[i]);
	}
}

/* Each node that is under way has a connection. */
static void raise_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static int fleet_main_start(struct run *run, struct problem *problem)
{
	struct fleet *fleet = &run->fleet;
	int rc = loop_new(&fleet->loop);

	fleet->relay_fd = fleet->client_fd = fleet->tftp_fd = fleet->size_fd = fleet->bmc_fd = -1;
	fleet->holding = fleet->options.hold;
	fleet->nodes = calloc((size_t)fleet->options.count, sizeof(*fleet->nodes));
	fleet->holders = calloc((size_t)(fleet->options.count / FLEET_RACK_SIZE + 2) * 256,
				sizeof(*fleet->holders));
	if (rc == 0)
		rc = fleet->nodes && fleet->holders ? 0 : E_LIMIT;
	if (rc == 0)
		rc = rmcp_init();
	for (int i = 0; rc == 0 && i < fleet->options.count; i++)
		fleet_node_init(fleet, i, &fleet->nodes[i]);
	if (rc == 0)
		rc = listen_all(fleet, problem);
	if (rc == 0)
		rc = fleet_wheel_new(fleet, &fleet->wheel);
	if (rc == 0 && fleet->options.database)
		rc = fleet_check_new(fleet, &fleet->check);
	if (rc == 0)
		rc = loop_timer_new(fleet->loop, print_report, run, &run->report);
	if (rc == 0)
		rc = loop_on_signal(fleet->loop, SIGTERM, fleet_main_on_end, run);
	if (rc == 0)
		rc = loop_on_signal(fleet->loop, SIGINT, fleet_main_on_end, run);
	if (rc == 0)
		rc = loop_on_signal(fleet->loop, SIGUSR1, on_lift, fleet);
	if (rc && !problem_is_set(problem))
		(void)problem_set(problem, rc, "it cannot start: %s", error_text(rc));
	return rc;
}

static void fleet_main_stop(struct run *run)
{
	struct fleet *fleet = &run->fleet;

	fleet_check_free(fleet->check);
	redfish_http_free(fleet->redfish);
	for (int i = 0; fleet->nodes && i < fleet->options.count; i++)
		fleet_node_done(&fleet->nodes[i]);
	close_all(fleet);
	fleet_wheel_free(fleet->wheel);
	loop_timer_free(run->report);
	free(fleet->nodes);
	free(fleet->holders);
	loop_free(fleet->loop);
}

static int run_fleet(struct fleet_options *options)
{
	struct run run = {.fleet = {.options = *options}};
	struct problem problem = {0};
	bool ok = false;
	int rc;

	raise_limit();
	rc = sodium_init() < 0 ? E_UNSUPPORTED : fleet_main_start(&run, &problem);
	if (rc) {
		(void)fprintf(stderr, "fleet: %s: %s\n%s\n", problem.message, problem.detail,
			      problem.hint);
	} else {
		(void)fprintf(stderr, "fleet: %" PRId64 " nodes, seed %" PRId64 "\n",
			      options->count, options->seed);
		if (options->report_s > 0)
			loop_timer_arm(run.report, options->report_s * 1000);
		loop_run(run.fleet.loop);
		ok = run.fleet.stats.violations == 0;
		fleet_redfish_count(&run.fleet);
		if (options->json)
			verdict_json(&run.fleet, ok);
		else
			verdict_text(&run.fleet, ok);
	}
	fleet_main_stop(&run);
	return ok ? 0 : 1;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(struct fleet_options *options);
	} commands[] = {{"run", run_fleet},
			{"sheet", fleet_main_sheet},
			{"subnets", fleet_main_subnets},
			{"faults", fleet_main_faults}};
	struct fleet_options options = {0};
	int status = 2;

	if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0)) {
		fleet_main_usage(stdout);
		return 0;
	}
	for (size_t i = 0; argc > 1 && i < COUNT_OF(commands); i++) {
		if (strcmp(argv[1], commands[i].name) != 0)
			continue;
		if (fleet_main_parse(argc - 1, argv + 1, &options))
			status = commands[i].run(&options);
		free(options.database);
		free(options.certificate);
		return status;
	}
	fleet_main_usage(stderr);
	return status;
}
