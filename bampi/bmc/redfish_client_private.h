/* Inside the Redfish client: redfish_client.c moves, redfish_answer.c understands. */
#pragma once

#include "bampi/bmc/redfish_client.h"
#include "bampi/bmc/redfish_policy.h"

/* One operation under way. */
struct redfish_call {
	const enum redfish_stage *plan, *at;
	struct bmc_request request;
	int64_t deadline_ms;
	bmc_call_fn fn;
	void *context;

	uint32_t done;    /* bits of enum redfish_stage */
	unsigned tries;   /* refusals of the stage at hand */
	unsigned parents; /* times that the system was not there */
	bool fresh;       /* the session was opened in this call */
	bool reread;
	bool choosing; /* the system is one of `members` */
	struct fetch *fetch;

	struct redfish_system system;
	char etag[80];
	struct redfish_chassis chassis;
	struct redfish_manager manager;
	struct redfish_log log;
	char firmwares[REDFISH_PATH_SIZE];
	char accounts[REDFISH_PATH_SIZE]; /* the collection */
	bool account_found;               /* members.paths[member] is ours */
	char page[REDFISH_PATH_SIZE];     /* of the log; "" = the first */
	unsigned pages;
	struct redfish_members members;
	size_t member;
	struct bmc_result result;
};

struct redfish_client {
	struct loop *loop;
	struct fetcher *fetcher;
	struct bmc_endpoint endpoint;
	char base[96];            /* "https://10.0.0.1:443" */
	char peer[96];            /* "node n17: the BMC" */
	struct loop_timer *timer; /* the next move of the call */
	struct loop_timer *idle;

	bool root_known;
	int64_t root_ms;
	struct redfish_root root;
	const struct redfish_quirk *quirk;
	char system[REDFISH_PATH_SIZE];
	uint32_t resets; /* of an ActionInfo; 0 = not read */
	bool boot_set;   /* by us, as `boot`, since the client exists */
	struct bmc_boot boot;

	struct fetch *login; /* never cancelled: the session would be lost */
	bool closing;        /* goes when the login has ended */
	struct redfish_session {
		char token[256]; /* "" = none */
		char path[REDFISH_PATH_SIZE];
	} session;
	struct redfish_session stale; /* one that the BMC refused: it may be there nevertheless */
	int64_t basic_until_ms;       /* no session before; 0 = sessions as usual */
	struct problem notice;        /* why so; told with each result until then */
	bool basic_always;            /* it has no session service */
	struct redfish_call *call;
};

/* Takes in the answer of the stage at hand. *ret_more: the same stage goes on (next member or
 * page). An error with a problem ends the call. */
MUST_USE int redfish_answer(struct redfish_client *client, const json_t *json, const char *etag,
			    bool *ret_more, struct problem *problem);
/* Is what the stage would bring known, or not to be had? */
bool redfish_is_known(const struct redfish_client *client, enum redfish_stage stage);
/* The path that the stage asks. */
const char *redfish_path(const struct redfish_client *client, enum redfish_stage stage);
/* Completes the result after the last stage. */
MUST_USE int redfish_result(struct redfish_client *client, struct problem *problem);
/* Body of the stage's request; left empty for GET. 0 or E_UNSUPPORTED with a problem. */
MUST_USE int redfish_body(struct redfish_client *client, enum redfish_stage stage, struct text *ret,
			  struct problem *problem);
