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
#include "bampi/bootd/boot/boot_server_private.h"

#define BOOT_SERVER_SUBJECT "boot http"
#define SOURCE_CONNECTIONS  256 /* a relay's worth of nodes; a node has two or three */

void boot_server_refuse_log(struct boot_server *server, const struct http_request *request,
			    const char *why)
{
	char address[IPV4_TEXT_SIZE];

	if (log_allowed(&server->refusals, loop_now_ms(server->loop)))
		log_warn(BOOT_SERVER_SUBJECT, "%s refused: %s (address=%s)",
			 http_request_route(request), why,
			 ipv4_text(boot_client_address(server->options, request), address));
}

bool boot_server_foreign(struct boot_server *server, struct http_request *request)
{
	const struct inventory_node *node;
	struct boot_asker asker;
	char message[256];
	char address[IPV4_TEXT_SIZE];
	char owner[MAC_TEXT_SIZE];
	char mac[MAC_TEXT_SIZE];

	boot_asker_read(server->options, server->neighbours, request, &asker);
	if (!boot_asker_is_foreign(&asker))
		return false;
	node = inventory_by_mac(server->options->inventory, asker.owner);
	(void)text_format(message, sizeof(message),
			  "address %s is lent to node %s (%s), and another machine uses it: %s",
			  ipv4_text(asker.address, address), node ? node->name : "of nobody",
			  mac_text(asker.owner, owner), mac_text(asker.mac, mac));
	if (node)
		boot_gate_alarm(server->gate, node->id, "boot.foreign_asker", message,
				"find its port: haasctl nic locate, or the address tables of the "
				"switches");
	boot_server_refuse_log(server, request, message);
	server->counters->unauthorized++;
	boot_answer_not_found(request);
	return true;
}

void boot_server_refreshed(struct boot_server *server, int64_t read_ms)
{
	script_hold_release(server->hold, read_ms);
}

/* --- files and images --- */

static void boot_server_file(void *context, struct http_request *request)
{
	struct boot_server *server = context;

	server->counters->files +=
		boot_file_send(server->counters, request, server->options->boot_dir,
			       http_request_param(request, "name"));
}

void boot_server_refuse_token(struct boot_server *server, struct http_request *request)
{
	if (!inventory_ready(server->options->inventory)) {
		boot_answer_wait(request, "the boot server is starting");
		return;
	}
	server->counters->unauthorized++;
	boot_server_refuse_log(server, request, "no valid token");
	boot_answer_unauthorized(request);
}

bool boot_server_from_node(struct boot_server *server, struct http_request *request,
			   const struct inventory_node *node)
{
	const struct inventory_node *there = inventory_by_address(
		server->options->inventory, boot_client_address(server->options, request));
	char message[160];

	if (there == node)
		return !boot_server_foreign(server, request);
	/* Its lease may be on its way to us; an agent asks again. */
	if (!there) {
		boot_server_refuse_log(server, request,
				       "a token, from an address that is lent to nobody");
		boot_answer_wait(request, "this address is lent to nobody");
		return false;
	}
	(void)text_format(message, sizeof(message), "node %s uses the token of node %s",
			  there->name, node->name);
	boot_gate_alarm(server->gate, node->id, "boot.foreign_asker", message,
			"the token was stolen: look at both nodes");
	boot_server_refuse_log(server, request, message);
	server->counters->unauthorized++;
	boot_answer_unauthorized(request);
	return false;
}

const struct inventory_node *boot_server_node_of_token(struct boot_server *server,
						       struct http_request *request)
{
	const char *token = http_request_bearer(request);
	const struct inventory_node *node =
		token && strlen(token) == TOKEN_TEXT_SIZE - 1
			? inventory_by_token(server->options->inventory, token)
			: NULL;

	if (!node)
		boot_server_refuse_token(server, request);
	else if (!boot_server_from_node(server, request, node))
		return NULL;
	return node;
}

/* Another controller of the site, by its certificate, copies what it lacks. */
static bool boot_server_is_controller(const struct http_request *request)
{
	const struct http_peer *peer = http_request_peer(request);

	return peer->secure && strcmp(peer->certified.role, TLS_ROLE_CONTROLLER) == 0 &&
	       !http_request_bearer(request);
}

static void boot_server_content(struct boot_server *server, struct http_request *request,
				const char *digest)
{
	const char *folder = contents_folder(server->contents, digest);

	if (folder)
		server->counters->images +=
			boot_file_send(server->counters, request, folder, digest);
	else
		boot_answer_not_found(request);
}

static void boot_server_image(void *context, struct http_request *request)
{
	struct boot_server *server = context;
	const char *digest = http_request_param(request, "digest");
	const struct inventory_node *node;

	if (boot_server_is_controller(request)) {
		boot_server_content(server, request, digest);
		return;
	}
	node = boot_server_node_of_token(server, request);
	if (!node)
		return;
	if (!inventory_may_fetch(server->options->inventory, node, digest)) {
		boot_server_refuse_log(server, request, "the token is for another image");
		boot_answer_not_found(request);
		return;
	}
	if (!contents_folder(server->contents, digest) &&
	    contents_coming(server->contents, digest)) {
		boot_answer_wait(request, "it is being copied from another controller");
		return;
	}
	boot_server_content(server, request, digest);
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
		boot_answer_wait(request, "the boot server is starting");
		return;
	}
	if (!owner || owner->id != node->id) {
		server->counters->callbacks_refused++;
		boot_server_refuse_log(server, request, "nonce and MAC belong to different nodes");
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
	boot_file_observe(server->options, server->contents, request, status);
}

/* Firmware loads the loader, and the OS calls back: neither knows the site's CA. */
static const char *const boot_server_without_tls[] = {BOOT_ROUTE_FILE, "/callback/{nonce}",
						      "/healthz", NULL};
static const char *const boot_server_offered[] = {BOOT_ROUTE_FILE, "/callback/{nonce}", "/healthz",
						  "/boot/script", NULL};

static const struct http_route boot_server_routes[] = {
	{HTTP_GET, "/boot/script", boot_script_serve},
	{HTTP_GET, BOOT_ROUTE_FILE, boot_server_file},
	{HTTP_GET, BOOT_ROUTE_IMAGE, boot_server_image},
	{HTTP_GET, "/agent/v1/task", boot_agent_task},
	{HTTP_POST, "/agent/v1/tasks/{id}/progress", boot_agent_progress},
	{HTTP_POST, "/agent/v1/tasks/{id}/result", boot_agent_result},
	{HTTP_GET, "/callback/{nonce}", boot_server_callback},
	{HTTP_POST, "/callback/{nonce}", boot_server_callback},
	{HTTP_GET, "/healthz", boot_server_health},
};

static bool is_relay(void *context, uint32_t address)
{
	const struct boot_server *server = context;

	return boot_client_is_relay(server->options, address);
}

int boot_server_new(struct loop *loop, const struct boot_server_options *parts,
		    struct boot_server **ret, struct problem *problem)
{
	const struct boot_options *options = parts->boot;
	struct boot_server *server = calloc(1, sizeof(*server));
	struct http_server_options http = {
		.routes = boot_server_routes,
		.route_count = COUNT_OF(boot_server_routes),
		.context = server,
		.connection_limit = options->http_connections,
		.is_many = is_relay,
		.source_limit = options->http_source_connections ? options->http_source_connections
								 : SOURCE_CONNECTIONS,
		.counters = &parts->counters->http,
		.header_timeout_s = options->http_header_s,
		.without_tls = !options->tls         ? NULL
			       : options->https_only ? boot_server_without_tls
						     : boot_server_offered,
		.after = boot_server_after,
	};
	struct boot_gate_options gate;
	int rc;

	if (!server)
		return problem_set(problem, -ENOMEM, "no memory for the boot server");
	*server = (struct boot_server){
		.options = options,
		.mailbox = parts->mailbox,
		.contents = parts->contents,
		.counters = parts->counters,
		.loop = loop,
		.refusals = {.burst = 10, .per_minute = 60},
	};
	gate = (struct boot_gate_options){.db = options->db,
					  .on_script = boot_script_answered,
					  .on_agent = boot_agent_answered,
					  .context = server};
	rc = script_hold_new(loop, boot_script_held, server, &server->hold);
	if (rc == 0)
		rc = boot_gate_new(&gate, &server->gate);
	if (rc == 0)
		rc = neighbours_new(&server->neighbours);
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
	boot_gate_free(server->gate);
	if (server->http)
		http_server_free(server->http);
	neighbours_free(server->neighbours);
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
