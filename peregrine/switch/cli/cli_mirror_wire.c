#include "peregrine/switch/cli/cli_mirror_wire.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "peregrine/switch/cli/cli_port.h"

enum { CLI_MIRROR_WIRE_LINE_SIZE = 1024 };

struct cli_mirror_wire_match {
	unsigned number, id;
	char a[CLI_MIRROR_WIRE_LINE_SIZE], b[CLI_MIRROR_WIRE_LINE_SIZE], from[46];
};

struct cli_mirror_wire_word {
	const char *at;
	size_t length;
};

static struct cli_mirror_wire_word cli_mirror_wire_next_word(const char **text)
{
	struct cli_mirror_wire_word word;

	*text += strspn(*text, " \t\r");
	word = (struct cli_mirror_wire_word){*text, strcspn(*text, " \t\r")};
	*text += word.length;
	return word;
}

static bool is_hole(struct cli_mirror_wire_word word, char kind)
{
	return word.length == 2 && word.at[0] == '%' && word.at[1] == kind;
}

static bool cli_mirror_wire_take_number(struct cli_mirror_wire_word word, unsigned *ret)
{
	unsigned number = 0;

	if (word.length == 0 || word.length > 4)
		return false;
	for (size_t i = 0; i < word.length; i++) {
		if (!isdigit((unsigned char)word.at[i]))
			return false;
		number = number * 10 + (unsigned)(word.at[i] - '0');
	}
	*ret = number;
	return true;
}

/* Words up to `stop`, the next one of the rule (none: to the end), at least one. */
static bool cli_mirror_wire_take_ports(const char **line, struct cli_mirror_wire_word stop,
				       char *ret)
{
	size_t length = 0;

	ret[0] = '\0';
	for (;;) {
		const char *before = *line;
		struct cli_mirror_wire_word word = cli_mirror_wire_next_word(line);

		if (word.length == 0 || (stop.length > 0 && word.length == stop.length &&
					 strncasecmp(word.at, stop.at, stop.length) == 0)) {
			*line = before;
			return length > 0;
		}
		if (length + word.length + 2 > CLI_MIRROR_WIRE_LINE_SIZE)
			return false;
		(void)text_format(ret + length, CLI_MIRROR_WIRE_LINE_SIZE - length, "%s%.*s",
				  length > 0 ? " " : "", (int)word.length, word.at);
		length += strlen(ret + length);
		/* A table: one word; the next hole is the next column. */
		if (stop.length == 2 && stop.at[0] == '%')
			return true;
	}
}

static bool cli_mirror_wire_take_word(const char *rule, struct cli_mirror_wire_word hole,
				      const char **line, struct cli_mirror_wire_match *match)
{
	struct cli_mirror_wire_word word;

	if (is_hole(hole, 'a') || is_hole(hole, 'b'))
		return cli_mirror_wire_take_ports(line, cli_mirror_wire_next_word(&rule),
						  hole.at[1] == 'a' ? match->a : match->b);
	if (is_hole(hole, '*')) {
		*line += strlen(*line);
		return true;
	}
	word = cli_mirror_wire_next_word(line);
	if (is_hole(hole, 'n'))
		return cli_mirror_wire_take_number(word, &match->number);
	if (is_hole(hole, 'i'))
		return cli_mirror_wire_take_number(word, &match->id);
	if (is_hole(hole, 'f'))
		return word.length > 0 && text_format(match->from, sizeof(match->from), "%.*s",
						      (int)word.length, word.at);
	if (is_hole(hole, 'x'))
		return word.length > 0;
	return word.length == hole.length && strncasecmp(word.at, hole.at, hole.length) == 0;
}

static bool cli_mirror_wire_matches(const char *rule, const char *line,
				    struct cli_mirror_wire_match *match)
{
	*match = (struct cli_mirror_wire_match){0};
	for (;;) {
		struct cli_mirror_wire_word word = cli_mirror_wire_next_word(&rule);

		if (word.length == 0)
			return cli_mirror_wire_next_word(&line).length == 0;
		if (!cli_mirror_wire_take_word(rule, word, &line, match))
			return false;
	}
}

/* --- what it says --- */

struct cli_mirror_wire_reader {
	const struct cli_dialect *dialect;
	struct cli_mirrors *ret;
	char port[64];      /* whose section this is */
	unsigned number;    /* of the session's section; 0: it is none */
	unsigned about;     /* what the line is about */
	const char *target; /* of the ports being listed */
	bool is_numbered;   /* sessions are */
	bool is_full;
};

static struct cli_mirror_session *session_of(struct cli_mirror_wire_reader *reader, unsigned number,
					     const char *target)
{
	struct cli_mirrors *ret = reader->ret;

	for (size_t i = 0; i < ret->count; i++) {
		if (ret->sessions[i].number == number &&
		    (number || cli_port_same(reader->dialect, ret->sessions[i].target, target)))
			return &ret->sessions[i];
	}
	if (ret->count == CLI_MIRRORS_MAX) {
		reader->is_full = true;
		return NULL;
	}
	ret->sessions[ret->count] = (struct cli_mirror_session){.number = number};
	return &ret->sessions[ret->count++];
}

static void cli_mirror_wire_add_source(void *context, const char *name)
{
	struct cli_mirror_wire_reader *reader = context;
	struct cli_mirrors *ret = reader->ret;

	if (ret->source_count == CLI_MIRROR_PORTS_MAX) {
		reader->is_full = true;
		return;
	}
	ret->sources[ret->source_count].number = reader->about;
	(void)text_copy(ret->sources[ret->source_count].port, sizeof(ret->sources[0].port), name);
	(void)text_copy(ret->sources[ret->source_count].target, sizeof(ret->sources[0].target),
			reader->target ? reader->target : "");
	ret->source_count++;
}

/* "Gi1/0/1 - 3 , Gi1/0/5 both" without the blanks and the direction. Another direction than both is
 * not what we set. */
static void add_sources(struct cli_mirror_wire_reader *reader, char *list)
{
	char *to = list;
	char *space = strrchr(list, ' ');

	if (space && strcasecmp(space, " both") == 0)
		*space = '\0';
	else if (space && (strcasecmp(space, " rx") == 0 || strcasecmp(space, " tx") == 0))
		return;
	for (const char *from = list; *from; from++) {
		bool loose =
			*from == ' ' && (from[1] == '-' || from[1] == ',' || from > list) &&
			(from[1] == '-' || from[1] == ',' || from[-1] == '-' || from[-1] == ',');

		if (!loose)
			*to++ = *from;
	}
	*to = '\0';
	(void)cli_port_list_each(reader->dialect, list, cli_mirror_wire_add_source, reader);
}

/* What it says of how copies are sent. */
static void take_tunnel(const struct cli_mirror_wire_match *match,
			struct cli_mirror_session *session)
{
	if (match->from[0])
		(void)text_copy(session->from, sizeof(session->from), match->from);
	if (match->id)
		session->id = match->id;
}

static void cli_mirror_wire_take(struct cli_mirror_wire_reader *reader, enum cli_mirror_fact fact,
				 struct cli_mirror_wire_match *match)
{
	struct cli_mirror_session *session;
	char target[64];

	if (fact == MIRROR_PORT) {
		(void)text_copy(reader->port, sizeof(reader->port), match->a);
		return;
	}
	reader->about = match->number ? match->number : reader->number;
	/* The same words may stand elsewhere, as "ip address" does. */
	if (reader->is_numbered && reader->about == 0) {
		if (fact == MIRROR_FINE && match->from[0])
			(void)text_copy(reader->ret->from, sizeof(reader->ret->from), match->from);
		return;
	}
	if (fact == MIRROR_OPEN)
		reader->number = reader->about;
	(void)text_copy(target, sizeof(target), match->b[0] ? match->b : reader->port);
	session = session_of(reader, reader->about, target);
	if (!session)
		return;
	session->is_odd |= fact == MIRROR_ODD;
	take_tunnel(match, session);
	if (fact == MIRROR_TO || fact == MIRROR_BOTH)
		(void)text_copy(session->target, sizeof(session->target), target);
	if (fact != MIRROR_FROM && fact != MIRROR_BOTH)
		return;
	reader->target = session->target;
	add_sources(reader, match->a[0] ? match->a : reader->port);
}

/* In the section of a session: is it more than we ever set? */
static bool cli_mirror_wire_is_known(const char *line)
{
	static const char *const words[] = {"no shut", "enable", "type local"};

	line += strspn(line, " \t");
	for (size_t i = 0; i < COUNT_OF(words); i++) {
		if (strncasecmp(line, words[i], strlen(words[i])) == 0)
			return true;
	}
	return *line == '\0' || *line == '\r';
}

static void cli_mirror_wire_take_line(struct cli_mirror_wire_reader *reader,
				      const struct cli_mirror *row, const char *line)
{
	struct cli_mirror_wire_match match;

	/* A section ends where a line begins at the front. */
	if (line[0] && !isspace((unsigned char)line[0]))
		reader->number = 0;
	for (size_t i = 0; i < COUNT_OF(row->rules) && row->rules[i].fact; i++) {
		if (!cli_mirror_wire_matches(row->rules[i].line, line, &match))
			continue;
		cli_mirror_wire_take(reader, row->rules[i].fact, &match);
		return;
	}
	if (reader->number && isspace((unsigned char)line[0]) && !cli_mirror_wire_is_known(line)) {
		struct cli_mirror_session *session = session_of(reader, reader->number, "");

		if (session)
			session->is_odd = true;
	}
}

int cli_mirrors_read(const struct cli_mirror *row, const char *text, struct cli_mirrors *ret)
{
	struct cli_mirror_wire_reader reader = {
		.dialect = row->dialect, .ret = ret, .is_numbered = row->first > 0};

	*ret = (struct cli_mirrors){0};
	while (*text) {
		size_t length = strcspn(text, "\n");
		char line[CLI_MIRROR_WIRE_LINE_SIZE];

		if (length < sizeof(line)) {
			(void)text_format(line, sizeof(line), "%.*s", (int)length, text);
			cli_mirror_wire_take_line(&reader, row, line);
		}
		text += length + (text[length] == '\n');
	}
	return reader.is_full ? E_LIMIT : 0;
}
