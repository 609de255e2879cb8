/* The door of an agent's boot: its script is given once, one agent uses its token
 * (docs/decision/boot-token-once.md). PostgreSQL decides, so that two boot servers and a restart
 * agree; what comes while a statement is out goes with the next. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/hex.h"
#include "common/base/macros.h"
#include "common/db/db.h"
#include "common/http/server.h"
#include "common/net/mac.h"

#include "bampi/bootd/boot/boot_asker.h"

enum boot_verdict {
	BOOT_GIVEN,
	BOOT_LATER,     /* it asks from before its power cycle */
	BOOT_ELSEWHERE, /* switches hear its MAC at another port than the node's */
	BOOT_ENDED,     /* this boot is over */
	BOOT_AWAY,      /* the database does not answer */
};

struct boot_question {
	struct boot_asker asker;
	char token[TOKEN_TEXT_SIZE];
	struct mac mac;             /* script: of the node that it is for */
	bool knows;                 /* script: the asker named the token */
	char key[DIGEST_TEXT_SIZE]; /* agent: its public key, hex */
	int wait_s;                 /* agent: how long it waits for a task */
};

/* Answers the request. */
typedef void (*boot_gate_fn)(void *context, struct http_request *request,
			     const struct boot_question *question, enum boot_verdict verdict);

struct boot_gate;

struct boot_gate_options {
	struct db *db; /* borrowed */
	boot_gate_fn on_script, on_agent;
	void *context;
};

MUST_USE int boot_gate_new(const struct boot_gate_options *options, struct boot_gate **ret);
/* What waits is answered 503. Does not touch db. */
void boot_gate_free(struct boot_gate *gate);
/* Both take over the request. An agent that was let in once is not asked about again. */
void boot_gate_script(struct boot_gate *gate, struct http_request *request,
		      const struct boot_question *question);
void boot_gate_agent(struct boot_gate *gate, struct http_request *request,
		     const struct boot_question *question);
/* The script was given, and no byte of it was sent: it counts as not fetched. */
void boot_gate_return(struct boot_gate *gate, const struct boot_question *question);
/* An event and an alert about a node. */
void boot_gate_alarm(struct boot_gate *gate, int64_t node_id, const char *kind, const char *message,
		     const char *hint);
