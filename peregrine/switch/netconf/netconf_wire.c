#include "peregrine/switch/netconf/netconf_wire.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "common/base/error.h"

#define END_MARK      "]]>]]>"
#define END_MARK_SIZE (sizeof(END_MARK) - 1)

/* Where in "\n#12\n" or "\n##\n" the next byte stands. */
enum { HEAD_LF, HEAD_HASH, HEAD_FIRST, HEAD_SIZE, CHUNK_DATA, END_LF };

void netconf_frames_done(struct netconf_frames *frames)
{
	text_done(&frames->message);
	*frames = (struct netconf_frames){0};
}

static int netconf_wire_add(struct netconf_frames *frames, const char *bytes, size_t size)
{
	if (size > NETCONF_MESSAGE_LIMIT - frames->message.size)
		return E_LIMIT;
	text_add_bytes(&frames->message, bytes, size);
	return frames->message.failed ? -ENOMEM : 0;
}

/* The mark may come in two pieces: what is new is looked at with the last bytes of what was. */
static int feed_marked(struct netconf_frames *frames, const char *bytes, size_t size,
		       size_t *ret_used, bool *ret_whole)
{
	struct text *message = &frames->message;
	size_t was = message->size;
	size_t from = was < END_MARK_SIZE - 1 ? 0 : was - (END_MARK_SIZE - 1);
	const char *mark;
	int rc;

	/* A piece at a time, so that what follows the message is not counted as it. */
	if (size > 65536)
		size = 65536;
	rc = netconf_wire_add(frames, bytes, size);
	if (rc)
		return rc;
	*ret_used = size;
	mark = message->size
		       ? memmem(message->data + from, message->size - from, END_MARK, END_MARK_SIZE)
		       : NULL;
	if (!mark)
		return 0;
	*ret_used = (size_t)(mark - message->data) + END_MARK_SIZE - was;
	message->size = (size_t)(mark - message->data);
	message->data[message->size] = '\0';
	*ret_whole = true;
	return 0;
}

/* One byte of a head. */
static int netconf_wire_head(struct netconf_frames *frames, char byte, bool *ret_whole)
{
	switch (frames->state) {
	case HEAD_LF: frames->state = HEAD_HASH; return byte == '\n' ? 0 : E_PROTOCOL;
	case HEAD_HASH: frames->state = HEAD_FIRST; return byte == '#' ? 0 : E_PROTOCOL;
	case HEAD_FIRST:
		if (byte == '#') {
			frames->state = END_LF;
			return frames->message.size ? 0 : E_PROTOCOL;
		}
		frames->state = HEAD_SIZE;
		frames->left = (uint32_t)(byte - '0');
		return byte >= '1' && byte <= '9' ? 0 : E_PROTOCOL;
	case HEAD_SIZE:
		if (byte == '\n') {
			frames->state = CHUNK_DATA;
			return 0;
		}
		if (!isdigit((unsigned char)byte))
			return E_PROTOCOL;
		frames->left = frames->left * 10 + (uint32_t)(byte - '0');
		return frames->left <= NETCONF_MESSAGE_LIMIT ? 0 : E_LIMIT;
	default:
		frames->state = HEAD_LF;
		*ret_whole = true;
		return byte == '\n' ? 0 : E_PROTOCOL;
	}
}

static int feed_chunked(struct netconf_frames *frames, const char *bytes, size_t size,
			size_t *ret_used, bool *ret_whole)
{
	size_t used = 0;
	int rc = 0;

	while (!rc && used < size && !*ret_whole) {
		size_t part = size - used;

		if (frames->state != CHUNK_DATA) {
			rc = netconf_wire_head(frames, bytes[used++], ret_whole);
			continue;
		}
		if (part > frames->left)
			part = frames->left;
		rc = netconf_wire_add(frames, bytes + used, part);
		used += part;
		frames->left -= (uint32_t)part;
		if (frames->left == 0)
			frames->state = HEAD_LF;
	}
	*ret_used = used;
	return rc;
}

int netconf_frames_feed(struct netconf_frames *frames, const char *bytes, size_t size,
			size_t *ret_used, bool *ret_whole)
{
	*ret_whole = false;
	*ret_used = 0;
	if (frames->framing == NETCONF_CHUNKED)
		return feed_chunked(frames, bytes, size, ret_used, ret_whole);
	return feed_marked(frames, bytes, size, ret_used, ret_whole);
}

void netconf_frame(enum netconf_framing framing, const char *message, size_t size, struct text *ret)
{
	if (framing == NETCONF_CHUNKED)
		text_addf(ret, "\n#%zu\n", size);
	text_add_bytes(ret, message, size);
	text_add(ret, framing == NETCONF_CHUNKED ? "\n##\n" : END_MARK);
}
