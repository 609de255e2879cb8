#include "bampi/storage/driver/tgt_list_wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/hex.h"
#include "common/base/text.h"

#include "bampi/storage/driver/tgt_login_wire.h"
#include "bampi/storage/driver/tgt_wire.h"

#define HASH_SIZE     16
#define STRANGERS_MAX 1024
#define MARK_WORD     "haas-mark."
#define UNITS_HEADING "    LUN information:"

/* A target without our mark. */
struct stranger {
	int64_t id;
	char name[STORAGE_TARGET_SIZE];
};

struct reading {
	const uint8_t *mark_key;
	struct tgt_logins logins;
	struct storage_view view;
	struct stranger strangers[STRANGERS_MAX];
	size_t stranger_count;
	bool moved;
};

/* --- marks --- */

void tgt_mark(const uint8_t mark_key[STORAGE_MARK_KEY_SIZE], int64_t id, const char *name,
	      char ret[TGT_MARK_SIZE])
{
	char text[STORAGE_TARGET_SIZE + 32];
	uint8_t hash[HASH_SIZE];
	char hex[2 * HASH_SIZE + 1];

	(void)text_format(text, sizeof(text), "%lld.%s", (long long)id, name);
	(void)crypto_generichash(hash, sizeof(hash), (const uint8_t *)text, strlen(text), mark_key,
				 STORAGE_MARK_KEY_SIZE);
	hex_encode(hash, sizeof(hash), hex);
	(void)text_format(ret, TGT_MARK_SIZE, MARK_WORD "%s.%s", hex, text);
}

/* Is this line a mark of ours? Then number and name go to *ret. */
static bool mark_read(const struct reading *reading, const struct span *line,
		      struct storage_target *ret)
{
	char mark[TGT_MARK_SIZE] = "";
	char ours[TGT_MARK_SIZE] = "";
	struct span word;
	struct span rest;
	uint64_t id;
	const char *dot;

	if (!span_behind(line, "        ", &word) || !span_behind(&word, MARK_WORD, &rest) ||
	    rest.size <= 2 * HASH_SIZE + 1 || !span_copy(&word, mark, sizeof(mark)))
		return false;
	rest.at += 2 * HASH_SIZE + 1;
	rest.size -= 2 * HASH_SIZE + 1;
	dot = memchr(rest.at, '.', rest.size);
	if (!dot ||
	    !span_number(&(struct span){rest.at, (size_t)(dot - rest.at)}, INT32_MAX, &id) ||
	    !span_copy(&(struct span){dot + 1, rest.size - (size_t)(dot + 1 - rest.at)}, ret->name,
		       sizeof(ret->name)))
		return false;
	ret->id = (int64_t)id;
	tgt_mark(reading->mark_key, ret->id, ret->name, ours);
	return sodium_memcmp(mark, ours, sizeof(mark)) == 0;
}

/* --- what stands behind the logins: ours alone --- */

enum part { PART_UNIT, PART_ACCOUNTS, PART_ADDRESSES };

static int tgt_list_add_address(struct storage_target *target, const struct span *word)
{
	void *addresses = target->addresses;
	unsigned char room[sizeof(struct in6_addr)];
	struct storage_address address;
	int rc;

	if (!span_copy(word, address.text, sizeof(address.text)) ||
	    (inet_pton(AF_INET, address.text, room) != 1 &&
	     inet_pton(AF_INET6, address.text, room) != 1))
		return 0; /* an initiator's name, "ALL", a prefix: none of ours */
	if (target->address_count >= STORAGE_ADDRESSES_MAX)
		return E_MALFORMED;
	rc = tgt_wire_grow(&addresses, target->address_count, sizeof(address));
	target->addresses = addresses;
	if (rc == 0)
		target->addresses[target->address_count++] = address;
	return rc;
}

static int tgt_list_add_user(struct storage_target *target, const struct span *word)
{
	void *users = target->users;
	struct storage_user user = {0};
	int rc;

	/* an outgoing one has " (outgoing)" behind its name */
	if (word->size == 0 || memchr(word->at, ' ', word->size))
		return 0;
	if (target->user_count > STORAGE_ADDRESSES_MAX ||
	    !span_copy(word, user.name, sizeof(user.name)))
		return E_MALFORMED;
	rc = tgt_wire_grow(&users, target->user_count, sizeof(user));
	target->users = users;
	if (rc == 0)
		target->users[target->user_count++] = user;
	return rc;
}

static int tail_read(struct storage_target *target, struct span text)
{
	static const char *const headings[] = {
		[PART_UNIT] = UNITS_HEADING,
		[PART_ACCOUNTS] = "    Account information:",
		[PART_ADDRESSES] = "    ACL information:",
	};
	enum part part = PART_UNIT;
	bool data_unit = false; /* unit 1: 0 is tgt's own controller */
	struct span line;
	struct span word;
	int rc = 0;

	while (rc == 0 && span_line(&text, &line)) {
		if (part != PART_ADDRESSES && span_is(&line, headings[part + 1])) {
			part++;
			continue;
		}
		if (part == PART_UNIT) {
			if (span_behind(&line, "        LUN: ", &word))
				data_unit = span_is(&word, "1");
			else if (data_unit &&
				 span_behind(&line, "            Backing store path: ", &word) &&
				 !span_copy(&word, target->path, sizeof(target->path)))
				rc = E_MALFORMED;
		} else if (span_behind(&line, "        ", &word)) {
			rc = part == PART_ACCOUNTS ? tgt_list_add_user(target, &word)
						   : tgt_list_add_address(target, &word);
		}
	}
	return rc;
}

/* --- targets --- */

/* "Target 7: iqn...:volume.7" */
static bool head_read(const struct span *line, struct stranger *ret)
{
	struct span word;
	struct span name;
	const char *colon;
	uint64_t id;

	if (!span_behind(line, "Target ", &word))
		return false;
	colon = memchr(word.at, ':', word.size);
	if (!colon ||
	    !span_number(&(struct span){word.at, (size_t)(colon - word.at)}, INT32_MAX, &id) ||
	    !span_behind(&(struct span){colon, word.size - (size_t)(colon - word.at)}, ": ", &name))
		return false;
	ret->id = (int64_t)id;
	return id > 0 && name.size > 0 && span_copy(&name, ret->name, sizeof(ret->name));
}

/* Up to the head of target `id`, whose line is passed over; 0: of none, to the end. What begins
 * before it has no mark. */
static void heads_read(struct reading *reading, struct span *text, int64_t id)
{
	struct span line;

	while (span_line(text, &line)) {
		struct stranger stranger;

		if (!head_read(&line, &stranger))
			continue;
		if (stranger.id == id)
			return;
		if (reading->stranger_count < STRANGERS_MAX)
			reading->strangers[reading->stranger_count++] = stranger;
	}
}

/* Takes `target`. */
static int target_add(struct reading *reading, struct storage_target *target)
{
	void *targets = reading->view.targets;
	int rc = reading->view.count < TGT_TARGETS_MAX
			 ? tgt_wire_grow(&targets, reading->view.count, sizeof(*target))
			 : E_MALFORMED;

	reading->view.targets = targets;
	if (rc) {
		storage_target_done(target);
		return rc;
	}
	reading->view.targets[reading->view.count++] = *target;
	return 0;
}

/* `text`: all between the mark before and the target's own. */
static int target_read(struct reading *reading, struct storage_target *target, struct span text)
{
	static const char units[] = UNITS_HEADING "\n";
	const char *tail = NULL;
	int rc;

	heads_read(reading, &text, target->id);
	/* tgtd's own heading is the last: names and paths behind it are ours. It need not begin a
	 * line, as a login that was cut off has no newline. */
	for (const char *at = text.at;
	     (at = memmem(at, text.size - (size_t)(at - text.at), units, strlen(units)));
	     at += strlen(units))
		tail = at;
	if (tail) {
		size_t before = (size_t)(tail - text.at);

		rc = tail_read(target, (struct span){tail, text.size - before});
		text.size = before;
	} else {
		rc = 0; /* without a path it is closed */
	}
	if (rc == 0)
		rc = tgt_sessions_decode(text, &reading->logins, target, &reading->moved);
	return rc ? rc : target_add(reading, target);
}

static int targets_read(struct reading *reading, struct span text)
{
	const char *from = text.at;
	struct span line;
	int64_t last = 0; /* tgtd sorts them by number */
	int rc = 0;

	while (rc == 0 && span_line(&text, &line)) {
		struct storage_target target = {0};

		if (!mark_read(reading, &line, &target) || target.id <= last)
			continue;
		last = target.id;
		rc = target_read(reading, &target, (struct span){from, (size_t)(line.at - from)});
		if (rc)
			storage_target_done(&target);
		from = text.at;
	}
	text = (struct span){from, (size_t)(text.at + text.size - from)};
	if (rc == 0)
		heads_read(reading, &text, 0);
	return rc;
}

/* Behind those with a mark; no number comes twice. */
static int strangers_add(struct reading *reading)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < reading->stranger_count; i++) {
		struct storage_target target = {.id = reading->strangers[i].id};
		bool known = false;

		for (size_t j = 0; !known && j < reading->view.count; j++)
			known = reading->view.targets[j].id == target.id;
		(void)text_copy(target.name, sizeof(target.name), reading->strangers[i].name);
		if (!known)
			rc = target_add(reading, &target);
	}
	return rc;
}

int tgt_list_decode(const struct tgt_list *list, struct storage_view *ret, bool *ret_moved)
{
	struct reading *reading = calloc(1, sizeof(*reading));
	struct span targets = {list->targets, list->targets_size};
	int rc;

	if (!reading)
		return -ENOMEM;
	reading->mark_key = list->mark_key;
	while (targets.size && !targets.at[targets.size - 1]) /* it ends in a NUL of its own */
		targets.size--;
	rc = tgt_logins_decode((struct span){list->statistics, list->statistics_size},
			       &reading->logins);
	if (rc == 0)
		rc = targets_read(reading, targets);
	if (rc == 0)
		rc = strangers_add(reading);
	if (rc) {
		storage_view_done(&reading->view);
	} else {
		*ret = reading->view;
		*ret_moved = reading->moved;
	}
	free(reading->logins.list);
	free(reading);
	return rc;
}
