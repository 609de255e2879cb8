/* What snmp_client.c, snmp_peer.c and snmp_engine.c share. Only they see Net-SNMP. */
#pragma once

/* Net-SNMP's headers do not survive our warnings. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
#pragma GCC diagnostic ignored "-Wundef"
#include <net-snmp/library/large_fd_set.h>
#include <net-snmp/library/transform_oids.h>
#include <net-snmp/net-snmp-config.h>
#include <net-snmp/net-snmp-includes.h>
#pragma GCC diagnostic pop

#include "common/io/loop.h"

#include "peregrine/switch/snmp/snmp_client.h"

/* Every transform of USM is ten arcs long. */
#define TRANSFORM_LENGTH 10U

enum {
	ENGINE_ID_LIMIT = 32, /* SnmpEngineID: 5..32 octets */
	ENGINE_CACHE = 4096,
	KEY_CACHE = 32,
	WINDOW_LIMIT = 4,
	REPETITIONS_FIRST = 25,
	REPETITIONS_LIMIT = 40,
	GOOD_IN_A_ROW = 8,
	COPY_LIMIT = 3,        /* of one request in one try */
	OVERDUE_LEAST_MS = 30, /* beyond the mean round trip */
	BINDINGS_FIRST = 64,   /* about a full Ethernet frame */
	BINDINGS_LEAST = 16,
};

struct snmp_engine {
	char peer[96];
	uint8_t id[ENGINE_ID_LIMIT];
	size_t size;
};

/* The key of a pass phrase takes a megabyte of hashing (RFC 3414 A.2), so one is made per secret
 * and not per switch. */
struct snmp_key {
	enum snmp_auth auth;
	char secret[65];
	uint8_t key[USM_AUTH_KU_LEN];
	size_t size;
};

struct snmp_peer;

struct snmp_client {
	struct loop *loop;
	struct snmp_peer *peers;     /* all of them */
	struct snmp_peer **holders;  /* by hash of engine ids; ENGINE_CACHE: snmp_engine_take */
	struct snmp_engine *engines; /* hash by peer, linear probing; ENGINE_CACHE */
	size_t engine_count;
	struct snmp_key keys[KEY_CACHE];
	size_t key_next;
};

/* The engine behind `peer`; NULL when it is not known yet. */
const struct snmp_engine *snmp_engine_find(const struct snmp_client *client, const char *peer);
void snmp_engine_put(struct snmp_client *client, const char *peer, const uint8_t *id, size_t size);
/* Fills the v3 part of `ret` (keys of the endpoint, engine when known). -EINVAL: a secret that
 * cannot be. */
MUST_USE int snmp_engine_credentials(struct snmp_client *client,
				     const struct switch_endpoint *endpoint, netsnmp_session *ret);
/* Net-SNMP knows one user's keys and one clock for an engine id. Switches that share one (cloned
 * configurations) have theirs in turn: the peer's are with Net-SNMP from here on. Before anything
 * of it is sent or read. */
void snmp_engine_take(struct snmp_peer *peer);
/* The session is to be opened for this engine: its keys will be made, its clock is as it was, or
 * unknown when `anew`. */
void snmp_engine_enter(struct snmp_peer *peer, const struct snmp_engine *engine, bool anew);
/* The session has ended: its keys are forgotten. */
void snmp_engine_leave(struct snmp_peer *peer);
/* A request that any v3 agent answers with its engine id. NULL: no memory. */
netsnmp_pdu *snmp_engine_probe(void);
/* The message of an ask, with the community or context that it needs. NULL: no memory, or a value
 * that cannot be sent. */
netsnmp_pdu *snmp_pdu_new(const struct switch_endpoint *endpoint, const struct snmp_ask *ask);
