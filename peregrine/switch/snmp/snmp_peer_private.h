/* One switch's line of requests, for the files that share it:
 *
 *   snmp_peer.c         asking and ending
 *   snmp_peer_handle.c  Net-SNMP's session
 *   snmp_exchange.c     one request and its outcome
 *   snmp_peer_turn.c    what is due */
#pragma once

#include "peregrine/switch/snmp/snmp_client_private.h"

enum exchange_state {
	EXCHANGE_WAITING,
	EXCHANGE_SENT,
	EXCHANGE_AGAIN, /* its time is over, or the engine is another: next turn decides */
	EXCHANGE_GONE   /* answered or forgotten */
};

struct exchange {
	struct exchange *next;
	struct snmp_peer *peer;
	enum exchange_state state;
	netsnmp_pdu *pdu; /* ours; a copy is sent each time */
	unsigned copies;  /* that Net-SNMP holds; it calls us for each */
	bool under_way;   /* counted in the peer's window */
	bool probe, once;
	struct fence *fence;
	int failure; /* of the last try, for EXCHANGE_AGAIN */
	unsigned tries, sends, tries_limit;
	uint32_t timeout_ms;
	int64_t sent_ms, expires_ms; /* of this try */
	/* Copies of this try: a lost one is replaced early, when an answer is overdue by this
	 * agent's habit. The first that is answered counts. */
	int ids[COPY_LIMIT];
	int64_t copied_ms[COPY_LIMIT];
	unsigned copied;
	int64_t early_ms; /* when the next one is due; 0 = none */
	int report;       /* SNMPERR_* of a report, 0 = none */
	snmp_answer_fn fn;
	void *context;
};

struct snmp_peer {
	struct snmp_client *client;
	struct snmp_peer *next_peer; /* of the client's */
	struct switch_endpoint endpoint;
	char where[96];
	void *handle; /* of Net-SNMP; NULL until something is asked */
	bool has_engine;
	bool v1;           /* nothing newer is spoken */
	bool stale;        /* the engine that we remember is not the one that answers */
	unsigned silences; /* looks for the engine since the last answer */
	struct loop_watch *watch;
	struct loop_timer *timer;
	struct exchange *first, **end;
	unsigned under_way, window;
	unsigned rtt_8,
		spread_4; /* ms: mean of round trips, times 8; its spread, times 4; 0 = none */
	unsigned depth;   /* of calls of ours on the stack that look at the peer after */
	bool closed;
	int64_t answered_ms;
	unsigned engine_tries; /* probes without a good answer since */
	uint32_t timeout_ms, requests;
	/* v3: what is of this switch's engine, while another's with the same id is with Net-SNMP */
	uint8_t engine_id[ENGINE_ID_LIMIT];
	size_t engine_size; /* 0 = none is known */
	bool holds;         /* ours is with Net-SNMP */
	struct snmp_peer *next_holder;
	struct usmUser *user; /* owned */
	u_int boots, time_s;
	int64_t time_ms; /* when these were read */
	uint16_t repetitions, good;
	bool bulk_taken,
		bulk_refused; /* GETBULK was answered; it was refused, and GETNEXT was not */
	size_t bindings;
};

/* Net-SNMP's session with what is known of the engine now; has_engine says whether it is. */
MUST_USE int peer_open_handle(struct snmp_peer *peer);
/* Ends it: what was under way is told to be so. */
void peer_close_handle(struct snmp_peer *peer);
/* Around callbacks: a peer that was freed on the way goes when the last one is left. */
void peer_enter(struct snmp_peer *peer);
void peer_leave(struct snmp_peer *peer);

void peer_append(struct snmp_peer *peer, struct exchange *exchange);
/* Sends what is due, and arms the timer for what is due next. */
void peer_turn(struct snmp_peer *peer);

/* Sends it, or ends it with the reason why not. */
void exchange_send(struct snmp_peer *peer, struct exchange *exchange);
/* One more of this try. */
void exchange_copy(struct snmp_peer *peer, struct exchange *exchange);
/* How long an answer takes by this agent's habit (RFC 6298); 0 = not known. */
uint32_t peer_overdue_ms(const struct snmp_peer *peer);
/* Ends it. */
void exchange_fail(struct exchange *exchange, int rc);
