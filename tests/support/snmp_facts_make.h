/* For tests: facts out of (object id, value) rows, as an agent would have told them. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/macros.h"

#include "peregrine/switch/snmp/snmp_facts.h"
#include "tests/support/cmocka.h"

/* The VLAN of a per-VLAN bridge is written before the id: "@100 1.3.6...". */
static inline struct snmp_oid oid_of(const char *text)
{
	struct snmp_oid oid = {0};

	for (char *at; *text; text = *at == '.' ? at + 1 : at) {
		assert_in_range(oid.count, 0, SNMP_OID_LIMIT - 1);
		oid.ids[oid.count++] = (uint32_t)strtoul(text, &at, 10);
		assert_true(at != text);
	}
	return oid;
}

static inline void fact_value(struct snmp_facts *facts, const char *text,
			      const struct snmp_value *value)
{
	uint16_t vlan = 0;
	struct snmp_oid oid;
	bool taken = false;

	if (*text == '@') {
		char *end;

		vlan = (uint16_t)strtoul(text + 1, &end, 10);
		text = end + 1;
	}
	oid = oid_of(text);
	for (int group = 0; group < GROUP_COUNT; group++) {
		const struct fact_column *columns[SNMP_WALK_COLUMNS];
		struct snmp_oid roots[SNMP_WALK_COLUMNS];
		size_t count = fact_group_columns(facts, (enum fact_group)group, columns, roots);

		for (size_t i = 0; i < count && !taken; i++) {
			if (!snmp_oid_is_below(&oid, &roots[i]))
				continue;
			taken = snmp_facts_take(facts, columns[i], oid.ids + roots[i].count,
						(size_t)oid.count - roots[i].count, value, vlan);
		}
	}
	assert_true(taken);
}

static inline void fact_number(struct snmp_facts *facts, const char *oid, uint32_t number)
{
	fact_value(facts, oid, &(struct snmp_value){.type = SNMP_INTEGER, .number = number});
}

static inline void fact_bytes(struct snmp_facts *facts, const char *oid, const void *bytes,
			      size_t size)
{
	fact_value(facts, oid,
		   &(struct snmp_value){.type = SNMP_OCTETS, .bytes = bytes, .size = size});
}

static inline void fact_text(struct snmp_facts *facts, const char *oid, const char *text)
{
	fact_bytes(facts, oid, text, strlen(text));
}

/* An Ethernet interface and, with a base port, its bridge port in STP state forwarding. */
static inline void fact_port(struct snmp_facts *facts, uint32_t if_index, uint32_t base_port,
			     const char *name)
{
	char oid[96];

	(void)snprintf(oid, sizeof(oid), "1.3.6.1.2.1.31.1.1.1.1.%u", if_index);
	fact_text(facts, oid, name);
	(void)snprintf(oid, sizeof(oid), "1.3.6.1.2.1.2.2.1.3.%u", if_index);
	fact_number(facts, oid, 6);
	if (!base_port)
		return;
	(void)snprintf(oid, sizeof(oid), "1.3.6.1.2.1.17.1.4.1.2.%u", base_port);
	fact_number(facts, oid, if_index);
	(void)snprintf(oid, sizeof(oid), "1.3.6.1.2.1.17.2.15.1.3.%u", base_port);
	fact_number(facts, oid, 5);
}

static inline void fact_pvid(struct snmp_facts *facts, uint32_t base_port, uint32_t vlan)
{
	char oid[96];

	(void)snprintf(oid, sizeof(oid), "1.3.6.1.2.1.17.7.1.4.5.1.1.%u", base_port);
	fact_number(facts, oid, vlan);
}

/* A row of dot1qVlanStaticTable; lists as hex. */
static inline void fact_vlan(struct snmp_facts *facts, uint32_t index, const char *name,
			     const char *egress, const char *untagged)
{
	const char *const lists[] = {egress, untagged};
	static const char *const columns[] = {"2", "4"};
	char oid[96];

	(void)snprintf(oid, sizeof(oid), "1.3.6.1.2.1.17.7.1.4.3.1.1.%u", index);
	fact_text(facts, oid, name);
	for (size_t i = 0; i < COUNT_OF(lists); i++) {
		uint8_t bytes[64];
		size_t size = strlen(lists[i]) / 2;

		for (size_t j = 0; j < size; j++) {
			const char digits[3] = {lists[i][2 * j], lists[i][2 * j + 1], '\0'};

			bytes[j] = (uint8_t)strtoul(digits, NULL, 16);
		}
		(void)snprintf(oid, sizeof(oid), "1.3.6.1.2.1.17.7.1.4.3.1.%s.%u", columns[i],
			       index);
		fact_bytes(facts, oid, bytes, size);
	}
	(void)snprintf(oid, sizeof(oid), "1.3.6.1.2.1.17.7.1.4.3.1.5.%u", index);
	fact_number(facts, oid, 1);
}
