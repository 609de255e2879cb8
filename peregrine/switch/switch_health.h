/* What a switch says of its own health: SWITCH_HEALTH, by SNMP. Raw, as the agent told it; what a
 * difference of two readings means is for health/counter_policy.h. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Which parts are asked for; the answer says which the switch has. */
enum health_part {
	HEALTH_COUNTERS = 1 << 0, /* IF-MIB */
	HEALTH_STP = 1 << 1,      /* BRIDGE-MIB dot1dStp */
	HEALTH_LAGS = 1 << 2,     /* IEEE8023-LAG-MIB */
	HEALTH_SENSORS = 1 << 3,  /* ENTITY-SENSOR-MIB */
	HEALTH_ALL = (1 << 4) - 1,
};

enum port_count {
	COUNT_IN_BYTES,
	COUNT_OUT_BYTES,
	COUNT_IN_PACKETS, /* unicast, multicast and broadcast; unicast alone where that is all */
	COUNT_OUT_PACKETS,
	COUNT_IN_ERRORS,
	COUNT_OUT_ERRORS,
	COUNT_IN_DISCARDS,
	COUNT_OUT_DISCARDS,
	PORT_COUNTS
};

/* STP: dot1dStpPortState (RFC 4188); the role follows from who is designated there. */
enum stp_role { STP_ROLE_NONE, STP_ROLE_ROOT, STP_ROLE_DESIGNATED, STP_ROLE_ALTERNATE };

struct port_health {
	uint32_t if_index;
	char name[64];
	bool is_port; /* of a kind that frames are switched at */
	bool up;
	uint64_t speed_bps; /* 0 = unknown */

	uint64_t counts[PORT_COUNTS];
	uint8_t known;          /* bits of enum port_count: it has this counter */
	uint8_t wide;           /* of 64 bits; the others wrap at 32 */
	uint32_t discontinuity; /* ifCounterDiscontinuityTime: differs = counters began anew */

	uint8_t stp_state; /* 1 disabled .. 5 forwarding, 6 broken; 0 = none */
	enum stp_role stp_role;
	uint32_t stp_transitions; /* to forwarding */

	uint32_t lag;          /* ifIndex of the aggregate that it is attached to; 0 = none */
	uint32_t lag_selected; /* of the one that it would be, with its partner's consent */
	bool lag_member;       /* has a row */
	uint8_t lag_actor, lag_partner; /* LacpState as it came; see switch_lag_bundled */
	char lag_partner_system[18];    /* MAC; "" = nobody heard */
};

struct switch_stp {
	bool there;
	uint32_t version; /* dot1dStpVersion: 0 STP, 2 RSTP, 3 MSTP; UINT32_MAX = not told */
	uint8_t bridge[6];
	uint16_t priority;
	uint8_t root[8]; /* priority and MAC */
	uint32_t root_cost;
	uint32_t root_port;     /* base port; 0 = it is the root */
	uint32_t changes;       /* of topology; UINT32_MAX = not told */
	uint32_t changed_ticks; /* hundredths of a second since the last */
	char root_port_name[64];
};

/* entPhySensorTable (RFC 3433). */
struct switch_sensor {
	uint32_t index;
	uint32_t if_index;       /* of the port that it is in, by ENTITY-MIB; 0 = none */
	char name[64], text[64]; /* entPhysicalName, entPhysicalDescr */
	char port[64];
	uint8_t type, status; /* EntitySensorDataType; 1 ok, 2 unavailable, 3 broken */
	uint8_t scale;        /* 9 = units */
	int8_t precision;
	int32_t value;
};

struct switch_health {
	unsigned parts; /* that came */
	uint64_t uptime_ms;
	uint32_t response_ms;      /* of the first question */
	struct port_health *ports; /* owned, sorted by if_index; all interfaces */
	size_t port_count;
	struct switch_stp stp;
	struct switch_sensor *sensors; /* owned */
	size_t sensor_count;
};

void switch_health_done(struct switch_health *health);

/* Aggregation, synchronisation, collecting and distributing are all set. These four bits are the
 * middle of the octet. So the result is right even for agents that reverse the bits of LacpState
 * (the MIB's first bit is the highest). */
bool switch_lag_bundled(uint8_t state);
/* "celsius"; "" for a type that is no number of anything. */
const char *switch_sensor_unit(uint8_t type);
/* The value in that unit. */
double switch_sensor_value(const struct switch_sensor *sensor);
