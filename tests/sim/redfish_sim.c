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
#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent_ssl.h>
#include <event2/event.h>
#include <event2/http.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/json_text.h"
#include "common/base/text.h"

#include "tests/sim/redfish_bmc.h"

struct sim;

struct node {
	struct sim *sim;
	char name[64], address[64], folder[256];
	struct redfish_bmc *bmc;
	struct evhttp *http;
	char device[16]; /* what the next start boots, in the chassis program's words */
};

struct sim {
	struct event_base *base;
	SSL_CTX *tls; /* NULL: plain HTTP */
	const char *chassis;
	struct redfish_bmc_options options;
	char password[64];
	uint16_t port;
	struct node *nodes;
	size_t count;
};

/* An answer that waits for its time. */
struct late {
	struct evhttp_request *request;
	struct redfish_bmc_answer answer;
	struct event *timer;
};

/* --- the node behind a BMC ------------------------------------------- */

static bool node_is_on(void *context)
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

static void node_boot(void *context, const struct redfish_bmc_boot *boot)
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
static void node_power(void *context, enum redfish_bmc_power action)
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

/* --- HTTP ------------------------------------------------------------ */

static const char *method_of(const struct evhttp_request *request)
{
	switch (evhttp_request_get_command(request)) {
	case EVHTTP_REQ_GET: return "GET";
	case EVHTTP_REQ_POST: return "POST";
	case EVHTTP_REQ_PUT: return "PUT";
	case EVHTTP_REQ_PATCH: return "PATCH";
	case EVHTTP_REQ_DELETE: return "DELETE";
	case EVHTTP_REQ_HEAD: return "HEAD";
	case EVHTTP_REQ_OPTIONS:
	case EVHTTP_REQ_TRACE:
	case EVHTTP_REQ_CONNECT: break;
	}
	return "OTHER";
}

static void header(struct evkeyvalq *headers, const char *name, const char *value)
{
	if (value[0])
		(void)evhttp_add_header(headers, name, value);
}

static void cut_sent(struct bufferevent *stream, void *context)
{
	(void)stream;
	evhttp_connection_free(context);
}

static void cut_failed(struct bufferevent *stream, short what, void *context)
{
	(void)stream;
	(void)what;
	evhttp_connection_free(context);
}

/* Half of the body, then the end of the connection. */
static void send_cut(struct evhttp_request *request, const struct redfish_bmc_answer *answer)
{
	struct evhttp_connection *connection = evhttp_request_get_connection(request);
	struct bufferevent *stream = evhttp_connection_get_bufferevent(connection);
	struct evbuffer *out = bufferevent_get_output(stream);

	bufferevent_setcb(stream, NULL, cut_sent, cut_failed, connection);
	(void)evbuffer_add_printf(out, "HTTP/1.1 %d OK\r\nContent-Type: application/json\r\n",
				  answer->status);
	(void)evbuffer_add_printf(out, "Content-Length: %zu\r\n\r\n%.*s", answer->body.size,
				  (int)(answer->body.size / 2), text_get(&answer->body));
	(void)bufferevent_enable(stream, EV_WRITE);
}

static void send_answer(struct evhttp_request *request, struct redfish_bmc_answer *answer)
{
	struct evkeyvalq *headers = evhttp_request_get_output_headers(request);
	struct evbuffer *body;
	char seconds[16];

	if (answer->cut) {
		send_cut(request, answer);
		redfish_bmc_answer_done(answer);
		return;
	}
	body = evbuffer_new();
	(void)evbuffer_add(body, text_get(&answer->body), answer->body.size);
	header(headers, "OData-Version", "4.0");
	header(headers, "Cache-Control", "no-store");
	header(headers, "X-Auth-Token", answer->token);
	header(headers, "Location", answer->location);
	header(headers, "ETag", answer->etag);
	if (answer->body.size > 0)
		header(headers, "Content-Type", "application/json; charset=utf-8");
	if (answer->authenticate)
		header(headers, "WWW-Authenticate", "Basic realm=\"redfish_sim\"");
	if (answer->retry_s > 0) {
		(void)text_format(seconds, sizeof(seconds), "%u", answer->retry_s);
		header(headers, "Retry-After", seconds);
	}
	evhttp_send_reply(request, answer->status, NULL, body);
	evbuffer_free(body);
	redfish_bmc_answer_done(answer);
}

static void late_due(evutil_socket_t fd, short what, void *context)
{
	struct late *late = context;

	(void)fd;
	(void)what;
	evhttp_request_set_on_complete_cb(late->request, NULL, NULL);
	evhttp_connection_set_closecb(evhttp_request_get_connection(late->request), NULL, NULL);
	if (late->answer.delay_ms >= 0)
		send_answer(late->request, &late->answer);
	event_free(late->timer);
	free(late);
}

static void late_gone(struct evhttp_connection *connection, void *context)
{
	struct late *late = context;

	(void)connection;
	redfish_bmc_answer_done(&late->answer);
	event_free(late->timer);
	free(late);
}

/* A delay of -1 waits for the client to give up. */
static void send_later(struct sim *sim, struct evhttp_request *request,
		       const struct redfish_bmc_answer *answer)
{
	struct late *late = calloc(1, sizeof(*late));
	struct timeval delay = {.tv_sec = answer->delay_ms / 1000,
				.tv_usec = answer->delay_ms % 1000 * 1000};

	if (!late)
		abort();
	*late = (struct late){.request = request, .answer = *answer};
	late->timer = event_new(sim->base, -1, 0, late_due, late);
	evhttp_connection_set_closecb(evhttp_request_get_connection(request), late_gone, late);
	if (answer->delay_ms >= 0)
		(void)event_add(late->timer, &delay);
}

static void send_state(struct node *node, struct evhttp_request *request)
{
	struct redfish_bmc_answer answer = {.status = 200};
	struct redfish_bmc_state state;

	redfish_bmc_state(node->bmc, clock_monotonic_ms(), &state);
	json_begin_object(&answer.body, NULL);
	json_bool(&answer.body, "on", state.on);
	json_string(&answer.body, "boot", state.boot.target);
	json_string(&answer.body, "enabled", state.boot.enabled);
	json_string(&answer.body, "booted", state.booted.target);
	json_int(&answer.body, "sessions", state.sessions);
	json_int(&answer.body, "sessions_peak", state.sessions_peak);
	json_int(&answer.body, "sessions_made", (int64_t)state.sessions_made);
	json_int(&answer.body, "requests", (int64_t)state.requests);
	json_int(&answer.body, "refused", (int64_t)state.refused);
	json_int(&answer.body, "power_ons", (int64_t)state.power_ons);
	json_int(&answer.body, "power_offs", (int64_t)state.power_offs);
	json_int(&answer.body, "restarts", (int64_t)state.restarts);
	json_end_object(&answer.body);
	send_answer(request, &answer);
}

/* "hang,slow 5000 /redfish/v1/Chassis" */
static bool set_faults(struct node *node, char *words)
{
	char *rest = NULL;
	char *list = strtok_r(words, " \n", &rest);
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

static void control(struct node *node, struct evhttp_request *request, const char *verb, char *body)
{
	struct redfish_bmc_answer answer = {.status = 204};

	if (strcmp(verb, "state") == 0) {
		send_state(node, request);
		return;
	}
	if (strcmp(verb, "faults") == 0) {
		if (!set_faults(node, body))
			answer.status = 400;
	} else if (strcmp(verb, "forget") == 0) {
		redfish_bmc_forget_sessions(node->bmc);
	} else if (strcmp(verb, "password") == 0) {
		redfish_bmc_set_password(node->bmc, body);
	} else {
		answer.status = 404;
	}
	send_answer(request, &answer);
}

static void on_request(struct evhttp_request *request, void *context)
{
	struct node *node = context;
	struct evkeyvalq *headers = evhttp_request_get_input_headers(request);
	struct evbuffer *input = evhttp_request_get_input_buffer(request);
	size_t size = evbuffer_get_length(input);
	char *body = calloc(1, size + 1);
	struct redfish_bmc_answer answer;
	struct redfish_bmc_request asked = {
		.method = method_of(request),
		.path = evhttp_request_get_uri(request),
		.token = evhttp_find_header(headers, "X-Auth-Token"),
		.authorization = evhttp_find_header(headers, "Authorization"),
		.if_match = evhttp_find_header(headers, "If-Match"),
		.body = body,
		.size = size,
		.now_ms = clock_monotonic_ms(),
	};

	if (!body)
		abort();
	(void)evbuffer_remove(input, body, size);
	if (strncmp(asked.path, "/sim/", 5) == 0) {
		control(node, request, asked.path + 5, body);
	} else {
		redfish_bmc_serve(node->bmc, &asked, &answer);
		if (answer.delay_ms != 0)
			send_later(node->sim, request, &answer);
		else
			send_answer(request, &answer);
	}
	free(body);
}

static struct bufferevent *stream_new(struct event_base *base, void *context)
{
	struct sim *sim = context;
	struct bufferevent *stream;

	if (!sim->tls)
		return bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);
	stream = bufferevent_openssl_socket_new(base, -1, SSL_new(sim->tls),
						BUFFEREVENT_SSL_ACCEPTING, BEV_OPT_CLOSE_ON_FREE);
	if (stream)
		bufferevent_openssl_set_allow_dirty_shutdown(stream, 1);
	return stream;
}

/* --- start ----------------------------------------------------------- */

static int fail(const char *what, const char *which)
{
	(void)fprintf(stderr, "redfish_sim: %s: %s\n", what, which);
	return 1;
}

static bool read_word(const char *path, char *ret, size_t room)
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

	(void)text_copy(password, sizeof(password), sim->password);
	(void)text_format(uuid, sizeof(uuid), "68616173-6c61-4000-8000-%012zu", index + 1);
	options.name = node->name;
	options.uuid = uuid;
	options.password = password;
	if (node->folder[0]) {
		(void)text_format(path, sizeof(path), "%s/password", node->folder);
		if (!sim->chassis || !read_word(path, password, sizeof(password)))
			return fail("a folder needs --chassis and a password", node->folder);
		options.node = (struct redfish_bmc_node){node_is_on, node_power, node_boot, node};
	}
	if (redfish_bmc_new(&options, &node->bmc) != 0)
		return fail("no memory", node->name);
	node->http = evhttp_new(sim->base);
	evhttp_set_allowed_methods(node->http, EVHTTP_REQ_GET | EVHTTP_REQ_POST | EVHTTP_REQ_PUT |
						       EVHTTP_REQ_PATCH | EVHTTP_REQ_DELETE |
						       EVHTTP_REQ_HEAD);
	evhttp_set_max_body_size(node->http, 1 << 20);
	evhttp_set_bevcb(node->http, stream_new, sim);
	evhttp_set_gencb(node->http, on_request, node);
	if (evhttp_bind_socket(node->http, node->address, sim->port) != 0)
		return fail("cannot listen", node->address);
	return 0;
}

static int tls_start(struct sim *sim, const char *certificate)
{
	sim->tls = SSL_CTX_new(TLS_server_method());
	if (!sim->tls || SSL_CTX_use_certificate_chain_file(sim->tls, certificate) != 1 ||
	    SSL_CTX_use_PrivateKey_file(sim->tls, certificate, SSL_FILETYPE_PEM) != 1)
		return fail("not a certificate with its key", certificate);
	return 0;
}

static void on_signal(evutil_socket_t number, short what, void *context)
{
	(void)number;
	(void)what;
	(void)event_base_loopbreak(context);
}

static int options_read(int argc, char **argv, struct sim *sim)
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
		case 'c': rc = tls_start(sim, optarg); break;
		case 'v': sim->options.vendor = redfish_bmc_vendor_find(optarg); break;
		case 'u': sim->options.username = optarg; break;
		case 'w':
			if (!read_word(optarg, sim->password, sizeof(sim->password)))
				rc = fail("cannot read the password", optarg);
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
	for (size_t i = 0; i < sim->count; i++) {
		if (sim->nodes[i].http)
			evhttp_free(sim->nodes[i].http);
		redfish_bmc_free(sim->nodes[i].bmc);
	}
	free(sim->nodes);
	SSL_CTX_free(sim->tls);
	event_base_free(sim->base);
}

static int sim_run(struct sim *sim)
{
	struct event *term = evsignal_new(sim->base, SIGTERM, on_signal, sim->base);
	struct event *interrupt = evsignal_new(sim->base, SIGINT, on_signal, sim->base);

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
		return fail("libsodium", "does not start");
	rc = options_read(argc, argv, &sim);
	if (rc)
		return rc;
	sim.base = event_base_new();
	sim.count = (size_t)(argc - optind);
	sim.nodes = calloc(sim.count ? sim.count : 1, sizeof(*sim.nodes));
	if (!sim.base || !sim.nodes || sim.count == 0)
		return fail("which NAME=ADDRESS", "?");
	for (size_t i = 0; i < sim.count && rc == 0; i++) {
		sim.nodes[i].sim = &sim;
		rc = operand_read(argv[optind + (int)i], &sim.nodes[i])
			     ? node_start(&sim, &sim.nodes[i], i)
			     : fail("not NAME=ADDRESS[=FOLDER]", argv[optind + (int)i]);
	}
	if (rc == 0)
		rc = sim_run(&sim);
	sim_done(&sim);
	return rc;
}
