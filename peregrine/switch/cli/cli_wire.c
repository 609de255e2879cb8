#include "peregrine/switch/cli/cli_wire.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "common/base/macros.h"

/* ECMA-48: ESC [ parameters (0x30-0x3f) intermediates (0x20-0x2f) one final (0x40-0x7e); ESC ] ..
 * BEL; else ESC and one byte. Returns the bytes of it, the ESC included. */
static size_t escape_size(const char *bytes, size_t size)
{
	size_t at = 2;

	if (size < 2)
		return size;
	if (bytes[1] == '[') {
		while (at < size && (bytes[at] < 0x40 || bytes[at] > 0x7e))
			at++;
		return at < size ? at + 1 : size;
	}
	if (bytes[1] == ']') {
		while (at < size && bytes[at] != '\a')
			at++;
		return at < size ? at + 1 : size;
	}
	return 2;
}

/* The line being written: how much of the text is its, and whether it starts anew. */
struct cleaner {
	struct text *out;
	size_t line; /* where it begins */
	bool restart;
};

static void cli_wire_put(struct cleaner *cleaner, char byte)
{
	if (cleaner->restart && byte != '\n' && cleaner->out->size > cleaner->line) {
		cleaner->out->size = cleaner->line;
		cleaner->out->data[cleaner->line] = '\0';
	}
	cleaner->restart = false;
	text_add_bytes(cleaner->out, &byte, 1);
	if (byte == '\n')
		cleaner->line = cleaner->out->size;
}

static void rub_out(struct cleaner *cleaner)
{
	if (cleaner->out->size > cleaner->line)
		cleaner->out->data[--cleaner->out->size] = '\0';
}

void cli_text_clean(const char *bytes, size_t size, struct text *ret)
{
	struct cleaner cleaner = {.out = ret, .line = ret->size};

	for (size_t i = 0; i < size; i++) {
		unsigned char byte = (unsigned char)bytes[i];

		switch (byte) {
		case 0x1b:
			/* NEL: what ProCurve writes for a new line. */
			if (i + 1 < size && bytes[i + 1] == 'E')
				cli_wire_put(&cleaner, '\n');
			i += escape_size(bytes + i, size - i) - 1;
			break;
		case '\r': cleaner.restart = true; break;
		case '\b': rub_out(&cleaner); break;
		case '\n':
		case '\t': cli_wire_put(&cleaner, (char)byte); break;
		case '\0':
		case '\a': break;
		default:
			cli_wire_put(&cleaner, (char)(byte < ' ' || byte == 0x7f ? '?' : byte));
			break;
		}
	}
}

/* --- prompts --- */

static bool cli_wire_cut(char *ret, size_t room, const char *from, size_t length)
{
	if (length >= room)
		length = room - 1;
	memcpy(ret, from, length);
	ret[length] = '\0';
	return true;
}

/* A name that a switch can have: printable, no spaces. */
static bool cli_wire_is_name(const char *from, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		if (!isgraph((unsigned char)from[i]))
			return false;
	}
	return length > 0;
}

static size_t cli_wire_trimmed(const char *line)
{
	size_t length = strlen(line);

	while (length && line[length - 1] == ' ')
		length--;
	return length;
}

/* name# name> name(mode)#; also "*name#" of a changed configuration. */
static bool parse_paren(const char *line, size_t length, struct cli_prompt_seen *ret)
{
	const char *open;
	size_t name;

	if (length < 2 || !strchr("#>", line[length - 1]))
		return false;
	ret->privileged = line[length - 1] == '#';
	name = --length;
	if (line[length - 1] == ')') {
		open = memchr(line, '(', length);
		if (!open || open == line)
			return false;
		name = (size_t)(open - line);
		cli_wire_cut(ret->mode, sizeof(ret->mode), open + 1, length - name - 2);
		if (!cli_wire_is_name(ret->mode, strlen(ret->mode)))
			return false;
	}
	if (!cli_wire_is_name(line, name) || memchr(line, '<', name) || memchr(line, '-', 1))
		return false;
	return cli_wire_cut(ret->base, sizeof(ret->base), line, name);
}

/* <name> at rest, [name] and [name-Port] in configuration; '*' or '~' may stand in front. */
static bool parse_angle(const char *line, size_t length, struct cli_prompt_seen *ret)
{
	char close;

	if (length < 3 || (line[0] != '<' && line[0] != '['))
		return false;
	close = line[0] == '<' ? '>' : ']';
	if (line[length - 1] != close)
		return false;
	ret->privileged = true;
	line++;
	length -= 2;
	if (*line == '*' || *line == '~') {
		line++;
		length--;
	}
	if (!cli_wire_is_name(line, length))
		return false;
	if (close == ']')
		cli_wire_cut(ret->mode, sizeof(ret->mode), line, length);
	return cli_wire_cut(ret->base, sizeof(ret->base), line, length);
}

static bool parse_shell(const char *line, size_t length, struct cli_prompt_seen *ret)
{
	const char *colon;

	if (length < 4 || !strchr("$#", line[length - 1]))
		return false;
	colon = memchr(line, ':', length);
	if (!colon || !memchr(line, '@', (size_t)(colon - line)) ||
	    !cli_wire_is_name(line, length - 1))
		return false;
	ret->privileged = true;
	return cli_wire_cut(ret->base, sizeof(ret->base), line, (size_t)(colon - line));
}

bool cli_prompt_parse(const char *line, enum cli_prompt kind, struct cli_prompt_seen *ret)
{
	struct cli_prompt_seen seen = {{0}, {0}, false};
	size_t length = cli_wire_trimmed(line);
	bool found = false;

	if (length == 0 || length > 128)
		return false;
	switch (kind) {
	case PROMPT_PAREN: found = parse_paren(line, length, &seen); break;
	case PROMPT_ANGLE: found = parse_angle(line, length, &seen); break;
	case PROMPT_SHELL: found = parse_shell(line, length, &seen); break;
	}
	if (found)
		*ret = seen;
	return found;
}

bool cli_prompt_same(const char *base, const char *other)
{
	size_t length = strlen(base);
	size_t other_length = strlen(other);

	if (length > other_length)
		length = other_length;
	/* IOS keeps the first twenty characters; Comware puts the port behind the name. */
	return length > 0 && strncmp(base, other, length < 16 ? length : 16) == 0;
}

static const char *const cli_wire_pagers[] = {
	"--more--",
	"-- more --",
	"---- more ----",
	"<--- more --->",
	"---(more",
	"--- more ---",
	"press any key to continue",
};

bool cli_is_pager(const char *line)
{
	for (size_t i = 0; i < COUNT_OF(cli_wire_pagers); i++) {
		if (cli_pattern_matches(cli_wire_pagers[i], line))
			return true;
	}
	return false;
}

bool cli_is_log_line(const char *line)
{
	for (const char *at = strchr(line, '%'); at; at = strchr(at + 1, '%')) {
		size_t facility = strspn(at + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
		const char *level = at + 1 + facility;

		if (facility && *level == '-' && isdigit((unsigned char)level[1]) &&
		    level[2] == '-')
			return true;
	}
	return false;
}

/* --- refusals --- */

bool cli_pattern_matches(const char *pattern, const char *line)
{
	size_t length;

	if (*pattern == '^') {
		pattern++;
		line += strspn(line, " \t");
		return strncasecmp(line, pattern, strlen(pattern)) == 0;
	}
	length = strlen(pattern);
	for (; *line; line++) {
		if (strncasecmp(line, pattern, length) == 0)
			return true;
	}
	return false;
}

static bool any_matches(const char *const *patterns, size_t count, const char *line)
{
	for (size_t i = 0; i < count && patterns[i]; i++) {
		if (cli_pattern_matches(patterns[i], line))
			return true;
	}
	return false;
}

#define ANY(patterns, line) any_matches((patterns), COUNT_OF(patterns), (line))

static enum cli_verdict judge_line(const struct cli_dialect *dialect, const char *line)
{
	if (cli_is_log_line(line) || ANY(dialect->benign, line))
		return CLI_FINE;
	if (ANY(dialect->busy, line))
		return CLI_BUSY;
	if (ANY(dialect->denied, line))
		return CLI_DENIED;
	return ANY(dialect->errors, line) ? CLI_REFUSED : CLI_FINE;
}

enum cli_verdict cli_answer_judge(const struct cli_dialect *dialect, const char *output,
				  char *ret_line, size_t room)
{
	while (*output) {
		size_t length = strcspn(output, "\n");
		char line[256];
		enum cli_verdict verdict;

		cli_wire_cut(line, sizeof(line), output, length);
		verdict = judge_line(dialect, line);
		if (verdict != CLI_FINE) {
			cli_wire_cut(ret_line, room, line, strlen(line));
			return verdict;
		}
		output += length + (output[length] == '\n');
	}
	return CLI_FINE;
}
