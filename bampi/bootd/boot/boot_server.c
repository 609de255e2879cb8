#include "bampi/bootd/boot/boot_server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/hex.h"
#include "common/base/json_text.h"
#include "common/base/text.h"
#include "common/http/server.h"
#include "common/io/log.h"
#include "common/net/ipv4.h"
#include "common/net/mac.h"

#include "bampi/bootd/boot/boot_answer.h"
#include "bampi/bootd/boot/boot_client.h"
#include "bampi/bootd/boot/boot_file_server.h"
#include "bampi/bootd/boot/script_hold.h"
#include "bampi/bootd/boot/script_table.h"
#include "bampi/bootd/identify/target_policy.h"

#define BOOT_SERVER_SUBJECT "boot http"
#define SOURCE_CONNECTIONS  256 /* a relay's worth of nodes; a node has two or three */
#define URL_SIZE            32  /* "https://255.255.255.255:65535" */

struct boot_server {
	const struct boot_options *options;
	struct mailbox *mailbox;
	struct boot_counters *counters;
	struct loop *loop;
	struct http_server *http;
	struct script_hold *hold;
	struct log_limit refusals;
};

static void log_refusal(struct boot_server *server, const struct http_request *request,
			const char *why)
{
	char address[IPV4_TEXT_SIZE];

	if (log_allowed(&server->refusals, loop_now_ms(server->loop)))
		log_warn(BOOT_SERVER_SUBJECT, "%s refused: %s (address=%s)",
			 http_request_route(request), why,
			 ipv4_text(boot_client_address(server->options, request), address));
}

/* --- scripts --- */

/* Our address as this client reaches us; false when it is in no subnet of ours. */
static bool own_url(const struct boot_server *server, uint32_t client, char ret[URL_SIZE])
{
	const struct inventory_subnet *subnet =
		inventory_subnet_of(server->options->inventory, client);
	char address[IPV4_TEXT_SIZE];
	bool tls = server->options->tls != NULL;
	unsigned port = tls ? http_server_tls_port(server->http) : http_server_port(server->http);

	return subnet && text_format(ret, URL_SIZE, "%s://%s:%u", tls ? "https" : "http",
				     ipv4_text(subnet->boot_server, address), port);
}

static uint64_t *script_counter(struct boot_counters *counters, enum boot_target target)
{
	switch (target) {
	case BOOT_TARGET_NONE: return &counters->script_none;
	case BOOT_TARGET_AGENT: return &counters->script_agent;
	case BOOT_TARGET_DISK: return &counters->script_disk;
	case BOOT_TARGET_STOP: return &counters->script_stop;
	}
	return &counters->script_none;
}

static void script_send(struct boot_server *server, struct http_request *request, struct mac mac,
			const char *url)
{
	const struct inventory_node *node = inventory_by_mac(server->options->inventory, mac);
	struct target_decision decision = target_policy(node);
	bool agent = decision.target == BOOT_TARGET_AGENT;
	char mac_buffer[MAC_TEXT_SIZE];
	struct script_values values = {
		.node = node ? node->name : "unknown",
		.mac = mac_text(mac, mac_buffer),
		/* iPXE without the site's CA goes on by HTTP, one with it by HTTPS. */
		.url = server->options->tls ? "" : url,
		.agent = url,
		.token = agent ? node->intent.token : "",
		.console = server->options->kernel_console,
		.reason = decision.reason,
	};
	struct text text = {0};

	if (script_table_write(decision.target, node ? node->firmware : FIRMWARE_BIOS, &values,
			       &text)) {
		boot_answer_later(request);
	} else {
		(*script_counter(server->counters, decision.target))++;
		log_info("boot", "node %s: script for %s (mac=%s reason=\"%s\")", values.node,
			 boot_target_text(decision.target), values.mac, values.reason);
		if (node)
			observation_record(server->options->observations, node, OBSERVATION_SCRIPT,
					   boot_target_text(decision.target), text.size);
		http_answer_header(request, "Cache-Control", "no-store");
		http_answer(request, 200, "text/plain; charset=utf-8", text.data, text.size);
	}
	text_done(&text);
}

/* Before the first read of the database nothing can be decided and nobody checked: the script says
 * only where to ask again. */
static void script_wait(struct http_request *request, struct mac mac)
{
	char mac_buffer[MAC_TEXT_SIZE];
	struct script_values values = {
		.node = "unknown",
		.mac = mac_text(mac, mac_buffer),
		.url = "", /* iPXE takes it as relative to where this script came from */
		.agent = "",
		.token = "",
		.console = "",
		.reason = "starting",
	};
	struct text text = {0};

	if (script_table_wait(&values, &text))
		boot_answer_later(request);
	else
		http_answer(request, 200, "text/plain; charset=utf-8", text.data, text.size);
	text_done(&text);
}

static void script_held(void *context, struct http_request *request, struct mac mac)
{
	struct boot_server *server = context;
	char url[URL_SIZE];

	if (own_url(server, http_request_peer(request)->address, url))
		script_send(server, request, mac, url);
	else
		boot_answer_later(request);
}

/* "Stop" is said only from a picture that is newer than the question. */
static bool script_waits(struct boot_server *server, struct http_request *request, struct mac mac)
{
	const struct boot_options *options = server->options;

	if (target_policy(inventory_by_mac(options->inventory, mac)).target != BOOT_TARGET_STOP ||
	    !options->refresh || !db_connected(options->db) ||
	    script_hold_put(server->hold, request, mac))
		return false;
	options->refresh(options->refresh_context);
	return true;
}

void boot_server_refreshed(struct boot_server *server, int64_t read_ms)
{
	script_hold_release(server->hold, read_ms);
}

static void boot_server_script(void *context, struct http_request *request)
{
	struct boot_server *server = context;
	const struct inventory *inventory = server->options->inventory;
	uint32_t client = boot_client_address(server->options, request);
	const char *asked = http_request_query(request, "mac");
	char url[URL_SIZE];
	struct mac mac;
	struct mac leased;

	if (asked && mac_parse(asked, &mac) == 0) {
		if (!inventory_ready(inventory)) {
			script_wait(request, mac);
			return;
		}
		if (inventory_mac_of(inventory, client, &leased) && mac_equal(mac, leased) &&
		    own_url(server, client, url)) {
			if (!script_waits(server, request, mac))
				script_send(server, request, mac, url);
			return;
		}
	}
	server->counters->script_refused++;
	log_refusal(server, request, "the address is not leased to the MAC that it names");
	boot_answer_not_found(request);
}

/* --- files and images --- */

static void boot_server_file(void *context, struct http_request *request)
{
	struct boot_server *server = context;

	server->counters->files +=
		boot_file_send(server->counters, request, server->options->boot_dir,
			       http_request_param(request, "name"));
}

/* Until the first read of the inventory nobody can be known: "later" then, not "no". */
static void refuse_token(struct boot_server *server, struct http_request *request)
{
	if (!inventory_ready(server->options->inventory)) {
		boot_answer_later(request);
		return;
	}
	server->counters->unauthorized++;
	log_refusal(server, request, "no valid token");
	boot_answer_unauthorized(request);
}

/* The node whose current boot intent has this request's token. Otherwise answers 401 and gives
 * NULL. */
static const struct inventory_node *node_of_token(struct boot_server *server,
						  struct http_request *request)
{
	const char *token = http_request_bearer(request);
	const struct inventory_node *node =
		token && strlen(token) == TOKEN_TEXT_SIZE - 1
			? inventory_by_token(server->options->inventory, token)
			: NULL;

	if (!node)
		refuse_token(server, request);
	return node;
}

static void boot_server_image(void *context, struct http_request *request)
{
	struct boot_server *server = context;
	const char *digest = http_request_param(request, "digest");
	const struct inventory_node *node = node_of_token(server, request);

	if (!node)
		return;
	if (!inventory_may_fetch(server->options->inventory, node, digest)) {
		log_refusal(server, request, "the token is for another image");
		boot_answer_not_found(request);
		return;
	}
	server->counters->images +=
		boot_file_send(server->counters, request, server->options->image_dir, digest);
}

/* --- the agent --- */

/* The agent's key of this boot: what is secret is sealed to it (docs/decision/way-to-a-volume.md). Anything that
 * is no key is as if there was none. */
static void say_agent(const struct http_request *request, char *ret, size_t room)
{
	const char *key = http_request_header(request, "Haas-Seal-Key");

	if (key && strlen(key) == 64 && strspn(key, "0123456789abcdef") == 64)
		(void)text_format(ret, room, "asks for work; seal %s", key);
	else
		(void)text_copy(ret, room, "asks for work");
}

static void boot_server_task(void *context, struct http_request *request)
{
	char detail[96];
	struct boot_server *server = context;
	const struct inventory_node *node = node_of_token(server, request);
	const char *asked = http_request_query(request, "wait");
	int wait_s = MAILBOX_WAIT_MAX_S;

	if (!node)
		return;
	/* One or two digits; anything else means the longest. */
	if (asked && asked[0] >= '0' && asked[0] <= '9' && strlen(asked) <= 2)
		wait_s = (int)strtol(asked, NULL, 10);
	if (wait_s > MAILBOX_WAIT_MAX_S)
		wait_s = MAILBOX_WAIT_MAX_S;
	say_agent(request, detail, sizeof(detail));
	observation_record(server->options->observations, node, OBSERVATION_AGENT, detail, 0);
	mailbox_poll(server->mailbox, request, node->intent.token, wait_s);
}

/* Fills `ret` from the path and the token; false when it answered already. */
static bool sender_of(struct boot_server *server, struct http_request *request,
		      struct mailbox_sender *ret)
{
	const char *token = http_request_bearer(request);
	const char *id = http_request_param(request, "id");
	char *end = NULL;

	if (!token || strlen(token) != TOKEN_TEXT_SIZE - 1) {
		server->counters->unauthorized++;
		boot_answer_unauthorized(request);
		return false;
	}
	errno = 0;
	*ret = (struct mailbox_sender){
		.token = token,
		.current = inventory_by_token(server->options->inventory, token) != NULL,
		.task_id = id[0] >= '1' && id[0] <= '9' ? strtoll(id, &end, 10) : 0,
	};
	if (!end || *end || errno) {
		boot_answer_not_found(request);
		return false;
	}
	return true;
}

static void boot_server_progress(void *context, struct http_request *request)
{
	struct boot_server *server = context;
	struct mailbox_sender sender;
	struct boot_progress report;
	struct problem problem = {0};
	size_t size;
	const char *body = http_request_body(request, &size);

	if (!sender_of(server, request, &sender))
		return;
	if (boot_progress_decode(body, size, &report, &problem))
		boot_answer_problem(request, &problem);
	else if (mailbox_progress(server->mailbox, request, &sender, &report))
		refuse_token(server, request);
}

/* A result that breaks its format is stored as a failure that says so: its agent would otherwise be
 * given the task again and do it anew. */
static void boot_server_result(void *context, struct http_request *request)
{
	struct boot_server *server = context;
	struct mailbox_sender sender;
	struct boot_result report = {0};
	struct problem problem = {0};
	size_t size;
	const char *body = http_request_body(request, &size);
	int rc;

	if (!sender_of(server, request, &sender))
		return;
	rc = boot_result_decode(body, size, &report, &problem);
	if (rc == E_MALFORMED || rc == E_LIMIT) {
		struct problem why;

		server->counters->results_malformed++;
		(void)problem_set(&why, E_PROTOCOL, "the agent's result cannot be read");
		problem_detail(&why, "%s", problem.message);
		problem_hint(&why, "the ramdisk is of another version; build it again");
		rc = boot_result_failed(&why, &report);
	}
	if (rc)
		boot_answer_later(request);
	else if (mailbox_result(server->mailbox, request, &sender, &report))
		refuse_token(server, request);
	boot_result_done(&report);
}

/* --- the installed system, health --- */

/* Answered only when the database will have it: until then the installed system asks again. */
static void boot_server_callback(void *context, struct http_request *request)
{
	struct boot_server *server = context;
	const struct inventory *inventory = server->options->inventory;
	const char *nonce = http_request_param(request, "nonce");
	const char *asked = http_request_query(request, "mac");
	const struct inventory_node *node =
		strlen(nonce) == TOKEN_TEXT_SIZE - 1 ? inventory_by_nonce(inventory, nonce) : NULL;
	const struct inventory_node *owner;
	char mac_buffer[MAC_TEXT_SIZE];
	struct mac mac;

	owner = node && asked && mac_parse(asked, &mac) == 0 ? inventory_by_mac(inventory, mac)
							     : NULL;
	if (!inventory_ready(inventory)) {
		boot_answer_later(request);
		return;
	}
	if (!owner || owner->id != node->id) {
		server->counters->callbacks_refused++;
		log_refusal(server, request, "nonce and MAC belong to different nodes");
		boot_answer_not_found(request);
		return;
	}
	server->counters->callbacks++;
	log_info("boot", "node %s: the installed system is up (mac=%s)", node->name,
		 mac_text(mac, mac_buffer));
	observation_record(server->options->observations, node, OBSERVATION_CALLBACK, mac_buffer,
			   0);
	if (db_connected(server->options->db))
		boot_answer_empty(request);
	else
		boot_answer_later(request);
}

static void boot_server_health(void *context, struct http_request *request)
{
	struct boot_server *server = context;
	bool ready = inventory_ready(server->options->inventory);
	struct text text = {0};

	json_begin_object(&text, NULL);
	json_put_bool(&text, "ready", ready);
	json_put_bool(&text, "database", db_connected(server->options->db));
	json_end_object(&text);
	http_answer_json(request, ready ? 200 : 503, &text);
	text_done(&text);
}

static void boot_server_after(void *context, const struct http_request *request, int status,
			      int64_t elapsed_us)
{
	const struct boot_server *server = context;

	(void)elapsed_us;
	boot_file_observe(server->options, request, status);
}

/* Firmware loads the loader, and the OS calls back: neither knows the site's CA. */
static const char *const boot_server_without_tls[] = {BOOT_ROUTE_FILE, "/callback/{nonce}",
						      "/healthz", NULL};
static const char *const boot_server_offered[] = {BOOT_ROUTE_FILE, "/callback/{nonce}", "/healthz",
						  "/boot/script", NULL};

static const struct http_route boot_server_routes[] = {
	{HTTP_GET, "/boot/script", boot_server_script},
	{HTTP_GET, BOOT_ROUTE_FILE, boot_server_file},
	{HTTP_GET, BOOT_ROUTE_IMAGE, boot_server_image},
	{HTTP_GET, "/agent/v1/task", boot_server_task},
	{HTTP_POST, "/agent/v1/tasks/{id}/progress", boot_server_progress},
	{HTTP_POST, "/agent/v1/tasks/{id}/result", boot_server_result},
	{HTTP_GET, "/callback/{nonce}", boot_server_callback},
	{HTTP_POST, "/callback/{nonce}", boot_server_callback},
	{HTTP_GET, "/healthz", boot_server_health},
};

static bool is_relay(void *context, uint32_t address)
{
	const struct boot_server *server = context;

	return boot_client_is_relay(server->options, address);
}

int boot_server_new(struct loop *loop, const struct boot_options *options, struct mailbox *mailbox,
		    struct boot_counters *counters, struct boot_server **ret,
		    struct problem *problem)
{
	struct boot_server *server = calloc(1, sizeof(*server));
	struct http_server_options http = {
		.routes = boot_server_routes,
		.route_count = COUNT_OF(boot_server_routes),
		.context = server,
		.connection_limit = options->http_connections,
		.is_many = is_relay,
		.source_limit = options->http_source_connections ? options->http_source_connections
								 : SOURCE_CONNECTIONS,
		.counters = &counters->http,
		.header_timeout_s = options->http_header_s,
		.without_tls = !options->tls         ? NULL
			       : options->https_only ? boot_server_without_tls
						     : boot_server_offered,
		.after = boot_server_after,
	};
	int rc;

	if (!server)
		return problem_set(problem, -ENOMEM, "no memory for the boot server");
	*server = (struct boot_server){
		.options = options,
		.mailbox = mailbox,
		.counters = counters,
		.loop = loop,
		.refusals = {.burst = 10, .per_minute = 60},
	};
	rc = script_hold_new(loop, script_held, server, &server->hold);
	if (rc == 0)
		rc = http_server_new(loop, &http, &server->http);
	if (rc)
		(void)problem_set(problem, rc, "the boot server does not start: %s",
				  error_text(rc));
	else
		rc = http_server_listen_tcp(server->http, options->http_address, options->http_port,
					    problem);
	if (rc == 0 && options->tls)
		rc = http_server_listen_tls(server->http, options->http_address,
					    options->https_port, options->tls, problem);
	if (rc) {
		boot_server_free(server);
		return rc;
	}

	*ret = server;
	return 0;
}

void boot_server_free(struct boot_server *server)
{
	if (!server)
		return;
	script_hold_free(server->hold);
	if (server->http)
		http_server_free(server->http);
	free(server);
}

uint16_t boot_server_tls_port(const struct boot_server *server)
{
	return http_server_tls_port(server->http);
}

uint16_t boot_server_port(const struct boot_server *server)
{
	return http_server_port(server->http);
}
