/* The manners and misfortunes of a lab switch: a file of `key=value` words, read again whenever it
 * changes, so a person or a story switches them while it runs. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/base/macros.h"

#include "tests/sim/switch/switch_model.h"

enum switch_fdb_fault { SWITCH_FDB_WELL, SWITCH_FDB_EMPTY, SWITCH_FDB_BROKEN, SWITCH_FDB_ZERO_MAC };
/* What a Cisco port that does not trunk does with a trunk's settings. */
enum switch_in_access { SWITCH_IN_ACCESS_TAKEN, SWITCH_IN_ACCESS_REFUSED, SWITCH_IN_ACCESS_LOST };
enum switch_time_mark { SWITCH_MARK_ZERO, SWITCH_MARK_CHANGE, SWITCH_MARK_BOTH };

struct switch_faults {
	/* what goes wrong */
	uint32_t slow_ms; /* before each request is answered */
	uint32_t refuse;  /* bits of enum switch_verb: answered with an error, not done */
	uint32_t lost;    /* bits of enum switch_verb: answered as done, not done */
	bool partial;     /* the first half of a SET's varbinds is done, then an error */
	bool lost_save;   /* "saved", and nothing was */
	bool read_only;
	enum switch_fdb_fault fdb;
	/* how it is built */
	bool fdb_kept; /* what was learned at a port stays there when its link goes */
	bool no_create_and_go;
	bool fdb_id_counts;    /* FdbId is the how-manieth VLAN, not its VID */
	bool portlist_short;   /* PortLists without the zeros at their end */
	bool portlist_strict;  /* a SET of another length is refused */
	uint32_t portlist;     /* octets; 0: as many as the ports need */
	bool in_order;         /* a SET is worked through as it stands, and each step must hold */
	bool never_alone;      /* no port leaves its last VLAN */
	bool pvid_member;      /* a PVID is one of the VLANs that the port is untagged in */
	bool pvid_stays;       /* no port leaves the VLAN of its PVID */
	bool fixed_frames;     /* frame types and filter are not writable */
	uint32_t vid_max;      /* 0: 4094 */
	uint32_t index_offset; /* added to the VID in the index of dot1qVlanStaticTable */
	enum switch_pvid_manner pvid;
	enum switch_time_mark time_mark;
	/* of a Cisco switch */
	bool sflow_powers;    /* sampling rates are powers of two */
	bool vtp_busy;        /* another manager holds the edit buffer */
	bool vtp_client;      /* its VLANs are its VTP server's */
	bool vtp_refuse;      /* applying ends in inconsistentEdit */
	uint32_t vtp_slow_ms; /* until an apply has ended */
	enum switch_in_access trunk_in_access;
	bool vm_vlan_hidden;   /* vmVlan is not there while the port trunks */
	bool vm_vlan_unsigned; /* vmVlan takes no INTEGER */
	bool rings_on_trunks;  /* 1002-1005 are in every bitmap */
	bool trunk_contended;  /* another manager writes the trunk table all the time */
	bool no_config_copy;   /* no CISCO-CONFIG-COPY-MIB, writeMem only */
	bool copy_fails;       /* ccCopyState ends in failed(4) */
};

/* The whole text; *ret is what it says, also when a word is wrong: then E_MALFORMED, and the word
 * is in `wrong`. "none" takes back what stands before it. */
MUST_USE int switch_faults_read(const char *text, struct switch_faults *ret, char wrong[64]);
/* More words on top of what is there. E_MALFORMED. */
MUST_USE int switch_faults_add(const char *text, struct switch_faults *faults);
/* What there is, a line each. */
void switch_faults_help(FILE *out);
