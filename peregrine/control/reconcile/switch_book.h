/* The known state of each switch, in memory: memberships of its ports as last read, whether it
 * answers, the time of the next poll. A restart loses it and reads the switches anew. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "peregrine/control/network/fabric_model.h"

struct known_port {
	char name[64];
	bool up;
	bool unproven, alike;  /* from its reading (switch_driver.h) */
	enum port_apart apart; /* of its last reading that told; or of SWITCH_APART */
	uint16_t apart_group;
	uint32_t lag; /* index of its aggregate; MODEL_NONE */
	port_state vlans;
	uint64_t
		left_at; /* value of known_switch.left when the port was last seen to leave a VLAN; 0 = never */
	/* A port that could not be set gets no edit until retry_ms, unless its wanted version
	 * changes. */
	int64_t retry_ms, retry_version;
	/* When its aggregate was made or unmade, by the answer of the switch. */
	int64_t bonded_ms;
	bool bonded_made;
	unsigned failures;
	struct problem *problem; /* of its last failure */
};

/* What was told last by an alert: a digest of its text and its ports, so that it follows them. */
typedef uint64_t alert_told;
enum { ALERT_UNTOLD, ALERT_TOLD /* with a text that we do not know */ };

struct known_switch {
	int64_t id;
	char name[64];
	char chassis[64];         /* as last reported; "" = never */
	bool wanted;              /* is in the rows that were read last */
	bool read;                /* at least once */
	bool stale;               /* needs a full reading before any edit */
	bool reread;              /* needs one, and edits do not wait for it */
	bool insist;              /* an operator asked for repair */
	struct known_port *ports; /* by name */
	uint32_t port_count;
	struct vlan_set vlans;
	uint16_t parking, parking_high; /* of its fabric: nobody is met there */
	struct state_pool pool;
	uint64_t uptime_ms, vlan_changes;
	uint64_t member_changes; /* 0 = not known since our last change */
	int64_t touched_ms;      /* time of our last change, or of our last reading of a change */
	int64_t read_at_ms;      /* clock_monotonic_ms when the last full reading began */
	int64_t next_look_ms, next_full_ms;
	bool bonding;      /* an aggregate is being made or unmade there */
	bool reading;      /* a reading of ours is in flight */
	unsigned failures; /* in a row */
	int64_t retry_ms;  /* no calls until then */
	struct problem problem;
	bool changed; /* since the last plan */
	/* Its running configuration was changed by us and is not known to be saved. */
	bool unsaved, saving, save_adopted;
	bool unsaved_beside; /* for what was saved along with it: in no hurry, while it is ours */
	/* Ports that were seen to leave VLANs other than parking ones, counted; and how many of
	 * them its saved configuration has left as well. `doubtful`: an earlier life changed it,
	 * and perhaps did not save it. */
	uint64_t left, left_saved;
	bool doubtful;
	/* VLANs that a reboot may bring back although no port shows them: VLANs that a port left,
	 * or that were sent to it, since the last successful saving began. `leaving`: those of them
	 * that were already noted when the current saving began. */
	struct vlan_set left_vlans, leaving;
	int64_t saved_ms;       /* time of the last successful saving; 0 = none by this process */
	bool awaited;           /* something is said when it is saved */
	unsigned save_failures; /* in a row */
	int64_t save_retry_ms;
	struct problem save_problem;
	alert_told save_told, unproven_told, stuck_told, uplink_told, open_told;
	/* SWITCH_APART: when it may be asked again, and whether it is being asked. */
	int64_t apart_ask_ms;
	bool apart_asking;
	const char
		*apart; /* word of switch_ability.apart that was written; NULL: none by this life */
};

struct switch_book {
	struct known_switch *switches; /* by id */
	uint32_t count;
};

/* Borrowed until the next add. NULL when there is none. */
struct known_switch *book_find(const struct switch_book *book, int64_t id);
struct known_switch *book_named(const struct switch_book *book, const char *name);
/* Adds the switch if it is missing. NULL: no memory. */
struct known_switch *book_get(struct switch_book *book, int64_t id, const char *name);
void book_done(struct switch_book *book);

struct known_port *known_port_named(const struct known_switch *known, const char *name);

/* Takes a full reading (PART_PORTS | PART_VLANS of all ports). *changed: it differs from the last
 * one. -ENOMEM leaves the known state unchanged. */
MUST_USE int known_take(struct known_switch *known, const struct switch_reading *reading,
			int64_t since_ms, bool *changed);
/* Takes a reading of some ports and of the VLAN table. */
MUST_USE int known_merge(struct known_switch *known, const struct switch_reading *reading,
			 int64_t now_ms);
/* Takes which ports are kept apart (SWITCH_APART). */
void known_take_apart(struct known_switch *known, const struct switch_reading *reading);
/* Takes a reading of the identity alone, begun at `since_ms`. True: another program or person
 * changed the switch, or it rebooted. The first one after a change of ours cannot tell: it asks for
 * a full reading (`reread`). */
bool known_look(struct known_switch *known, const struct switch_identity *identity,
		int64_t since_ms);

/* Is the port in a network now, and would a reboot return it to a VLAN that it has left? */
bool known_starts_elsewhere(const struct known_switch *known, const struct known_port *port);

/* Could the switch boot with a port in that VLAN? True also when its saved configuration is not
 * known. */
bool known_may_start_with(const struct known_switch *known, unsigned vlan);
/* Notes an edit before it is sent: a saving beside it may store any part of it. */
void known_sends(struct known_switch *known, const struct switch_edit *edit, int64_t now_ms);
/* A saving begins: later changes need the next saving. */
void known_save_begins(struct known_switch *known);
void known_save_ends(struct known_switch *known, bool saved);

/* Notes a failed call: no calls for 1 s, 2 s, ... 60 s. */
void known_failed(struct known_switch *known, const struct problem *problem, int64_t now_ms);
/* Notes a failed saving: no saving for 5 s, 10 s, ... 10 min. */
void known_save_failed(struct known_switch *known, const struct problem *problem, int64_t now_ms);
void known_answered(struct known_switch *known);
void known_port_failed(struct known_port *port, int64_t version, const struct problem *problem,
		       int64_t now_ms);
void known_port_well(struct known_port *port);
