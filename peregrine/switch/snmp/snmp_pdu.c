/* Between our values and Net-SNMP's: requests are made, answers are taken apart. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "peregrine/switch/snmp/snmp_client_private.h"

static const int snmp_pdu_commands[] = {
	[SNMP_GET] = SNMP_MSG_GET,
	[SNMP_GETNEXT] = SNMP_MSG_GETNEXT,
	[SNMP_GETBULK] = SNMP_MSG_GETBULK,
	[SNMP_SET] = SNMP_MSG_SET,
};

static const u_char asn_types[] = {
	[SNMP_NULL] = ASN_NULL,         [SNMP_INTEGER] = ASN_INTEGER,
	[SNMP_OCTETS] = ASN_OCTET_STR,  [SNMP_OBJECT_ID] = ASN_OBJECT_ID,
	[SNMP_COUNTER32] = ASN_COUNTER, [SNMP_GAUGE32] = ASN_GAUGE,
	[SNMP_TICKS] = ASN_TIMETICKS,   [SNMP_COUNTER64] = ASN_COUNTER64,
	[SNMP_NO_OBJECT] = ASN_NULL,    [SNMP_END_OF_VIEW] = ASN_NULL,
	[SNMP_OTHER] = ASN_NULL,
};

static bool add_binding(netsnmp_pdu *pdu, const struct snmp_binding *binding)
{
	oid name[SNMP_OID_LIMIT];
	long number = (long)binding->value.number;
	const void *bytes = NULL;
	size_t size = 0;

	for (size_t i = 0; i < binding->name.count; i++)
		name[i] = binding->name.ids[i];
	switch (binding->value.type) {
	case SNMP_INTEGER:
	case SNMP_GAUGE32:
	case SNMP_COUNTER32:
	case SNMP_TICKS:
		bytes = &number;
		size = sizeof(number);
		break;
	case SNMP_OCTETS:
		bytes = binding->value.bytes;
		size = binding->value.size;
		break;
	case SNMP_NULL: break;
	case SNMP_OBJECT_ID:
	case SNMP_COUNTER64:
	case SNMP_NO_OBJECT:
	case SNMP_END_OF_VIEW:
	case SNMP_OTHER: return false;
	}
	return snmp_pdu_add_variable(pdu, name, binding->name.count, asn_types[binding->value.type],
				     bytes, size) != NULL;
}

static bool name_community(netsnmp_pdu *pdu, const struct switch_endpoint *endpoint,
			   const struct snmp_ask *ask)
{
	const char *community = ask->kind == SNMP_SET && endpoint->snmp_write_community[0]
					? endpoint->snmp_write_community
					: endpoint->snmp_community;
	char *text = NULL;
	int size;

	if (endpoint->snmp_user[0]) {
		if (!ask->vlan)
			return true;
		size = asprintf(&pdu->contextName, "vlan-%u", ask->vlan);
		pdu->contextNameLen = size < 0 ? 0 : (size_t)size;
		return size >= 0;
	}
	size = ask->vlan ? asprintf(&text, "%s@%u", community, ask->vlan)
			 : asprintf(&text, "%s", community);
	if (size < 0)
		return false;
	pdu->community = (u_char *)text;
	pdu->community_len = (size_t)size;
	return true;
}

netsnmp_pdu *snmp_pdu_new(const struct switch_endpoint *endpoint, const struct snmp_ask *ask)
{
	netsnmp_pdu *pdu = snmp_pdu_create(snmp_pdu_commands[ask->kind]);
	bool good;

	if (!pdu)
		return NULL;
	pdu->version = endpoint->snmp_user[0] ? SNMP_VERSION_3 : SNMP_VERSION_2c;
	if (ask->kind == SNMP_GETBULK) {
		pdu->non_repeaters = 0;
		pdu->max_repetitions = ask->repetitions;
	}
	good = name_community(pdu, endpoint, ask);
	for (size_t i = 0; good && i < ask->count; i++)
		good = add_binding(pdu, &ask->bindings[i]);
	if (!good) {
		snmp_free_pdu(pdu);
		return NULL;
	}
	return pdu;
}

static enum snmp_type type_of(u_char asn)
{
	switch (asn) {
	case ASN_INTEGER: return SNMP_INTEGER;
	case ASN_OCTET_STR: return SNMP_OCTETS;
	case ASN_OBJECT_ID: return SNMP_OBJECT_ID;
	case ASN_COUNTER: return SNMP_COUNTER32;
	case ASN_GAUGE: return SNMP_GAUGE32;
	case ASN_TIMETICKS: return SNMP_TICKS;
	case ASN_COUNTER64: return SNMP_COUNTER64;
	case ASN_NULL: return SNMP_NULL;
	case SNMP_NOSUCHOBJECT:
	case SNMP_NOSUCHINSTANCE: return SNMP_NO_OBJECT;
	case SNMP_ENDOFMIBVIEW: return SNMP_END_OF_VIEW;
	default: return SNMP_OTHER;
	}
}

/* False: longer than any that we know. */
static bool copy_oid(const oid *ids, size_t count, struct snmp_oid *ret)
{
	ret->count = 0;
	for (size_t i = 0; i < count && i < SNMP_OID_LIMIT; i++)
		ret->ids[ret->count++] = (uint32_t)ids[i];
	return count <= SNMP_OID_LIMIT;
}

static void copy_value(const netsnmp_variable_list *at, struct snmp_answer *answer,
		       struct snmp_value *ret)
{
	*ret = (struct snmp_value){.type = type_of(at->type)};
	switch (ret->type) {
	case SNMP_INTEGER: ret->number = at->val.integer ? *at->val.integer : 0; break;
	case SNMP_COUNTER32:
	case SNMP_GAUGE32:
	case SNMP_TICKS:
		ret->number = at->val.integer ? (int64_t)(uint32_t)*at->val.integer : 0;
		break;
	case SNMP_COUNTER64:
		if (at->val.counter64)
			ret->number = (int64_t)((uint64_t)at->val.counter64->high << 32 |
						(uint32_t)at->val.counter64->low);
		break;
	case SNMP_OCTETS:
	case SNMP_OTHER:
		ret->bytes = at->val.string;
		ret->size = at->val.string ? at->val_len : 0;
		break;
	case SNMP_OBJECT_ID:
		(void)copy_oid(at->val.objid, at->val_len / sizeof(oid), &answer->object);
		ret->object = &answer->object;
		break;
	case SNMP_NULL:
	case SNMP_NO_OBJECT:
	case SNMP_END_OF_VIEW: break;
	}
}

bool snmp_answer_next(struct snmp_answer *answer, struct snmp_binding *ret)
{
	const netsnmp_variable_list *at = answer->at;

	if (!at)
		return false;
	answer->at = at->next_variable;
	copy_value(at, answer, &ret->value);
	if (!copy_oid(at->name, at->name_length, &ret->name))
		ret->value = (struct snmp_value){.type = SNMP_OTHER};
	return true;
}
