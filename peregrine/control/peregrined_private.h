/* The one struct of peregrined, shared by peregrined.c (life) and peregrined_serve.c (its socket).
 */
#pragma once

#include "common/db/db.h"
#include "common/http/server.h"
#include "common/io/worker.h"

#include "peregrine/control/beacons.h"
#include "peregrine/control/fabric/discovery.h"
#include "peregrine/control/health/health.h"
#include "peregrine/control/mirrors.h"
#include "peregrine/control/peregrined.h"
#include "peregrine/control/reconcile/reconcile.h"
#include "peregrine/control/sampling.h"
#include "peregrine/control/switch_rotations.h"
#include "peregrine/control/switches.h"
#include "peregrine/switch/switch_queue.h"

struct snmp_client;
struct waiting;

struct peregrined {
	struct loop *loop;
	const struct peregrined_conf *conf;
	char name[128];

	struct db *db;
	struct worker *worker;
	struct snmp_client *snmp;
	struct ovsdb_files ovsdb_files;
	char ovsdb_paths[3][4096]; /* that these point to */
	struct switch_queue *queue;
	struct switches *switches;
	struct switch_rotations *rotations;
	struct discovery *discovery;
	struct reconcile *reconcile;
	struct beacons *beacons;
	struct sampling *sampling;
	struct mirrors *mirrors;
	struct health *health;
	char owner[128]; /* of the fabrics that it works on; a restart keeps it */
	struct http_server *server;
	struct waiting *waiting; /* requests whose answer a switch has to give */
};

/* The reconcile engine's way to switches: the queue, before all regular looks. */
struct switch_access peregrined_access(struct peregrined *peregrined);

/* Binds the socket. */
MUST_USE int peregrined_serve(struct peregrined *peregrined, struct problem *problem);
/* Nobody is answered any more. Before the queue and the server go. */
void peregrined_serve_end(struct peregrined *peregrined);
