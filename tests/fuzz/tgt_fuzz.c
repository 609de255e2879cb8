// links: storage_driver
/* Any bytes as an answer of tgtd, as its list of targets and as what initiators say of themselves.
 * What is accepted has numbers, names and addresses within their bounds. The target of a tenant that
 * says anything of itself stays as it is, and so do its neighbours. */
#undef NDEBUG /* the invariants are the test */

#include <arpa/inet.h>
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"

#include "bampi/storage/driver/tgt_list_wire.h"
#include "bampi/storage/driver/tgt_login_wire.h"
#include "bampi/storage/driver/tgt_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Marks of the corpus, and one that no input has. */
static const uint8_t mark_key[STORAGE_MARK_KEY_SIZE] = {0}, secret_key[STORAGE_MARK_KEY_SIZE] = {1};

static void put_target(struct text *list, int id, const char *said, size_t size)
{
	char name[32];
	char mark[TGT_MARK_SIZE];

	(void)text_format(name, sizeof(name), "iqn.test:volume.%d", id);
	tgt_mark(secret_key, id, name, mark);
	text_addf(list, "Target %d: %s\n    I_T nexus information:\n", id, name);
	if (said) {
		text_add(list, "        I_T nexus: 5\n            Initiator: ");
		text_add_bytes(list, said, size);
	}
	text_addf(list,
		  "    LUN information:\n        LUN: 1\n            Backing store path: /v/%d\n"
		  "    Account information:\n        v%d\n    ACL information:\n        10.0.0.%d\n"
		  "        %s\n",
		  id, id, id, mark);
}

static void check(const struct storage_view *view)
{
	unsigned char room[sizeof(struct in6_addr)];

	for (size_t i = 0; i < view->count; i++) {
		const struct storage_target *target = &view->targets[i];

		assert(target->id >= 1 && target->id <= INT32_MAX);
		assert(target->name[0] && strlen(target->name) < sizeof(target->name));
		assert(strlen(target->path) < sizeof(target->path));
		for (size_t j = 0; j < i; j++)
			assert(view->targets[j].id != target->id);
		for (size_t j = 0; j < target->user_count; j++) {
			const struct storage_user *user = &target->users[j];

			assert(user->name[0] && !strchr(user->name, ' ') &&
			       strlen(user->name) < sizeof(user->name));
			assert(!user->secret[0] && storage_target_knows(target, user->name));
		}
		for (size_t j = 0; j < target->session_count; j++) {
			const char *from = target->sessions[j].address;

			assert(!from[0] || inet_pton(AF_INET, from, room) == 1 ||
			       inet_pton(AF_INET6, from, room) == 1);
		}
		for (size_t j = 0; j < target->address_count; j++)
			assert(inet_pton(AF_INET, target->addresses[j].text, room) == 1 ||
			       inet_pton(AF_INET6, target->addresses[j].text, room) == 1);
	}
}

static void any_list(const char *data, size_t size)
{
	struct storage_view view = {0};
	bool moved;

	/* the same bytes as statistics: both are read by line */
	if (tgt_list_decode(&(struct tgt_list){data, size, data, size, mark_key}, &view, &moved) ==
	    0)
		check(&view);
	storage_view_done(&view);
}

/* Volume 7's initiator says `said`; tgtd stops at a NUL and after 1023 bytes. */
static void forged(const char *said, size_t size)
{
	static const char statistics[] = "  7   0   5 0\n  8   0   6 0\n";
	struct storage_view view = {0};
	struct text list = {0};
	bool moved;

	size = strnlen(said, size < 1000 ? size : 1000);
	put_target(&list, 3, NULL, 0);
	put_target(&list, 7, said, size);
	put_target(&list, 8, NULL, 0);
	assert(!list.failed);
	assert(tgt_list_decode(&(struct tgt_list){text_get(&list), list.size, statistics,
						  sizeof(statistics) - 1, secret_key},
			       &view, &moved) == 0);
	check(&view);
	assert(view.count == 3);
	for (size_t i = 0; i < view.count; i++) {
		static const int ids[] = {3, 7, 8};
		char text[32];

		assert(view.targets[i].id == ids[i] && view.targets[i].user_count == 1);
		(void)text_format(text, sizeof(text), "/v/%d", ids[i]);
		assert(strcmp(view.targets[i].path, text) == 0);
		(void)text_format(text, sizeof(text), "10.0.0.%d", ids[i]);
		assert(view.targets[i].address_count == 1 &&
		       storage_target_lists(&view.targets[i], text));
		assert(view.targets[i].session_count == (ids[i] != 3));
	}
	assert(view.targets[1].sessions[0].number == 5 && view.targets[2].sessions[0].number == 6);
	storage_view_done(&view);
	text_done(&list);
}

static void portals(const uint8_t *data, size_t size)
{
	struct storage_portals view = {0};
	struct storage_portals again = {0};
	struct text text = {0};

	if (tgt_portals_decode((const char *)data, size, &view) == 0) {
		for (size_t i = 0; i < view.count; i++) {
			assert(strlen(view.list[i].text) < sizeof(view.list[i].text));
			assert(strrchr(view.list[i].text, ':') > view.list[i].text);
			text_addf(&text, "Portal: %s,1\n", view.list[i].text);
		}
		assert(!text.failed);
		assert(tgt_portals_decode(text_get(&text), text.size, &again) == 0);
		assert(again.count == view.count);
		for (size_t i = 0; i < view.count; i++)
			assert(strcmp(view.list[i].text, again.list[i].text) == 0);
	}
	storage_portals_done(&view);
	storage_portals_done(&again);
	text_done(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tgt_answer answer;
	uint32_t connections[4];

	portals(data, size);
	if (tgt_answer_decode(data, size, &answer) == 0)
		assert(size >= TGT_ANSWER_SIZE && answer.size <= TGT_LIST_MAX &&
		       tgt_status_text(answer.status)[0]);
	assert(tgt_connections_decode((const char *)data, size, connections, 4) <= 4);
	any_list((const char *)data, size);
	forged((const char *)data, size);
	return 0;
}
