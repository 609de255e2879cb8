/* Texts and indexes out of SNMP values: LLDP ids (IEEE 802.1AB-2016 9.5), MACs in indexes, names.
 * Nothing that is published holds a byte that does not print. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"

/* lldpRemChassisIdSubtype and lldpRemPortIdSubtype number the same things differently. */
enum lldp_id_kind { LLDP_CHASSIS, LLDP_PORT };

/* Bytes as text, cut to fit: what does not print becomes '?', ends at the first NUL, spaces at the
 * end go. */
void snmp_text(const uint8_t *bytes, size_t size, char *ret, size_t room);
/* "aa:bb:cc:dd:ee:ff"; false unless size is 6. Room for 18. */
bool snmp_mac_text(const uint8_t *bytes, size_t size, char *ret, size_t room);
/* An id as text: MACs with colons, network addresses dotted, names as they are. Some agents say
 * "MAC" and send its text, or say "local" and send six raw bytes: both come out as the MAC. */
void lldp_id_text(enum lldp_id_kind kind, unsigned subtype, const uint8_t *bytes, size_t size,
		  char *ret, size_t room);

/* Six arcs of an index; false when there are fewer, or one is no octet. */
bool snmp_index_mac(const uint32_t *index, size_t count, uint8_t ret[6]);
/* All zeros, or a group address: nobody's. */
bool snmp_mac_is_odd(const uint8_t mac[6]);

/* Do two spellings name one port? Case, spaces and the long words of interface types aside:
 * "GigabitEthernet1/0/1" is "Gi1/0/1" is "gi 1/0/1"; "swp1" is not "swp11". */
bool port_name_same(const char *a, const char *b);
/* Names are the same exactly when their keys are. */
enum { PORT_NAME_KEY_SIZE = 112 };
void port_name_key(const char *name, char ret[PORT_NAME_KEY_SIZE]);
