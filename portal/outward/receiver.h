/* The kinds of receivers: a row says how a message reaches one. The message itself is made by
 * PostgreSQL (notice_body), so a kind is a body there and a row here. */
#pragma once

#include <stdbool.h>

#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/io/work_cycle.h"

#include "portal/outward/address_guard.h"
#include "portal/outward/outward.h"

struct fetch;
struct fetcher;
struct outward;
struct receiver;
struct worker;

struct receiver_row {
	const char *name;     /* notice.target */
	const char *repeat_s; /* an open alert is told again after so long; NULL = once */
	bool (*is_wanted)(const struct outward_conf *conf);
	/* Sends receiver->body. 0: receiver->told is called later, never from inside. Else the message
	 * was not sent, and `problem` says why. */
	int (*tell)(struct receiver *receiver, struct problem *problem);
};

enum { RECEIVER_COUNT = 3 };
extern const struct receiver_row receiver_rows[RECEIVER_COUNT];

struct receiver {
	const struct receiver_row *row;
	struct outward *owner;
	const struct outward_conf *conf;
	struct fetcher *fetcher;
	struct worker *worker;
	const char *secret; /* of the webhook; NULL = unsigned */
	void (*told)(struct receiver *receiver, int rc, const struct problem *problem);

	struct address_guard guard;

	struct work_cycle cycle;
	bool failing; /* the last message did not arrive */
	/* The message under way: arrays as PostgreSQL writes them, and the body. */
	char *alerts, *states, *body;
	struct fetch *fetch;
	/* What the mail command did, written by the worker. */
	int mail_rc;
	struct problem mail_problem;
};

/* Ends the message under way without telling anybody. */
void receiver_cancel(struct receiver *receiver);
