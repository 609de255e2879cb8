/* Redfish BMCs for the lab: N models of redfish_bmc.h on addresses of their own, over HTTP or
 * HTTPS.
 *
 *   redfish_sim [--port N] [--certificate PEM] [--vendor WORD] [--username NAME] [--password FILE]
 *               [--chassis PROGRAM] [--power-delay MS] [--sessions N] NAME=ADDRESS[=FOLDER]...
 *
 * With a FOLDER the password is FOLDER/password, and power goes through `PROGRAM FOLDER set boot
 * DEVICE power 0|1` with FOLDER/pid as its state, as in the virtual rack (tests/lab/bmc/chassis).
 * Prints "ready" when all listen. By hand, on each address, without a password:
 *
 *   GET /sim/state                                what the model has seen, as JSON
 *   PUT /sim/faults  "WORD[,WORD...] HOLD_MS [PATH]"   "none" ends them; see redfish_bmc.c
 *   PUT /sim/forget                               forgets its sessions, as a reboot of the BMC does
 *   PUT /sim/password "NEW" */
#include <event2/event.h>
#include <getopt.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/json_text.h"
#include "common/base/text.h"
#include "common/net/ipv4.h"

#include "tests/sim/redfish/redfish_http.h"

struct sim;

struct node {
	struct sim *sim;
	char name[64], address[64], folder[256];
	struct redfish_bmc *bmc;
	char device[16]; /* what the next start boots, in the chassis program's words */
};

struct sim {
	struct event_base *base;
	struct redfish_http *http;
	const char *certificate; /* NULL: plain HTTP */
	const char *chassis;
	struct redfish_bmc_options options;
	char password[64];
	uint16_t port;
	struct node *nodes;
	size_t count;
};

/* --- the node behind a BMC --- */

static bool redfish_sim_node_is_on(void *context)
{
	const struct node *node = context;
	char path[300];
	char state = 'Z';
	int pid = 0;
	FILE *file;

	(void)text_format(path, sizeof(path), "%s/pid", node->folder);
	file = fopen(path, "re");
	if (!file)
		return false;
	if (fscanf(file, "%d", &pid) != 1) /* NOLINT(cert-err34-c): a pid of our own script */
		pid = 0;
	(void)fclose(file);
	(void)text_format(path, sizeof(path), "/proc/%d/stat", pid);
	file = pid > 0 ? fopen(path, "re") : NULL;
	if (!file)
		return false;
	if (fscanf(file, "%*d %*s %c", &state) != 1)
		state = 'Z';
	(void)fclose(file);
	return state != 'Z';
}

static void redfish_sim_node_boot(void *context, const struct redfish_bmc_boot *boot)
{
	static const struct {
		const char *target, *device;
	} devices[] = {{"Pxe", "pxe"}, {"UefiHttp", "pxe"}, {"Hdd", "disk"}};
	struct node *node = context;
	const char *device = "default";

	for (size_t i = 0; i < COUNT_OF(devices) && strcmp(boot->enabled, "Disabled") != 0; i++) {
		if (strcmp(devices[i].target, boot->target) == 0)
			device = devices[i].device;
	}
	(void)text_copy(node->device, sizeof(node->device), device);
}

/* One command with both words: two would overtake each other. */
static void redfish_sim_node_power(void *context, enum redfish_bmc_power action)
{
	static const char *const words[][2] = {
		[REDFISH_BMC_ON] = {"power", "1"},
		[REDFISH_BMC_OFF] = {"power", "0"},
		[REDFISH_BMC_RESTART] = {"reset", "1"},
		[REDFISH_BMC_SOFT] = {"shutdown", "1"},
	};
	const struct node *node = context;
	bool starts = action == REDFISH_BMC_ON || action == REDFISH_BMC_RESTART;
	pid_t pid = fork();

	if (pid != 0)
		return;
	if (starts)
		(void)execl(node->sim->chassis, node->sim->chassis, node->folder, "set", "boot",
			    node->device[0] ? node->device : "default", words[action][0],
			    words[action][1], (char *)NULL);
	else
		(void)execl(node->sim->chassis, node->sim->chassis, node->folder, "set",
			    words[action][0], words[action][1], (char *)NULL);
	_exit(127);
}

/* --- HTTP --- */

static void redfish_sim_put_state(struct node *node, struct text *body)
{
	struct redfish_bmc_state state;

	redfish_bmc_state(node->bmc, clock_monotonic_ms(), &state);
	json_begin_object(body, NULL);
	json_put_bool(body, "on", state.on);
	json_put_string(body, "boot", state.boot.target);
	json_put_string(body, "enabled", state.boot.enabled);
	json_put_string(body, "booted", state.booted.target);
	json_put_int(body, "sessions", state.sessions);
	json_put_int(body, "sessions_peak", state.sessions_peak);
	json_put_int(body, "sessions_made", (int64_t)state.sessions_made);
	json_put_int(body, "requests", (int64_t)state.requests);
	json_put_int(body, "refused", (int64_t)state.refused);
	json_put_int(body, "power_ons", (int64_t)state.power_ons);
	json_put_int(body, "power_offs", (int64_t)state.power_offs);
	json_put_int(body, "restarts", (int64_t)state.restarts);
	json_end_object(body);
}

/* "hang,slow 5000 /redfish/v1/Chassis" */
static bool set_faults(struct node *node, const char *words)
{
	char copy[512];
	char *rest = NULL;
	char *list = text_copy(copy, sizeof(copy), words) ? strtok_r(copy, " \n", &rest) : NULL;
	char *hold = list ? strtok_r(NULL, " \n", &rest) : NULL;
	char *path = hold ? strtok_r(NULL, " \n", &rest) : NULL;
	uint32_t bits = 0;
	char *inner = NULL;

	for (char *word = list ? strtok_r(list, ",", &inner) : NULL; word;
	     word = strtok_r(NULL, ",", &inner)) {
		uint32_t bit = redfish_bmc_fault_find(word);

		if (!bit && strcmp(word, "none") != 0)
			return false;
		bits |= bit;
	}
	redfish_bmc_set_faults(node->bmc, bits, hold ? strtoll(hold, NULL, 10) : 0, path);
	return true;
}

static void redfish_sim_control(struct node *node, const char *verb, const char *body,
				struct redfish_bmc_answer *ret)
{
	ret->status = 204;
	if (strcmp(verb, "state") == 0) {
		ret->status = 200;
		redfish_sim_put_state(node, &ret->body);
	} else if (strcmp(verb, "faults") == 0) {
		if (!set_faults(node, body))
			ret->status = 400;
	} else if (strcmp(verb, "forget") == 0) {
		redfish_bmc_forget_sessions(node->bmc);
	} else if (strcmp(verb, "password") == 0) {
		redfish_bmc_set_password(node->bmc, body);
	} else {
		ret->status = 404;
	}
}

static struct node *node_at(struct sim *sim, uint32_t local)
{
	char text[IPV4_TEXT_SIZE];

	(void)ipv4_text(local, text);
	for (size_t i = 0; i < sim->count; i++) {
		if (strcmp(sim->nodes[i].address, text) == 0)
			return &sim->nodes[i];
	}
	return NULL;
}

static void redfish_sim_serve(void *context, uint32_t local,
			      const struct redfish_bmc_request *request,
			      struct redfish_bmc_answer *ret)
{
	struct node *node = node_at(context, local);

	if (!node)
		ret->status = 404;
	else if (strncmp(request->path, "/sim/", 5) == 0)
		redfish_sim_control(node, request->path + 5, request->body, ret);
	else
		redfish_bmc_serve(node->bmc, request, ret);
}

/* --- start --- */

static int redfish_sim_fail(const char *what, const char *which)
{
	(void)fprintf(stderr, "redfish_sim: %s: %s\n", what, which);
	return 1;
}

static bool redfish_sim_read_word(const char *path, char *ret, size_t room)
{
	FILE *file = fopen(path, "re");
	bool read = file && fgets(ret, (int)room, file);

	if (file)
		(void)fclose(file);
	if (read)
		ret[strcspn(ret, "\n")] = '\0';
	return read;
}

static bool operand_read(const char *operand, struct node *ret)
{
	const char *address = strchr(operand, '=');
	const char *folder = address ? strchr(address + 1, '=') : NULL;
	size_t length;

	if (!address)
		return false;
	length = folder ? (size_t)(folder - address - 1) : strlen(address + 1);
	return text_format(ret->name, sizeof(ret->name), "%.*s", (int)(address - operand),
			   operand) &&
	       text_format(ret->address, sizeof(ret->address), "%.*s", (int)length, address + 1) &&
	       text_copy(ret->folder, sizeof(ret->folder), folder ? folder + 1 : "");
}

static int node_start(struct sim *sim, struct node *node, size_t index)
{
	struct redfish_bmc_options options = sim->options;
	char password[64];
	char uuid[40];
	char path[300];
	struct problem problem = {0};
	uint32_t address;

	(void)text_copy(password, sizeof(password), sim->password);
	(void)text_format(uuid, sizeof(uuid), "68616173-6c61-4000-8000-%012zu", index + 1);
	options.name = node->name;
	options.uuid = uuid;
	options.password = password;
	if (node->folder[0]) {
		(void)text_format(path, sizeof(path), "%s/password", node->folder);
		if (!sim->chassis || !redfish_sim_read_word(path, password, sizeof(password)))
			return redfish_sim_fail("a folder needs --chassis and a password",
						node->folder);
		options.node =
			(struct redfish_bmc_node){redfish_sim_node_is_on, redfish_sim_node_power,
						  redfish_sim_node_boot, node};
	}
	if (redfish_bmc_new(&options, &node->bmc) != 0)
		return redfish_sim_fail("no memory", node->name);
	if (ipv4_parse(node->address, &address) ||
	    redfish_http_listen(sim->http, address, sim->port, &problem))
		return redfish_sim_fail("cannot listen", node->address);
	return 0;
}

static int http_start(struct sim *sim)
{
	const struct redfish_http_options options = {
		.certificate = sim->certificate, .serve = redfish_sim_serve, .context = sim};
	struct problem problem = {0};
	int rc = redfish_http_new(sim->base, &options, &sim->http, &problem);

	return rc ? redfish_sim_fail(problem.message, "?") : 0;
}

static void redfish_sim_on_signal(evutil_socket_t number, short what, void *context)
{
	(void)number;
	(void)what;
	(void)event_base_loopbreak(context);
}

static int redfish_sim_options_read(int argc, char **argv, struct sim *sim)
{
	static const struct option options[] = {
		{"port", required_argument, NULL, 'p'},
		{"certificate", required_argument, NULL, 'c'},
		{"vendor", required_argument, NULL, 'v'},
		{"username", required_argument, NULL, 'u'},
		{"password", required_argument, NULL, 'w'},
		{"chassis", required_argument, NULL, 'x'},
		{"power-delay", required_argument, NULL, 'd'},
		{"sessions", required_argument, NULL, 's'},
		{0},
	};
	int rc = 0;
	int word;

	/* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread */
	while (rc == 0 && (word = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (word) {
		case 'p': sim->port = (uint16_t)strtoul(optarg, NULL, 10); break;
		case 'c': sim->certificate = optarg; break;
		case 'v': sim->options.vendor = redfish_bmc_vendor_find(optarg); break;
		case 'u': sim->options.username = optarg; break;
		case 'w':
			if (!redfish_sim_read_word(optarg, sim->password, sizeof(sim->password)))
				rc = redfish_sim_fail("cannot read the password", optarg);
			break;
		case 'x': sim->chassis = optarg; break;
		case 'd': sim->options.power_delay_ms = (uint32_t)strtoul(optarg, NULL, 10); break;
		case 's': sim->options.session_limit = (unsigned)strtoul(optarg, NULL, 10); break;
		default: rc = 2; break;
		}
	}
	return rc;
}

static void sim_done(struct sim *sim)
{
	redfish_http_free(sim->http);
	for (size_t i = 0; i < sim->count; i++)
		redfish_bmc_free(sim->nodes[i].bmc);
	free(sim->nodes);
	event_base_free(sim->base);
}

static int redfish_sim_run(struct sim *sim)
{
	struct event *term = evsignal_new(sim->base, SIGTERM, redfish_sim_on_signal, sim->base);
	struct event *interrupt = evsignal_new(sim->base, SIGINT, redfish_sim_on_signal, sim->base);

	(void)event_add(term, NULL);
	(void)event_add(interrupt, NULL);
	(void)puts("ready");
	(void)fflush(stdout);
	(void)event_base_dispatch(sim->base);
	event_free(term);
	event_free(interrupt);
	return 0;
}

int main(int argc, char **argv)
{
	struct sim sim = {.port = 8000, .options = {.username = "admin"}};
	int rc;

	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGCHLD, SIG_IGN); /* chassis programs are reaped by the kernel */
	if (sodium_init() < 0)
		return redfish_sim_fail("libsodium", "does not start");
	rc = redfish_sim_options_read(argc, argv, &sim);
	if (rc)
		return rc;
	sim.base = event_base_new();
	sim.count = (size_t)(argc - optind);
	sim.nodes = calloc(sim.count ? sim.count : 1, sizeof(*sim.nodes));
	if (!sim.base || !sim.nodes || sim.count == 0)
		return redfish_sim_fail("which NAME=ADDRESS", "?");
	rc = http_start(&sim);
	for (size_t i = 0; i < sim.count && rc == 0; i++) {
		sim.nodes[i].sim = &sim;
		rc = operand_read(argv[optind + (int)i], &sim.nodes[i])
			     ? node_start(&sim, &sim.nodes[i], i)
			     : redfish_sim_fail("not NAME=ADDRESS[=FOLDER]", argv[optind + (int)i]);
	}
	if (rc == 0)
		rc = redfish_sim_run(&sim);
	sim_done(&sim);
	return rc;
}
