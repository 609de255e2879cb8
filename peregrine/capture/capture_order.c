#include "peregrine/capture/capture_order.h"

#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/http/json_reader.h"
#include "common/net/mac.h"

static const char *const capture_order_kinds[DECAP_KIND_COUNT] = {[DECAP_NONE] = "port",
								  [DECAP_GRE] = "gre",
								  [DECAP_ERSPAN] = "erspan",
								  [DECAP_VXLAN] = "vxlan"};

static void capture_order_read_text(struct json_reader *reader, const char *key, bool required,
				    char *ret, size_t room)
{
	const char *text = json_get_string(reader, key, required);

	if (text && !text_copy(ret, room, text) && !problem_is_set(&reader->problem))
		(void)problem_set(&reader->problem, E_MALFORMED, "%s is too long", key);
}

static void read_kind(struct json_reader *reader, enum decap_kind *ret)
{
	const char *word = json_get_string(reader, "kind", true);

	for (int kind = 0; word && kind < DECAP_KIND_COUNT; kind++) {
		if (strcmp(capture_order_kinds[kind], word) == 0) {
			*ret = (enum decap_kind)kind;
			return;
		}
	}
	if (!problem_is_set(&reader->problem))
		(void)problem_set(&reader->problem, E_MALFORMED, "no such kind of mirror");
}

static void read_macs(struct json_reader *reader, const char *key, bool required, uint8_t ret[][6],
		      size_t *ret_count)
{
	const json_t *list = json_get(reader, key, required);
	size_t count = json_array_size(list);

	if (count > SCOPE_MACS || (required && count == 0)) {
		if (!problem_is_set(&reader->problem))
			(void)problem_set(&reader->problem, E_MALFORMED, "%s: %zu addresses", key,
					  count);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		const char *text = json_string_value(json_array_get(list, i));
		struct mac mac;

		if ((!text || mac_parse(text, &mac) != 0) && !problem_is_set(&reader->problem))
			(void)problem_set(&reader->problem, E_MALFORMED, "%s: not a MAC", key);
		else
			memcpy(ret[i], mac.bytes, 6);
	}
	*ret_count = count;
}

int capture_order_read(const char *text, size_t size, struct capture_order *ret,
		       struct problem *problem)
{
	static const struct json_bounds bounds = {CAPTURE_ORDER_MAX, 4, 512};
	CLEANUP(json_decrefp) json_t *json = NULL;
	struct capture_order order = {0};
	struct json_reader reader;
	int rc = json_read_bounded(text, size, &bounds, &json, problem);

	if (rc)
		return rc;
	reader = json_reader(json);
	capture_order_read_text(&reader, "interface", true, order.interface,
				sizeof(order.interface));
	read_kind(&reader, &order.kind);
	order.session = (uint32_t)json_get_int(&reader, "session", 0, UINT32_MAX, 0, false);
	capture_order_read_text(&reader, "filter", false, order.filter, sizeof(order.filter));
	read_macs(&reader, "macs_a", true, order.scope.a, &order.scope.a_count);
	read_macs(&reader, "macs_b", false, order.scope.b, &order.scope.b_count);
	order.snap_length = (uint32_t)json_get_int(&reader, "snap_length", 14, 65535, 128, false);
	order.seconds = (uint32_t)json_get_int(&reader, "seconds", 1, 86400, 60, false);
	order.files = (unsigned)json_get_int(&reader, "files", 1, 16, 4, false);
	order.file_bytes = (uint64_t)json_get_int(&reader, "file_bytes", 1 << 18, INT64_C(1) << 34,
						  1 << 24, false);
	order.wrap = json_get_bool(&reader, "wrap", false);
	capture_order_read_text(&reader, "folder", true, order.folder, sizeof(order.folder));
	capture_order_read_text(&reader, "comment", false, order.comment, sizeof(order.comment));
	if (problem_is_set(&reader.problem)) {
		*problem = reader.problem;
		return E_MALFORMED;
	}
	*ret = order;
	return 0;
}
