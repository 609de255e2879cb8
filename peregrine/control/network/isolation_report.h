/* The findings of a proof of isolation: the first ones with their way, for people, and a mark of
 * each. The marks of two moments can be compared, however many there are. */
#pragma once

#include "peregrine/control/network/fabric_model.h"

enum isolation_fault {
	FAULT_ONE_NUMBER,   /* two networks have the same VLAN */
	FAULT_STRANGER,     /* a port of ours is in a network it is not meant for */
	FAULT_TAGS,         /* a port that should be access takes frames with tags */
	FAULT_FOREIGN_PORT, /* a port that is not ours is in one of our networks */
	FAULT_JOINED,       /* two networks are one domain */
	FAULT_FOREIGN_VLAN, /* a network is one domain with a VLAN that is not ours */
	FAULT_PARKING,      /* the parking VLAN leaves a switch */
	FAULT_LOOP,         /* a VLAN of ours runs in a circle */
	ISOLATION_FAULT_COUNT
};

/* "networks_joined"; also the kind of alert. Static. */
const char *isolation_fault_text(enum isolation_fault fault);

struct isolation_finding {
	enum isolation_fault fault;
	uint32_t network, other; /* MODEL_NONE where there is none */
	uint16_t vlan, other_vlan;
	uint32_t port;  /* where it can be put right; MODEL_NONE = no single one */
	uint32_t at;    /* a switch where it is seen; MODEL_NONE = on all of them */
	char path[320]; /* "leaf1 VLAN 101, up1 - d1, spine1 VLAN 102" */
};

enum { ISOLATION_FINDINGS = 32 };

/* A finding without its way: what makes it the same as one of another moment. */
struct isolation_mark {
	enum isolation_fault fault;
	uint32_t network, other, port;
	uint16_t vlan, other_vlan; /* not part of what it is: a way may be told from either end */
};

struct isolation_report {
	size_t count; /* all of them; the first ISOLATION_FINDINGS are in the list for people */
	struct isolation_finding findings[ISOLATION_FINDINGS];
	struct vlan_set tainted; /* VLANs of ours in any of them, listed or not */
	struct vlan_set named;   /* all VLANs in any of them */
	/* All of them, in order; owned: isolation_report_done. */
	struct isolation_mark *marks;
	size_t mark_count, mark_room;
};

/* For isolation_check: empty; one finding more, filled in (-ENOMEM); all of them are there. */
void isolation_report_init(struct isolation_report *report);
MUST_USE int isolation_report_mark(struct isolation_report *report,
				   const struct isolation_finding *finding);
void isolation_report_sort(struct isolation_report *report);
void isolation_report_done(struct isolation_report *report);

/* What a change would bring: marks of `report` that `before` has not, however many there are of
 * either. True: there are any; then `ret_vlans` gets the VLANs of all of them, and `ret_first`,
 * when it is not NULL, the first. */
bool isolation_news(const struct fabric_model *model, const struct isolation_report *before,
		    const struct isolation_report *report, struct vlan_set *ret_vlans,
		    struct isolation_finding *ret_first);
/* The first finding with one of these VLANs; false = none. */
bool isolation_with(const struct fabric_model *model, const struct isolation_report *report,
		    const struct vlan_set *vlans, struct isolation_finding *ret);
/* Is it what the switches show, or what edits would bring that were not sent? */
enum isolation_tense { ISOLATION_IS, ISOLATION_WOULD_BE };

/* As a problem: E_CONFLICT. Network, tenant, switch and port are in the message, the path is the
 * detail, and the hint is the command that shows more. */
void isolation_problem(const struct fabric_model *model, const struct isolation_finding *finding,
		       enum isolation_tense tense, struct problem *ret);
