#include "bampi/storage/driver/tgt_wire.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"

#define DRIVER_SIZE 64
#define LINE_SIZE   (PATH_MAX + 64)

static void put_native_u32(struct wire_writer *writer, uint32_t value)
{
	wire_put_bytes(writer, &value, sizeof(value));
}

static void put_native_u64(struct wire_writer *writer, uint64_t value)
{
	wire_put_bytes(writer, &value, sizeof(value));
}

void tgt_request_encode(const struct tgt_request *request, struct wire_writer *writer)
{
	static const char driver[] = "iscsi";
	size_t text = request->text[0] ? strlen(request->text) + 1 : 0; /* with its NUL */

	if (text > TGT_TEXT_MAX) {
		writer->bad = true;
		return;
	}
	put_native_u32(writer, request->mode);
	put_native_u32(writer, request->op);
	wire_put_bytes(writer, driver, sizeof(driver));
	wire_put_zeros(writer, DRIVER_SIZE - sizeof(driver));
	put_native_u32(writer, (uint32_t)(TGT_REQUEST_SIZE + text));
	put_native_u32(writer, (uint32_t)request->target);
	put_native_u64(writer, request->session);
	put_native_u64(writer, request->unit);
	put_native_u32(writer, request->connection);
	wire_put_zeros(writer, 3 * sizeof(uint32_t)); /* bus, device type, direction */
	put_native_u32(writer, 0);                    /* pack */
	put_native_u32(writer, request->force);
	wire_put_bytes(writer, request->text, text);
}

int tgt_answer_decode(const void *data, size_t size, struct tgt_answer *ret)
{
	struct wire_reader reader = wire_reader(data, size);
	uint32_t status;
	uint32_t length;

	wire_copy(&reader, &status, sizeof(status));
	wire_copy(&reader, &length, sizeof(length));
	if (reader.bad || length < TGT_ANSWER_SIZE)
		return E_MALFORMED;
	if (length - TGT_ANSWER_SIZE > TGT_LIST_MAX)
		return E_LIMIT;
	*ret = (struct tgt_answer){status, length - TGT_ANSWER_SIZE};
	return 0;
}

const char *tgt_status_text(uint32_t status)
{
	static const char *const texts[] = {
		"success",
		"unknown error",
		"out of memory",
		"no such driver",
		"no such target",
		"no such logical unit",
		"no such session",
		"no such connection",
		"no such binding",
		"the target is there already",
		"the logical unit is there already",
		"the binding is there already",
		"the address is there already",
		"no such address",
		"the account is there already",
		"no such account",
		"too many accounts",
		"invalid request (does the file exist?)",
		"outgoing account is there already",
		"the target is in use",
		"the logical unit is in use",
		"the driver is in use",
		"unsupported operation",
		"unknown parameter",
		"removal is prevented",
	};

	return status < COUNT_OF(texts) ? texts[status] : "an error of a later version";
}

/* --- the list of targets --- */

enum part { PART_OTHER, PART_UNIT, PART_ACCOUNTS, PART_ADDRESSES, PART_SESSIONS };

struct list {
	struct storage_view view;
	struct storage_target *target; /* the one whose lines come */
	enum part part;
	bool data_unit;   /* unit 1: 0 is tgt's own controller */
	uint64_t session; /* whose lines come, PART_SESSIONS */
};

/* A growing array doubles when its count reaches a power of two. */
static int tgt_wire_grow(void **array, size_t count, size_t element)
{
	void *more;

	if (count & (count - 1))
		return 0;
	more = realloc(*array, (count ? 2 * count : 1) * element);
	if (!more)
		return -ENOMEM;
	*array = more;
	return 0;
}

/* "7: iqn...:volume.7" behind "Target " */
static int add_target(struct list *list, const char *line)
{
	void *targets = list->view.targets;
	char *end;
	long id = strtol(line, &end, 10);
	struct storage_target target = {.id = id};
	int rc;

	if (id < 1 || id > INT32_MAX || strncmp(end, ": ", 2) != 0 ||
	    list->view.count >= TGT_TARGETS_MAX ||
	    !text_copy(target.name, sizeof(target.name), end + 2) || !target.name[0])
		return E_MALFORMED;
	rc = tgt_wire_grow(&targets, list->view.count, sizeof(target));
	list->view.targets = targets;
	if (rc)
		return rc;
	list->target = &list->view.targets[list->view.count++];
	*list->target = target;
	list->part = PART_OTHER;
	return 0;
}

static int tgt_wire_add_address(struct storage_target *target, const char *word)
{
	void *addresses = target->addresses;
	unsigned char room[sizeof(struct in6_addr)];
	struct storage_address address;
	int rc;

	if (inet_pton(AF_INET, word, room) != 1 && inet_pton(AF_INET6, word, room) != 1)
		return 0; /* an initiator's name, "ALL", a prefix: none of ours */
	if (target->address_count >= STORAGE_ADDRESSES_MAX ||
	    !text_copy(address.text, sizeof(address.text), word))
		return E_MALFORMED;
	rc = tgt_wire_grow(&addresses, target->address_count, sizeof(address));
	target->addresses = addresses;
	if (rc == 0)
		target->addresses[target->address_count++] = address;
	return rc;
}

static int tgt_wire_add_user(struct storage_target *target, const char *word)
{
	void *users = target->users;
	struct storage_user user = {0};
	int rc;

	if (!word[0] || strchr(word, ' ')) /* an outgoing one has " (outgoing)" behind its name */
		return 0;
	if (target->user_count > STORAGE_ADDRESSES_MAX ||
	    !text_copy(user.name, sizeof(user.name), word))
		return E_MALFORMED;
	rc = tgt_wire_grow(&users, target->user_count, sizeof(user));
	target->users = users;
	if (rc == 0)
		target->users[target->user_count++] = user;
	return rc;
}

static bool tgt_wire_begins(const char *line, const char *with)
{
	return strncmp(line, with, strlen(with)) == 0;
}

/* A heading inside of a target, four blanks in. */
static bool tgt_wire_heading(struct list *list, const char *line)
{
	static const struct {
		const char *text;
		enum part part;
	} rows[] = {
		{"    Account information:", PART_ACCOUNTS},
		{"    ACL information:", PART_ADDRESSES},
		{"    LUN information:", PART_UNIT},
		{"    I_T nexus information:", PART_SESSIONS},
		{"    System information:", PART_OTHER},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		if (strcmp(line, rows[i].text) == 0) {
			list->part = rows[i].part;
			list->data_unit = false;
			return true;
		}
	}
	return false;
}

static int read_unit(struct list *list, const char *line)
{
	static const char path[] = "            Backing store path: ";

	if (tgt_wire_begins(line, "        LUN: "))
		list->data_unit = strcmp(line, "        LUN: 1") == 0;
	else if (list->data_unit && tgt_wire_begins(line, path) &&
		 !text_copy(list->target->path, sizeof(list->target->path), line + strlen(path)))
		return E_MALFORMED;
	return 0;
}

/* A connection begins one; its address is on the next line but is not sure to be there. */
static int add_session(struct list *list, const char *number)
{
	struct storage_target *target = list->target;
	void *sessions = target->sessions;
	char *end;
	unsigned long connection = strtoul(number, &end, 10);
	int rc;

	if (*end || end == number || connection > UINT32_MAX ||
	    target->session_count >= TGT_SESSIONS_MAX)
		return E_MALFORMED;
	rc = tgt_wire_grow(&sessions, target->session_count, sizeof(*target->sessions));
	target->sessions = sessions;
	if (rc == 0)
		target->sessions[target->session_count++] = (struct storage_session){
			.number = list->session, .connection = (uint32_t)connection};
	return rc;
}

static int read_session(struct list *list, const char *line)
{
	static const char nexus[] = "        I_T nexus: ";
	static const char connection[] = "            Connection: ";
	static const char address[] = "                IP Address: ";
	struct storage_target *target = list->target;
	unsigned char room[sizeof(struct in6_addr)];
	const char *word;

	if (tgt_wire_begins(line, nexus)) {
		list->session = strtoull(line + strlen(nexus), NULL, 10);
	} else if (tgt_wire_begins(line, connection)) {
		return add_session(list, line + strlen(connection));
	} else if (tgt_wire_begins(line, address) && target->session_count > 0) {
		word = line + strlen(address);
		if (tgt_wire_begins(word, "::ffff:") && strchr(word, '.')) /* a socket for both */
			word += strlen("::ffff:");
		if (inet_pton(AF_INET, word, room) == 1 || inet_pton(AF_INET6, word, room) == 1)
			(void)text_copy(target->sessions[target->session_count - 1].address,
					STORAGE_ADDRESS_SIZE, word);
	}
	return 0;
}

static int tgt_wire_read_line(struct list *list, const char *line)
{
	const char *word = line + strspn(line, " ");

	if (tgt_wire_begins(line, "Target "))
		return add_target(list, line + strlen("Target "));
	if (!list->target || tgt_wire_heading(list, line))
		return 0;
	switch (list->part) {
	case PART_UNIT: return read_unit(list, line);
	case PART_SESSIONS: return read_session(list, line);
	case PART_ADDRESSES: return tgt_wire_add_address(list->target, word);
	case PART_ACCOUNTS: return tgt_wire_add_user(list->target, word);
	case PART_OTHER: return 0;
	}
	return 0;
}

int tgt_list_decode(const char *text, size_t size, struct storage_view *ret)
{
	struct list list = {0};
	char line[LINE_SIZE];
	int rc = 0;

	while (rc == 0 && size > 0) {
		const char *end = memchr(text, '\n', size);
		size_t length = end ? (size_t)(end - text) : size;
		size_t whole = end ? length + 1 : length;

		if (length >= sizeof(line)) {
			rc = E_MALFORMED;
			break;
		}
		memcpy(line, text, length);
		line[length] =
			'\0'; /* the list ends in a NUL of its own, which ends its line too */
		rc = tgt_wire_read_line(&list, line);
		text += whole;
		size -= whole;
	}
	if (rc) {
		storage_view_done(&list.view);
		return rc;
	}
	*ret = list.view;
	return 0;
}

/* --- the list of portals --- */

/* "10.0.0.1:3260,1": the address may have colons of its own, in brackets. */
static int add_portal(struct storage_portals *portals, const char *line, size_t size)
{
	const char *comma = memchr(line, ',', size);
	size_t length = comma ? (size_t)(comma - line) : size;
	void *list = portals->list;
	struct storage_portal portal = {0};
	const char *port;
	int rc;

	if (length >= sizeof(portal.text) || portals->count >= TGT_PORTALS_MAX ||
	    memchr(line, '\0', length))
		return E_MALFORMED;
	memcpy(portal.text, line, length);
	port = strrchr(portal.text, ':');
	if (!port || port == portal.text || port[1] == '\0' ||
	    port[1 + strspn(port + 1, "0123456789")] != '\0')
		return E_MALFORMED;
	rc = tgt_wire_grow(&list, portals->count, sizeof(portal));
	portals->list = list;
	if (rc == 0)
		portals->list[portals->count++] = portal;
	return rc;
}

int tgt_portals_decode(const char *text, size_t size, struct storage_portals *ret)
{
	static const char head[] = "Portal: ";
	const size_t head_size = strlen(head);
	struct storage_portals portals = {0};
	int rc = 0;

	while (rc == 0 && size > 0) {
		const char *end = memchr(text, '\n', size);
		size_t length = end ? (size_t)(end - text) : size;
		size_t whole = end ? length + 1 : length;

		if (length > head_size && memcmp(text, head, head_size) == 0)
			rc = add_portal(&portals, text + head_size, length - head_size);
		text += whole;
		size -= whole;
	}
	if (rc) {
		storage_portals_done(&portals);
		return rc;
	}
	*ret = portals;
	return 0;
}
