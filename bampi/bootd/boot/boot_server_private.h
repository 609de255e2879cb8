/* The one struct of the boot HTTP server, shared by boot_server.c (files, images, tokens, life),
 * boot_script.c and boot_agent.c. */
#pragma once

#include "common/base/hex.h"
#include "common/http/server.h"
#include "common/io/log.h"

#include "bampi/bootd/boot/boot_gate.h"
#include "bampi/bootd/boot/boot_server.h"
#include "bampi/bootd/boot/script_hold.h"

struct boot_server {
	const struct boot_options *options;
	struct mailbox *mailbox;
	struct contents *contents;
	struct boot_counters *counters;
	struct loop *loop;
	struct http_server *http;
	struct script_hold *hold;
	struct boot_gate *gate;
	struct neighbours *neighbours;
	struct log_limit refusals;
};

/* Under a rate limit. */
void boot_server_refuse_log(struct boot_server *server, const struct http_request *request,
			    const char *why);
/* Another machine answers at an address that is lent to a node's NIC: answers 404, with an alarm.
 * False: it has answered nothing. */
bool boot_server_foreign(struct boot_server *server, struct http_request *request);
/* Answers 401; 503 as long as nobody can be known. */
void boot_server_refuse_token(struct boot_server *server, struct http_request *request);
/* A token is the node's: it is used from the address that is lent to one of its NICs. Answers when
 * it is not. */
bool boot_server_from_node(struct boot_server *server, struct http_request *request,
			   const struct inventory_node *node);
/* The node whose current boot intent has this request's token. Otherwise answers and gives NULL. */
const struct inventory_node *boot_server_node_of_token(struct boot_server *server,
						       struct http_request *request);

/* GET /boot/script, and what it waited for: a newer picture, the verdict of the gate. */
void boot_script_serve(void *context, struct http_request *request);
void boot_script_held(void *context, struct http_request *request, struct mac mac);
void boot_script_answered(void *context, struct http_request *request,
			  const struct boot_question *question, enum boot_verdict verdict);

/* The agent's routes, and the verdict of the gate on an agent. */
void boot_agent_task(void *context, struct http_request *request);
void boot_agent_progress(void *context, struct http_request *request);
void boot_agent_result(void *context, struct http_request *request);
void boot_agent_answered(void *context, struct http_request *request,
			 const struct boot_question *question, enum boot_verdict verdict);
