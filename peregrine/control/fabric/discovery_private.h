/* The two halves of discovery: discovery.c polls switches, conclude.c turns their readings into
 * rows. */
#pragma once

#include "common/base/hash_table.h"
#include "common/base/hex.h"

#include "peregrine/control/fabric/cable_model.h"
#include "peregrine/control/fabric/discovery.h"
#include "peregrine/control/fabric/fabric_store.h"

/* A caller that waits for a full reading. */
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
	uint64_t ticket; /* ticket of the poll in flight; 0 = none */
	enum look asking;
	int64_t since_ms; /* start of the look under way */

	struct switch_reading reading; /* the last full one */
	bool has_reading;
	int64_t reading_ms, reading_us;  /* its start on the loop's clock, its end on the wall's */
	struct switch_identity identity; /* the last */
	bool reachable, asked;
	int64_t asked_us;
	struct problem problem;
	bool full_due;          /* the small request showed a change */
	int64_t bunch_until_ms; /* or we changed something: so long may more of that come */
	bool links_due;         /* the small request showed that a link went down or came up */
	bool neighbors_due;     /* and this that LLDP heard something, or a cable is in doubt */
	int64_t unseen_ms; /* delay of the next full reading for a port that came up without a MAC seen since; doubles; 0 = no such port */
	int64_t unseen_at_ms;
	int64_t rest_until_ms; /* no full reading before that: a flapping port must not cause one after another */
	int64_t doubt_ms; /* how long until its neighbours are asked again for a doubtful cable;
			     doubles; 0 = there is none */
	int64_t doubt_at_ms;
	bool unobserved;   /* identity, reachability or problem are not in the database yet */
	uint8_t *kinds;    /* enum port_kind per port of the reading, as concluded last */
	int64_t *cut_us;   /* per port of the reading: when it was last seen without a link; 0 */
	uint8_t *fdb_old;  /* per FDB entry of the reading: was there before that */
	unsigned offered;  /* BIT of each enum table whose write under way has rows of it */
	unsigned refused;  /* and of each whose rows PostgreSQL refused last */
	char refusal[400]; /* why, with the value */
	char ports_digest[DIGEST_TEXT_SIZE]; /* of the rows that were written last */
	int64_t ports_ms;
	UT_hash_handle hh;
};

/* The place of a MAC; kept across readings. */
struct memory {
	uint64_t key;
	struct mac mac;
	int64_t switch_id;
	char port[64];
	int64_t left_id; /* switch that it moved from and is still seen at; 0 = none */
	char left_port[64];
	unsigned moves;
	int64_t moved_us; /* the first of `moves` */
	int64_t seen_us;  /* by anything but memory */
	int64_t heard_us; /* there, by FDB or LLDP; 0 = never */
	int64_t home_id;  /* the port with an intent at which it was seen last; 0 = none */
	char home_port[64];
	int64_t home_version, home_us;
	uint64_t row_digest; /* of its row as it was written last; 0 = not written */
	int64_t row_ms;
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
	bool settled; /* all switches were polled once since the start, or the wait for that has ended */
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
	char links_digest[DIGEST_TEXT_SIZE], strays_digest[DIGEST_TEXT_SIZE],
		blocks_digest[DIGEST_TEXT_SIZE], alerts_digest[DIGEST_TEXT_SIZE];
	int64_t links_ms, strays_ms, blocks_ms, alerts_ms;
	struct pending *pending; /* the rows of the running write */
};

/* sight_age.c: takes over from the last reading: kinds of ports, when each had no link, and which
 * FDB entries are older than that. Call it before the reading is replaced. */
void sight_carry(struct sight *sight, const struct switch_reading *next, int64_t now_us);
/* Does the last reading have a port that came up recently, without a MAC seen there since? */
bool sight_is_unseen(const struct sight *sight, int64_t now_us);

/* discovery.c: notes whether a cable of this switch is reported by one end only. While that lasts
 * its neighbours are read again after 2 s, 4 s, ...: the other end may report later. */
void sight_doubt(struct sight *sight, bool doubtful);

/* conclude.c */
MUST_USE int conclude_start(struct discovery *discovery);
void conclude_stop(struct discovery *discovery);
/* The facts have changed: starts a conclusion soon. */
void conclude_wake(struct discovery *discovery);
