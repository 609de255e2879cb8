/* How a storage opens its volumes to nodes: one driver per kind of target software. A driver is
 * told what shall be, and tells what is; deciding is volume_policy's. All calls block, are bounded
 * in time, and may be made by several threads at once (of different volumes). */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

#define STORAGE_TARGET_SIZE   128 /* an iSCSI name has 223 at most (RFC 7143, 4.2.7.1); ours less */
#define STORAGE_USER_SIZE     64
#define STORAGE_SECRET_SIZE   64
#define STORAGE_ADDRESS_SIZE  46 /* IPv4 or IPv6, INET6_ADDRSTRLEN */
#define STORAGE_ADDRESSES_MAX 4096
#define STORAGE_PORTAL_SIZE   64 /* an address and a port */
#define STORAGE_MARK_KEY_SIZE 32

/* Where the target software listens for us. */
struct storage_place {
	const char *control; /* tgt: the path of its management socket */
	/* A secret of this storage, the same after each start. Targets opened with it are known
	 * for ours. */
	uint8_t mark_key[STORAGE_MARK_KEY_SIZE];
};

struct storage_address {
	char text[STORAGE_ADDRESS_SIZE];
};

/* Where it listens: "100.96.0.1:3260", "[fd00::1]:3260". */
struct storage_portal {
	char text[STORAGE_PORTAL_SIZE];
};

struct storage_portals {
	struct storage_portal *list; /* owned */
	size_t count;
};

void storage_portals_done(struct storage_portals *portals);

/* Whoever knows its secret may log in, from any of the addresses. */
struct storage_user {
	char name[STORAGE_USER_SIZE];
	char secret[STORAGE_SECRET_SIZE]; /* "" where it is only looked at */
};

/* Somebody who is logged in. */
struct storage_session {
	uint64_t number;
	char address[STORAGE_ADDRESS_SIZE]; /* "" = one that cannot be read */
	bool odd; /* gave a name or an alias that no initiator may have: it is cut */
};

/* One volume as it is, or is to be, open to nodes. */
struct storage_target {
	int64_t id; /* of the volume, 1..INT32_MAX: targets are numbered alike */
	char name[STORAGE_TARGET_SIZE];
	char path[PATH_MAX];        /* of the file with its data; "" = none */
	struct storage_user *users; /* who may log in; owned, wiped */
	size_t user_count;
	struct storage_address *addresses; /* and from where; owned */
	size_t address_count;
	struct storage_session *sessions; /* as it is; owned */
	size_t session_count;
};

struct storage_view {
	struct storage_target *targets; /* owned */
	size_t count;
};

void storage_view_done(struct storage_view *view);
void storage_target_done(struct storage_target *target);
/* May it log in? By its address. */
bool storage_target_lists(const struct storage_target *target, const char *address);
/* May this session stay? */
bool storage_target_admits(const struct storage_target *target,
			   const struct storage_session *session);
bool storage_target_knows(const struct storage_target *target, const char *user);

struct storage_driver {
	const char *name;
	/* All that is open now. E_NOT_FOUND: the target software does not run, so nothing is.
	 * E_UNAVAILABLE: it does not answer. */
	int (*look)(const struct storage_place *place, struct storage_view *ret,
		    struct problem *problem);
	/* Opens it to its users at its addresses and to nobody else; what was open under this id is
	 * closed first. Nobody gets in before all of it holds. */
	int (*open)(const struct storage_place *place, const struct storage_target *target,
		    struct problem *problem);
	/* Lets in those of the target's users and addresses that are not yet. */
	int (*admit)(const struct storage_place *place, const struct storage_target *target,
		     struct problem *problem);
	/* Takes out whoever is not among the target's users and addresses: nobody else can log in
	 * any more. Sessions from elsewhere are cut, and odd ones, whose number goes to *ret_odd;
	 * those of the others go on. */
	int (*expel)(const struct storage_place *place, const struct storage_target *target,
		     size_t *ret_odd, struct problem *problem);
	/* Where it listens now. E_NOT_FOUND, E_UNAVAILABLE: as for look. */
	int (*portals)(const struct storage_place *place, struct storage_portals *ret,
		       struct problem *problem);
	/* Listens there, or no more; 0 when it is so already. Sessions go on. */
	int (*listen)(const struct storage_place *place, const char *portal, bool open,
		      struct problem *problem);
	/* Ends the sessions, closes it and forgets its users; 0 when it is not open. */
	int (*close)(const struct storage_place *place, int64_t id, struct problem *problem);
};

/* NULL when there is none of that name. */
const struct storage_driver *storage_driver_find(const char *name);

extern const struct storage_driver tgt_driver;
