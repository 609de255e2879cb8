/* Boot scripts: what a node starts next, told to the node alone. */
#include <string.h>

#include "common/base/text.h"
#include "common/net/ipv4.h"
#include "common/net/mac.h"

#include "bampi/bootd/boot/boot_answer.h"
#include "bampi/bootd/boot/boot_client.h"
#include "bampi/bootd/boot/boot_server_private.h"
#include "bampi/bootd/boot/script_table.h"
#include "bampi/bootd/identify/target_policy.h"

#define URL_SIZE 32 /* "https://255.255.255.255:65535" */

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

/* Says only where to ask again: nothing is decided, or not for this asker. */
static void script_wait(struct http_request *request, struct mac mac, const char *reason)
{
	char mac_buffer[MAC_TEXT_SIZE];
	struct script_values values = {
		.node = "unknown",
		.mac = mac_text(mac, mac_buffer),
		.url = "", /* iPXE takes it as relative to where this script came from */
		.agent = "",
		.token = "",
		.console = "",
		.reason = reason,
	};
	struct text text = {0};

	http_answer_header(request, "Cache-Control", "no-store");
	if (script_table_wait(&values, &text))
		boot_answer_wait(request, reason);
	else
		http_answer(request, 200, "text/plain; charset=utf-8", text.data, text.size);
	text_done(&text);
}

/* False: no byte of it was sent. */
static bool script_send(struct boot_server *server, struct http_request *request, struct mac mac,
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
	int rc = script_table_write(decision.target, node ? node->firmware : FIRMWARE_BIOS, &values,
				    &text);

	if (rc) {
		boot_server_refuse_log(server, request, "the script of its boot cannot be written");
		boot_answer_wait(request, "the script of this boot cannot be written");
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
	return rc == 0;
}

void boot_script_answered(void *context, struct http_request *request,
			  const struct boot_question *question, enum boot_verdict verdict)
{
	static const char *const reasons[] = {
		[BOOT_GIVEN] = "its boot was asked for anew",
		[BOOT_LATER] = "it is about to be started anew",
		[BOOT_ELSEWHERE] = "its MAC is heard at another port than its own",
		[BOOT_ENDED] = "this boot is over, the next one is prepared",
		[BOOT_AWAY] = "the database is away",
	};
	struct boot_server *server = context;
	const struct inventory_node *node =
		inventory_by_mac(server->options->inventory, question->mac);
	char url[URL_SIZE];
	bool sent = false;

	/* The picture may have changed meanwhile; the verdict is for this token alone. */
	if (verdict == BOOT_GIVEN && node && strcmp(node->intent.token, question->token) == 0 &&
	    own_url(server, question->asker.address, url))
		sent = script_send(server, request, question->mac, url);
	else
		script_wait(request, question->mac, reasons[verdict]);
	if (verdict == BOOT_GIVEN && !sent)
		boot_gate_return(server->gate, question);
}

/* A script with a token is given once; any other says nothing that is secret. */
static void script_answer(struct boot_server *server, struct http_request *request, struct mac mac,
			  const char *url)
{
	const struct inventory_node *node = inventory_by_mac(server->options->inventory, mac);
	const char *known = http_request_query(request, "again");
	struct boot_question question = {.mac = mac};

	if (target_policy(node).target != BOOT_TARGET_AGENT) {
		(void)script_send(server, request, mac, url);
		return;
	}
	if (http_request_method(request) == HTTP_HEAD) {
		script_wait(request, mac, "only its text is given");
		return;
	}
	boot_asker_read(server->options, server->neighbours, request, &question.asker);
	(void)text_copy(question.token, sizeof(question.token), node->intent.token);
	question.knows = known && inventory_by_token(server->options->inventory, known) == node;
	boot_gate_script(server->gate, request, &question);
}

void boot_script_held(void *context, struct http_request *request, struct mac mac)
{
	struct boot_server *server = context;
	char url[URL_SIZE];

	if (own_url(server, boot_client_address(server->options, request), url))
		script_answer(server, request, mac, url);
	else
		boot_answer_wait(request, "this address is in no subnet of ours any more");
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

void boot_script_serve(void *context, struct http_request *request)
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
			script_wait(request, mac, "the boot server is starting");
			return;
		}
		if (inventory_mac_of(inventory, client, &leased) && mac_equal(mac, leased) &&
		    own_url(server, client, url)) {
			if (!boot_server_foreign(server, request) &&
			    !script_waits(server, request, mac))
				script_answer(server, request, mac, url);
			return;
		}
	}
	server->counters->script_refused++;
	boot_server_refuse_log(server, request,
			       "the address is not leased to the MAC that it names");
	boot_answer_not_found(request);
}
