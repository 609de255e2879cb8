/* Many SNMP v2c agents in one process, for measurements: static tables of a switch, the same on
 * every address that leads here (`ip route add local 10.66.0.0/24 dev lo`), but for sysName.
 *
 *   snmp_farm --port 161 --ports 48 --vlans 20 --fdb 20000 [--size 1400]
 *
 * Answers GET, GETNEXT and GETBULK (RFC 3416) with at most `size` octets of bindings, as switches
 * whose replies fit a frame do: GETBULK is cut, GET is tooBig. Prints "ready"; at its end how many
 * requests it answered. */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/macros.h"
#include "common/base/text.h"
#include "common/net/wire.h"

LEAKS_LEFT_TO_SANITIZER

enum { ARCS = 24, NAMES = 128, BINDINGS = 400, MESSAGE = 65536 };
enum { TOO_BIG = 1 }; /* error-status (RFC 3416) */
enum {
	BER_INTEGER = 0x02,
	BER_OCTETS = 0x04,
	BER_NULL = 0x05,
	BER_OID = 0x06,
	BER_SEQUENCE = 0x30,
	BER_GAUGE = 0x42,
	BER_TICKS = 0x43,
	BER_NO_SUCH = 0x81,
	BER_END = 0x82,
	PDU_GET = 0xa0,
	PDU_NEXT = 0xa1,
	PDU_RESPONSE = 0xa2,
	PDU_BULK = 0xa5
};

struct name {
	uint32_t arcs[ARCS];
	size_t count;
};

struct entry {
	struct name name;
	uint8_t type, size;
	uint32_t number;
	uint8_t bytes[32];
};

struct farm {
	struct entry *entries; /* sorted */
	size_t count, room;
	size_t message_size;
	uint64_t answered;
};

static volatile sig_atomic_t snmp_farm_stopping;

static void snmp_farm_on_signal(int number)
{
	(void)number;
	snmp_farm_stopping = 1;
}

/* --- the tables --- */

static struct entry *snmp_farm_add(struct farm *farm, const char *root, size_t count,
				   const uint32_t *index)
{
	struct entry *entry;

	if (farm->count == farm->room) {
		farm->room = farm->room ? farm->room * 2 : 4096;
		farm->entries = realloc(farm->entries, farm->room * sizeof(*farm->entries));
		if (!farm->entries)
			abort();
	}
	entry = &farm->entries[farm->count++];
	*entry = (struct entry){0};
	for (char *at; *root; root = *at == '.' ? at + 1 : at)
		entry->name.arcs[entry->name.count++] = (uint32_t)strtoul(root, &at, 10);
	for (size_t i = 0; i < count; i++)
		entry->name.arcs[entry->name.count++] = index[i];
	return entry;
}

static void snmp_farm_add_number(struct farm *farm, const char *root, size_t count,
				 const uint32_t *index, uint8_t type, uint32_t number)
{
	struct entry *entry = snmp_farm_add(farm, root, count, index);

	entry->type = type;
	entry->number = number;
}

static void add_bytes(struct farm *farm, const char *root, size_t count, const uint32_t *index,
		      const void *bytes, size_t size)
{
	struct entry *entry = snmp_farm_add(farm, root, count, index);

	entry->type = BER_OCTETS;
	entry->size = (uint8_t)(size < sizeof(entry->bytes) ? size : sizeof(entry->bytes));
	memcpy(entry->bytes, bytes, entry->size);
}

#define INDEX(...)                                          \
	COUNT_OF(((uint32_t[]){__VA_ARGS__})), (uint32_t[]) \
	{                                                   \
		__VA_ARGS__                                 \
	}

static void snmp_farm_add_port(struct farm *farm, uint32_t port)
{
	uint32_t base = port * 2; /* neither equal nor dense */
	char name[24];
	uint8_t mac[6] = {0x02, 0xfa, 0, 0, (uint8_t)(port >> 8), (uint8_t)port};

	text_format(name, sizeof(name), "Ethernet1/%u", port);
	add_bytes(farm, "1.3.6.1.2.1.2.2.1.2", INDEX(port), name, strlen(name));
	snmp_farm_add_number(farm, "1.3.6.1.2.1.2.2.1.3", INDEX(port), BER_INTEGER, 6);
	add_bytes(farm, "1.3.6.1.2.1.2.2.1.6", INDEX(port), mac, sizeof(mac));
	snmp_farm_add_number(farm, "1.3.6.1.2.1.2.2.1.7", INDEX(port), BER_INTEGER, 1);
	snmp_farm_add_number(farm, "1.3.6.1.2.1.2.2.1.8", INDEX(port), BER_INTEGER, 1);
	add_bytes(farm, "1.3.6.1.2.1.31.1.1.1.1", INDEX(port), name, strlen(name));
	snmp_farm_add_number(farm, "1.3.6.1.2.1.31.1.1.1.15", INDEX(port), BER_GAUGE, 25000);
	add_bytes(farm, "1.3.6.1.2.1.31.1.1.1.18", INDEX(port), "node", 4);
	snmp_farm_add_number(farm, "1.3.6.1.2.1.17.1.4.1.2", INDEX(base), BER_INTEGER, port);
	snmp_farm_add_number(farm, "1.3.6.1.2.1.17.2.15.1.3", INDEX(base), BER_INTEGER, 5);
	snmp_farm_add_number(farm, "1.3.6.1.2.1.17.7.1.4.5.1.1", INDEX(base), BER_GAUGE, 100);
	snmp_farm_add_number(farm, "1.3.6.1.2.1.17.7.1.4.5.1.2", INDEX(base), BER_INTEGER, 1);
	snmp_farm_add_number(farm, "1.3.6.1.2.1.17.7.1.4.5.1.3", INDEX(base), BER_INTEGER, 1);
	snmp_farm_add_number(farm, "1.0.8802.1.1.2.1.3.7.1.2", INDEX(port), BER_INTEGER, 5);
	add_bytes(farm, "1.0.8802.1.1.2.1.3.7.1.3", INDEX(port), name, strlen(name));
	add_bytes(farm, "1.0.8802.1.1.2.1.3.7.1.4", INDEX(port), name, strlen(name));
	if (port % 8)
		return;
	snmp_farm_add_number(farm, "1.0.8802.1.1.2.1.4.1.1.4", INDEX(0, port, 1), BER_INTEGER, 4);
	add_bytes(farm, "1.0.8802.1.1.2.1.4.1.1.5", INDEX(0, port, 1), mac, sizeof(mac));
	snmp_farm_add_number(farm, "1.0.8802.1.1.2.1.4.1.1.6", INDEX(0, port, 1), BER_INTEGER, 5);
	add_bytes(farm, "1.0.8802.1.1.2.1.4.1.1.7", INDEX(0, port, 1), name, strlen(name));
	add_bytes(farm, "1.0.8802.1.1.2.1.4.1.1.8", INDEX(0, port, 1), "uplink", 6);
	add_bytes(farm, "1.0.8802.1.1.2.1.4.1.1.9", INDEX(0, port, 1), "other", 5);
}

static void snmp_farm_add_vlan(struct farm *farm, uint32_t vlan)
{
	static const uint8_t members[12] = {0x55, 0x55, 0x55, 0x55, 0x55, 0x55,
					    0x55, 0x55, 0x55, 0x55, 0x55, 0x55};
	static const uint8_t none[12];
	char name[24];

	text_format(name, sizeof(name), "tenant-%u", vlan);
	add_bytes(farm, "1.3.6.1.2.1.17.7.1.4.3.1.1", INDEX(vlan), name, strlen(name));
	add_bytes(farm, "1.3.6.1.2.1.17.7.1.4.3.1.2", INDEX(vlan), members, sizeof(members));
	add_bytes(farm, "1.3.6.1.2.1.17.7.1.4.3.1.4", INDEX(vlan), vlan == 100 ? members : none,
		  sizeof(members));
	snmp_farm_add_number(farm, "1.3.6.1.2.1.17.7.1.4.3.1.5", INDEX(vlan), BER_INTEGER, 1);
	snmp_farm_add_number(farm, "1.3.6.1.2.1.17.7.1.4.2.1.3", INDEX(0, vlan), BER_GAUGE, vlan);
	add_bytes(farm, "1.3.6.1.2.1.17.7.1.4.2.1.4", INDEX(0, vlan), members, sizeof(members));
	add_bytes(farm, "1.3.6.1.2.1.17.7.1.4.2.1.5", INDEX(0, vlan), none, sizeof(none));
}

static int name_order(const struct name *a, const struct name *b)
{
	for (size_t i = 0; i < a->count && i < b->count; i++) {
		if (a->arcs[i] != b->arcs[i])
			return a->arcs[i] < b->arcs[i] ? -1 : 1;
	}
	return (a->count > b->count) - (a->count < b->count);
}

static int snmp_farm_entry_order(const void *a, const void *b)
{
	return name_order(&((const struct entry *)a)->name, &((const struct entry *)b)->name);
}

static void snmp_farm_build(struct farm *farm, uint32_t ports, uint32_t vlans, uint32_t fdb)
{
	if (ports == 0 || vlans == 0)
		return;
	add_bytes(farm, "1.3.6.1.2.1.1.1", INDEX(0), "a switch of the farm", 20);
	snmp_farm_add_number(farm, "1.3.6.1.2.1.1.3", INDEX(0), BER_TICKS, 123456);
	add_bytes(farm, "1.3.6.1.2.1.1.5", INDEX(0), "farm", 4);
	snmp_farm_add_number(farm, "1.3.6.1.2.1.17.7.1.1.4", INDEX(0), BER_GAUGE, vlans);
	for (uint32_t port = 1; port <= ports; port++)
		snmp_farm_add_port(farm, port);
	for (uint32_t vlan = 100; vlan < 100 + vlans; vlan++)
		snmp_farm_add_vlan(farm, vlan);
	for (uint32_t i = 0; i < fdb; i++) {
		uint32_t vlan = 100 + i % vlans;
		uint32_t base = (1 + i % ports) * 2;

		snmp_farm_add_number(farm, "1.3.6.1.2.1.17.7.1.2.2.1.2",
				     INDEX(vlan, 2, 0, 0, i >> 16, i >> 8 & 255, i & 255),
				     BER_INTEGER, base);
		snmp_farm_add_number(farm, "1.3.6.1.2.1.17.7.1.2.2.1.3",
				     INDEX(vlan, 2, 0, 0, i >> 16, i >> 8 & 255, i & 255),
				     BER_INTEGER, 3);
	}
	qsort(farm->entries, farm->count, sizeof(*farm->entries), snmp_farm_entry_order);
}

/* The first entry that is not before `name`. */
static size_t snmp_farm_lower_bound(const struct farm *farm, const struct name *name)
{
	size_t low = 0;
	size_t high = farm->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (name_order(&farm->entries[middle].name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* --- BER, read forwards and written backwards --- */

static struct wire_reader snmp_farm_read_part(struct wire_reader *in, uint8_t *ret_tag)
{
	uint8_t length;
	size_t size;

	*ret_tag = wire_u8(in);
	length = wire_u8(in);
	size = length;
	if (length & 0x80) {
		size = 0;
		for (int i = length & 0x7f; i > 0; i--)
			size = size << 8 | wire_u8(in);
	}
	return wire_cut(in, size);
}

static uint32_t snmp_farm_read_number(struct wire_reader *in)
{
	uint8_t tag;
	struct wire_reader part = snmp_farm_read_part(in, &tag);
	uint32_t number = 0;

	while (wire_left(&part))
		number = number << 8 | wire_u8(&part);
	return number;
}

static struct name snmp_farm_read_name(struct wire_reader *in)
{
	uint8_t tag;
	struct wire_reader part = snmp_farm_read_part(in, &tag);
	struct name name = {0};
	uint8_t first = wire_u8(&part);

	name.arcs[0] = first / 40;
	name.arcs[1] = first % 40;
	name.count = 2;
	while (wire_left(&part) && name.count < ARCS) {
		uint32_t arc = 0;
		uint8_t octet;

		do {
			octet = wire_u8(&part);
			arc = arc << 7 | (octet & 0x7fU);
		} while ((octet & 0x80) && wire_left(&part));
		name.arcs[name.count++] = arc;
	}
	return name;
}

struct back {
	uint8_t bytes[MESSAGE];
	size_t at; /* the first octet that is written */
};

static void put_octet(struct back *out, uint8_t octet)
{
	if (out->at > 0)
		out->bytes[--out->at] = octet;
}

static void put_head(struct back *out, uint8_t tag, size_t end)
{
	size_t size = end - out->at;

	if (size >= 0x80) {
		put_octet(out, (uint8_t)size);
		put_octet(out, (uint8_t)(size >> 8));
		put_octet(out, 0x82);
	} else {
		put_octet(out, (uint8_t)size);
	}
	put_octet(out, tag);
}

static void snmp_farm_put_number(struct back *out, uint8_t tag, uint32_t number)
{
	size_t end = out->at;

	do {
		put_octet(out, (uint8_t)number);
		number >>= 8;
	} while (number);
	if (out->bytes[out->at] & 0x80)
		put_octet(out, 0);
	put_head(out, tag, end);
}

static void put_bytes(struct back *out, uint8_t tag, const uint8_t *bytes, size_t size)
{
	size_t end = out->at;

	while (size)
		put_octet(out, bytes[--size]);
	put_head(out, tag, end);
}

static void put_name(struct back *out, const struct name *name)
{
	size_t end = out->at;

	for (size_t i = name->count; i > 2; i--) {
		uint32_t arc = name->arcs[i - 1];

		put_octet(out, arc & 0x7f);
		for (arc >>= 7; arc; arc >>= 7)
			put_octet(out, (uint8_t)(arc | 0x80));
	}
	put_octet(out, (uint8_t)(name->arcs[0] * 40 + name->arcs[1]));
	put_head(out, BER_OID, end);
}

/* --- answers --- */

/* A binding of an answer: an entry, or a name and why there is none. */
struct answer {
	const struct entry *entry;
	struct name name;
	uint8_t none;
};

struct request {
	uint8_t kind;
	uint32_t id, first, second;
	uint32_t error; /* of the answer */
	struct name names[NAMES];
	size_t name_count;
	const uint8_t *community;
	size_t community_size;
};

static bool snmp_farm_read_request(const uint8_t *bytes, size_t size, struct request *ret)
{
	struct wire_reader in = wire_reader(bytes, size);
	uint8_t tag;
	struct wire_reader message = snmp_farm_read_part(&in, &tag);
	struct wire_reader part;
	struct wire_reader list;

	(void)snmp_farm_read_number(&message);
	part = snmp_farm_read_part(&message, &tag);
	ret->community_size = wire_left(&part);
	ret->community = wire_bytes(&part, ret->community_size);
	part = snmp_farm_read_part(&message, &ret->kind);
	ret->id = snmp_farm_read_number(&part);
	ret->first = snmp_farm_read_number(&part);
	ret->second = snmp_farm_read_number(&part);
	list = snmp_farm_read_part(&part, &tag);
	while (wire_left(&list) && ret->name_count < NAMES) {
		struct wire_reader binding = snmp_farm_read_part(&list, &tag);

		ret->names[ret->name_count++] = snmp_farm_read_name(&binding);
	}
	return !message.bad && !part.bad && !list.bad && ret->name_count > 0 &&
	       (ret->kind == PDU_GET || ret->kind == PDU_NEXT || ret->kind == PDU_BULK);
}

static size_t answer_size(const struct answer *answer)
{
	size_t size = 10U + (answer->entry ? (size_t)answer->entry->size : 0U);

	for (size_t i = 0; i < answer->name.count; i++)
		size += answer->name.arcs[i] < 128 ? 1U : answer->name.arcs[i] < 16384 ? 2U : 3U;
	return size;
}

static struct answer answer_next(const struct farm *farm, const struct name *name)
{
	size_t at = snmp_farm_lower_bound(farm, name);

	if (at < farm->count && name_order(&farm->entries[at].name, name) == 0)
		at++;
	if (at == farm->count)
		return (struct answer){.name = *name, .none = BER_END};
	return (struct answer){&farm->entries[at], farm->entries[at].name, 0};
}

static struct answer answer_exact(const struct farm *farm, const struct name *name)
{
	size_t at = snmp_farm_lower_bound(farm, name);

	if (at < farm->count && name_order(&farm->entries[at].name, name) == 0)
		return (struct answer){&farm->entries[at], *name, 0};
	return (struct answer){.name = *name, .none = BER_NO_SUCH};
}

static size_t answer_all(const struct farm *farm, struct request *request,
			 struct answer answers[BINDINGS])
{
	uint32_t rounds = request->kind == PDU_BULK ? request->second : 1;
	size_t count = 0;
	size_t size = 0;

	for (uint32_t round = 0; round < rounds; round++) {
		for (size_t i = 0; i < request->name_count; i++) {
			struct answer answer = request->kind == PDU_GET
						       ? answer_exact(farm, &request->names[i])
						       : answer_next(farm, &request->names[i]);

			size += answer_size(&answer);
			if (request->kind != PDU_BULK && size > farm->message_size) {
				request->error = TOO_BIG;
				return 0;
			}
			if (count == BINDINGS || (count > 0 && size > farm->message_size))
				return count;
			request->names[i] = answer.name;
			answers[count++] = answer;
		}
	}
	return count;
}

static void put_answer(struct back *out, const struct answer *answer)
{
	size_t end = out->at;

	if (!answer->entry)
		put_head(out, answer->none, out->at);
	else if (answer->entry->type == BER_OCTETS)
		put_bytes(out, BER_OCTETS, answer->entry->bytes, answer->entry->size);
	else
		snmp_farm_put_number(out, answer->entry->type, answer->entry->number);
	put_name(out, &answer->name);
	put_head(out, BER_SEQUENCE, end);
}

static void put_response(struct back *out, const struct request *request,
			 const struct answer *answers, size_t count)
{
	out->at = sizeof(out->bytes);
	for (size_t i = count; i > 0; i--)
		put_answer(out, &answers[i - 1]);
	put_head(out, BER_SEQUENCE, sizeof(out->bytes));
	snmp_farm_put_number(out, BER_INTEGER, 0);
	snmp_farm_put_number(out, BER_INTEGER, request->error);
	snmp_farm_put_number(out, BER_INTEGER, request->id);
	put_head(out, PDU_RESPONSE, sizeof(out->bytes));
	put_bytes(out, BER_OCTETS, request->community, request->community_size);
	snmp_farm_put_number(out, BER_INTEGER, 1);
	put_head(out, BER_SEQUENCE, sizeof(out->bytes));
}

/* One datagram, answered from the address that was asked. */
static bool snmp_farm_serve(struct farm *farm, int fd)
{
	static struct back out;
	static struct answer answers[BINDINGS];
	uint8_t bytes[4096];
	uint8_t control[CMSG_SPACE(sizeof(struct in_pktinfo))];
	struct sockaddr_in peer;
	struct iovec part = {bytes, sizeof(bytes)};
	struct msghdr message = {.msg_name = &peer,
				 .msg_namelen = sizeof(peer),
				 .msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = control,
				 .msg_controllen = sizeof(control)};
	struct request request = {0};
	size_t count;
	ssize_t size = recvmsg(fd, &message, 0);

	if (size < 0)
		return errno == EINTR && !snmp_farm_stopping;
	if (!snmp_farm_read_request(bytes, (size_t)size, &request))
		return true;
	count = answer_all(farm, &request, answers);
	put_response(&out, &request, answers, count);
	part = (struct iovec){out.bytes + out.at, sizeof(out.bytes) - out.at};
	farm->answered++;
	(void)sendmsg(fd, &message, 0);
	return true;
}

static int snmp_farm_listen_on(uint16_t port)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int on = 1;
	int room = 8 << 20;

	if (fd < 0 || setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &on, sizeof(on)) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)) ||
	    bind(fd, (const struct sockaddr *)&address, sizeof(address)))
		return -1;
	return fd;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"port", required_argument, NULL, 0},  {"ports", required_argument, NULL, 1},
		{"vlans", required_argument, NULL, 2}, {"fdb", required_argument, NULL, 3},
		{"size", required_argument, NULL, 4},  {0}};
	uint32_t values[] = {161, 48, 20, 20000, 1400};
	struct sigaction action = {.sa_handler = snmp_farm_on_signal};
	struct farm farm = {0};
	int letter;
	int fd;

	while ((letter = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (letter < 0 || (size_t)letter >= COUNT_OF(values)) {
			(void)fputs("snmp_farm: see the head of its source\n", stderr);
			return 2;
		}
		values[letter] = (uint32_t)strtoul(optarg, NULL, 10);
	}
	if (values[1] == 0 || values[2] == 0)
		return 2;
	farm.message_size = values[4];
	snmp_farm_build(&farm, values[1], values[2], values[3]);
	fd = snmp_farm_listen_on((uint16_t)values[0]);
	if (fd < 0) {
		perror("snmp_farm");
		return 1;
	}
	(void)sigaction(SIGTERM, &action, NULL);
	(void)sigaction(SIGINT, &action, NULL);
	(void)puts("ready");
	(void)fflush(stdout);
	while (!snmp_farm_stopping && snmp_farm_serve(&farm, fd))
		;
	(void)printf("answered %llu\n", (unsigned long long)farm.answered);
	(void)close(fd);
	free(farm.entries);
	return 0;
}
