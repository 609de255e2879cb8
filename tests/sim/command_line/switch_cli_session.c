#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/command_line/switch_cli_lag.h"
#include "tests/sim/command_line/switch_cli_shell.h"

enum { SWITCH_CLI_SESSION_OUT_ENOUGH = 1 << 16, ENDLESS_LINES = 40 };
enum {
	SWITCH_CLI_SESSION_KEY_BREAK = 3,
	KEY_EOT = 4,
	KEY_ERASE_LINE = 21,
	SWITCH_CLI_SESSION_KEY_END = 26,
	KEY_ESCAPE = 27
};

static void switch_cli_session_emit(struct cli_session *session, const char *text)
{
	for (; *text; text++) {
		if (*text == '\n')
			text_add(&session->out, "\r\n");
		else
			text_add_bytes(&session->out, text, 1);
	}
}

static void show_prompt(struct cli_session *session)
{
	const struct cli_family *family = session->device->family;
	struct text prompt = {0};

	if (session->is_raw || session->is_over || session->answer || session->is_paging ||
	    session->is_endless || session->device->faults.silent)
		return;
	cli_prompt(session, &prompt);
	switch_cli_session_emit(session, family->prompt_before ? family->prompt_before : "");
	switch_cli_session_emit(session, text_get(&prompt));
	switch_cli_session_emit(session, family->prompt_after ? family->prompt_after : "");
	text_done(&prompt);
}

/* --- the pager --- */

/* So many lines of what waits; when some is left, the question whether to go on. */
static void switch_cli_session_page(struct cli_session *session, unsigned lines)
{
	const char *rest = text_get(&session->paged) + session->paged_at;
	struct text part = {0};
	size_t size = 0;

	for (unsigned i = 0; i < lines && rest[size] != '\0'; i++) {
		size += strcspn(rest + size, "\n");
		size += rest[size] == '\n';
	}
	text_add_bytes(&part, rest, size);
	switch_cli_session_emit(session, text_get(&part));
	text_done(&part);
	session->paged_at += size;
	session->is_paging = rest[size] != '\0';
	if (session->is_paging) {
		switch_cli_session_emit(session, session->device->family->more);
		return;
	}
	text_clear(&session->paged);
}

static void switch_cli_session_show(struct cli_session *session, const struct text *text)
{
	if (session->is_raw || session->pager < 2) {
		switch_cli_session_emit(session, text_get(text));
		return;
	}
	text_clear(&session->paged);
	text_add(&session->paged, text_get(text));
	session->paged_at = 0;
	switch_cli_session_page(session, session->pager - 1);
}

static void page_key(struct cli_session *session, char key)
{
	const struct cli_family *family = session->device->family;

	if (key != ' ' && key != '\r' && key != '\n' && !strchr(family->more_quit, key))
		return;
	switch_cli_session_emit(session, family->more_erase);
	if (key == ' ' || key == '\r' || key == '\n') {
		switch_cli_session_page(session, key == ' ' ? session->pager - 1 : 1);
	} else {
		session->is_paging = false;
		text_clear(&session->paged);
	}
	show_prompt(session);
}

/* --- one command --- */

static void keep_lines(struct text *out, const char *how, const char *what)
{
	bool wants = strncmp(how, "ex", 2) != 0, begins = how[0] == 'b', begun = false;
	struct text kept = {0};
	regex_t pattern;

	if (regcomp(&pattern, what, REG_EXTENDED | REG_NOSUB) != 0)
		return;
	for (const char *at = text_get(out); *at;) {
		size_t size = strcspn(at, "\n");
		char *line = strndup(at, size);
		bool matches = line && regexec(&pattern, line, 0, NULL, 0) == 0;

		begun = begun || matches;
		if (line && (begins ? begun : matches == wants)) {
			text_add(&kept, line);
			text_add(&kept, "\n");
		}
		free(line);
		at += size + (at[size] == '\n');
	}
	regfree(&pattern);
	text_clear(out);
	text_add(out, text_get(&kept));
	text_done(&kept);
}

/* `... | include X`: cuts it off the line; "" where there is none. */
static void cut_filter(char *line, char how[16], char what[128])
{
	char *bar = strstr(line, " | ");

	how[0] = what[0] = '\0';
	if (bar && sscanf(bar + 3, "%15s %127[^\n]", how, what) == 2)
		*bar = '\0';
}

enum cli_fate cli_fate_of(const struct cli_session *session, enum switch_verb verb)
{
	const struct cli_faults *faults = &session->device->faults;

	if (verb >= SWITCH_VERBS)
		return CLI_FATE_DONE;
	if ((faults->refuse >> verb & 1) != 0)
		return CLI_FATE_REFUSED;
	return (faults->lost >> verb & 1) != 0 ? CLI_FATE_LOST : CLI_FATE_DONE;
}

void cli_changed(struct cli_session *session, struct text *out)
{
	struct cli_faults *faults = &session->device->faults;
	uint32_t partial = faults->partial;

	session->device->store->is_saved = false;
	session->changes++;
	session->pause_ms = faults->slow_change_ms;
	if (faults->reboot_after > 0 && session->changes >= faults->reboot_after) {
		faults->reboot_after = 0;
		cli_device_reboot(session->device);
		session->is_over = true;
	}
	if (partial > 0 && session->changes >= partial)
		session->is_over = true;
	cli_lags_settle(session);
	if (cli_store_push(session->device->store) != 0)
		text_add(out, "% the emulator cannot reach its data plane\n");
}

static void switch_cli_session_call(struct cli_session *session, const struct cli_parsed *parsed,
				    struct text *out)
{
	struct cli_call about = {session, parsed->command, parsed->values, out};
	enum switch_verb verb = parsed->command->verb;
	enum cli_fate fate = cli_fate_of(session, verb);
	bool changes = verb < SWITCH_VERBS && verb != SWITCH_SAVE;

	if (fate == CLI_FATE_REFUSED) {
		cli_say(&about, CLI_SAYS_REJECTED, 0);
		return;
	}
	if (!changes || fate == CLI_FATE_DONE)
		parsed->command->run(&about);
	if (changes)
		cli_changed(session, out);
}

static struct cli_grammar grammar_of(const struct cli_device *device)
{
	const struct cli_family *family = device->family;

	return (struct cli_grammar){
		.rows = family->commands,
		.count = family->command_count,
		.naming = &family->naming,
		.port_count = device->store->port_count,
		.vid_low = VLAN_FIRST,
		.vid_high = family->vid_high,
	};
}

/* A mode below `configure` takes the commands of that one too, and is left by them. */
static void switch_cli_session_parse(struct cli_session *session, const char *line,
				     struct cli_parsed *ret)
{
	struct cli_grammar grammar = grammar_of(session->device);
	struct cli_parsed *above;

	cli_parse(&grammar, CLI_IN(session->mode), line, ret);
	if (ret->result == CLI_PARSED || ret->result == CLI_EMPTY || ret->result == CLI_AMBIGUOUS ||
	    session->mode <= CLI_CONFIG)
		return;
	above = calloc(1, sizeof(*above));
	if (!above)
		return;
	cli_parse(&grammar, CLI_IN(CLI_CONFIG), line, above);
	if (above->result == CLI_PARSED) {
		cli_leave(session, CLI_CONFIG);
		*ret = *above;
	} else if (ret->at < above->at) {
		*ret = *above;
	}
	free(above);
}

static void switch_cli_session_execute(struct cli_session *session, const char *text,
				       struct text *out)
{
	struct cli_parsed *parsed = calloc(1, sizeof(*parsed));
	char line[CLI_LINE_MAX + 1];
	char how[16];
	char what[128];

	if (!parsed)
		return;
	(void)text_copy(line, sizeof(line), text);
	cut_filter(line, how, what);
	if (line[strspn(line, " \t")] == '!')
		line[0] = '\0';
	switch_cli_session_parse(session, line, parsed);
	if (parsed->result == CLI_PARSED)
		switch_cli_session_call(session, parsed, out);
	else if (parsed->result != CLI_EMPTY)
		cli_complain(session, parsed, line, out);
	if (how[0] != '\0' && parsed->result == CLI_PARSED)
		keep_lines(out, how, what);
	if (parsed->result == CLI_PARSED && parsed->command->verb == SWITCH_VERBS &&
	    session->device->faults.endless && out->size > 0)
		session->is_endless = true;
	free(parsed);
}

static void switch_cli_session_shell(struct cli_session *session, const char *line,
				     struct text *out)
{
	shell_line(session, line, out);
	session->is_endless = session->device->faults.endless && out->size > 0;
}

static void switch_cli_session_run_line(struct cli_session *session, const char *line)
{
	const struct cli_faults *faults = &session->device->faults;
	cli_answer answer = session->answer;
	struct text out = {0};

	session->answer = NULL;
	session->wants_key = session->is_silent_echo = false;
	if (faults->garbage)
		text_add_bytes(&session->out, "\0\377\376\x1b[\200\7\302", 8);
	if (answer)
		answer(session, line, &out);
	else if (session->device->family->programs)
		switch_cli_session_shell(session, line, &out);
	else
		switch_cli_session_execute(session, line, &out);
	if (!faults->silent)
		switch_cli_session_show(session, &out);
	text_done(&out);
	if (!session->is_raw)
		show_prompt(session);
}

void cli_do(struct cli_call *about, const char *line)
{
	struct cli_session *session = about->session;
	struct cli_grammar grammar = grammar_of(session->device);
	struct cli_parsed *parsed = calloc(1, sizeof(*parsed));

	if (!parsed)
		return;
	cli_parse(&grammar, CLI_IN(CLI_ENABLE), line, parsed);
	if (parsed->result == CLI_PARSED)
		switch_cli_session_call(session, parsed, about->out);
	else if (parsed->result != CLI_EMPTY)
		cli_complain(session, parsed, line, about->out);
	free(parsed);
}

/* --- keys --- */

static void switch_cli_session_add_word(void *context, const char *word)
{
	struct text *out = context;
	char line[CLI_NAME_SIZE + 4];

	(void)text_format(line, sizeof(line), "  %s\n", word);
	if (!strstr(text_get(out), line))
		text_add(out, line);
}

static void switch_cli_session_help(struct cli_session *session)
{
	struct cli_grammar grammar = grammar_of(session->device);
	struct text out = {0};

	switch_cli_session_emit(session, "?\n");
	cli_parse_help(&grammar, CLI_IN(session->mode), text_get(&session->line),
		       switch_cli_session_add_word, &out);
	switch_cli_session_show(session, &out);
	text_done(&out);
	show_prompt(session);
	switch_cli_session_emit(session, text_get(&session->line));
}

static void switch_cli_session_enter(struct cli_session *session)
{
	char *line = strdup(text_get(&session->line));

	text_clear(&session->line);
	if (!session->is_raw)
		switch_cli_session_emit(session, "\n");
	if (!session->is_raw && session->device->family->line_after)
		text_add(&session->out, session->device->family->line_after);
	if (line)
		switch_cli_session_run_line(session, line);
	free(line);
}

static void switch_cli_session_erase(struct cli_session *session, size_t count)
{
	char *line = strdup(text_get(&session->line));
	size_t size = session->line.size;

	for (; line && count > 0 && size > 0; count--) {
		size--;
		if (!session->is_silent_echo)
			switch_cli_session_emit(session, "\b \b");
	}
	text_clear(&session->line);
	if (line)
		text_add_bytes(&session->line, line, size);
	free(line);
}

static void switch_cli_session_control(struct cli_session *session, char key)
{
	switch (key) {
	case SWITCH_CLI_SESSION_KEY_BREAK:
		text_clear(&session->line);
		session->answer = NULL;
		switch_cli_session_emit(session, "^C\n");
		show_prompt(session);
		break;
	case SWITCH_CLI_SESSION_KEY_END:
		text_clear(&session->line);
		switch_cli_session_emit(session, "^Z\n");
		if (session->mode >= CLI_CONFIG)
			cli_leave(session, CLI_ENABLE);
		show_prompt(session);
		break;
	case KEY_EOT: session->is_over = session->line.size == 0; break;
	case KEY_ERASE_LINE: switch_cli_session_erase(session, session->line.size); break;
	case '\b':
	case 127: switch_cli_session_erase(session, 1); break;
	default: break;
	}
}

static size_t line_max(const struct cli_session *session)
{
	return session->device->family->programs ? SHELL_LINE_MAX : CLI_LINE_MAX;
}

/* A shell's line editor begins a new line of the terminal with " \r" (GNU readline). */
static void switch_cli_session_echo(struct cli_session *session, char c)
{
	text_add_bytes(&session->out, &c, 1);
	if (session->device->family->programs && session->width > 0) {
		struct text prompt = {0};

		cli_prompt(session, &prompt);
		if ((prompt.size + session->line.size) % session->width == 0)
			text_add(&session->out, " \r");
		text_done(&prompt);
	}
}

/* True when a line was run. */
static bool switch_cli_session_key(struct cli_session *session, char c)
{
	bool was_return = session->was_return;
	char word[2] = {c, '\0'};

	session->was_return = c == '\r';
	if (c == '\n' && was_return)
		return false;
	if (session->is_paging) {
		page_key(session, c);
	} else if (session->answer && session->wants_key) {
		if (c >= ' ')
			switch_cli_session_emit(session, word);
		switch_cli_session_run_line(session, word);
		return true;
	} else if (c == '\r' || c == '\n') {
		switch_cli_session_enter(session);
		return true;
	} else if (c == '?' && !session->answer && !session->device->family->programs) {
		switch_cli_session_help(session);
	} else if ((c >= 0 && c < ' ') || c == 127) {
		switch_cli_session_control(session, c);
	} else if (session->line.size >= line_max(session)) {
		switch_cli_session_emit(session, "\a");
	} else {
		text_add_bytes(&session->line, &c, 1);
		if (!session->is_silent_echo && !session->is_raw)
			switch_cli_session_echo(session, c);
	}
	return false;
}

void cli_session_feed(struct cli_session *session, const void *keys, size_t size)
{
	text_add_bytes(&session->in, keys, size);
}

bool cli_session_has_line(const struct cli_session *session)
{
	size_t left = session->in.size - session->in_at;
	const char *in = text_get(&session->in) + session->in_at;

	return left > 0 && (memchr(in, '\r', left) || memchr(in, '\n', left));
}

static bool switch_cli_session_go_on_endlessly(struct cli_session *session)
{
	if (session->in.size > session->in_at) { /* any key */
		session->is_endless = false;
		show_prompt(session);
		return true;
	}
	for (unsigned i = 0; i < ENDLESS_LINES; i++)
		switch_cli_session_emit(session, "VLAN0000 this line is followed by another one\n");
	return session->out.size < SWITCH_CLI_SESSION_OUT_ENOUGH;
}

bool cli_session_turn(struct cli_session *session)
{
	bool ran = false;

	cli_device_refresh(session->device);
	if (session->generation != session->device->generation)
		session->is_over = true;
	if (session->is_over || session->out.size >= SWITCH_CLI_SESSION_OUT_ENOUGH)
		return false;
	if (session->is_endless)
		return switch_cli_session_go_on_endlessly(session);
	while (!ran && !session->is_over && session->in_at < session->in.size)
		ran = switch_cli_session_key(session, session->in.data[session->in_at++]);
	if (session->in_at == session->in.size) {
		text_clear(&session->in);
		session->in_at = 0;
	}
	return !session->is_over && (session->is_endless || session->in_at < session->in.size);
}

void cli_session_command(struct cli_session *session, const char *line)
{
	text_clear(&session->out);
	session->is_raw = true;
	session->answer = NULL;
	if (session->mode == CLI_EXEC && !session->device->is_unprivileged &&
	    !session->device->family->programs)
		session->mode = CLI_ENABLE;
	switch_cli_session_run_line(session, line);
	session->is_over = !session->is_endless;
}

/* --- from login to logout --- */

static void on_login_key(struct cli_session *session, const char *line, struct text *out)
{
	(void)session;
	(void)line;
	text_add(out, "\n");
}

int cli_session_new(struct cli_device *device, struct cli_session **ret)
{
	const struct cli_family *family = device->family;
	struct cli_session *session = calloc(1, sizeof(*session));

	if (!session)
		return -ENOMEM;
	session->device = device;
	session->pager = family->pager;
	session->generation = device->generation;
	session->mode = device->is_unprivileged || family->is_unprivileged ? CLI_EXEC : CLI_ENABLE;
	device->session_count++;
	if (family->login_text)
		switch_cli_session_emit(session, family->login_text);
	if (family->login_key)
		session->answer = on_login_key;
	session->wants_key = family->login_key;
	show_prompt(session);
	*ret = session;
	return 0;
}

void cli_session_free(struct cli_session *session)
{
	if (!session)
		return;
	if (session->device->configuring == session)
		session->device->configuring = NULL;
	session->device->session_count--;
	text_done(&session->in);
	text_done(&session->line);
	text_done(&session->paged);
	text_done(&session->out);
	text_done(&session->unfinished);
	free(session);
}
