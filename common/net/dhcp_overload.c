#include "common/net/dhcp_overload.h"

#include <string.h>

#define PIECE_MAX  255 /* RFC 3396: a longer value continues in the next option of the same code */
#define PIECE_HEAD 2
#define AREAS      3

/* Old firmware wants the type first; EDK2 writes a zero behind option 67; RFC 3046 2.1 puts 82
 * last. */
const uint8_t dhcp_options_first[3] = {DHCP_OPTION_TYPE, DHCP_OPTION_SERVER_ID,
				       DHCP_OPTION_LEASE_TIME};
const uint8_t dhcp_options_last[2] = {DHCP_OPTION_BOOT_FILE, DHCP_OPTION_RELAY};

enum item_state { ITEM_NEW, ITEM_SPLIT, ITEM_PUT };

/* An option, or what is left of it, on its way to an area. */
struct item {
	enum item_state state;
	uint8_t code;
	size_t size;
	const uint8_t *bytes;
};

static void dhcp_overload_put_piece(struct wire_writer *area, struct item *item, size_t size)
{
	wire_put_u8(area, item->code);
	wire_put_u8(area, (uint8_t)size);
	wire_put_bytes(area, item->bytes, size);
	item->bytes += size;
	item->size -= size;
	item->state = item->size > 0 ? ITEM_SPLIT : ITEM_PUT;
}

static void dhcp_overload_put_item(struct wire_writer *area, struct item *item)
{
	do
		dhcp_overload_put_piece(area, item,
					item->size < PIECE_MAX ? item->size : PIECE_MAX);
	while (item->size > 0);
}

static size_t dhcp_overload_size_of(size_t size)
{
	size_t pieces = size > 0 ? (size + PIECE_MAX - 1) / PIECE_MAX : 1;

	return size + pieces * PIECE_HEAD;
}

static bool dhcp_overload_find(const struct dhcp_message *message, uint8_t code, struct item *ret)
{
	*ret = (struct item){.code = code};
	ret->bytes = dhcp_option(message, code, &ret->size);
	return ret->bytes != NULL;
}

void dhcp_write_option(struct wire_writer *writer, const struct dhcp_message *message, uint8_t code)
{
	struct item item;

	if (dhcp_overload_find(message, code, &item))
		dhcp_overload_put_item(writer, &item);
}

bool dhcp_may_overload(const struct dhcp_message *message, uint8_t overload)
{
	size_t length = strlen(message->file);
	size_t size = 0;
	const uint8_t *name = dhcp_option(message, DHCP_OPTION_BOOT_FILE, &size);

	if (overload & DHCP_OVERLOAD_SNAME && message->sname[0])
		return false;
	if (!(overload & DHCP_OVERLOAD_FILE) || length == 0)
		return true;
	return name && size >= length && memcmp(name, message->file, length) == 0;
}

/* Into the first area that has room for all of it. */
static void dhcp_overload_put_whole(struct wire_writer areas[AREAS], struct item *item)
{
	for (size_t i = 0; i < AREAS && item->state == ITEM_NEW; i++)
		if (dhcp_overload_size_of(item->size) <= wire_room(&areas[i]))
			dhcp_overload_put_item(&areas[i], item);
	if (item->state == ITEM_NEW)
		item->state = ITEM_SPLIT;
}

/* Into what is left of each, in the order in which a client joins them. */
static void dhcp_overload_put_pieces(struct wire_writer areas[AREAS], struct item *item)
{
	for (size_t i = 0; i < AREAS; i++)
		while (item->state == ITEM_SPLIT && wire_room(&areas[i]) > PIECE_HEAD) {
			size_t room = wire_room(&areas[i]) - PIECE_HEAD;
			size_t size = item->size < PIECE_MAX ? item->size : PIECE_MAX;

			dhcp_overload_put_piece(&areas[i], item, size < room ? size : room);
		}
}

static struct item *dhcp_overload_largest(struct item items[], size_t count)
{
	struct item *largest = NULL;

	for (size_t i = 0; i < count; i++)
		if (items[i].state == ITEM_NEW && (!largest || items[i].size > largest->size))
			largest = &items[i];
	return largest;
}

/* All options but those that have a place in the options proper. */
static size_t dhcp_overload_list(const struct dhcp_message *message, struct item ret[])
{
	size_t count = 0;

	for (unsigned code = 1; code < DHCP_OPTION_END; code++)
		if (code != DHCP_OPTION_RELAY &&
		    !memchr(dhcp_options_first, (int)code, sizeof(dhcp_options_first)) &&
		    dhcp_overload_find(message, (uint8_t)code, &ret[count]))
			count++;
	return count;
}

/* The largest first: they have the fewest places. */
static bool dhcp_overload_fill(struct wire_writer areas[AREAS], const struct dhcp_message *message)
{
	struct item items[DHCP_OPTION_END];
	size_t count = dhcp_overload_list(message, items);
	struct item *item;

	while ((item = dhcp_overload_largest(items, count)))
		dhcp_overload_put_whole(areas, item);
	for (size_t i = 0; i < count; i++) {
		dhcp_overload_put_pieces(areas, &items[i]);
		if (items[i].state != ITEM_PUT)
			return false;
	}
	return true;
}

/* A field without its last byte, which is for END. */
static struct wire_writer dhcp_overload_area(bool used, uint8_t *field, size_t size)
{
	if (used)
		memset(field, DHCP_OPTION_PAD, size);
	return wire_writer(field, used ? size - 1 : 0);
}

bool dhcp_overload(const struct dhcp_message *message, uint8_t overload,
		   struct wire_writer *options, uint8_t file[DHCP_FILE_SIZE],
		   uint8_t sname[DHCP_SNAME_SIZE])
{
	struct item relay;
	bool relayed = dhcp_overload_find(message, DHCP_OPTION_RELAY, &relay);
	size_t kept = 1 + (relayed ? dhcp_overload_size_of(relay.size) : 0); /* option 82, END */
	struct wire_writer areas[AREAS] = {
		wire_writer(options->at, wire_room(options) > kept ? wire_room(options) - kept : 0),
		dhcp_overload_area(overload & DHCP_OVERLOAD_FILE, file, DHCP_FILE_SIZE),
		dhcp_overload_area(overload & DHCP_OVERLOAD_SNAME, sname, DHCP_SNAME_SIZE),
	};

	for (size_t i = 0; i < sizeof(dhcp_options_first); i++)
		dhcp_write_option(&areas[0], message, dhcp_options_first[i]);
	wire_put_u8(&areas[0], DHCP_OPTION_OVERLOAD);
	wire_put_u8(&areas[0], 1);
	wire_put_u8(&areas[0], overload);
	if (areas[0].bad || !dhcp_overload_fill(areas, message))
		return false;
	options->at += wire_written(&areas[0]);
	dhcp_write_option(options, message, DHCP_OPTION_RELAY);
	wire_put_u8(options, DHCP_OPTION_END);
	if (overload & DHCP_OVERLOAD_FILE)
		file[wire_written(&areas[1])] = DHCP_OPTION_END;
	if (overload & DHCP_OVERLOAD_SNAME)
		sname[wire_written(&areas[2])] = DHCP_OPTION_END;
	return !options->bad;
}
