/* A stream of peregrine/switch/cli that follows a script: what must be sent, and what is
 * then said. `the_script` is the one that the next stream follows. */
#pragma once

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/loop.h"

#include "peregrine/switch/stream/switch_stream.h"
#include "tests/support/cmocka.h"

/* What must be sent, and what is then said. Without an echo the answer begins with '\1'. `ends`:
 * the session ends after it. */
struct turn {
	const char *expect, *say;
	bool ends;
};

struct script {
	const struct turn *turns; /* the first greets: expect NULL */
	size_t at;
	struct loop *loop;
	struct switch_stream_events events;
	struct loop_timer *timer;
	bool opened, closed, endless;
	struct text in, out;
	unsigned opens;
	size_t piece; /* bytes said at once; 0 = all */
};

static struct script *the_script;

static void say(void *context)
{
	struct script *script = context;
	size_t size;

	if (!script->opened) {
		script->opened = true;
		text_add(&script->out, script->turns[script->at++].say);
		loop_timer_arm(script->timer, 0);
		script->events.opened(script->events.context);
		return;
	}
	if (script->endless) {
		char noise[4096];

		memset(noise, 'x', sizeof(noise));
		for (size_t i = 79; i < sizeof(noise); i += 80)
			noise[i] = '\n';
		loop_timer_arm(script->timer, 0);
		script->events.data(script->events.context, noise, sizeof(noise));
		return;
	}
	size = script->piece && script->piece < script->out.size ? script->piece : script->out.size;
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
		return;
	}
	if (script->at && script->turns[script->at - 1].ends) {
		struct problem problem;

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
	(void)subsystem;
	(void)problem;
	script->loop = loop;
	script->events = *events;
	script->opened = script->closed = false;
	script->opens++;
	text_clear(&script->out);
	text_clear(&script->in);
	assert_int_equal(loop_timer_new(loop, say, script, &script->timer), 0);
	loop_timer_arm(script->timer, 0);
	*ret_stream = script;
	return 0;
}

static int fake_write(void *stream, const char *bytes, size_t size)
{
	struct script *script = stream;
	char *newline;

	/* A page is turned by a space alone. */
	if (size == 1 && *bytes == ' ' && !script->in.size) {
		assert_string_equal(script->turns[script->at].expect, " ");
		text_add(&script->out, script->turns[script->at++].say);
		loop_timer_arm(script->timer, 0);
		return 0;
	}
	text_add_bytes(&script->in, bytes, size);
	newline = script->in.size ? memchr(script->in.data, '\n', script->in.size) : NULL;
	if (!newline)
		return 0;
	*newline = '\0';
	if (!script->turns[script->at].expect)
		fail_msg("\"%s\" after the end of the script", script->in.data);
	assert_string_equal(script->in.data, script->turns[script->at].expect);
	if (script->turns[script->at].say && script->turns[script->at].say[0] != '\1')
		text_addf(&script->out, "%s\r\n", script->in.data);
	if (script->turns[script->at].say)
		text_add(&script->out, script->turns[script->at].say +
					       (script->turns[script->at].say[0] == '\1'));
	script->at++;
	text_clear(&script->in);
	loop_timer_arm(script->timer, 0);
	return 0;
}

static void fake_close(void *stream)
{
	struct script *script = stream;

	if (!script || script->closed)
		return;
	script->closed = true;
	loop_timer_free(script->timer);
	script->timer = NULL;
}

static const struct switch_stream_row fake_stream = {
	.open = fake_open,
	.write = fake_write,
	.close = fake_close,
};
