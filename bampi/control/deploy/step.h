/* Facts that a step of a deployment may look at (struct facts), and effects that it may wish for
 * (struct outcome). A step is a pure function: no I/O, no clock, no log. It looks at the world
 * first and says DONE when the world is as it should be. Else it names the missing effects. The
 * runner (runner.h) alone acts. All times: milliseconds since 1970 of the database's clock; 0 =
 * never. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/hex.h"
#include "common/base/problem.h"

#include "bampi/bmc/bmc_driver.h"
#include "bampi/control/attest/attest_policy.h"
#include "bampi/control/deploy/memo.h"
#include "bampi/control/deploy/words.h"

struct image_trust;

/* --- the world --- */

struct deployment_facts {
	int64_t id;
	int64_t generation;
	enum plan plan;
	enum deployment_state state;
	char step[32]; /* "" before the first */
	int step_index;
	int attempt; /* 0: this step was reached, not repeated */
	int64_t step_started_ms, step_deadline_ms;
	int64_t created_ms;
	int64_t tenant_id; /* 0 = none */
	char actor[128];
	const json_t *params; /* an object, or NULL */
};

struct node_facts {
	int64_t id;
	char name[64];
	char serial[64];
	char boot_mac[18];
	enum node_state state;
	bool dirty;
	enum bmc_boot_firmware firmware;
	enum node_secure_boot secure_boot;
	struct attest_pins pins; /* of its TPM and firmware */
};

struct image_facts {
	bool present;
	bool withdrawn;        /* no disk may get it any more */
	const char *manifest;  /* the exact signed bytes */
	const char *signature; /* hex */
	char stored_digest[DIGEST_TEXT_SIZE];
	int root_partition;
};

/* What the node starts next, as the row stands now. */
struct intent_facts {
	enum intent_target target;
	int64_t deployment_id;
	char token[TOKEN_TEXT_SIZE];
	char nonce[TOKEN_TEXT_SIZE];
	bool fetched;                     /* the boot script was given, once */
	char agent_key[DIGEST_TEXT_SIZE]; /* of the boot's agent, hex; "" = it told none yet */
	char ended
		[400]; /* why this boot is over: its token opens nothing any more; "" = it is not */
};

/* The latest that bootd saw of one kind. */
struct observation {
	int64_t at_ms;
	char token[TOKEN_TEXT_SIZE];
	char detail[128];
	int64_t bytes;
};

/* The newest agent task of this step. id 0 = none. */
struct task_facts {
	int64_t id;
	enum task_kind kind;
	enum task_state state;
	char token[TOKEN_TEXT_SIZE];
	char step[32];
	int64_t created_ms, updated_ms;
	const json_t *result;
	struct problem problem;
};

enum bmc_work_state {
	BMC_WORK_NONE, /* nothing was asked in this attempt, or the process that asked is gone */
	BMC_WORK_BUSY,
	BMC_WORK_DONE,
	BMC_WORK_FAILED,
};

#define BMC_WORK_MAX 2

/* What this attempt asked of the BMC, all of it in order, each effect read back. */
struct bmc_facts {
	enum bmc_work_state state;
	enum bmc_op last;       /* DONE, FAILED: the operation that ended it */
	bool power_on;          /* DONE of a power operation */
	bool unverified;        /* a field that the BMC took but does not show */
	struct problem problem; /* FAILED */
	char last_problem[200]; /* of any call, for evidence; "" = none */
	int64_t retry_ms;       /* it is in back-off: asked again then; 0 = it is not */
};

#define PLAN_STEPS_MAX 12

#define NETWORK_VLANS_MAX 64

/* The node's ports at our switches. */
struct network_facts {
	bool managed;           /* there are switches that we configure */
	enum place place;       /* that was asked for last */
	int ports;              /* of the node that we know of */
	int open;               /* of these, not yet as wanted */
	int networks;           /* that it is meant for while a tenant has it */
	struct problem refused; /* asking for the last place */
	struct problem problem; /* of a port that is open */
	/* Of its tagged networks, those that have a number by now. */
	struct {
		int64_t network;
		int vlan;
	} vlans[NETWORK_VLANS_MAX];
	int vlan_count;
};

/* How long things may take; from the configuration. */
struct step_settings {
	int64_t deadline_ms[STEP_COUNT];
	int64_t backoff_ms;      /* after the first failed attempt; doubles, to 16 times */
	int64_t fresh_ms;        /* an agent that said nothing for so long is not counted on */
	int64_t stall_ms;        /* one that works and says nothing for so long is lost */
	int64_t bmc_patience_ms; /* a BMC that does not answer is asked again for so long in one
				    attempt */
	int64_t settle_ms; /* cancel: power is read again after this, for a command of another that
			      was still on its way */
	int64_t let_down_ms; /* a node that took an address and then asked for nothing is started
				again after this */
	int64_t poll_ms;     /* look again at the latest, even if nothing wakes us */
};

struct facts {
	struct deployment_facts deployment;
	struct node_facts node;
	struct image_facts image;
	struct intent_facts intent;
	struct observation seen[SEEN_COUNT];
	struct task_facts task;
	const json_t *results; /* kind -> data of what this deployment's agent tasks ended with; may
				  be NULL */
	/* The node's own drives as the last inventory knows them: [{"serial", "name",
	 * "size_bytes"}] of table drive. NULL = the node has no inventory. */
	const json_t *drives;
	/* Asked for, as they are now: [{"name", "version", "kind", "digest", "size_bytes",
	 * "allowed"}] (deployment_packages of db/schema); NULL = none. */
	const json_t *packages;
	/* Shared volumes that the OS logs in to, with secrets sealed to the agent
	 * (node_volume_facts of db/schema). NULL = none, or no agent that could open them. */
	const json_t *volumes;
	int64_t leased_ms;            /* when its boot NIC was last given its lease */
	int64_t progress_ms;          /* the last progress the agent told */
	int attempts[PLAN_STEPS_MAX]; /* per step of the current plan: how often it was begun */
	char tenant[64];              /* name; "" = the operator */
	char boot_url[96]; /* "http://10.2.0.1:8080" as the node reaches bootd; "" = not known */
	bool certified;    /* this deployment's certificate is written */
	struct bmc_facts bmc;
	struct network_facts network;
	struct memo memo;
	struct problem problem; /* recorded with the deployment */
	char console[256];      /* tail of the serial console, printable; "" = nothing kept */
	bool nonce_seen; /* the intent's nonce stands on the console: only this disk's OS knows it
			  */
	/* A step that listens to the console since the node was started: for so long nothing came,
	 * though it is connected; how often its session was opened anew meanwhile. */
	int64_t console_mute_ms;
	unsigned console_reopened;
	bool console_blind; /* its BMC has no serial console for us */
	/* What the installed OS said on the console, with the intent's nonce, of the packages it
	 * was given: bits by their place in `packages`; that it is through with all. */
	uint32_t packages_failed;
	bool packages_ended;
	/* Random, new for each run: the only chance a pure function has. */
	char fresh_token[TOKEN_TEXT_SIZE];
	char fresh_nonce[TOKEN_TEXT_SIZE];
	int64_t fresh_task; /* the number of the task that this look may post */
	const struct image_trust *trust;
	const struct attest_trust *signed_images;
	const struct step_settings *settings;
};

/* --- what a step wishes --- */

enum verdict {
	STEP_WAITING, /* look again at until_ms, or when something happens */
	STEP_DONE,
	STEP_FAILED,
};

enum intent_effect { INTENT_KEEP, INTENT_PUT, INTENT_REMOVE };

struct outcome {
	enum verdict verdict;
	int64_t until_ms;
	/* FAILED: why. WAITING: what it will have been when the deadline passes first. */
	struct problem problem;
	/* WAITING: for what it waits now, for the people who wait as well; not set = waits_for of the
	 * row. The same message as long as nothing changes, for "since when" counts from its first
	 * time; figures go into the detail. */
	struct problem waits;
	enum wait_kind waits_kind; /* WAIT_WORK: goes on as usual; else what is outside */
	bool permanent;            /* FAILED: another attempt would end alike */
	bool untouched; /* FAILED before anything was done: a destructive step may try again */

	struct memo memo;
	struct bmc_request bmc[BMC_WORK_MAX];
	size_t bmc_count;
	uint32_t bmc_deadline_ms; /* of each; 0 = the operation's own */
	enum intent_effect intent;
	enum intent_target intent_target;
	char intent_token[TOKEN_TEXT_SIZE];
	char intent_nonce[TOKEN_TEXT_SIZE];
	bool drop_tasks;
	enum task_kind post;   /* TASK_NONE = nothing */
	json_t *post_params;   /* owned; NULL = {} */
	enum node_event event; /* NODE_EVENT_NONE = nothing */
	json_t *inventory;     /* owned: the node's new inventory */
	json_t *drives; /* owned: [{serial,name,model,kind,size_bytes,verdict,method,reason}] */
	bool drives_complete; /* drives that are not in the list are gone */
	enum place place;     /* PLACE_NONE = leave */
	bool judged;          /* `attest` is what its TPM proved in this boot */
	struct attest_verdict attest;
	bool certify;   /* write the certificate of this deployment */
	char note[400]; /* an event of its own; "" = none */
};

void outcome_done(struct outcome *outcome);

typedef void (*step_run_fn)(const struct facts *facts, int64_t now_ms, struct outcome *ret);

/* Verdicts, for straight-down steps. The problem of outcome_wait is what the deadline makes of it.
 */
void outcome_finish(struct outcome *outcome);
void outcome_wait(struct outcome *outcome, int64_t until_ms, int code, const char *format, ...)
	PRINTF_LIKE(4, 5);
/* outcome.waits; its detail and hint are the problem's. */
void outcome_say(struct outcome *outcome, const char *format, ...) PRINTF_LIKE(2, 3);
void outcome_fail(struct outcome *outcome, int code, const char *format, ...) PRINTF_LIKE(3, 4);

struct step_row {
	const char *name;
	step_run_fn run;
	int attempts;          /* before the deployment fails */
	bool switched;         /* passed over at a site without switches of ours */
	bool destructive;      /* its effect cannot be taken back */
	enum step_id restart;  /* where a new attempt begins; STEP_COUNT = here */
	bool restart_always;   /* else only when the agent is gone */
	int64_t deadline_s;    /* default */
	const char *waits_for; /* "the node's agent" */
};

/* --- readings of the facts that several steps share --- */

/* This deployment's intent is in place with this target. */
bool facts_intent_is(const struct facts *facts, enum intent_target target);
/* bootd saw this for the token that the node was last given. */
bool facts_seen_now(const struct facts *facts, enum seen kind);
/* This deployment's boot was ended by bampi-bootd: another machine may have its token. */
bool facts_boot_ended(const struct facts *facts);
/* The agent of this deployment's last netboot spoke lately. */
bool facts_agent_alive(const struct facts *facts, int64_t now_ms);
