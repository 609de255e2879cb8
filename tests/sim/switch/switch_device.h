/* The switch between SNMP and Open vSwitch: its running and its saved configuration, what it has
 * learned, and what is wrong with it. Knows nothing of SNMP's encoding. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "common/base/macros.h"

#include "tests/sim/switch/switch_fault_table.h"
#include "tests/sim/switch/switch_fdb_wire.h"
#include "tests/sim/switch/switch_links.h"
#include "tests/sim/switch/switch_model.h"
#include "tests/sim/switch/switch_ovs.h"

struct switch_cisco;
struct switch_dnos;
struct switch_sflow;
struct switch_like;

struct switch_device {
	struct switch_ovs *ovs;
	struct switch_cisco *cisco; /* owned; NULL: it speaks Q-BRIDGE-MIB */
	struct switch_dnos *dnos;   /* owned; NULL: its ports have no such modes */
	struct switch_sflow *sflow; /* owned; NULL: it has no SFLOW-MIB */
	const char *startup_path, *faults_path;
	const struct switch_like *like; /* whose objects it has; NULL = nobody's */
	const char *manners; /* words of faults that hold whatever the file says; NULL = none */
	const char
		*openflow; /* the bridge's management socket; NULL: what tags cannot say is lost */
	char *flows;       /* rules in force; NULL: not known */
	struct switch_ovs_vlans *vlans; /* owned; the VLAN table that the switch's command line
					   keeps. NULL: this program is the switch */
	int64_t configuration;          /* of Open vSwitch, when it was read for that */
	const char *first_port; /* how the ports are called, from number 1 on: "Gi1/0/1" is followed
				   by "Gi1/0/2". NULL: as the kernel calls them */
	struct switch_model running;
	struct switch_plane plane;
	struct switch_plane_health health;
	struct switch_fdb_row *fdb;
	size_t fdb_count;
	struct switch_links links;
	bool has_access;                     /* ports have a mode beside Q-BRIDGE-MIB */
	uint8_t access[SWITCH_PORT_MAX + 1]; /* by number: the mode is access */
	struct switch_faults faults;
	struct timespec faults_read; /* time of the file that was read */
	int64_t linked_ms;           /* monotonic; when the links were looked at last */
	int64_t started_ms, read_ms; /* monotonic; when Open vSwitch was asked last */
	uint32_t configurations;     /* changes of the running configuration */
	uint32_t saves;
	bool lldp_broken; /* shows an lldpRemTable with indexes of two parts */
	bool is_saved;    /* running and startup are the same */
	uint32_t serial;  /* changes when anything may have changed that SNMP shows */
};

/* Takes the saved configuration where there is one and makes the data plane follow; else takes the
 * data plane as it is and saves it. Blocks until Open vSwitch answers, 10 s at most. */
MUST_USE int switch_device_boot(struct switch_device *device);
void switch_device_done(struct switch_device *device);
/* Reads the faults when their file has changed; Open vSwitch when what we know is older than
 * `max_age_ms`. What somebody else set there becomes part of the running configuration. */
void switch_device_refresh(struct switch_device *device, int64_t max_age_ms);
uint32_t switch_device_ticks(const struct switch_device *device);

/* Would these changes be taken? In `ret_at` the position of the one that is not. */
enum switch_error switch_device_test(struct switch_device *device,
				     const struct switch_change *changes, size_t count,
				     size_t *ret_at);
/* Makes them true, all or none (faults aside), and returns when the data plane has them. */
enum switch_error switch_device_set(struct switch_device *device,
				    const struct switch_change *changes, size_t count);
/* The same with a whole model, which is taken, good or bad. */
enum switch_error switch_device_replace(struct switch_device *device, struct switch_model *model);
MUST_USE int switch_device_save(struct switch_device *device);
