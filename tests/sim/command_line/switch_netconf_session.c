/* Framing of NETCONF messages, both ends of messages (RFC 6242, 4.3) and chunks (4.2). */
#include <ctype.h>
#include <errno.h>
#include <libxml/parser.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/command_line/switch_netconf.h"

enum { SWITCH_NETCONF_SESSION_OUT_ENOUGH = 1 << 16, MESSAGE_MAX = 4 << 20, CHUNK = 1500 };
#define END   "]]>]]>"
#define GREET "urn:ietf:params:netconf:base:1.1"

/* --- out --- */

/* In several chunks, so that a client that takes one for all is found out. */
static void switch_netconf_session_send_message(struct netconf_session *session,
						const struct text *message)
{
	const char *at = text_get(message);
	const char *end = session->is_endless ? strstr(at, "</data>") : NULL;
	size_t whole = end ? (size_t)(end - at) : message->size;

	if (session->at->device->faults.garbage)
		text_add_bytes(&session->out, "\0\377\376\x1b[\200\7\302", 8);
	if (!session->is_chunked) {
		text_add_bytes(&session->out, at, whole);
		text_add(&session->out, end ? "" : END);
		return;
	}
	for (size_t left = whole; left > 0;) {
		size_t size = left < CHUNK ? left : CHUNK;

		text_addf(&session->out, "\n#%zu\n", size);
		text_add_bytes(&session->out, at, size);
		at += size;
		left -= size;
	}
	if (!end)
		text_add(&session->out, "\n##\n");
}

static void switch_netconf_session_say_hello(struct netconf_session *session)
{
	const struct netconf_model *model = session->at->model;
	static const char base[] = "urn:ietf:params:netconf:";
	const struct {
		bool has;
		const char *text;
	} rows[] = {
		{true, "base:1.0"},
		{true, "base:1.1"},
		{model->has_running, "capability:writable-running:1.0"},
		{model->has_candidate, "capability:candidate:1.0"},
		{model->has_confirmed, "capability:confirmed-commit:1.1"},
		{model->has_rollback, "capability:rollback-on-error:1.0"},
		{model->has_validate, "capability:validate:1.1"},
		{model->has_startup, "capability:startup:1.0"},
	};
	struct text hello = {0};

	text_add(&hello, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<hello xmlns=\"" NETCONF_BASE
			 "\">\n  <capabilities>\n");
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		if (rows[i].has)
			text_addf(&hello, "    <capability>%s%s</capability>\n", base,
				  rows[i].text);
	}
	for (const char *const *row = model->capabilities; *row; row++) {
		text_add(&hello, "    ");
		netconf_add(&hello, "capability", *row);
		text_add(&hello, "\n");
	}
	text_addf(&hello, "  </capabilities>\n  <session-id>%u</session-id>\n</hello>\n",
		  session->id);
	switch_netconf_session_send_message(session, &hello);
	text_done(&hello);
}

/* --- in --- */

/* The first message of `in` to `ret`; how much of it that was; 0: not whole; -1: no framing. */
static int64_t cut_chunked(const struct text *in, struct text *ret)
{
	size_t at = 0;

	for (;;) {
		const char *data = text_get(in);
		char *end;
		unsigned long size;

		if (in->size - at < 4)
			return 0;
		if (data[at] != '\n' || data[at + 1] != '#')
			return -1;
		if (data[at + 2] == '#')
			return data[at + 3] == '\n' ? (int64_t)(at + 4) : -1;
		if (!memchr(data + at + 2, '\n', in->size - at - 2))
			return in->size - at > 14 ? -1 : 0;
		size = strtoul(data + at + 2, &end, 10);
		if (!isdigit((unsigned char)data[at + 2]) || *end != '\n' || size == 0 ||
		    size > MESSAGE_MAX)
			return -1;
		at = (size_t)(end + 1 - data);
		if (in->size - at < size)
			return 0;
		text_add_bytes(ret, data + at, size);
		at += size;
	}
}

static int64_t switch_netconf_session_cut(const struct netconf_session *session, struct text *ret)
{
	const struct text *in = &session->in;
	const char *end;

	if (session->is_chunked)
		return cut_chunked(in, ret);
	end = in->size ? memmem(in->data, in->size, END, strlen(END)) : NULL;
	if (!end)
		return in->size > MESSAGE_MAX ? -1 : 0;
	text_add_bytes(ret, in->data, (size_t)(end - in->data));
	return end - in->data + (int64_t)strlen(END);
}

static bool hears_hello(struct netconf_session *session, const xmlNode *root)
{
	const xmlNode *capability = netconf_child(root, "capabilities/capability");
	char text[NETCONF_TEXT];
	bool good = false;

	if (!netconf_is(root, "hello"))
		return false;
	for (; capability; capability = netconf_next(capability)) {
		(void)netconf_text_of(capability, text);
		good = good || strncmp(text, "urn:ietf:params:netconf:base:1.", 31) == 0;
		session->is_chunked = session->is_chunked || strcmp(text, GREET) == 0;
	}
	session->is_greeted = true;
	return good;
}

static void switch_netconf_session_malformed(struct text *out)
{
	struct netconf_error error = {0};

	(void)netconf_fail(&error, "malformed-message", "the message cannot be parsed");
	error.type = "rpc";
	text_add(out, "<rpc-reply xmlns=\"" NETCONF_BASE "\">");
	netconf_write_error(out, &error);
	text_add(out, "</rpc-reply>");
}

static void switch_netconf_session_hear(struct netconf_session *session, const struct text *message)
{
	xmlDoc *doc = xmlReadMemory(text_get(message), (int)message->size, NULL, NULL,
				    XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING);
	const xmlNode *root = doc ? xmlDocGetRootElement(doc) : NULL;
	struct text out = {0};

	if (!session->is_greeted) {
		session->is_over = !root || !hears_hello(session, root);
	} else if (root && netconf_is(root, "rpc")) {
		netconf_answer(session, root, &out);
	} else {
		switch_netconf_session_malformed(&out);
		session->is_over = true;
	}
	if (out.size > 0 && !session->at->device->faults.silent)
		switch_netconf_session_send_message(session, &out);
	text_done(&out);
	xmlFreeDoc(doc);
}

/* --- from hello to the end --- */

int netconf_talk_new(struct netconf_device *at, struct netconf_session **ret)
{
	struct netconf_session *session = calloc(1, sizeof(*session));

	if (!session)
		return -ENOMEM;
	session->at = at;
	session->id = ++at->last_session;
	session->generation = at->device->generation;
	at->device->session_count++;
	if (!at->device->faults.silent)
		switch_netconf_session_say_hello(session);
	*ret = session;
	return 0;
}

void netconf_talk_free(struct netconf_session *session)
{
	if (!session)
		return;
	netconf_unlock_all(session);
	session->at->device->session_count--;
	text_done(&session->in);
	text_done(&session->out);
	free(session);
}

void netconf_session_feed(struct netconf_session *session, const void *bytes, size_t size)
{
	text_add_bytes(&session->in, bytes, size);
}

bool netconf_session_has_message(const struct netconf_session *session)
{
	struct text message = {0};
	bool has = session->is_greeted && switch_netconf_session_cut(session, &message) != 0;

	text_done(&message);
	return has;
}

static bool switch_netconf_session_go_on_endlessly(struct netconf_session *session)
{
	static const char more[] = "<vlan><note>this one is followed by another</note></vlan>\n";

	for (int i = 0; i < 40; i++) {
		if (session->is_chunked)
			text_addf(&session->out, "\n#%zu\n", strlen(more));
		text_add(&session->out, more);
	}
	return session->out.size < SWITCH_NETCONF_SESSION_OUT_ENOUGH;
}

bool netconf_session_turn(struct netconf_session *session)
{
	struct text message = {0};
	int64_t used;

	cli_device_refresh(session->at->device);
	netconf_device_refresh(session->at);
	if (session->generation != session->at->device->generation)
		session->is_over = true;
	if (session->is_over || session->out.size >= SWITCH_NETCONF_SESSION_OUT_ENOUGH)
		return false;
	if (session->is_endless)
		return switch_netconf_session_go_on_endlessly(session);
	used = switch_netconf_session_cut(session, &message);
	if (used < 0) {
		session->is_over = true;
	} else if (used > 0) {
		memmove(session->in.data, session->in.data + used, session->in.size - (size_t)used);
		session->in.size -= (size_t)used;
		session->in.data[session->in.size] = '\0';
		switch_netconf_session_hear(session, &message);
	}
	text_done(&message);
	return used > 0 && !session->is_over;
}
