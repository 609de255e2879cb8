#include "peregrine/switch/cli/cli_dialogue.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/loop.h"

LEAKS_LEFT_TO_SANITIZER

/* OUTPUT_LIMIT: a running configuration of 500 ports is some 200 kB. QUIET_MS: a prompt counts
 * without an echo of the command when nothing follows for so long; after a greeting there is no
 * echo. FOREIGN_MS: the same behind text that neighbours wrote, also with an echo. */
enum {
	OUTPUT_LIMIT = 4 << 20,
	COMMAND_LIMIT = 512,
	PAGE_LIMIT = 20000,
	QUIET_MS = 700,
	GREETING_MS = 300,
	FOREIGN_MS = 300
};
/* Old switches take their time for the keys. */
enum { LOGIN_MS = 20000, CLI_DIALOGUE_LINE_LIMIT = 65536 };
enum { PASSWORD_LIMIT = 2 };

enum cli_dialogue_stage {
	CLI_DIALOGUE_STAGE_CLOSED,
	CLI_DIALOGUE_STAGE_OPENING,  /* the stream */
	CLI_DIALOGUE_STAGE_GREETING, /* banners, perhaps a login, the first prompt */
	STAGE_ENABLE,
	STAGE_PAGER,
	CLI_DIALOGUE_STAGE_READY,
	STAGE_COMMAND
};

struct cli_dialogue {
	struct loop *loop;
	const struct switch_stream_row *row;
	const struct switch_endpoint *endpoint;
	const struct cli_dialect *dialect;
	void *stream;
	enum cli_dialogue_stage stage;
	size_t pager_next;
	unsigned secrets_sent; /* in this session: a switch that goes on asking refused them */
	unsigned names_sent, pages, answers;
	struct cli_prompt_seen prompt; /* the last; base is the switch's name */
	struct text raw;               /* of the answer under way: the bytes of its last line */
	struct text clean;             /* of the answer under way */
	size_t whole;                  /* of `clean`: lines that are whole; the rest is of `raw` */
	struct loop_timer *timer, *quiet;
	uint32_t commands;

	char command[COMMAND_LIMIT]; /* waiting or under way; fn NULL: none */
	const char *sent;            /* what the echo is of: `command` or a line of ours */
	bool sending;                /* `command` was sent */
	struct fence *fence;
	bool foreign; /* its answer holds text of neighbours: what looks like a prompt or a
			 question may be theirs */
	int64_t deadline_ms;
	uint32_t timeout_ms;
	cli_answer_fn fn;
	void *context;
};

static void forget_text(struct cli_dialogue *dialogue)
{
	text_clear(&dialogue->raw);
	text_clear(&dialogue->clean);
	dialogue->whole = 0;
}

static void cli_dialogue_stream_end(struct cli_dialogue *dialogue)
{
	dialogue->row->close(dialogue->stream);
	dialogue->stream = NULL;
	dialogue->stage = CLI_DIALOGUE_STAGE_CLOSED;
	dialogue->sending = false;
	loop_timer_disarm(dialogue->timer);
	loop_timer_disarm(dialogue->quiet);
}

static void cli_dialogue_answer(struct cli_dialogue *dialogue, const struct cli_answer *what)
{
	cli_answer_fn fn = dialogue->fn;

	dialogue->fn = NULL;
	loop_timer_disarm(dialogue->timer);
	loop_timer_disarm(dialogue->quiet);
	if (fn)
		fn(dialogue->context, what);
}

static void cli_dialogue_fail(struct cli_dialogue *dialogue, int rc, const struct problem *problem)
{
	struct cli_answer what = {
		.rc = rc,
		.problem = problem,
		.output = "",
		.sent = dialogue->sending,
	};

	cli_dialogue_stream_end(dialogue);
	cli_dialogue_answer(dialogue, &what);
}

static void cli_dialogue_fail_text(struct cli_dialogue *dialogue, int rc, const char *message,
				   const char *detail, const char *hint)
{
	struct problem problem;

	problem_set(&problem, rc, "switch %s %s", dialogue->endpoint->name, message);
	problem_detail(&problem, "%s", detail);
	problem_hint(&problem, "%s", hint);
	cli_dialogue_fail(dialogue, rc, &problem);
}

/* --- sending --- */

static void cli_dialogue_arm(struct cli_dialogue *dialogue)
{
	int64_t left = dialogue->deadline_ms - clock_monotonic_ms();
	int64_t patience = dialogue->timeout_ms;

	if (dialogue->stage < CLI_DIALOGUE_STAGE_READY && patience < LOGIN_MS)
		patience = LOGIN_MS;
	if (left > patience)
		left = patience;
	loop_timer_arm(dialogue->timer, left > 0 ? left : 0);
}

static bool cli_dialogue_write_line(struct cli_dialogue *dialogue, const char *line)
{
	int rc = dialogue->row->write(dialogue->stream, line, strlen(line));

	if (!rc)
		rc = dialogue->row->write(dialogue->stream, "\n", 1);
	if (rc)
		cli_dialogue_fail_text(dialogue, rc, "cannot be written to", error_text(rc), "");
	return rc == 0;
}

/* A line that a prompt will follow. */
static bool send_line(struct cli_dialogue *dialogue, const char *line)
{
	forget_text(dialogue);
	dialogue->sent = line;
	dialogue->pages = dialogue->answers = 0;
	dialogue->commands++;
	cli_dialogue_arm(dialogue);
	return cli_dialogue_write_line(dialogue, line);
}

static bool cli_dialogue_may_send(struct cli_dialogue *dialogue)
{
	if (fence_holds(dialogue->fence))
		return true;
	cli_dialogue_fail_text(dialogue, E_LAPSED, "is not told more", "the claim ran out",
			       "whoever claims the fabric next reads the switch and goes on");
	return false;
}

static bool cli_dialogue_send_command(struct cli_dialogue *dialogue)
{
	const char *lldp = dialogue->dialect->lldp.command;

	if (!cli_dialogue_may_send(dialogue))
		return false;
	dialogue->stage = STAGE_COMMAND;
	dialogue->sending = true;
	dialogue->foreign = lldp && strcmp(dialogue->command, lldp) == 0;
	return send_line(dialogue, dialogue->command);
}

/* The next thing on the way to a session that commands can be run in. */
static bool cli_dialogue_prepare(struct cli_dialogue *dialogue)
{
	const struct cli_dialect *dialect = dialogue->dialect;

	if (dialect->enable && !dialogue->prompt.privileged) {
		if (dialogue->stage == STAGE_ENABLE) {
			cli_dialogue_fail_text(
				dialogue, E_AUTHENTICATION, "did not give enable mode",
				"its prompt still ends in '>'", "check the enable secret");
			return false;
		}
		dialogue->stage = STAGE_ENABLE;
		return send_line(dialogue, dialect->enable);
	}
	dialogue->stage = STAGE_PAGER;
	if (dialogue->pager_next < COUNT_OF(dialect->pager_off) &&
	    dialect->pager_off[dialogue->pager_next])
		return send_line(dialogue, dialect->pager_off[dialogue->pager_next++]);
	dialogue->stage = CLI_DIALOGUE_STAGE_READY;
	return dialogue->fn ? cli_dialogue_send_command(dialogue) : true;
}

/* --- reading --- */

/* The last line: what stands after the last newline. */
static const char *last_line(const struct cli_dialogue *dialogue)
{
	const char *text = text_get(&dialogue->clean);
	const char *newline = strrchr(text, '\n');

	return newline ? newline + 1 : text;
}

/* Where the echo of what was sent ends; NULL when it is not there (yet). Lines of the log and a
 * prompt printed again may stand before it. */
static const char *after_echo(const struct cli_dialogue *dialogue)
{
	const char *text = text_get(&dialogue->clean);
	const char *found;

	if (!dialogue->sent || !dialogue->sent[0])
		return text;
	found = strstr(text, dialogue->sent);
	if (!found)
		return NULL;
	found += strlen(dialogue->sent);
	found += strspn(found, " ");
	return *found == '\n' ? found + 1 : NULL;
}

/* The prompt ended what was under way. */
static bool on_prompt(struct cli_dialogue *dialogue, const struct cli_prompt_seen *seen)
{
	struct cli_answer what = {.sent = true, .prompt = &dialogue->prompt};
	char *text = dialogue->clean.data;
	const char *from = after_echo(dialogue);
	char *end = text ? text + (last_line(dialogue) - text) : NULL;

	loop_timer_disarm(dialogue->quiet);
	text_copy(dialogue->prompt.mode, sizeof(dialogue->prompt.mode), seen->mode);
	dialogue->prompt.privileged = seen->privileged;
	if (dialogue->stage == CLI_DIALOGUE_STAGE_GREETING)
		dialogue->prompt = *seen;
	if (dialogue->stage != STAGE_COMMAND)
		return cli_dialogue_prepare(dialogue);

	if (end)
		*end = '\0';
	what.output = from ? from : text_get(&dialogue->clean);
	dialogue->stage = CLI_DIALOGUE_STAGE_READY;
	dialogue->sending = false;
	cli_dialogue_answer(dialogue, &what);
	return false; /* the callee may have done anything */
}

/* How long nothing may follow a prompt until it counts; 0: it counts at once. */
static uint32_t prompt_wait_ms(const struct cli_dialogue *dialogue)
{
	if (dialogue->stage == CLI_DIALOGUE_STAGE_GREETING)
		return GREETING_MS;
	if (!after_echo(dialogue))
		return QUIET_MS;
	return dialogue->stage == STAGE_COMMAND && dialogue->foreign ? FOREIGN_MS : 0;
}

static bool is_question(const char *line, const char *word)
{
	size_t length = strlen(line);

	while (length && line[length - 1] == ' ')
		length--;
	return length && line[length - 1] == ':' && cli_pattern_matches(word, line);
}

static void start_line(struct cli_dialogue *dialogue)
{
	/* What was asked is not part of the next look. */
	text_add(&dialogue->clean, "\n");
	text_clear(&dialogue->raw);
	dialogue->whole = dialogue->clean.size;
}

static bool give_secret(struct cli_dialogue *dialogue)
{
	const struct switch_endpoint *endpoint = dialogue->endpoint;
	bool enable = dialogue->stage == STAGE_ENABLE;

	if (++dialogue->secrets_sent > PASSWORD_LIMIT || dialogue->stage == STAGE_COMMAND) {
		cli_dialogue_fail_text(dialogue, E_AUTHENTICATION, "asks for a password again", "",
				       enable ? "check the enable secret"
					      : "check user and password");
		return false;
	}
	start_line(dialogue);
	dialogue->sent = "";
	return cli_dialogue_write_line(dialogue,
				       enable ? endpoint->ssh_enable : endpoint->ssh_password);
}

static bool give_name(struct cli_dialogue *dialogue)
{
	if (++dialogue->names_sent > PASSWORD_LIMIT) {
		cli_dialogue_fail_text(dialogue, E_AUTHENTICATION, "asks for a user again", "",
				       "check user and password");
		return false;
	}
	start_line(dialogue);
	return cli_dialogue_write_line(dialogue, dialogue->endpoint->ssh_user);
}

/* The answer that the dialect has for a question in the last line; NULL = none. */
static const char *reply_to(const struct cli_dialogue *dialogue, const char *line)
{
	const struct cli_dialect *dialect = dialogue->dialect;

	for (size_t i = 0; i < COUNT_OF(dialect->replies) && dialect->replies[i].question; i++) {
		if (cli_pattern_matches(dialect->replies[i].question, line))
			return dialect->replies[i].answer;
	}
	return NULL;
}

static bool turn_page(struct cli_dialogue *dialogue)
{
	if (++dialogue->pages > PAGE_LIMIT) {
		cli_dialogue_fail_text(dialogue, E_LIMIT, "pages without end", "", "");
		return false;
	}
	/* The marker goes: the switch overwrites it, or not. */
	dialogue->clean.size = dialogue->whole;
	dialogue->clean.data[dialogue->whole] = '\0';
	text_clear(&dialogue->raw);
	return dialogue->row->write(dialogue->stream, " ", 1) == 0;
}

/* Looks at the end of what came. `quiet`: nothing came for a while. False: the dialogue moved on,
 * nothing of it may be touched. */
static bool cli_dialogue_look(struct cli_dialogue *dialogue, bool quiet)
{
	const char *line = last_line(dialogue);
	bool foreign = dialogue->stage == STAGE_COMMAND && dialogue->foreign;
	const char *reply;
	struct cli_prompt_seen seen;

	if (!*line)
		return true;
	if (cli_is_pager(line))
		return turn_page(dialogue);
	if (!foreign && is_question(line, "password"))
		return give_secret(dialogue);
	if (dialogue->stage == CLI_DIALOGUE_STAGE_GREETING &&
	    (is_question(line, "user") || is_question(line, "login")))
		return give_name(dialogue);
	if (cli_prompt_parse(line, dialogue->dialect->prompt, &seen) &&
	    (dialogue->stage == CLI_DIALOGUE_STAGE_GREETING ||
	     cli_prompt_same(dialogue->prompt.base, seen.base))) {
		uint32_t wait_ms = quiet ? 0 : prompt_wait_ms(dialogue);

		if (wait_ms == 0)
			return on_prompt(dialogue, &seen);
		loop_timer_arm(dialogue->quiet, wait_ms);
		return true;
	}
	reply = dialogue->stage == STAGE_COMMAND && !foreign ? reply_to(dialogue, line) : NULL;
	if (reply && !cli_dialogue_may_send(dialogue))
		return false;
	if (reply && ++dialogue->answers <= 8) {
		start_line(dialogue);
		return cli_dialogue_write_line(dialogue, reply);
	}
	return true;
}

static void on_quiet(void *context)
{
	cli_dialogue_look(context, true);
}

/* --- events of the stream --- */

static void cli_dialogue_on_opened(void *context)
{
	struct cli_dialogue *dialogue = context;

	dialogue->stage = CLI_DIALOGUE_STAGE_GREETING;
	cli_dialogue_arm(dialogue);
}

/* Lines that are whole are cleaned once; of the last one only its bytes are kept. */
static void cli_dialogue_take_bytes(struct cli_dialogue *dialogue, const char *bytes, size_t size)
{
	struct text *raw = &dialogue->raw;
	struct text *clean = &dialogue->clean;
	const char *newline;

	if (clean->data) {
		clean->size = dialogue->whole;
		clean->data[clean->size] = '\0';
	}
	text_add_bytes(raw, bytes, size);
	newline = raw->size ? memrchr(raw->data, '\n', raw->size) : NULL;
	if (newline) {
		size_t used = (size_t)(newline + 1 - raw->data);

		cli_text_clean(raw->data, used, clean);
		memmove(raw->data, raw->data + used, raw->size - used);
		raw->size -= used;
		dialogue->whole = clean->size;
	}
	cli_text_clean(text_get(raw), raw->size, clean);
}

static void cli_dialogue_fail_late(struct cli_dialogue *dialogue)
{
	char detail[200];

	if (dialogue->stage == CLI_DIALOGUE_STAGE_OPENING)
		text_format(detail, sizeof(detail), "no SSH session with %s in time",
			    dialogue->endpoint->address);
	else if (dialogue->stage == STAGE_COMMAND)
		text_format(detail, sizeof(detail), "\"%.80s\": no prompt came after it",
			    dialogue->command);
	else
		text_format(detail, sizeof(detail), "no prompt came after logging in");
	cli_dialogue_fail_text(dialogue, E_TIMEOUT, "did not answer by its command line", detail,
			       "it is slow or hangs, or its prompt has an unusual form");
}

static void cli_dialogue_on_data(void *context, const char *bytes, size_t size)
{
	struct cli_dialogue *dialogue = context;

	if (dialogue->stage == CLI_DIALOGUE_STAGE_READY ||
	    dialogue->stage == CLI_DIALOGUE_STAGE_CLOSED)
		return; /* the log of the switch, between two commands */
	cli_dialogue_take_bytes(dialogue, bytes, size);
	if (dialogue->clean.failed || dialogue->raw.failed) {
		cli_dialogue_fail_text(dialogue, -ENOMEM, "cannot be read", "no memory", "");
		return;
	}
	if (dialogue->clean.size > OUTPUT_LIMIT || dialogue->raw.size > CLI_DIALOGUE_LINE_LIMIT) {
		cli_dialogue_fail_text(
			dialogue, E_LIMIT, "prints without end",
			"4 MiB, or 64 KiB in one line, and no prompt: the session was ended", "");
		return;
	}
	cli_dialogue_arm(dialogue);
	loop_timer_disarm(dialogue->quiet);
	/* Whoever goes on talking puts the timer off each time before it can run. */
	if (cli_dialogue_look(dialogue, false) && dialogue->fn &&
	    dialogue->stage != CLI_DIALOGUE_STAGE_READY &&
	    clock_monotonic_ms() >= dialogue->deadline_ms)
		cli_dialogue_fail_late(dialogue);
}

static void cli_dialogue_on_ended(void *context, int rc, const struct problem *problem)
{
	cli_dialogue_fail(context, rc, problem);
}

static void cli_dialogue_begin(struct cli_dialogue *dialogue)
{
	const struct switch_stream_events events = {cli_dialogue_on_opened, cli_dialogue_on_data,
						    cli_dialogue_on_ended, dialogue};
	struct problem problem = {0};
	int rc;

	dialogue->pager_next = 0;
	dialogue->secrets_sent = dialogue->names_sent = 0;
	dialogue->prompt = (struct cli_prompt_seen){{0}, {0}, false};
	dialogue->sent = NULL;
	forget_text(dialogue);
	dialogue->stage = CLI_DIALOGUE_STAGE_OPENING;
	rc = dialogue->row->open(dialogue->loop, dialogue->endpoint, NULL, &events,
				 &dialogue->stream, &problem);
	if (rc) {
		dialogue->stream = NULL;
		cli_dialogue_fail(dialogue, rc, &problem);
		return;
	}
	cli_dialogue_arm(dialogue);
}

/* A deadline, silence, or the first turn of a command. */
static void cli_dialogue_on_timer(void *context)
{
	struct cli_dialogue *dialogue = context;

	if (!dialogue->fn)
		return;
	if (dialogue->stage == CLI_DIALOGUE_STAGE_CLOSED)
		cli_dialogue_begin(dialogue);
	else if (dialogue->stage == CLI_DIALOGUE_STAGE_READY)
		cli_dialogue_send_command(dialogue);
	else
		cli_dialogue_fail_late(dialogue);
}

/* --- the face --- */

int cli_dialogue_new(struct loop *loop, const struct switch_stream_row *row,
		     const struct switch_endpoint *endpoint, const struct cli_dialect *dialect,
		     struct cli_dialogue **ret)
{
	struct cli_dialogue *dialogue = calloc(1, sizeof(*dialogue));
	int rc;

	if (!dialogue)
		return -ENOMEM;
	*dialogue = (struct cli_dialogue){
		.loop = loop,
		.row = row,
		.endpoint = endpoint,
		.dialect = dialect,
	};
	rc = loop_timer_new(loop, cli_dialogue_on_timer, dialogue, &dialogue->timer);
	if (!rc)
		rc = loop_timer_new(loop, on_quiet, dialogue, &dialogue->quiet);
	if (rc) {
		cli_dialogue_free(dialogue);
		return rc;
	}
	*ret = dialogue;
	return 0;
}

void cli_dialogue_free(struct cli_dialogue *dialogue)
{
	if (!dialogue)
		return;
	dialogue->row->close(dialogue->stream);
	loop_timer_free(dialogue->timer);
	loop_timer_free(dialogue->quiet);
	text_done(&dialogue->raw);
	text_done(&dialogue->clean);
	free(dialogue);
}

void cli_dialogue_guard(struct cli_dialogue *dialogue, struct fence *fence)
{
	dialogue->fence = fence;
}

void cli_dialogue_run(struct cli_dialogue *dialogue, const char *command, int64_t deadline_ms,
		      uint32_t timeout_ms, cli_answer_fn fn, void *context)
{
	text_copy(dialogue->command, sizeof(dialogue->command), command);
	dialogue->deadline_ms = deadline_ms;
	dialogue->timeout_ms = timeout_ms;
	dialogue->fn = fn;
	dialogue->context = context;
	dialogue->sending = false;
	loop_timer_arm(dialogue->timer, 0);
}

void cli_dialogue_break(struct cli_dialogue *dialogue)
{
	dialogue->fn = NULL;
	if (dialogue->stream)
		cli_dialogue_stream_end(dialogue);
	loop_timer_disarm(dialogue->timer);
}

bool cli_dialogue_is_open(const struct cli_dialogue *dialogue)
{
	return dialogue->stage == CLI_DIALOGUE_STAGE_READY;
}

uint32_t cli_dialogue_commands(const struct cli_dialogue *dialogue)
{
	return dialogue->commands;
}
