/* A stream of peregrine/switch/stream that is a NETCONF server on a script: its hello, what
 * each message must hold, and what is then answered. `the_script` is the one that the next stream
 * follows. */
#pragma once

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/loop.h"

#include "peregrine/switch/stream/switch_stream.h"
#include "tests/support/cmocka.h"

/* What the next message must hold, and the inside of <rpc-reply>. `ends`: instead, the session
 * does. `raw`: the whole message, as it is. */
struct turn {
	const char *expect, *say;
	bool ends, raw;
};

struct script {
	const char *hello, *flood; /* a message said again and again from the hello on */
	const struct turn *turns;
	size_t at, piece;
	unsigned opens, id;
	bool opened, is_chunked, is_greeted, is_gone;
	struct switch_stream_events events;
	struct loop_timer *timer;
	struct text in, out;
};

static struct script *the_script;

static void put(struct script *script, const char *message)
{
	if (script->is_chunked && script->is_greeted)
		text_addf(&script->out, "\n#%zu\n%s\n##\n", strlen(message), message);
	else
		text_addf(&script->out, "%s]]>]]>", message);
}

static void say(void *context)
{
	struct script *script = context;
	size_t size = script->out.size;

	if (!script->opened) {
		script->opened = true;
		put(script, script->hello);
		loop_timer_arm(script->timer, 0);
		script->events.opened(script->events.context);
		return;
	}
	if (!size && script->flood) {
		put(script, script->flood);
		size = script->out.size;
	}
	if (script->piece && size > script->piece)
		size = script->piece;
	if (size) {
		char *bytes = malloc(size);

		if (!bytes)
			abort();
		memcpy(bytes, script->out.data, size);
		memmove(script->out.data, script->out.data + size, script->out.size - size);
		script->out.size -= size;
		loop_timer_arm(script->timer, 0);
		script->events.data(script->events.context, bytes, size);
		free(bytes);
	} else if (script->is_gone) {
		struct problem problem;

		script->is_gone = false;
		problem_set(&problem, E_UNAVAILABLE, "the switch went away");
		script->events.ended(script->events.context, E_UNAVAILABLE, &problem);
	}
}

static int fake_open(struct loop *loop, const struct switch_endpoint *endpoint,
		     const char *subsystem, const struct switch_stream_events *events,
		     void **ret_stream, struct problem *problem)
{
	struct script *script = the_script;

	(void)endpoint;
	(void)problem;
	assert_string_equal(subsystem, "netconf");
	script->events = *events;
	script->opened = script->is_greeted = script->is_gone = false;
	script->id = 0;
	script->opens++;
	text_clear(&script->in);
	text_clear(&script->out);
	assert_int_equal(loop_timer_new(loop, say, script, &script->timer), 0);
	loop_timer_arm(script->timer, 0);
	*ret_stream = script;
	return 0;
}

static void answer(struct script *script)
{
	const struct turn *turn = &script->turns[script->at];
	struct text reply = {0};

	script->id++;
	if (!turn->expect)
		fail_msg("\"%s\" after the end of the script", text_get(&script->in));
	if (!strstr(text_get(&script->in), turn->expect))
		fail_msg("turn %zu: \"%s\" is not in \"%s\"", script->at, turn->expect,
			 text_get(&script->in));
	text_addf(&reply,
		  "<rpc-reply xmlns=\"urn:ietf:params:xml:ns:netconf:base:1.0\" "
		  "message-id=\"%u\">%s</rpc-reply>",
		  script->id, turn->say ? turn->say : "");
	if (turn->ends)
		script->is_gone = true;
	else
		put(script, turn->raw ? turn->say : text_get(&reply));
	script->at++;
	text_done(&reply);
}

static int fake_write(void *stream, const char *bytes, size_t size)
{
	struct script *script = stream;
	const char *mark = script->is_greeted && script->is_chunked ? "\n##\n" : "]]>]]>";

	text_add_bytes(&script->in, bytes, size);
	if (!strstr(text_get(&script->in), mark))
		return 0;
	if (script->is_greeted) {
		answer(script);
	} else {
		assert_non_null(strstr(text_get(&script->in), "<hello"));
		script->is_greeted = true;
	}
	text_clear(&script->in);
	loop_timer_arm(script->timer, 0);
	return 0;
}

static void fake_close(void *stream)
{
	struct script *script = stream;

	if (script && script->timer)
		loop_timer_free(script->timer);
	if (script)
		script->timer = NULL;
}

static const struct switch_stream_row fake_stream = {fake_open, fake_write, fake_close};
