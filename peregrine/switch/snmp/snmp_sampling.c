/* SWITCH_SAMPLING by SFLOW-MIB (sflow.org, sFlow version 5 MIB; enterprise 14706). A receiver row
 * that nobody owns is claimed with our name and a time-out, which each look renews; then every data
 * source (a port) that has no receiver, or ours, is told rate and interval. Sources of other
 * receivers are left alone. What was set is read again before it counts. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "peregrine/switch/snmp/snmp_switch.h"
#include "peregrine/switch/snmp/snmp_walk.h"

LEAKS_LEFT_TO_SANITIZER

#define AGENT 1, 3, 6, 1, 4, 1, 14706, 1, 1

enum {
	TIMEOUT_S = 600,     /* looks come every minute */
	SOURCE_LIMIT = 2048, /* interfaces of any kind */
	RECEIVER_LIMIT = 16,
	BATCH = 8, /* sources of one SET: 40 values */
	PER_SOURCE = 5,
	ADDRESS_IPV4 = 1,
	ADDRESS_IPV6 = 2,
	/* Index of a source: length, 1.3.6.1.2.1.2.2.1.1.ifIndex, instance. */
	SOURCE_ARCS = 13,
	SOURCE_PORT_ARC = 11,
};

enum snmp_sampling_column {
	OWNER,
	EXPIRES,
	ADDRESS_TYPE,
	ADDRESS,
	PORT,
	FS_RECEIVER,
	FS_RATE,
	FS_HEADER,
	CP_RECEIVER,
	CP_INTERVAL,
	SNMP_SAMPLING_SPEED,
	COLUMN_COUNT
};

static const struct snmp_oid snmp_sampling_columns[COLUMN_COUNT] = {
	[OWNER] = OID(AGENT, 4, 1, 2),
	[EXPIRES] = OID(AGENT, 4, 1, 3),
	[ADDRESS_TYPE] = OID(AGENT, 4, 1, 5),
	[ADDRESS] = OID(AGENT, 4, 1, 6),
	[PORT] = OID(AGENT, 4, 1, 7),
	[FS_RECEIVER] = OID(AGENT, 5, 1, 3),
	[FS_RATE] = OID(AGENT, 5, 1, 4),
	[FS_HEADER] = OID(AGENT, 5, 1, 5),
	[CP_RECEIVER] = OID(AGENT, 6, 1, 3),
	[CP_INTERVAL] = OID(AGENT, 6, 1, 4),
	[SNMP_SAMPLING_SPEED] = OID(1, 3, 6, 1, 2, 1, 31, 1, 1, 1, 15),
};

/* ifIndex.N as an index: its length first. */
static const uint32_t source_head[] = {11, 1, 3, 6, 1, 2, 1, 2, 2, 1, 1};

struct receiver {
	uint32_t number;
	char owner[64];
	int64_t left_s, type, port;
	uint8_t address[16];
	size_t address_size;
};

struct source {
	uint32_t if_index, instance;
	int64_t fs_receiver, rate, header, cp_receiver, interval, speed_mbps;
	bool has_fs, has_cp;
};

struct snmp_sampling {
	struct snmp_switch *one;
	struct snmp_walk *walk;
	struct receiver receivers[RECEIVER_LIMIT];
	size_t receiver_count;
	struct source *sources; /* SOURCE_LIMIT */
	size_t source_count;
	uint32_t ours;  /* the receiver; 0 = none */
	size_t next;    /* source to be set */
	bool set;       /* everything was, and is looked at again */
	bool releasing; /* sources were let go, now the receiver */
};

void snmp_sampling_cancel(struct snmp_sampling *sampling)
{
	if (!sampling)
		return;
	snmp_walk_cancel(sampling->walk);
	snmp_peer_forget(sampling->one->peer, sampling);
	free(sampling->sources);
	free(sampling);
}

/* --- reading --- */

static struct receiver *receiver_at(struct snmp_sampling *sampling, uint32_t number)
{
	for (size_t i = 0; i < sampling->receiver_count; i++)
		if (sampling->receivers[i].number == number)
			return &sampling->receivers[i];
	if (sampling->receiver_count == RECEIVER_LIMIT)
		return NULL;
	sampling->receivers[sampling->receiver_count] = (struct receiver){.number = number};
	return &sampling->receivers[sampling->receiver_count++];
}

/* Columns come side by side, so one that is found is mostly one of the last. */
static struct source *snmp_sampling_source_of(struct snmp_sampling *sampling, uint32_t if_index,
					      uint32_t instance)
{
	struct source *source;

	for (size_t i = sampling->source_count; i-- > 0;) {
		source = &sampling->sources[i];
		if (source->if_index == if_index && source->instance == instance)
			return source;
	}
	if (sampling->source_count == SOURCE_LIMIT)
		return NULL;
	source = &sampling->sources[sampling->source_count++];
	*source = (struct source){.if_index = if_index, .instance = instance};
	return source;
}

static struct source *source_at(struct snmp_sampling *sampling, const uint32_t *index, size_t count)
{
	if (count != SOURCE_ARCS || memcmp(index, source_head, sizeof(source_head)) != 0)
		return NULL;
	return snmp_sampling_source_of(sampling, index[SOURCE_PORT_ARC],
				       index[SOURCE_PORT_ARC + 1]);
}

static void take_receiver(struct snmp_sampling *sampling, enum snmp_sampling_column column,
			  uint32_t number, const struct snmp_value *value)
{
	struct receiver *receiver = receiver_at(sampling, number);
	size_t size =
		value->size < sizeof(receiver->owner) ? value->size : sizeof(receiver->owner) - 1;

	if (!receiver)
		return;
	if (column == OWNER && value->type == SNMP_OCTETS) {
		memcpy(receiver->owner, value->bytes, size);
		receiver->owner[size] = '\0';
	} else if (column == ADDRESS && value->size <= sizeof(receiver->address)) {
		memcpy(receiver->address, value->bytes, value->size);
		receiver->address_size = value->size;
	} else if (column == EXPIRES) {
		receiver->left_s = value->number;
	} else if (column == ADDRESS_TYPE) {
		receiver->type = value->number;
	} else if (column == PORT) {
		receiver->port = value->number;
	}
}

/* Instance 1 is the port's only one as a rule; it may not have come yet, or not be there. */
static void take_speed(struct snmp_sampling *sampling, uint32_t if_index, int64_t mbps)
{
	struct source *source = snmp_sampling_source_of(sampling, if_index, 1);

	if (source)
		source->speed_mbps = mbps;
}

static void share_speeds(struct snmp_sampling *sampling)
{
	for (size_t i = 0; i < sampling->source_count; i++) {
		struct source *source = &sampling->sources[i];

		for (size_t j = 0; source->instance != 1 && j < sampling->source_count; j++)
			if (sampling->sources[j].if_index == source->if_index &&
			    sampling->sources[j].instance == 1)
				source->speed_mbps = sampling->sources[j].speed_mbps;
	}
}

static bool snmp_sampling_on_value(void *context, size_t column, const uint32_t *index,
				   size_t count, const struct snmp_value *value)
{
	struct snmp_sampling *sampling = context;
	struct source *source;

	if (column <= PORT) {
		if (count == 1)
			take_receiver(sampling, (enum snmp_sampling_column)column, index[0], value);
		return true;
	}
	if (column == SNMP_SAMPLING_SPEED) {
		if (count == 1)
			take_speed(sampling, index[0], value->number);
		return true;
	}
	source = source_at(sampling, index, count);
	if (!source)
		return true;
	switch ((enum snmp_sampling_column)column) {
	case FS_RECEIVER:
		source->fs_receiver = value->number;
		source->has_fs = true;
		break;
	case FS_RATE: source->rate = value->number; break;
	case FS_HEADER: source->header = value->number; break;
	case CP_RECEIVER:
		source->cp_receiver = value->number;
		source->has_cp = true;
		break;
	case CP_INTERVAL: source->interval = value->number; break;
	case OWNER:
	case EXPIRES:
	case ADDRESS_TYPE:
	case ADDRESS:
	case PORT:
	case SNMP_SAMPLING_SPEED:
	case COLUMN_COUNT: break;
	}
	return true;
}

/* --- what it means --- */

static const struct sampling_wanted *wanted_of(const struct snmp_sampling *sampling)
{
	return &sampling->one->call.request->sampling;
}

static struct receiver *our_receiver(struct snmp_sampling *sampling)
{
	for (size_t i = 0; i < sampling->receiver_count; i++)
		if (strcmp(sampling->receivers[i].owner, SAMPLING_OWNER) == 0)
			return &sampling->receivers[i];
	return NULL;
}

static size_t snmp_sampling_address_of(const struct sampling_wanted *wanted, uint8_t ret[16],
				       int64_t *ret_type)
{
	*ret_type = ADDRESS_IPV4;
	if (inet_pton(AF_INET, wanted->collector, ret) == 1)
		return 4;
	*ret_type = ADDRESS_IPV6;
	return inet_pton(AF_INET6, wanted->collector, ret) == 1 ? 16 : 0;
}

static bool receiver_agrees(const struct sampling_wanted *wanted, const struct receiver *receiver)
{
	uint8_t address[16];
	int64_t type;
	size_t size = snmp_sampling_address_of(wanted, address, &type);

	return receiver->type == type && receiver->port == wanted->port &&
	       receiver->address_size == size && memcmp(receiver->address, address, size) == 0;
}

static uint32_t rate_for(const struct sampling_wanted *wanted, const struct source *source)
{
	return sampling_rate(wanted, (uint64_t)source->speed_mbps * 1000000U);
}

/* One that another receiver has is nobody's business of ours. */
static bool snmp_sampling_is_ours(const struct snmp_sampling *sampling, const struct source *source)
{
	return source->has_fs &&
	       (source->fs_receiver == 0 || source->fs_receiver == sampling->ours);
}

/* An agent makes the closest rate of a wanted one that it can do (sFlowFsPacketSamplingRate), as
 * the nearest power of two, and tells that. One that was set just now is as close as it gets, and
 * is remembered: it would be set anew at each look otherwise. */
static bool rate_agrees(const struct snmp_sampling *sampling, const struct source *source)
{
	uint32_t rate = rate_for(wanted_of(sampling), source);

	if (source->rate <= 0 || source->rate > UINT32_MAX)
		return false;
	return sampling_rate_agrees(&sampling->one->adjusted, rate, (uint32_t)source->rate);
}

static void learn_rates(struct snmp_sampling *sampling)
{
	for (size_t i = 0; i < sampling->source_count; i++) {
		const struct source *source = &sampling->sources[i];

		if (sampling->ours && source->fs_receiver == sampling->ours && source->rate > 0 &&
		    source->rate <= UINT32_MAX)
			sampling_learn(&sampling->one->adjusted,
				       rate_for(wanted_of(sampling), source),
				       (uint32_t)source->rate);
	}
}

static bool source_agrees(const struct snmp_sampling *sampling, const struct source *source)
{
	const struct sampling_wanted *wanted = wanted_of(sampling);

	return source->fs_receiver == sampling->ours && rate_agrees(sampling, source) &&
	       source->header == wanted->header &&
	       (!source->has_cp || source->cp_receiver != sampling->ours ||
		source->interval == wanted->poll_s) &&
	       (!source->has_cp || source->cp_receiver != 0);
}

static void count_source(const struct snmp_sampling *sampling, const struct source *source,
			 struct sampling_found *found)
{
	uint32_t rate = (uint32_t)source->rate;

	if (!sampling->ours || source->fs_receiver != sampling->ours)
		return;
	found->rate_low = !found->sources || rate < found->rate_low ? rate : found->rate_low;
	found->rate_high = rate > found->rate_high ? rate : found->rate_high;
	found->sources++;
}

static struct sampling_found snmp_sampling_judge(struct snmp_sampling *sampling)
{
	const struct sampling_wanted *wanted = wanted_of(sampling);
	const struct receiver *ours = our_receiver(sampling);
	struct sampling_found found = {.agrees = true};
	size_t taken = 0;

	sampling->ours = ours ? ours->number : 0;
	if (!wanted->enabled) {
		found.agrees = !ours;
		return found;
	}
	for (size_t i = 0; i < sampling->receiver_count; i++)
		taken += sampling->receivers[i].owner[0] != '\0';
	if (!ours && taken == sampling->receiver_count) {
		found.foreign = true;
		(void)text_format(found.text, sizeof(found.text), "all receivers are taken, by %s",
				  sampling->receivers[0].owner);
	}
	found.agrees = ours && receiver_agrees(wanted, ours) && ours->left_s > TIMEOUT_S / 2;
	for (size_t i = 0; i < sampling->source_count; i++) {
		const struct source *source = &sampling->sources[i];

		count_source(sampling, source, &found);
		if (found.agrees && snmp_sampling_is_ours(sampling, source) &&
		    !source_agrees(sampling, source)) {
			found.agrees = false;
			(void)text_format(found.text, sizeof(found.text),
					  "ifIndex %u samples 1 in %lld for receiver %lld",
					  source->if_index, (long long)source->rate,
					  (long long)source->fs_receiver);
		}
	}
	return found;
}

/* --- setting --- */

static int snmp_sampling_look(struct snmp_sampling *sampling);
static int set_next(struct snmp_sampling *sampling);

static void snmp_sampling_put_number(struct snmp_binding *binding, enum snmp_sampling_column column,
				     uint32_t row, int64_t value)
{
	binding->name = snmp_oid_with(&snmp_sampling_columns[column], row);
	binding->value = (struct snmp_value){.type = SNMP_INTEGER, .number = value};
}

static void put_source(struct snmp_binding *binding, enum snmp_sampling_column column,
		       const struct source *source, int64_t value)
{
	binding->name = snmp_sampling_columns[column];
	for (size_t i = 0; i < COUNT_OF(source_head); i++)
		binding->name = snmp_oid_with(&binding->name, source_head[i]);
	binding->name = snmp_oid_with(&binding->name, source->if_index);
	binding->name = snmp_oid_with(&binding->name, source->instance);
	binding->value = (struct snmp_value){.type = SNMP_INTEGER, .number = value};
}

static void snmp_sampling_fail(struct snmp_sampling *sampling, int rc, const char *why)
{
	snmp_switch_fail(sampling->one, rc, "setting up sampling", why);
}

static void snmp_sampling_on_set(void *context, struct snmp_answer *answer)
{
	struct snmp_sampling *sampling = context;
	int rc;

	if (answer->rc || answer->status) {
		snmp_sampling_fail(sampling,
				   answer->rc ? answer->rc : snmp_status_code(answer->status),
				   answer->rc ? "" : snmp_status_text(answer->status));
		return;
	}
	rc = set_next(sampling);
	if (rc)
		snmp_sampling_fail(sampling, rc, "");
}

static int send_set(struct snmp_sampling *sampling, const struct snmp_binding *bindings,
		    size_t count)
{
	const struct snmp_ask ask = {.kind = SNMP_SET, .bindings = bindings, .count = count};

	return snmp_peer_ask(sampling->one->peer, &ask, snmp_sampling_on_set, sampling);
}

/* Owner and time-out go together: that is how a row is claimed (sFlowRcvrOwner). */
static int set_receiver(struct snmp_sampling *sampling)
{
	const struct sampling_wanted *wanted = wanted_of(sampling);
	struct snmp_binding bindings[5] = {0};
	struct receiver *row = our_receiver(sampling);
	uint8_t address[16];
	int64_t type;
	size_t size = snmp_sampling_address_of(wanted, address, &type);

	for (size_t i = 0; !row && i < sampling->receiver_count; i++)
		if (!sampling->receivers[i].owner[0])
			row = &sampling->receivers[i];
	if (!row || !size)
		return E_CONFLICT;
	sampling->ours = row->number;
	snmp_sampling_put_number(&bindings[0], OWNER, row->number, 0);
	bindings[0].value = (struct snmp_value){.type = SNMP_OCTETS,
						.bytes = (const uint8_t *)SAMPLING_OWNER,
						.size = sizeof(SAMPLING_OWNER) - 1};
	snmp_sampling_put_number(&bindings[1], EXPIRES, row->number, TIMEOUT_S);
	snmp_sampling_put_number(&bindings[2], ADDRESS_TYPE, row->number, type);
	snmp_sampling_put_number(&bindings[3], ADDRESS, row->number, 0);
	bindings[3].value =
		(struct snmp_value){.type = SNMP_OCTETS, .bytes = address, .size = size};
	snmp_sampling_put_number(&bindings[4], PORT, row->number, wanted->port);
	return send_set(sampling, bindings, COUNT_OF(bindings));
}

static size_t put_wanted(const struct snmp_sampling *sampling, const struct source *source,
			 struct snmp_binding *bindings)
{
	const struct sampling_wanted *wanted = wanted_of(sampling);
	size_t count = 0;

	put_source(&bindings[count++], FS_RECEIVER, source, sampling->ours);
	put_source(&bindings[count++], FS_RATE, source, rate_for(wanted, source));
	put_source(&bindings[count++], FS_HEADER, source, wanted->header);
	if (source->has_cp && (!source->cp_receiver || source->cp_receiver == sampling->ours)) {
		put_source(&bindings[count++], CP_RECEIVER, source, sampling->ours);
		put_source(&bindings[count++], CP_INTERVAL, source, wanted->poll_s);
	}
	return count;
}

/* The next sources that differ; after the last of them all is looked at again. */
static int set_next(struct snmp_sampling *sampling)
{
	struct snmp_binding bindings[BATCH * PER_SOURCE] = {0};
	size_t count = 0;

	for (; count + PER_SOURCE <= COUNT_OF(bindings) && sampling->next < sampling->source_count;
	     sampling->next++) {
		const struct source *source = &sampling->sources[sampling->next];

		if (snmp_sampling_is_ours(sampling, source) && !source_agrees(sampling, source))
			count += put_wanted(sampling, source, &bindings[count]);
	}
	if (count)
		return send_set(sampling, bindings, count);
	sampling->set = true;
	return snmp_sampling_look(sampling);
}

/* A receiver without an owner is free, and what pointed to it stops (sFlowRcvrOwner). */
static int snmp_sampling_release(struct snmp_sampling *sampling)
{
	struct snmp_binding binding;

	snmp_sampling_put_number(&binding, OWNER, sampling->ours, 0);
	binding.value = (struct snmp_value){.type = SNMP_OCTETS, .bytes = (const uint8_t *)""};
	sampling->next = sampling->source_count;
	return send_set(sampling, &binding, 1);
}

/* --- the call --- */

static void snmp_sampling_on_walked(void *context, int rc, const char *why)
{
	struct snmp_sampling *sampling = context;
	const struct sampling_wanted *wanted = wanted_of(sampling);
	struct switch_reading reading = {0};

	sampling->walk = NULL;
	if (rc) {
		snmp_sampling_fail(sampling, rc, why);
		return;
	}
	if (!sampling->receiver_count && wanted->enabled) {
		snmp_sampling_fail(sampling, E_UNSUPPORTED, "its agent has no SFLOW-MIB");
		return;
	}
	share_speeds(sampling);
	if (sampling->set)
		learn_rates(sampling);
	reading.sampling = snmp_sampling_judge(sampling);
	if (reading.sampling.agrees || reading.sampling.foreign || !wanted->change ||
	    sampling->set) {
		reading.requests = snmp_peer_requests(sampling->one->peer) -
				   sampling->one->call.requests_before;
		switch_call_end(&sampling->one->call, 0, &reading, NULL);
		return;
	}
	rc = wanted->enabled ? set_receiver(sampling) : snmp_sampling_release(sampling);
	if (rc)
		snmp_sampling_fail(sampling, rc, "");
}

/* The columns in order: SPEED last, when all sources are known. */
static int snmp_sampling_look(struct snmp_sampling *sampling)
{
	const struct snmp_walk_plan plan = {
		.columns = snmp_sampling_columns,
		.count = COLUMN_COUNT,
		.row_limit = SOURCE_LIMIT * COLUMN_COUNT,
		.row = snmp_sampling_on_value,
		.done = snmp_sampling_on_walked,
		.context = sampling,
	};

	sampling->receiver_count = sampling->source_count = 0;
	sampling->next = 0;
	return snmp_walk_start(sampling->one->peer, &plan, &sampling->walk);
}

int snmp_sampling_start(struct snmp_switch *one)
{
	struct snmp_sampling *sampling = calloc(1, sizeof(*sampling));
	int rc = -ENOMEM;

	if (!sampling)
		return rc;
	sampling->one = one;
	sampling->sources = calloc(SOURCE_LIMIT, sizeof(*sampling->sources));
	if (sampling->sources)
		rc = snmp_sampling_look(sampling);
	if (rc) {
		snmp_sampling_cancel(sampling);
		return rc;
	}
	one->sampling = sampling;
	return 0;
}
