// links: storage_driver
/* Any bytes as an answer of tgtd and as its list of targets: what is accepted has numbers, names
 * and addresses within their bounds, and reads the same when it is written down as tgtd writes it.
 */
#undef NDEBUG /* the invariants are the test */

#include <arpa/inet.h>
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"

#include "bampi/storage/driver/tgt_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_down(const struct storage_view *view, struct text *ret)
{
	for (size_t i = 0; i < view->count; i++) {
		const struct storage_target *target = &view->targets[i];

		text_addf(ret, "Target %lld: %s\n    LUN information:\n        LUN: 1\n",
			  (long long)target->id, target->name);
		text_addf(ret, "            Backing store path: %s\n", target->path);
		text_add(ret, "    Account information:\n");
		for (size_t j = 0; j < target->user_count; j++)
			text_addf(ret, "        %s\n", target->users[j].name);
		text_add(ret, "    I_T nexus information:\n");
		for (size_t j = 0; j < target->session_count; j++) {
			text_addf(ret, "        I_T nexus: %llu\n            Connection: %u\n",
				  (unsigned long long)target->sessions[j].number,
				  (unsigned)target->sessions[j].connection);
			text_addf(ret, "                IP Address: %s\n",
				  target->sessions[j].address);
		}
		text_add(ret, "    ACL information:\n");
		for (size_t j = 0; j < target->address_count; j++)
			text_addf(ret, "        %s\n", target->addresses[j].text);
	}
}

static void check(const struct storage_view *view)
{
	unsigned char room[sizeof(struct in6_addr)];

	for (size_t i = 0; i < view->count; i++) {
		const struct storage_target *target = &view->targets[i];

		assert(target->id >= 1 && target->id <= INT32_MAX);
		assert(target->name[0] && strlen(target->name) < sizeof(target->name));
		assert(strlen(target->path) < sizeof(target->path));
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

static void same(const struct storage_view *a, const struct storage_view *b)
{
	assert(a->count == b->count);
	for (size_t i = 0; i < a->count; i++) {
		assert(a->targets[i].id == b->targets[i].id);
		assert(strcmp(a->targets[i].name, b->targets[i].name) == 0);
		assert(strcmp(a->targets[i].path, b->targets[i].path) == 0);
		assert(a->targets[i].user_count == b->targets[i].user_count);
		for (size_t j = 0; j < a->targets[i].user_count; j++)
			assert(strcmp(a->targets[i].users[j].name, b->targets[i].users[j].name) ==
			       0);
		assert(a->targets[i].address_count == b->targets[i].address_count);
		assert(a->targets[i].session_count == b->targets[i].session_count);
		for (size_t j = 0; j < a->targets[i].session_count; j++) {
			const struct storage_session *one = &a->targets[i].sessions[j];
			const struct storage_session *two = &b->targets[i].sessions[j];

			assert(one->number == two->number && one->connection == two->connection);
			assert(strcmp(one->address, two->address) == 0);
		}
	}
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
	struct storage_view view = {0};
	struct storage_view again = {0};
	struct text text = {0};
	struct tgt_answer answer;

	portals(data, size);
	if (tgt_answer_decode(data, size, &answer) == 0)
		assert(size >= TGT_ANSWER_SIZE && answer.size <= TGT_LIST_MAX &&
		       tgt_status_text(answer.status)[0]);
	if (tgt_list_decode((const char *)data, size, &view) == 0) {
		check(&view);
		write_down(&view, &text);
		assert(!text.failed);
		assert(tgt_list_decode(text_get(&text), text.size, &again) == 0);
		same(&view, &again);
	}
	storage_view_done(&view);
	storage_view_done(&again);
	text_done(&text);
	return 0;
}
