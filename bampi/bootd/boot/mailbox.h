/* The agent's mailbox. Long polls wait here for a task. Progress is kept as the latest value per
 * deployment, and flushed once a second for all. Results are answered once they are durable. Tasks
 * are rows (agent_task); this is their door for a node. */
#pragma once

#include <stdint.h>

#include "common/base/macros.h"
#include "common/db/db.h"
#include "common/http/server.h"
#include "common/io/loop.h"

#include "bampi/bootd/boot/boot_counters.h"
#include "bampi/bootd/boot/boot_report.h"

#define MAILBOX_WAIT_MAX_S 20

struct mailbox;

/* db and counters are borrowed. */
MUST_USE int mailbox_new(struct loop *loop, struct db *db, struct boot_counters *counters,
			 struct mailbox **ret);
/* Polls are answered 204, results that are not durable yet 503. Does not touch db, which may be
 * gone: what is in flight is called back from db_free. */
void mailbox_free(struct mailbox *mailbox);

/* bampid posted or dropped tasks. */
void mailbox_notified(struct mailbox *mailbox);
void mailbox_db_state(struct mailbox *mailbox, bool connected);

/* Takes over the request. One poll per token: a new one ends the older (its client is gone, or two
 * agents share a token). */
void mailbox_poll(struct mailbox *mailbox, struct http_request *request, const char *token,
		  int wait_s);

/* Whose report it is. A token that is no longer of a boot intent may still end what it began. */
struct mailbox_sender {
	const char *token;
	bool current; /* the token is of a boot intent now */
	int64_t task_id;
};
/* Both take over the request. E_AUTHENTICATION (nothing taken over, nothing answered): a token that
 * nobody knows. A result is moved out of *result. */
MUST_USE int mailbox_progress(struct mailbox *mailbox, struct http_request *request,
			      const struct mailbox_sender *sender,
			      const struct boot_progress *progress);
MUST_USE int mailbox_result(struct mailbox *mailbox, struct http_request *request,
			    const struct mailbox_sender *sender, struct boot_result *result);
