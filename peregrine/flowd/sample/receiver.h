/* Receives sFlow, or NetFlow and IPFIX, on a thread of its own. Neither a large second in the main
 * loop nor a slow database costs a datagram (docs/decision/receiver-threads.md). Several receivers
 * share one port: the kernel gives all datagrams of one source address to the same one. Once a
 * second a receiver hands over its harvest, and goes on with the one that the main loop has
 * returned. */
#pragma once

#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/io/loop.h"

#include "peregrine/flowd/sample/agent_directory.h"
#include "peregrine/flowd/sample/harvest.h"

enum { RECEIVE_SIZE = 9216 };

/* From the loop. Borrowed: receiver_return it when it has been read, soon: until then the receiver
 * gathers into its other one, and then for longer than a second. */
typedef void (*harvest_fn)(void *context, unsigned receiver, struct harvest *harvest);

enum receive_kind { RECEIVE_SFLOW, RECEIVE_FLOWS /* NetFlow 9 and IPFIX */ };

struct receiver_options {
	enum receive_kind kind;
	const char *address; /* to listen on: literal IPv4 or IPv6; "::" = all of both */
	uint16_t port;       /* 0 = any (tests) */
	unsigned threads;    /* 1..64 */
	unsigned table_bits; /* slots of a second's flows, per receiver and twice */
	uint64_t hash_seed;  /* of these tables; the same for all receivers of a rollup */
	unsigned source_limit;
	int buffer_bytes; /* of each socket's queue; more than the system allows needs CAP_NET_ADMIN
			   */
	uint32_t harvest_ms;  /* 1000; tests are shorter */
	uint64_t samples_max; /* that one receiver uses in a harvest; 0 = all that it can */
	uint32_t agent_max;   /* datagrams of one agent in a harvest's time; 0 = all */
	harvest_fn fn;
	void *context; /* fn's */
};

struct receivers;

/* Binds the sockets; the threads start. `directory` is owned from now on. */
MUST_USE int receivers_start(struct loop *loop, const struct receiver_options *options,
			     struct agent_directory *directory, struct receivers **ret,
			     struct problem *problem);
/* Joins the threads; what was not handed over is told before it returns. */
void receivers_stop(struct receivers *receivers);
void receiver_return(struct receivers *receivers, unsigned receiver, struct harvest *harvest);
/* Makes another directory the one to ask, at the next second; owned from now on. Agents keep their
 * numbers as long as the daemon runs: harvests under way were made with the old one. */
MUST_USE int receivers_use(struct receivers *receivers, struct agent_directory *directory);
/* How many have yet to take the directory that receivers_use made theirs. */
unsigned receivers_behind(const struct receivers *receivers);
uint16_t receivers_port(const struct receivers *receivers);
/* What the sockets' queues hold at most, as the kernel granted it. */
int receivers_buffer(const struct receivers *receivers);
