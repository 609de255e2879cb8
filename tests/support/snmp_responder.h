/* For tests: an SNMPv2c agent on the test's own loop, which answers out of a list of rows, and has
 * the faults of real ones. Rows come in the order in which they were added. */
#pragma once

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/io/loop.h"

#include "peregrine/switch/snmp/snmp_oid.h"
#include "tests/support/cmocka.h"
#include "tests/support/snmp_facts_make.h"

LEAKS_LEFT_TO_SANITIZER

enum { RESPONDER_SIZE = 1400, RESPONDER_QUEUE = 64 };

struct responder_row {
	struct snmp_oid name;
	uint8_t tag; /* of BER: 2 integer, 4 octets, 6 object id, 0x42 gauge, 0x43 ticks */
	int64_t number;
	uint8_t bytes[64];
	size_t size;
};

struct responder_answer {
	int64_t due_ms;
	struct sockaddr_in to;
	uint8_t bytes[RESPONDER_SIZE + 200];
	size_t size;
};

struct responder {
	struct loop *loop;
	struct loop_watch *watch;
	struct loop_timer *timer;
	int fd;
	uint16_t port;
	struct responder_row *rows;
	size_t count, room;
	/* faults */
	unsigned lost_percent; /* of the requests; by `seed` */
	uint64_t seed;
	int64_t delay_ms;
	bool no_bulk;               /* GETBULK is genErr */
	const char *silent_of_vlan; /* ",10,20,": contexts community@VLAN without an answer */
	/* what was seen */
	unsigned heard, lost, bulks, nexts;
	struct responder_answer queue[RESPONDER_QUEUE];
	size_t queued;
};

/* --- BER, as far as needed --- */

struct ber {
	const uint8_t *at, *end;
};

static inline struct ber ber_take(struct ber *in, uint8_t *ret_tag)
{
	size_t size;

	assert_true(in->end - in->at >= 2);
	*ret_tag = *in->at++;
	size = *in->at++;
	if (size & 0x80) {
		size_t octets = size & 0x7f;

		for (size = 0; octets > 0; octets--)
			size = size << 8 | *in->at++;
	}
	assert_true((size_t)(in->end - in->at) >= size);
	in->at += size;
	return (struct ber){in->at - size, in->at};
}

static inline int64_t ber_number(struct ber *in)
{
	uint8_t tag;
	struct ber value = ber_take(in, &tag);
	int64_t number = 0;

	for (; value.at < value.end; value.at++)
		number = number << 8 | *value.at;
	return number;
}

static inline struct snmp_oid ber_oid(struct ber *in)
{
	uint8_t tag;
	struct ber value = ber_take(in, &tag);
	struct snmp_oid oid = {.ids = {*value.at / 40, *value.at % 40}, .count = 2};

	for (value.at++; value.at < value.end;) {
		uint32_t id = 0;

		do {
			id = id << 7 | (*value.at & 0x7f);
		} while (*value.at++ & 0x80);
		oid.ids[oid.count++] = id;
	}
	return oid;
}

/* Written from the end: what is inside is known before its length is. */
struct ber_out {
	uint8_t bytes[RESPONDER_SIZE + 200];
	size_t left;
};

static inline void ber_put(struct ber_out *out, const void *bytes, size_t size)
{
	assert_true(out->left >= size);
	out->left -= size;
	memcpy(out->bytes + out->left, bytes, size);
}

static inline void ber_close(struct ber_out *out, uint8_t tag, size_t end)
{
	size_t size = end - out->left;
	const uint8_t head[] = {tag, 0x82, (uint8_t)(size >> 8), (uint8_t)size};

	ber_put(out, head, sizeof(head));
}

static inline void ber_put_number(struct ber_out *out, uint8_t tag, int64_t number)
{
	size_t end = out->left;

	for (int i = 0; i < 5; i++)
		ber_put(out, &(uint8_t){(uint8_t)(number >> (8 * i))}, 1);
	ber_close(out, tag, end);
}

static inline void ber_put_oid(struct ber_out *out, const struct snmp_oid *oid)
{
	size_t end = out->left;

	for (size_t i = oid->count; i > 2; i--) {
		uint32_t id = oid->ids[i - 1];
		uint8_t more = 0;

		do {
			ber_put(out, &(uint8_t){(uint8_t)((id & 0x7f) | more)}, 1);
			id >>= 7;
			more = 0x80;
		} while (id);
	}
	ber_put(out, &(uint8_t){(uint8_t)(oid->ids[0] * 40 + oid->ids[1])}, 1);
	ber_close(out, 6, end);
}

/* --- its rows --- */

static inline struct responder_row *responder_add(struct responder *agent, const char *oid)
{
	if (agent->count == agent->room) {
		agent->room = agent->room ? 2 * agent->room : 256;
		agent->rows = realloc(agent->rows, agent->room * sizeof(*agent->rows));
		assert_non_null(agent->rows);
	}
	agent->rows[agent->count] = (struct responder_row){.name = oid_of(oid)};
	return &agent->rows[agent->count++];
}

static inline void responder_number(struct responder *agent, int64_t number, const char *format,
				    ...) PRINTF_LIKE(3, 4);
static inline void responder_number(struct responder *agent, int64_t number, const char *format,
				    ...)
{
	struct responder_row *row;
	char oid[128];
	va_list list;

	va_start(list, format);
	(void)vsnprintf(oid, sizeof(oid), format, list);
	va_end(list);
	row = responder_add(agent, oid);
	row->tag = 2;
	row->number = number;
}

static inline void responder_bytes(struct responder *agent, const void *bytes, size_t size,
				   const char *format, ...) PRINTF_LIKE(4, 5);
static inline void responder_bytes(struct responder *agent, const void *bytes, size_t size,
				   const char *format, ...)
{
	struct responder_row *row;
	char oid[128];
	va_list list;

	va_start(list, format);
	(void)vsnprintf(oid, sizeof(oid), format, list);
	va_end(list);
	assert_in_range(size, 0, sizeof(row->bytes));
	row = responder_add(agent, oid);
	row->tag = 4;
	memcpy(row->bytes, bytes, size);
	row->size = size;
}

static inline int responder_order(const void *left, const void *right)
{
	return snmp_oid_order(&((const struct responder_row *)left)->name,
			      &((const struct responder_row *)right)->name);
}

static inline void responder_sort(struct responder *agent)
{
	qsort(agent->rows, agent->count, sizeof(*agent->rows), responder_order);
}

/* The rows below `oid`: [*ret_from, the answer). */
static inline size_t responder_range(const struct responder *agent, const char *oid,
				     size_t *ret_from)
{
	const struct snmp_oid root = oid_of(oid);
	size_t end;

	for (*ret_from = 0; *ret_from < agent->count; (*ret_from)++) {
		if (snmp_oid_is_below(&agent->rows[*ret_from].name, &root))
			break;
	}
	for (end = *ret_from; end < agent->count; end++) {
		if (!snmp_oid_is_below(&agent->rows[end].name, &root))
			break;
	}
	return end;
}

/* The rows below `oid` stand in the other order. */
static inline void responder_turn(struct responder *agent, const char *oid)
{
	size_t from;
	size_t end = responder_range(agent, oid, &from);

	for (; from + 1 < end; from++, end--) {
		struct responder_row row = agent->rows[from];

		agent->rows[from] = agent->rows[end - 1];
		agent->rows[end - 1] = row;
	}
}

/* Behind the last row below `oid` its first one comes again. */
static inline void responder_begin_anew(struct responder *agent, const char *oid)
{
	struct responder_row first;
	size_t from;
	size_t end = responder_range(agent, oid, &from);

	first = agent->rows[from];
	(void)responder_add(agent, oid);
	memmove(&agent->rows[end + 1], &agent->rows[end], (agent->count - 1 - end) * sizeof(first));
	agent->rows[end] = first;
}

/* The row behind `name`; an agent without order goes on behind the one that is called so. */
static inline const struct responder_row *responder_next(const struct responder *agent,
							 const struct snmp_oid *name)
{
	for (size_t i = 0; i < agent->count; i++) {
		if (snmp_oid_order(&agent->rows[i].name, name) == 0)
			return i + 1 < agent->count ? &agent->rows[i + 1] : NULL;
	}
	for (size_t i = 0; i < agent->count; i++) {
		if (snmp_oid_order(&agent->rows[i].name, name) > 0)
			return &agent->rows[i];
	}
	return NULL;
}

static inline const struct responder_row *responder_at(const struct responder *agent,
						       const struct snmp_oid *name)
{
	for (size_t i = 0; i < agent->count; i++) {
		if (snmp_oid_order(&agent->rows[i].name, name) == 0)
			return &agent->rows[i];
	}
	return NULL;
}

/* --- answering --- */

struct responder_binding {
	struct snmp_oid name;
	const struct responder_row *row; /* NULL: `none` */
	uint8_t none;                    /* noSuchInstance, endOfMibView */
};

static inline void responder_write(struct ber_out *out, const struct responder_binding *binding)
{
	size_t end = out->left;

	if (!binding->row) {
		ber_put(out, (const uint8_t[]){binding->none, 0}, 2);
	} else if (binding->row->tag == 4) {
		ber_put(out, binding->row->bytes, binding->row->size);
		ber_close(out, 4, end);
	} else {
		ber_put_number(out, binding->row->tag, binding->row->number);
	}
	ber_put_oid(out, &binding->name);
	ber_close(out, 0x30, end);
}

enum { RESPONDER_BINDINGS = 128 };

static inline size_t responder_fill(const struct responder *agent, uint8_t kind, int64_t repeats,
				    const struct snmp_oid *names, size_t count,
				    struct responder_binding ret[RESPONDER_BINDINGS])
{
	size_t filled = 0;

	if (kind == 0xa0) {
		for (; filled < count; filled++)
			ret[filled] = (struct responder_binding){
				names[filled], responder_at(agent, &names[filled]), 0x81};
		return filled;
	}
	for (int64_t again = 0; again < repeats; again++) {
		for (size_t i = 0; i < count && filled < RESPONDER_BINDINGS; i++, filled++) {
			const struct snmp_oid *from = again ? &ret[filled - count].name : &names[i];
			const struct responder_row *row = responder_next(agent, from);

			ret[filled] =
				(struct responder_binding){row ? row->name : *from, row, 0x82};
		}
		if (filled == RESPONDER_BINDINGS)
			break;
	}
	return filled;
}

static inline size_t responder_make(const struct responder *agent, struct ber community,
				    uint8_t kind, int64_t id, int64_t repeats,
				    const struct snmp_oid *names, size_t count, uint8_t *ret)
{
	struct responder_binding bindings[RESPONDER_BINDINGS];
	bool refused = kind == 0xa5 && agent->no_bulk;
	size_t filled = refused ? 0 : responder_fill(agent, kind, repeats, names, count, bindings);
	struct ber_out out;
	size_t size;

	/* What would not go into one message is cut, as agents do. */
	for (;; filled--) {
		size_t end = out.left = sizeof(out.bytes);

		size = 0;
		for (size_t i = filled; i > 0 && out.left > 300; i--, size++)
			responder_write(&out, &bindings[i - 1]);
		if (size < filled)
			continue;
		ber_close(&out, 0x30, end);
		ber_put_number(&out, 2, 0);
		ber_put_number(&out, 2, refused ? 5 : 0);
		ber_put_number(&out, 2, id);
		ber_close(&out, 0xa2, end);
		size = out.left;
		ber_put(&out, community.at, (size_t)(community.end - community.at));
		ber_close(&out, 4, size);
		ber_put_number(&out, 2, 1);
		ber_close(&out, 0x30, end);
		size = end - out.left;
		memcpy(ret, out.bytes + out.left, size);
		return size;
	}
}

static inline void responder_send(struct responder *agent)
{
	int64_t now = clock_monotonic_ms();

	while (agent->queued > 0 && agent->queue[0].due_ms <= now) {
		struct responder_answer *first = &agent->queue[0];

		(void)sendto(agent->fd, first->bytes, first->size, 0, (struct sockaddr *)&first->to,
			     sizeof(first->to));
		agent->queued--;
		memmove(first, first + 1, agent->queued * sizeof(*first));
	}
	if (agent->queued > 0)
		loop_timer_arm(agent->timer, agent->queue[0].due_ms - now);
}

static inline void responder_on_timer(void *context)
{
	responder_send(context);
}

static inline bool responder_is_silent(const struct responder *agent, struct ber community)
{
	const uint8_t *vlan = memchr(community.at, '@', (size_t)(community.end - community.at));
	char wanted[16];

	if (!vlan || !agent->silent_of_vlan)
		return false;
	(void)snprintf(wanted, sizeof(wanted), ",%.*s,", (int)(community.end - vlan - 1),
		       (const char *)vlan + 1);
	return strstr(agent->silent_of_vlan, wanted) != NULL;
}

static inline void responder_hear(struct responder *agent, const uint8_t *bytes, size_t size,
				  const struct sockaddr_in *from)
{
	struct ber in = {bytes, bytes + size};
	struct snmp_oid names[RESPONDER_BINDINGS];
	struct responder_answer *answer = &agent->queue[agent->queued];
	struct ber message, community, pdu, list;
	int64_t id, repeats;
	size_t count = 0;
	uint8_t tag;
	uint8_t kind;

	message = ber_take(&in, &tag);
	(void)ber_number(&message);
	community = ber_take(&message, &tag);
	pdu = ber_take(&message, &kind);
	id = ber_number(&pdu);
	(void)ber_number(&pdu);
	repeats = ber_number(&pdu);
	for (list = ber_take(&pdu, &tag); list.at < list.end;) {
		struct ber binding = ber_take(&list, &tag);

		names[count++] = ber_oid(&binding);
	}
	agent->bulks += kind == 0xa5;
	agent->nexts += kind == 0xa1;
	agent->seed = agent->seed * 6364136223846793005ULL + 1442695040888963407ULL;
	if (agent->seed >> 33 < (uint64_t)agent->lost_percent * (1ULL << 31) / 100) {
		agent->lost++;
		return;
	}
	if (agent->queued == RESPONDER_QUEUE || responder_is_silent(agent, community))
		return;
	answer->to = *from;
	answer->due_ms = clock_monotonic_ms() + agent->delay_ms;
	answer->size = responder_make(agent, community, kind, id, kind == 0xa5 ? repeats : 1, names,
				      count, answer->bytes);
	agent->queued++;
}

static inline void responder_on_readable(void *context, int events)
{
	struct responder *agent = context;
	struct sockaddr_in from;
	socklen_t length = sizeof(from);
	uint8_t bytes[8192];
	ssize_t size;

	(void)events;
	while ((size = recvfrom(agent->fd, bytes, sizeof(bytes), 0, (struct sockaddr *)&from,
				&length)) > 0) {
		agent->heard++;
		responder_hear(agent, bytes, (size_t)size, &from);
	}
	responder_send(agent);
}

static inline void responder_up(struct responder *agent, struct loop *loop)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);

	*agent = (struct responder){
		.loop = loop, .seed = 1, .fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0)};
	assert_int_equal(bind(agent->fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(getsockname(agent->fd, (struct sockaddr *)&address, &size), 0);
	agent->port = ntohs(address.sin_port);
	assert_int_equal(loop_timer_new(loop, responder_on_timer, agent, &agent->timer), 0);
	assert_int_equal(loop_watch_new(loop, agent->fd, LOOP_READ, responder_on_readable, agent,
					&agent->watch),
			 0);
}

static inline void responder_down(struct responder *agent)
{
	loop_watch_free(agent->watch);
	loop_timer_free(agent->timer);
	close(agent->fd);
	free(agent->rows);
}
