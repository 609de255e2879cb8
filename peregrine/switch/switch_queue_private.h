/* Inside the queue: one struct line per switch, one struct call per thing asked. */
#pragma once

#include "common/base/breaker_policy.h"
#include "common/io/call_queue.h"
#include "common/io/loop.h"

#include "peregrine/switch/switch_queue.h"

struct line;

enum call_state { CALL_WAITING, CALL_IN_FLIGHT, CALL_FINISHED };

/* One thing asked. Its request is our own copy: a call that was given up may still be under way. */
struct call {
	struct call_link link;
	struct call_ticket ticket;
	struct switch_queue *queue;
	struct line *line; /* NULL once finished */
	enum call_state state;
	bool person;
	bool now;
	bool unheard; /* nobody waits for it any more, but it cannot be recalled */
	bool late;    /* under way at its deadline: the driver has a moment to say so itself */
	unsigned preempted;
	switch_done_fn done;
	void *context;
	struct loop_timer *deadline;
	int64_t asked_ms, started_ms, ended_ms, deadline_ms;

	struct switch_request request; /* points into the following */
	struct switch_edit *edits;
	struct switch_mirror *mirrors;
	struct switch_lag lag;
	enum edit_result *results;
	char **only_ports;

	int rc; /* when finished */
	struct problem problem;
	struct switch_reading reading;
};

/* One way into a switch. */
struct way {
	const struct switch_driver *driver;
	void *session; /* NULL until the first call */
	struct breaker breaker;
};

/* WAY_HEALTH: by SNMP, of families that are read in another way. WAY_CLI: the command line of a
 * switch whose changes go another way, that has no mirrors, or no aggregates. */
enum way_kind { WAY_READ, WAY_WRITE, WAY_HEALTH, WAY_CLI, WAY_COUNT };

struct line {
	struct switch_queue *queue;
	int64_t id;
	struct switch_endpoint endpoint;
	const struct switch_family *family;
	bool heard;                 /* the family was named, or found by what the switch says */
	struct way ways[WAY_COUNT]; /* only the first when one driver does both */
	struct call_line waiting;
	struct call *in_flight;
	struct way *way_in_flight;
	bool fails_in_flight; /* counted as failing */
	bool held;            /* has something to do, but too many others fail */
	struct loop_timer *wake;
	int64_t answered_ms;
	struct problem problem;
	UT_hash_handle hh;
};

struct switch_queue {
	struct switch_queue_options options;
	struct line *lines; /* by id */
	struct call_queue calls;
	unsigned failing; /* calls under way at switches that failed last */
	struct switch_queue_stats stats;
};

/* switch_queue_run.c */
/* Looks what this switch should do now; a timer's function. */
void line_pump(void *context);
/* Takes the call out of its line; it is answered in the next turn. `problem` may be the call's own,
 * and NULL with rc 0. */
void call_finish(struct call *call, int rc, const struct problem *problem);
/* What may have been sent is not known any more. */
void call_forget_results(const struct call *call);
void call_free(struct call *call);
void call_expired(void *context);
void call_deliver(struct call_link *link);
/* Ends the call under way for its driver: true when the driver has forgotten it. */
bool line_recall(struct line *line);
/* Out of the books: nothing is under way at this switch. */
void line_landed(struct line *line);
/* Closes both sessions. What is under way must have landed. */
void line_close(struct line *line);

/* switch_route.c */
/* The way that an operation goes. */
enum way_kind line_way(const struct line *line, enum switch_op op);
/* The driver of a way; NULL: the catalog has none of that name. */
const struct switch_driver *line_driver(const struct line *line, enum way_kind kind);
const char *line_driver_name(const struct line *line, enum way_kind kind);
/* Why the switch is read and not set; false, and *ret is not touched, where it is set. */
bool line_lacks(const struct line *line, struct problem *ret);
/* An operation that nothing is sent of: E_DENIED with what the switch lacks, E_UNAVAILABLE while its
 * family is not known. */
MUST_USE int line_refuses(const struct line *line, const struct switch_request *request,
			  struct problem *problem);
/* E_UNSUPPORTED with a problem: the driver of this way has no such operation. */
MUST_USE int line_way_check(const struct line *line, enum way_kind kind, enum switch_op op,
			    struct problem *problem);
