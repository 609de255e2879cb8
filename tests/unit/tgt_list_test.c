// links: storage_driver
/* The list of tgtd 1.0.85, also with what initiators forge in it by their names and aliases (S6):
 * the targets of others read the same, and the session is odd. */
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "bampi/storage/driver/tgt_list_wire.h"
#include "bampi/storage/driver/tgt_login_wire.h"
#include "tests/support/cmocka.h"

#define INFO_SIZE 1023 /* of what tgtd prints of one login (usr/iscsi/session.c) */

static const uint8_t mark_key[STORAGE_MARK_KEY_SIZE] = "key of the test";

struct forged_login {
	unsigned number;
	const char *name, *alias, *address;
};

static void put_head(struct text *list, int id)
{
	text_addf(list,
		  "Target %d: iqn.test:volume.%d\n    System information:\n        Driver: iscsi\n"
		  "        State: ready\n    I_T nexus information:\n",
		  id, id);
}

static void put_login(struct text *list, struct text *statistics, int id,
		      const struct forged_login *login)
{
	char info[INFO_SIZE + 1];

	(void)text_format(info, sizeof(info),
			  "            Initiator: %s alias: %s\n            Connection: 0\n"
			  "                IP Address: %s\n",
			  login->name, login->alias, login->address);
	text_addf(list, "        I_T nexus: %u\n%s", login->number, info);
	text_addf(statistics, "%3d   0 %3u %12d      0\n%3d   1 %3u            0      0\n", id,
		  login->number, 4096, id, login->number);
}

static void put_tail(struct text *list, int id, const uint8_t *key)
{
	char name[32];
	char mark[TGT_MARK_SIZE];

	text_addf(list,
		  "    LUN information:\n        LUN: 0\n            Type: controller\n"
		  "            Backing store path: None\n        LUN: 1\n            Type: disk\n"
		  "            Backing store path: /volumes/%d\n            Backing store flags: \n"
		  "    Account information:\n        v%d-2\n        v%d-2-n12\n"
		  "        other (outgoing)\n    ACL information:\n        10.50.0.%d\n"
		  "        fd00::%d\n",
		  id, id, id, id, id);
	(void)text_format(name, sizeof(name), "iqn.test:volume.%d", id);
	tgt_mark(key, id, name, mark);
	if (key == mark_key)
		text_addf(list, "        %s\n", mark);
	else
		text_addf(list, "        %s\n", "iqn.2026-11.test:n1");
}

static int read_list(const struct text *list, const struct text *statistics,
		     struct storage_view *ret, bool *ret_moved)
{
	return tgt_list_decode(&(struct tgt_list){text_get(list), list->size + 1, /* its NUL */
						  text_get(statistics), statistics->size, mark_key},
			       ret, ret_moved);
}

static void assert_target(const struct storage_target *target, int id)
{
	char text[64];

	assert_int_equal(target->id, id);
	(void)text_format(text, sizeof(text), "iqn.test:volume.%d", id);
	assert_string_equal(target->name, text);
	(void)text_format(text, sizeof(text), "/volumes/%d", id);
	assert_string_equal(target->path, text);
	assert_int_equal(target->user_count, 2);
	(void)text_format(text, sizeof(text), "v%d-2-n12", id);
	assert_true(storage_target_knows(target, text));
	assert_false(storage_target_knows(target, "other"));
	assert_int_equal(target->address_count, 2);
	(void)text_format(text, sizeof(text), "10.50.0.%d", id);
	assert_true(storage_target_lists(target, text));
	(void)text_format(text, sizeof(text), "fd00::%d", id);
	assert_true(storage_target_lists(target, text));
	assert_false(storage_target_lists(target, ""));
}

static void listing(void **state)
{
	static const struct forged_login logins[] = {
		{5, "iqn.2026-11.test:node.n1", "none", "::ffff:10.50.0.7"},
		{6, "eui.02004567A425678D", "host of n2, 2nd floor", "fe80::1%eth0"},
		{7, "iqn.2026-11.test:node_\xc3\xa4", "none", "fd00::7"},
	};
	struct text list = {0};
	struct text statistics = {0};
	struct storage_view view = {0};
	bool moved = true;

	(void)state;
	text_add(&statistics, "tgt lun sid rd_subm(bytes,cmds) errs\n");
	put_head(&list, 1);
	put_tail(&list, 1, mark_key);
	put_head(&list, 7);
	for (size_t i = 0; i < COUNT_OF(logins); i++)
		put_login(&list, &statistics, 7, &logins[i]);
	put_tail(&list, 7, mark_key);
	assert_int_equal(read_list(&list, &statistics, &view, &moved), 0);
	assert_false(moved);
	assert_int_equal(view.count, 2);
	assert_target(&view.targets[0], 1);
	assert_target(&view.targets[1], 7);
	assert_int_equal(view.targets[0].session_count, 0);
	assert_int_equal(view.targets[1].session_count, 3);
	for (size_t i = 0; i < COUNT_OF(logins); i++)
		assert_int_equal(view.targets[1].sessions[i].number, logins[i].number);
	assert_string_equal(view.targets[1].sessions[0].address, "10.50.0.7");
	assert_string_equal(view.targets[1].sessions[1].address, "");
	assert_string_equal(view.targets[1].sessions[2].address, "fd00::7");
	assert_true(storage_target_admits(&view.targets[1], &view.targets[1].sessions[0]));
	assert_false(storage_target_admits(&view.targets[1], &view.targets[1].sessions[1]));
	assert_true(storage_target_admits(&view.targets[1], &view.targets[1].sessions[2]));
	storage_view_done(&view);
	text_done(&list);
	text_done(&statistics);
}

#define END "\n            Connection: 0\n                IP Address: 10.50.0.7\n"
#define TAIL                                                                                  \
	"    LUN information:\n        LUN: 1\n            Backing store path: /etc/shadow\n" \
	"    Account information:\n        me\n    ACL information:\n        10.66.6.6\n"
#define LONG                                                                                          \
	"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" \
	"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" \
	"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

/* What the tenant of volume 7 says of itself; 1, 8 and 900 are of others. */
static void forged(void **state)
{
	static const struct {
		const char *what, *name, *alias;
		bool one; /* odd alone; else all sessions of this target are */
	} rows[] = {
		{"one more number", "x\nTarget 0: y", "none", false},
		{"a target of nobody", "x\nTarget 900: iqn.forged", "none", false},
		{"the next target", "x\nTarget 8: iqn.test:volume.8", "none", false},
		{"the target before", "x\nTarget 1: iqn.test:volume.1", "none", false},
		{"its own again", "x\nTarget 7: iqn.other", "none", false},
		{"a connection", "x\n            Connection: z", "none", false},
		{"a whole target", "x alias: none" END TAIL "Target 8: iqn.test:volume.8", "none",
		 false},
		{"by its alias", "iqn.a", "none" END TAIL "Target 8: iqn.test:volume.8\n", false},
		{"the end of its own", "iqn.a", "none" END TAIL, false},
		{"one more session", "iqn.a",
		 "none" END "        I_T nexus: 9\n            Initiator: iqn.b alias: none",
		 false},
		{"a mark", "iqn.a",
		 "x\n        haas-mark.00000000000000000000000000000000.8.iqn.test:volume.8",
		 false},
		{"cut off", LONG LONG LONG LONG, "none", false},
		{"cut off with a tail", "iqn.a", "none" END TAIL LONG LONG LONG LONG, false},
		{"a blank", "iqn.a b", "none", true},
		{"a control character", "iqn.\x1b[2J", "none", true},
		{"too long", LONG, "none", true},
		{"nothing", "", "none", true},
		{"a bell", "iqn.a", "\a", true},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const struct forged_login bad = {5, rows[i].name, rows[i].alias, "10.50.0.7"};
		const struct forged_login good = {6, "iqn.test:n2", "none", "10.50.0.7"};
		const struct forged_login other = {4, "iqn.test:n3", "none", "10.50.0.8"};
		struct text list = {0};
		struct text statistics = {0};
		struct storage_view view = {0};
		bool moved;

		print_message("%s\n", rows[i].what);
		put_head(&list, 1);
		put_tail(&list, 1, mark_key);
		put_head(&list, 7);
		put_login(&list, &statistics, 7, &bad);
		put_login(&list, &statistics, 7, &good);
		put_tail(&list, 7, mark_key);
		put_head(&list, 8);
		put_login(&list, &statistics, 8, &other);
		put_tail(&list, 8, mark_key);
		assert_int_equal(read_list(&list, &statistics, &view, &moved), 0);
		assert_int_equal(view.count, 3);
		assert_target(&view.targets[0], 1);
		assert_target(&view.targets[1], 7); /* also the forger's own */
		assert_target(&view.targets[2], 8);
		assert_int_equal(view.targets[0].session_count, 0);
		assert_int_equal(view.targets[1].session_count, 2);
		assert_int_equal(view.targets[1].sessions[0].number, 5);
		assert_true(view.targets[1].sessions[0].odd);
		assert_int_equal(view.targets[1].sessions[1].odd, !rows[i].one);
		assert_int_equal(view.targets[2].session_count, 1);
		assert_false(view.targets[2].sessions[0].odd);
		assert_string_equal(view.targets[2].sessions[0].address, "10.50.0.8");
		storage_view_done(&view);
		text_done(&list);
		text_done(&statistics);
	}
}

/* A login that comes between the two texts: both are asked for again, before anybody is odd. */
static void moved_on(void **state)
{
	static const struct forged_login one = {5, "iqn.test:n1", "none", "10.50.0.7"};
	struct text list = {0};
	struct text statistics = {0};
	struct text later = {0};
	struct storage_view view = {0};
	bool moved = false;

	(void)state;
	put_head(&list, 7);
	put_login(&list, &later, 7, &one);
	put_tail(&list, 7, mark_key);
	assert_int_equal(read_list(&list, &statistics, &view, &moved), 0);
	assert_true(moved);
	assert_int_equal(view.targets[0].session_count, 0);
	storage_view_done(&view);
	moved = false;
	assert_int_equal(read_list(&list, &later, &view, &moved), 0);
	assert_false(moved);
	assert_int_equal(view.targets[0].session_count, 1);
	storage_view_done(&view);
	text_done(&list);
	text_done(&statistics);
	text_done(&later);
}

/* Opened by others, or only in part: told by number and name, behind ours. */
static void strangers(void **state)
{
	static const uint8_t other_key[STORAGE_MARK_KEY_SIZE] = "another";
	struct text list = {0};
	struct text statistics = {0};
	struct storage_view view = {0};
	bool moved;

	(void)state;
	put_head(&list, 3);
	put_tail(&list, 3, other_key);
	put_head(&list, 7);
	put_tail(&list, 7, mark_key);
	text_add(&list, "Target 9: iqn.test:volume.9\nTarget 7: x\nTarget 0: x\nTarget x: x\n"
			"Target 2147483648: x\nTarget 8 x\nTarget 8: \nTarget 8:\n");
	assert_int_equal(read_list(&list, &statistics, &view, &moved), 0);
	assert_int_equal(view.count, 3);
	assert_target(&view.targets[0], 7);
	assert_int_equal(view.targets[1].id, 3);
	assert_string_equal(view.targets[1].name, "iqn.test:volume.3");
	assert_string_equal(view.targets[1].path, "");
	assert_int_equal(view.targets[2].id, 9);
	storage_view_done(&view);
	text_done(&list);
	assert_int_equal(read_list(&list, &statistics, &view, &moved), 0);
	assert_int_equal(view.count, 0);
	storage_view_done(&view);
}

static void connections(void **state)
{
	static const char text[] =
		"tgt lun sid rd_subm(bytes,cmds) rd_done(bytes,cmds) errs\n"
		"  7   0   5            0      0            0      0            0      0    0\n\n"
		"sid cid rxdata_octets txdata_octets dataout_pdus datain_pdus cmd_pdus rsp_pdus\n"
		"  5   3            48           200            0           1        2        3\n"
		"  5 65535          48           200            0           1        2        3\n";
	uint32_t ret[2];

	(void)state;
	assert_int_equal(tgt_connections_decode(text, strlen(text), ret, 1), 1);
	assert_int_equal(tgt_connections_decode(text, strlen(text), ret, 2), 2);
	assert_int_equal(ret[0], 3);
	assert_int_equal(ret[1], 65535);
	assert_int_equal(tgt_connections_decode("", 0, ret, 2), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(listing),     cmocka_unit_test(forged),
		cmocka_unit_test(moved_on),    cmocka_unit_test(strangers),
		cmocka_unit_test(connections),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
