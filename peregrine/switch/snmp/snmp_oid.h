/* Object identifiers as values. OID(1, 3, 6) initialises a constant one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SNMP_OID_LIMIT = 32 };

struct snmp_oid {
	uint32_t ids[SNMP_OID_LIMIT];
	uint8_t count;
};

#define OID(...)                                                              \
	{                                                                     \
		.ids = {__VA_ARGS__},                                         \
		.count = sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t) \
	}

/* `oid` with one more arc; one that is full stays as it is. */
struct snmp_oid snmp_oid_with(const struct snmp_oid *oid, uint32_t arc);
bool snmp_oid_is_below(const struct snmp_oid *oid, const struct snmp_oid *root);
/* Lexicographical order, as GETNEXT has it: below, at or above 0. */
int snmp_oid_order(const struct snmp_oid *a, const struct snmp_oid *b);
/* Octets of it in BER (X.690 8.19), without tag and length. */
size_t snmp_oid_size(const struct snmp_oid *oid);
/* ".1.3.6.1"; false when it does not fit (then cut at an arc). */
bool snmp_oid_text(const struct snmp_oid *oid, char *ret, size_t room);
