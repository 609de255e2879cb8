// links: storage_driver
/* tgt's management protocol, against what tgtadm 1.0.85 sent and tgtd 1.0.85 answered. */
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

#include "bampi/storage/driver/tgt_wire.h"
#include "tests/support/cmocka.h"

static uint32_t native(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

/* tgtadm --lld iscsi --op new --mode logicalunit --tid 7 --lun 1 -b /v --bstype rdwr, as strace saw
 * it: the places of the fields. */
static void request(void **state)
{
	uint8_t room[TGT_REQUEST_SIZE + 64];
	struct wire_writer writer = wire_writer(room, sizeof(room));
	static const char text[] = "path=/v,bstype=rdwr";

	(void)state;
	tgt_request_encode(&(struct tgt_request){.mode = TGT_LOGICAL_UNIT,
						 .op = TGT_NEW,
						 .target = 7,
						 .unit = 1,
						 .text = text},
			   &writer);
	assert_false(writer.bad);
	assert_int_equal(wire_written(&writer), TGT_REQUEST_SIZE + sizeof(text));
	assert_int_equal(native(room), 2);
	assert_int_equal(native(room + 4), 0);
	assert_string_equal((const char *)room + 8, "iscsi");
	assert_int_equal(native(room + 72), TGT_REQUEST_SIZE + sizeof(text));
	assert_int_equal(native(room + 76), 7);
	assert_int_equal(native(room + 88), 1);
	assert_int_equal(native(room + 92), 0);
	assert_int_equal(native(room + 116), 0);
	assert_memory_equal(room + TGT_REQUEST_SIZE, text, sizeof(text));
}

static void request_without_text(void **state)
{
	uint8_t room[TGT_REQUEST_SIZE];
	struct wire_writer writer = wire_writer(room, sizeof(room));
	const struct tgt_request close = {.mode = TGT_TARGET,
					  .op = TGT_DELETE,
					  .target = 8,
					  .unit = UINT64_MAX,
					  .force = 1,
					  .text = ""};

	(void)state;
	tgt_request_encode(&close, &writer);
	assert_false(writer.bad);
	assert_int_equal(wire_written(&writer), TGT_REQUEST_SIZE);
	assert_int_equal(native(room + 4), 1);
	assert_int_equal(native(room + 72), TGT_REQUEST_SIZE);
	assert_int_equal(native(room + 88), UINT32_MAX);
	assert_int_equal(native(room + 92), UINT32_MAX);
	assert_int_equal(native(room + 116), 1);
	writer = wire_writer(room, sizeof(room) - 1);
	tgt_request_encode(&close, &writer);
	assert_true(writer.bad);
}

/* tgtadm --lld iscsi --op delete --mode conn --tid 5 --sid 1 --cid 3 */
static void request_to_cut(void **state)
{
	uint8_t room[TGT_REQUEST_SIZE];
	struct wire_writer writer = wire_writer(room, sizeof(room));

	(void)state;
	tgt_request_encode(&(struct tgt_request){.mode = TGT_CONNECTION,
						 .op = TGT_DELETE,
						 .target = 5,
						 .unit = UINT64_MAX,
						 .session = 1,
						 .connection = 3,
						 .text = ""},
			   &writer);
	assert_false(writer.bad);
	assert_int_equal(native(room), 6);
	assert_int_equal(native(room + 76), 5);
	assert_int_equal(native(room + 80), 1);
	assert_int_equal(native(room + 84), 0);
	assert_int_equal(native(room + 96), 3);
	assert_int_equal(native(room + 100), 0);
}

static void answer(void **state)
{
	const uint32_t good[] = {TGT_NO_TARGET, 8};
	const uint32_t text[] = {TGT_OK, 8 + 100};
	const uint32_t small[] = {TGT_OK, 7};
	const uint32_t large[] = {TGT_OK, UINT32_MAX};
	struct tgt_answer ret;

	(void)state;
	assert_int_equal(tgt_answer_decode(good, 8, &ret), 0);
	assert_int_equal(ret.status, TGT_NO_TARGET);
	assert_int_equal(ret.size, 0);
	assert_int_equal(tgt_answer_decode(text, 8, &ret), 0);
	assert_int_equal(ret.size, 100);
	assert_int_equal(tgt_answer_decode(good, 7, &ret), E_MALFORMED);
	assert_int_equal(tgt_answer_decode(small, 8, &ret), E_MALFORMED);
	assert_int_equal(tgt_answer_decode(large, 8, &ret), E_LIMIT);
}

static void portals(void **state)
{
	static const char shown[] = "Portal: 127.0.0.1:33261,1\nPortal: [fd00::1]:3260,1\n"
				    "something else\nPortal: 0.0.0.0:3260,1\n";
	static const char *const bad[] = {
		"Portal: 127.0.0.1,1\n",
		"Portal: :3260,1\n",
		"Portal: 10.0.0.1:,1\n",
		"Portal: 10.0.0.1:32x,1\n",
		"Portal: 1111111111111111111111111111111111111111111111111111111111111111:1,1\n",
	};
	struct storage_portals view = {0};

	(void)state;
	assert_int_equal(tgt_portals_decode(shown, strlen(shown), &view), 0);
	assert_int_equal(view.count, 3);
	assert_string_equal(view.list[0].text, "127.0.0.1:33261");
	assert_string_equal(view.list[1].text, "[fd00::1]:3260");
	assert_string_equal(view.list[2].text, "0.0.0.0:3260");
	storage_portals_done(&view);
	assert_int_equal(tgt_portals_decode("", 0, &view), 0);
	assert_int_equal(view.count, 0);
	storage_portals_done(&view);
	for (size_t i = 0; i < COUNT_OF(bad); i++)
		assert_int_equal(tgt_portals_decode(bad[i], strlen(bad[i]), &view), E_MALFORMED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(request),        cmocka_unit_test(request_without_text),
		cmocka_unit_test(request_to_cut), cmocka_unit_test(answer),
		cmocka_unit_test(portals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
