/* Counters of ports that peregrined asks switches for by SNMP (traffic_60_counter), so that alerts
 * look at switches too that send none in sFlow. */
#pragma once

#include "common/base/macros.h"
#include "common/db/db.h"
#include "common/io/loop.h"

struct snmp_counters;
struct flowd;

/* Borrowed. */
MUST_USE int snmp_counters_new(struct flowd *flowd, struct snmp_counters **ret);
/* After db_free. NULL is fine. */
void snmp_counters_free(struct snmp_counters *counters);
