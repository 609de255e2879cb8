#include "tests/sim/command_line/switch_cli_parse.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/text.h"

/* --- ports --- */

static bool begins_name(const char *name, const char *text, size_t size)
{
	return name && name[0] != '\0' && size <= strlen(name) &&
	       strncasecmp(name, text, size) == 0;
}

static unsigned switch_cli_parse_port_of(const struct cli_port_naming *naming, unsigned count,
					 unsigned long number)
{
	if (number < naming->first || (number - naming->first) % naming->step != 0)
		return 0;
	number = (number - naming->first) / naming->step + 1;
	return number <= count ? (unsigned)number : 0;
}

unsigned cli_port_parse(const struct cli_port_naming *naming, unsigned count, const char *text,
			size_t *ret_used)
{
	const char *at = text;
	size_t letters = 0;
	size_t stem = strlen(naming->stem);
	unsigned long number;
	char *end;

	while (isalpha((unsigned char)text[letters]) ||
	       (letters > 0 && text[letters] == '-' && isalpha((unsigned char)text[letters + 1])))
		letters++;
	if (letters > 1 && (begins_name(naming->lag, text, letters) ||
			    begins_name(naming->lag_alias, text, letters))) {
		at += letters + strspn(at + letters, " ");
		number = strtoul(at, &end, 10);
		*ret_used = (size_t)(end - text);
		return isdigit((unsigned char)*at) && number <= CLI_LAGS
			       ? cli_lag_port((unsigned)number)
			       : 0;
	}
	if (letters > 0 && !begins_name(naming->name, text, letters) &&
	    !begins_name(naming->alias, text, letters))
		return 0;
	at += letters;
	at += letters > 0 ? strspn(at, " ") : 0;
	if (strncmp(at, naming->stem, stem) != 0 || !isdigit((unsigned char)at[stem]))
		return 0;
	number = strtoul(at + stem, &end, 10);
	*ret_used = (size_t)(end - text);
	return switch_cli_parse_port_of(naming, count, number);
}

/* After a dash: a whole name, or a number, with the stem or without. */
static unsigned range_end(const struct cli_port_naming *naming, unsigned count, const char *text,
			  size_t *ret_used)
{
	char *end;
	unsigned port = cli_port_parse(naming, count, text, ret_used);
	unsigned long number;

	if (port == 0 && strncmp(text, naming->stem, strlen(naming->stem)) == 0 &&
	    isdigit((unsigned char)text[strlen(naming->stem)])) {
		text += strlen(naming->stem);
		number = strtoul(text, &end, 10);
		*ret_used = (size_t)(end - text) + strlen(naming->stem);
		return switch_cli_parse_port_of(naming, count, number);
	}
	if (port == 0 && isdigit((unsigned char)text[0])) {
		number = strtoul(text, &end, 10);
		*ret_used = (size_t)(end - text);
		port = switch_cli_parse_port_of(naming, count, number);
	}
	return port;
}

bool cli_ports_parse(const struct cli_port_naming *naming, unsigned count, const char *text,
		     struct cli_ports *ret)
{
	struct cli_ports ports = {{0}};

	do {
		size_t used = 0;
		unsigned low;
		unsigned high;

		text += strspn(text, " ");
		low = cli_port_parse(naming, count, text, &used);
		if (low == 0) /* "1/1,2": the number alone, after a first one */
			low = cli_ports_next(&ports, 1) ? range_end(naming, count, text, &used) : 0;
		if (low == 0)
			return false;
		text += used;
		text += strspn(text, " ");
		high = low;
		if (*text == '-') {
			text += 1 + strspn(text + 1, " ");
			high = range_end(naming, count, text, &used);
			if (high < low)
				return false;
			text += used;
			text += strspn(text, " ");
		}
		for (unsigned port = low; port <= high; port++)
			cli_ports_add(&ports, port);
	} while (*text++ == ',');
	if (text[-1] != '\0')
		return false;
	*ret = ports;
	return true;
}

const char *cli_port_print(const struct cli_port_naming *naming, unsigned number, bool is_long,
			   char ret[CLI_NAME_SIZE])
{
	const char *format = is_long ? naming->format_long : naming->format;
	const char *hole = strstr(format, "%s");
	size_t before;

	if (cli_lag_number(number) && naming->lag) {
		format = is_long ? naming->lag_format_long : naming->lag_format;
		hole = strstr(format, "%s");
	}
	before = hole ? (size_t)(hole - format) : strlen(format);
	if (cli_lag_number(number) && naming->lag)
		(void)text_format(ret, CLI_NAME_SIZE, "%.*s%u%s", (int)before, format,
				  cli_lag_number(number), hole ? hole + 2 : "");
	else
		(void)text_format(ret, CLI_NAME_SIZE, "%.*s%s%u%s", (int)before, format,
				  naming->stem, naming->first + (number - 1) * naming->step,
				  hole ? hole + 2 : "");
	return ret;
}

/* --- patterns --- */

/* The i-th word of a pattern; NULL past its end. *ret_optional when it stands in brackets. */
static const char *pattern_word(const char *pattern, size_t i, size_t *ret_size, bool *ret_optional)
{
	for (;; i--) {
		size_t size;

		pattern += strspn(pattern, " ");
		size = strcspn(pattern, " ");
		if (size == 0)
			return NULL;
		if (i == 0) {
			*ret_optional = pattern[0] == '[';
			*ret_size = *ret_optional ? size - 2 : size;
			return *ret_optional ? pattern + 1 : pattern;
		}
		pattern += size;
	}
}

static bool is_complete(const char *pattern, size_t at)
{
	bool optional = false;
	size_t size;

	return !pattern_word(pattern, at, &size, &optional) || optional;
}

/* One of the `a|b` of a pattern's word that `token` is (2), or begins (1); 0 for neither. */
static int keyword_match(const char *word, size_t size, const char *token, size_t length,
			 const char **ret, size_t *ret_size)
{
	int best = 0;

	while (size > 0) {
		const char *bar = memchr(word, '|', size);
		size_t part = bar ? (size_t)(bar - word) : size;

		if (length <= part && strncasecmp(word, token, length) == 0) {
			int found = length == part ? 2 : 1;

			if (found > best) {
				best = found;
				*ret = word;
				*ret_size = part;
			}
		}
		word += bar ? part + 1 : part;
		size -= bar ? part + 1 : part;
	}
	return best;
}

/* --- the walk --- */

struct walk {
	const struct cli_grammar *grammar;
	const char *line;
	size_t at, length; /* the word being looked at */
	size_t word;       /* its position in the patterns */
	bool alive[CLI_ROWS_MAX];
	struct cli_parsed *parsed;
};

static size_t switch_cli_parse_rows_of(const struct cli_grammar *grammar)
{
	return grammar->count < CLI_ROWS_MAX ? grammar->count : CLI_ROWS_MAX;
}

/* Rows that go on with this very keyword stay; how many different ones would do? */
static unsigned take_keyword(struct walk *walk)
{
	const char *chosen = NULL;
	const char *token = walk->line + walk->at;
	size_t chosen_size = 0;
	unsigned distinct = 0;
	int best = 0;

	for (size_t i = 0; i < switch_cli_parse_rows_of(walk->grammar); i++) {
		const char *word;
		const char *found = NULL;
		size_t size = 0;
		size_t found_size = 0;
		bool optional;
		int match;

		word = walk->alive[i] ? pattern_word(walk->grammar->rows[i].pattern, walk->word,
						     &size, &optional)
				      : NULL;
		if (!word || word[0] == '<')
			continue;
		match = keyword_match(word, size, token, walk->length, &found, &found_size);
		if (match == 0 || match < best)
			continue;
		if (match > best)
			distinct = 0;
		if (distinct == 0 || found_size != chosen_size ||
		    strncmp(found, chosen, found_size) != 0)
			distinct++;
		best = match;
		chosen = found;
		chosen_size = found_size;
	}
	if (distinct != 1)
		return distinct;
	for (size_t i = 0; i < switch_cli_parse_rows_of(walk->grammar); i++) {
		const char *word;
		const char *found = NULL;
		size_t size = 0;
		size_t found_size = 0;
		bool optional;

		word = walk->alive[i] ? pattern_word(walk->grammar->rows[i].pattern, walk->word,
						     &size, &optional)
				      : NULL;
		walk->alive[i] =
			word && word[0] != '<' &&
			keyword_match(word, size, chosen, chosen_size, &found, &found_size) == 2;
	}
	return 1;
}

enum switch_cli_parse_taken { TAKEN_NO, TAKEN_RANGE, TAKEN };

static enum switch_cli_parse_taken take_vids(const struct cli_grammar *grammar, const char *text,
					     struct cli_value *value)
{
	unsigned high = 0;

	if (!isdigit((unsigned char)text[0]))
		return TAKEN_NO;
	if (vlan_set_parse(text, &value->vids) != 0)
		return strspn(text, "0123456789,-") == strlen(text) ? TAKEN_RANGE : TAKEN_NO;
	value->number = vlan_set_next(&value->vids, 1);
	for (unsigned v = value->number; v; v = vlan_set_next(&value->vids, v + 1))
		high = v;
	return value->number >= grammar->vid_low && high <= grammar->vid_high ? TAKEN : TAKEN_RANGE;
}

static enum switch_cli_parse_taken switch_cli_parse_take_number(const char *text,
								struct cli_value *value)
{
	char *end;
	unsigned long number = strtoul(text, &end, 10);

	if (!isdigit((unsigned char)text[0]) || *end != '\0')
		return TAKEN_NO;
	value->number = number > 1000000 ? 1000000 : (unsigned)number;
	return TAKEN;
}

static void switch_cli_parse_unquote(char *text)
{
	size_t size = strlen(text);

	while (size > 0 && text[size - 1] == ' ')
		text[--size] = '\0';
	if (size >= 2 && text[0] == '"' && text[size - 1] == '"') {
		memmove(text, text + 1, size - 2);
		text[size - 2] = '\0';
	}
}

static bool kind_is(const char *word, size_t size, const char *kind)
{
	return size == strlen(kind) && memcmp(word, kind, size) == 0;
}

/* One parameter at the walk's word; moves its end where more than a word is taken. */
static enum switch_cli_parse_taken take_value(struct walk *walk, const char *word, size_t size,
					      struct cli_value *value)
{
	const struct cli_grammar *grammar = walk->grammar;
	const char *rest = walk->line + walk->at;
	size_t used = 0;

	*value = (struct cli_value){0};
	(void)text_format(value->text, sizeof(value->text), "%.*s", (int)walk->length, rest);
	if (kind_is(word, size, "<vid>")) {
		if (strspn(value->text, "0123456789") != strlen(value->text))
			return TAKEN_NO;
		return take_vids(grammar, value->text, value);
	}
	if (kind_is(word, size, "<vids>"))
		return take_vids(grammar, value->text, value);
	if (kind_is(word, size, "<number>"))
		return switch_cli_parse_take_number(value->text, value);
	if (kind_is(word, size, "<word>"))
		return TAKEN;
	if (kind_is(word, size, "<port>")) {
		value->number = cli_port_parse(grammar->naming, grammar->port_count, rest, &used);
		if (value->number == 0 || (rest[used] != '\0' && rest[used] != ' '))
			return TAKEN_NO;
		cli_ports_add(&value->ports, value->number);
	} else { /* <ports>, <text>: to the end */
		used = strlen(rest);
	}
	(void)text_format(value->text, sizeof(value->text), "%.*s", (int)used, rest);
	if (kind_is(word, size, "<ports>") &&
	    !cli_ports_parse(grammar->naming, grammar->port_count, value->text, &value->ports))
		return TAKEN_NO;
	if (kind_is(word, size, "<text>"))
		switch_cli_parse_unquote(value->text);
	walk->length = used;
	return TAKEN;
}

/* The first kind of parameter that takes the word; rows of that kind stay. */
static enum switch_cli_parse_taken take_parameter(struct walk *walk)
{
	enum switch_cli_parse_taken best = TAKEN_NO;
	const char *kind = NULL;
	size_t kind_size = 0;

	for (size_t i = 0; i < switch_cli_parse_rows_of(walk->grammar) && best != TAKEN; i++) {
		struct cli_parsed *parsed = walk->parsed;
		enum switch_cli_parse_taken taken;
		bool optional;

		kind = walk->alive[i] ? pattern_word(walk->grammar->rows[i].pattern, walk->word,
						     &kind_size, &optional)
				      : NULL;
		if (!kind || kind[0] != '<' || parsed->value_count == CLI_VALUES_MAX)
			continue;
		taken = take_value(walk, kind, kind_size, &parsed->values[parsed->value_count]);
		best = taken > best ? taken : best;
	}
	if (best != TAKEN)
		return best;
	walk->parsed->value_count++;
	for (size_t i = 0; i < switch_cli_parse_rows_of(walk->grammar); i++) {
		size_t size = 0;
		bool optional;
		const char *word = walk->alive[i] ? pattern_word(walk->grammar->rows[i].pattern,
								 walk->word, &size, &optional)
						  : NULL;

		walk->alive[i] = word && size == kind_size && memcmp(word, kind, size) == 0;
	}
	return TAKEN;
}

static bool has_more(const struct walk *walk)
{
	for (size_t i = 0; i < switch_cli_parse_rows_of(walk->grammar); i++) {
		size_t size;
		bool optional;

		if (walk->alive[i] &&
		    pattern_word(walk->grammar->rows[i].pattern, walk->word, &size, &optional))
			return true;
	}
	return false;
}

static enum cli_parse_result switch_cli_parse_step(struct walk *walk)
{
	unsigned distinct;
	enum switch_cli_parse_taken taken;

	if (!has_more(walk))
		return CLI_TOO_MANY;
	distinct = take_keyword(walk);
	if (distinct == 1)
		return CLI_PARSED;
	taken = take_parameter(walk);
	if (taken == TAKEN)
		return CLI_PARSED;
	return distinct > 1 ? CLI_AMBIGUOUS : taken == TAKEN_RANGE ? CLI_RANGE : CLI_INVALID;
}

static void switch_cli_parse_start(struct walk *walk, uint32_t modes)
{
	for (size_t i = 0; i < switch_cli_parse_rows_of(walk->grammar); i++)
		walk->alive[i] = (walk->grammar->rows[i].modes & modes) != 0;
	walk->at = strspn(walk->line, " \t");
	walk->length = strcspn(walk->line + walk->at, " \t");
}

static void switch_cli_parse_next_word(struct walk *walk)
{
	walk->at += walk->length;
	walk->at += strspn(walk->line + walk->at, " \t");
	walk->length = strcspn(walk->line + walk->at, " \t");
	walk->word++;
}

void cli_parse(const struct cli_grammar *grammar, uint32_t modes, const char *line,
	       struct cli_parsed *ret)
{
	struct walk walk = {.grammar = grammar, .line = line, .parsed = ret};

	ret->value_count = 0;
	ret->command = NULL;
	ret->result = CLI_EMPTY;
	switch_cli_parse_start(&walk, modes);
	while (walk.length > 0) {
		ret->result = switch_cli_parse_step(&walk);
		ret->at = walk.at;
		ret->length = walk.length;
		if (ret->result != CLI_PARSED)
			return;
		switch_cli_parse_next_word(&walk);
	}
	if (ret->result == CLI_EMPTY)
		return;
	ret->at = walk.at;
	ret->length = 0;
	ret->result = CLI_INCOMPLETE;
	for (size_t i = 0; i < switch_cli_parse_rows_of(grammar) && !ret->command; i++) {
		if (walk.alive[i] && is_complete(grammar->rows[i].pattern, walk.word)) {
			ret->command = &grammar->rows[i];
			ret->result = CLI_PARSED;
		}
	}
}

void cli_parse_help(const struct cli_grammar *grammar, uint32_t modes, const char *line,
		    void (*each)(void *context, const char *word), void *context)
{
	struct cli_parsed *parsed = calloc(1, sizeof(*parsed));
	struct walk walk = {.grammar = grammar, .line = line, .parsed = parsed};
	size_t size = strlen(line);
	bool begun = size > 0 && line[size - 1] != ' ';

	switch_cli_parse_start(&walk, modes);
	while (parsed && walk.length > 0 && !(begun && walk.at + walk.length == size)) {
		if (switch_cli_parse_step(&walk) != CLI_PARSED)
			break;
		switch_cli_parse_next_word(&walk);
	}
	for (size_t i = 0; parsed && i < switch_cli_parse_rows_of(grammar); i++) {
		const char *word;
		const char *found = NULL;
		size_t word_size = 0;
		size_t found_size = 0;
		bool optional;
		char copy[CLI_NAME_SIZE];

		word = walk.alive[i] ? pattern_word(grammar->rows[i].pattern, walk.word, &word_size,
						    &optional)
				     : NULL;
		if (!word ||
		    (word[0] != '<' && keyword_match(word, word_size, line + walk.at, walk.length,
						     &found, &found_size) == 0))
			continue;
		(void)text_format(copy, sizeof(copy), "%.*s", (int)word_size, word);
		each(context, copy);
	}
	free(parsed);
}
