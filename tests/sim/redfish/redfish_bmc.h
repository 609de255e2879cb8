/* The model of one BMC that speaks Redfish (DSP0266 1.15, schemas 2021-2023): a request in, an
 * answer out, no sockets. What serves it (redfish_sim, the fleet simulator) moves bytes and keeps
 * the delay; what it powers is behind three callbacks. Written from the specification, not from our
 * driver. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/text.h"

struct redfish_bmc; /* a few hundred bytes and its sessions */

/* Personalities: names of resources, spelling of links, how reset types are told, ServiceRoot. */
enum redfish_bmc_vendor {
	REDFISH_BMC_GENERIC,
	REDFISH_BMC_DELL,       /* System.Embedded.1 */
	REDFISH_BMC_HPE,        /* links end in a slash */
	REDFISH_BMC_SUPERMICRO, /* reset types only in an ActionInfo */
	REDFISH_BMC_VENDOR_COUNT
};

enum redfish_bmc_power {
	REDFISH_BMC_ON,
	REDFISH_BMC_OFF,
	REDFISH_BMC_RESTART,
	REDFISH_BMC_SOFT, /* the ACPI button */
};

struct redfish_bmc_boot {
	char target[16];  /* "None", "Pxe", "Hdd", "UefiHttp", ... */
	char enabled[12]; /* "Disabled", "Once", "Continuous" */
	char mode[8];     /* "UEFI", "Legacy" */
};

/* What stands behind the BMC. All of it may be NULL: then the model is its own node, which needs
 * power_delay_ms for a power command. `boot` comes before each power-on or restart with what the
 * firmware will find, and after each PATCH. */
struct redfish_bmc_node {
	bool (*is_on)(void *context);
	void (*power)(void *context, enum redfish_bmc_power action);
	void (*boot)(void *context, const struct redfish_bmc_boot *boot);
	void *context;
};

/* Bits; more than one may be on. `hold_ms` and `slow_path` are theirs where named. */
enum redfish_bmc_fault {
	REDFISH_BMC_LAZY = 1 << 0,         /* the system is 404 until its collection was read */
	REDFISH_BMC_HANG = 1 << 1,         /* never answers, does nothing */
	REDFISH_BMC_SESSION_FULL = 1 << 2, /* no session is given, whatever is free */
	REDFISH_BMC_STALE_BOOT = 1 << 3,   /* shows the boot override of before, does the new one */
	REDFISH_BMC_DROPS_BOOT = 1 << 4,   /* takes the boot override and forgets it */
	REDFISH_BMC_SLOW = 1 << 5,         /* what starts with slow_path takes hold_ms */
	REDFISH_BMC_UNAVAILABLE = 1 << 6,  /* 503 with Retry-After */
	REDFISH_BMC_TRUNCATED = 1 << 7,    /* JSON ends in the middle */
	REDFISH_BMC_BOMB_DEEP = 1 << 8,    /* a million '[' */
	REDFISH_BMC_BOMB_WIDE = 1 << 9,    /* a quarter of a million empty objects */
	REDFISH_BMC_BOMB_LONG = 1 << 10,   /* 64 MiB in one string */
	REDFISH_BMC_DUPLICATES = 1 << 11,  /* each member twice */
	REDFISH_BMC_NOT_YET_ON = 1 << 12,  /* 409 to power on within hold_ms of off */
	REDFISH_BMC_IN_POST = 1 << 13,     /* refuses a boot override within hold_ms of on */
	REDFISH_BMC_UNAUTHORIZED = 1 << 14,
	REDFISH_BMC_IGNORES_POWER = 1 << 15,    /* 204, and nothing happens */
	REDFISH_BMC_NEEDS_ETAG = 1 << 16,       /* 428 to a PATCH without If-Match */
	REDFISH_BMC_IGNORES_PASSWORD = 1 << 18, /* 204 to a new password, and the old one stays */
	REDFISH_BMC_CUT = 1 << 17,              /* the connection ends in the middle of the body */
};

struct redfish_bmc_options {
	enum redfish_bmc_vendor vendor;
	const char *name;   /* host name; copied, as all strings here */
	const char *serial; /* "" = the name */
	const char *uuid;
	const char *username, *password;
	unsigned session_limit;  /* 0 = 8; at most 16 */
	uint32_t power_delay_ms; /* of a model that is its own node */
	struct redfish_bmc_node node;
};

MUST_USE int redfish_bmc_new(const struct redfish_bmc_options *options, struct redfish_bmc **ret);
void redfish_bmc_free(struct redfish_bmc *bmc);

struct redfish_bmc_request {
	const char *method; /* "GET" */
	const char *path;   /* with its query, if any */
	/* Headers; NULL when absent. */
	const char *token;         /* X-Auth-Token */
	const char *authorization; /* "Basic ..." */
	const char *if_match;
	const char *body; /* `size` bytes */
	size_t size;
	int64_t now_ms;  /* any monotonic clock */
	uint32_t faults; /* of this request, beside those that are on */
};

/* Zero bytes are valid; end it with redfish_bmc_answer_done. Headers to send when not "". */
struct redfish_bmc_answer {
	int status;
	int64_t delay_ms;   /* before it is sent; -1 = never, close or keep the connection */
	bool cut;           /* send half of the body, then close */
	unsigned retry_s;   /* Retry-After, 0 = none */
	bool authenticate;  /* WWW-Authenticate: Basic */
	char token[33];     /* X-Auth-Token */
	char location[128]; /* Location */
	char etag[24];      /* ETag */
	struct text body;   /* application/json; empty with 204 */
};

void redfish_bmc_serve(struct redfish_bmc *bmc, const struct redfish_bmc_request *request,
		       struct redfish_bmc_answer *ret);
void redfish_bmc_answer_done(struct redfish_bmc_answer *answer);

/* Replaces the faults that are on; slow_path is copied (NULL = ""). */
void redfish_bmc_set_faults(struct redfish_bmc *bmc, uint32_t faults, int64_t hold_ms,
			    const char *slow_path);
/* The word of a fault ("lazy", "hang", "session-full", ...) -> its bit; 0 when there is none. */
uint32_t redfish_bmc_fault_find(const char *word);
enum redfish_bmc_vendor redfish_bmc_vendor_find(const char *word); /* generic when unknown */
/* As after a reboot of the BMC: it knows no session any more. */
void redfish_bmc_forget_sessions(struct redfish_bmc *bmc);
void redfish_bmc_set_password(struct redfish_bmc *bmc, const char *password);

/* For invariants of tests. */
struct redfish_bmc_state {
	bool on;
	struct redfish_bmc_boot boot;   /* override as it stands */
	struct redfish_bmc_boot booted; /* what the last power-on found */
	unsigned sessions;              /* open now */
	unsigned sessions_peak;
	uint64_t sessions_made, requests, refused; /* refused: 401 answers */
	uint64_t power_ons, power_offs, restarts;
};
void redfish_bmc_state(struct redfish_bmc *bmc, int64_t now_ms, struct redfish_bmc_state *ret);
