/* The two halves of discovery: discovery.c asks switches, conclude.c makes rows of what they said.
 */
#pragma once

/* The default hash falls through its cases, which clang objects to. */
#define HASH_FUNCTION HASH_FNV
#include <uthash.h>

#include "common/base/hex.h"

#include "peregrine/control/fabric/cable_model.h"
#include "peregrine/control/fabric/discovery.h"
#include "peregrine/control/fabric/fabric_store.h"

/* Somebody waits for a full reading. */
struct reader {
	struct sight *sight;
	discovery_done_fn done;
	void *context;
	uint64_t ticket;
	int64_t since_ms;
	struct reader *next;
};

/* What a look asks for. */
enum look { LOOK_IDENTITY, LOOK_NEIGHBORS, LOOK_ALL };

/* One switch. */
struct sight {
	struct discovery *discovery;
	struct discovery_switch row;
	bool kept;
	struct loop_timer *timer;
	uint64_t ticket; /* a look is under way; 0 = none */
	enum look asking;
	int64_t since_ms; /* start of the look under way */

	struct switch_reading reading; /* the last full one */
	bool has_reading;
	int64_t reading_ms, reading_us;  /* its start on the loop's clock, its end on the wall's */
	struct switch_identity identity; /* the last */
	bool reachable, asked;
	int64_t asked_us;
	struct problem problem;
	bool full_due;          /* the small request said that something is different */
	int64_t bunch_until_ms; /* or we changed something: so long may more of that come */
	bool links_due;         /* and this that a link went or came */
	bool neighbors_due;     /* and this that LLDP heard something, or a cable is in doubt */
	int64_t unseen_ms; /* how long until it is read whole again for a port whose link came, and
			      nobody was seen there since; doubles; 0 = there is none */
	int64_t unseen_at_ms;
	int64_t rest_until_ms; /* a port that flaps shall not have its switch read all the time */
	int64_t doubt_ms; /* how long until its neighbours are asked again for a doubtful cable;
			     doubles; 0 = there is none */
	int64_t doubt_at_ms;
	bool unobserved;  /* identity, reachability or problem are not in the database yet */
	uint8_t *kinds;   /* enum port_kind per port of the reading, as concluded last */
	int64_t *cut_us;  /* per port of the reading: when it was last seen without a link; 0 */
	uint8_t *fdb_old; /* per FDB entry of the reading: was there before that */
	char ports_digest[DIGEST_TEXT_SIZE]; /* of the rows that were written last */
	int64_t ports_ms;
	UT_hash_handle hh;
};

/* Where a MAC was; outlives readings. */
struct memory {
	uint64_t key;
	struct mac mac;
	int64_t switch_id;
	char port[64];
	int64_t left_id; /* it came from there, and is still seen there; 0 = no */
	char left_port[64];
	unsigned moves;
	int64_t moved_us; /* the first of `moves` */
	int64_t seen_us;  /* by anything but memory */
	int64_t heard_us; /* there, by FDB or LLDP; 0 = never */
	int64_t home_id;  /* the port with an intent at which it was seen last; 0 = none */
	char home_port[64];
	int64_t home_version, home_us;
	UT_hash_handle hh;
};

enum conclude_state { CONCLUDE_IDLE, CONCLUDE_FACTS, CONCLUDE_WRITE };

struct discovery {
	struct loop *loop;
	struct discovery_options options;
	bool connected;
	struct sight *sights; /* by id */
	struct reader *readers;
	discovery_note_fn note;
	discovery_busy_fn busy;
	void *note_context;
	struct discovery_stats stats;

	/* conclude.c */
	enum conclude_state state;
	bool settled;     /* all switches were asked once since the start, or it took too long */
	int64_t first_ms; /* the first switch was known; 0 = none yet */
	bool armed;       /* the timer will begin a conclusion */
	bool again;       /* it was time for one while the last was at work */
	struct loop_timer *timer;
	unsigned facts_waited; /* answers still to come */
	bool facts_failed, facts_stale, memory_loaded;
	int64_t facts_ms; /* when they were read */
	int64_t cost_ms;  /* of the last conclusion */
	struct fact_rows facts;
	struct memory *memory;
	struct guard_block *blocks; /* as decided last */
	size_t block_count;
	char links_digest[DIGEST_TEXT_SIZE], places_digest[DIGEST_TEXT_SIZE],
		blocks_digest[DIGEST_TEXT_SIZE], alerts_digest[DIGEST_TEXT_SIZE];
	int64_t links_ms, places_ms, blocks_ms, alerts_ms;
	struct pending *pending; /* what the write under way will have written */
};

/* sight_age.c: what the next reading takes over from the last one: kinds of ports, when each was
 * without a link, and which FDB entries are from before that. Before the reading is replaced. */
void sight_carry(struct sight *sight, const struct switch_reading *next, int64_t now_us);
/* Has the last reading a port whose link came not long ago, and nobody was seen there since? */
bool sight_is_unseen(const struct sight *sight, int64_t now_us);

/* discovery.c: a cable of this switch is told by one end only, or not any more. Its neighbours are
 * read again after 2 s, 4 s, ... while that lasts: the other end may speak later. */
void sight_doubt(struct sight *sight, bool doubtful);

/* conclude.c */
MUST_USE int conclude_start(struct discovery *discovery);
void conclude_stop(struct discovery *discovery);
/* Something is different: conclude soon. */
void conclude_wake(struct discovery *discovery);
