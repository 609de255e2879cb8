/* The one struct of bampid, shared by bampid.c (life), bampid_serve.c (its socket), endpoints.c
 * (BMCs) and consoles.c. */
#pragma once

#include "common/db/db.h"
#include "common/http/server.h"

#include "bampi/bmc/bmc_queue.h"
#include "bampi/bmc/sim_driver.h"
#include "bampi/control/alloc/pdci_runner.h"
#include "bampi/control/bampid.h"
#include "bampi/control/certificate_rotation.h"
#include "bampi/control/consoles.h"
#include "bampi/control/deploy/action_runner.h"
#include "bampi/control/deploy/certificate.h"
#include "bampi/control/deploy/notify.h"
#include "bampi/control/deploy/runner.h"
#include "bampi/control/deploy/task_sign.h"
#include "bampi/control/endpoints.h"
#include "bampi/control/event_seal.h"
#include "bampi/control/health/health.h"
#include "bampi/control/image/image_trust.h"
#include "bampi/control/rotations.h"

struct bampid {
	struct loop *loop;
	const struct bampid_conf *conf;
	char name[128];
	struct step_settings settings;
	struct image_trust trust;
	struct certificate_key certificate_key;
	struct task_key task_key;

	struct db *db;         /* what the runners claim and save */
	struct db *watch_db;   /* what BMCs report: endpoints, health, consoles */
	struct sim_rack *rack; /* NULL without simulated nodes */
	struct bmc_queue *queue;
	struct notify *notify;
	struct endpoints *endpoints;
	struct health *health;
	struct consoles *consoles;
	struct runner *runner;
	struct action_runner *actions;
	struct pdci_runner *pdcis;
	struct rotations *rotations;
	struct certificate_rotation *certificate_rotation;
	struct event_seal *event_seal;
	struct http_server *server;
	bool connected;  /* `db` is */
	bool bmcs_known; /* the BMCs of the site were read once */
};

/* Binds the socket. */
MUST_USE int bampid_serve(struct bampid *bampid, struct problem *problem);
