/* sonic-utilities, show/sflow.py:
 *
 *   sFlow Admin State:               up
 *   sFlow Polling Interval:          20
 *     Name: haas                   IP addr: 10.0.0.1         UDP port: 6343   VRF: default
 * | Ethernet0   | up            |           10000 | rx                   |
 *
 * and of all ports the first column of `show interfaces status`. A switch whose sFlow is off shows
 * no port in its second table. */
#include "peregrine/switch/cli/cli_sampling_wire.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

enum { WORDS = 12 };

struct cli_sampling_wire_word {
	const char *at;
	size_t size;
};

/* The words of a line, without the frames of tables; how many. */
static size_t words_of(const char *line, size_t size, struct cli_sampling_wire_word words[WORDS])
{
	size_t count = 0;
	size_t at = 0;

	while (count < WORDS) {
		size_t begin;

		while (at < size && (isspace((unsigned char)line[at]) || line[at] == '|'))
			at++;
		begin = at;
		while (at < size && !isspace((unsigned char)line[at]) && line[at] != '|')
			at++;
		if (at == begin)
			break;
		words[count++] = (struct cli_sampling_wire_word){line + begin, at - begin};
	}
	return count;
}

static bool cli_sampling_wire_is(const struct cli_sampling_wire_word *word, const char *text)
{
	return word->size == strlen(text) && strncmp(word->at, text, word->size) == 0;
}

static bool cli_sampling_wire_is_number(const struct cli_sampling_wire_word *word)
{
	for (size_t i = 0; i < word->size; i++) {
		if (!isdigit((unsigned char)word->at[i]))
			return false;
	}
	return word->size > 0 && word->size < 9;
}

static bool cli_sampling_wire_is_port(const struct cli_sampling_wire_word *word)
{
	static const char kind[] = "Ethernet";

	return word->size > sizeof(kind) - 1 && word->size < 32 &&
	       strncmp(word->at, kind, sizeof(kind) - 1) == 0 &&
	       isdigit((unsigned char)word->at[sizeof(kind) - 1]);
}

#define WORD(word) (int)(word)->size, (word)->at

/* "Name: haas IP addr: 10.0.0.1 UDP port: 6343 VRF: default" */
static void cli_sampling_wire_take_collector(const struct cli_sampling_wire_word *words,
					     size_t count, struct text *ret)
{
	if (count < 8 || !cli_sampling_wire_is(&words[2], "IP") ||
	    !cli_sampling_wire_is(&words[3], "addr:") || !cli_sampling_wire_is(&words[5], "UDP") ||
	    !cli_sampling_wire_is(&words[6], "port:"))
		return;
	text_addf(ret, "sudo config sflow collector add %.*s %.*s --port %.*s", WORD(&words[1]),
		  WORD(&words[4]), WORD(&words[7]));
	if (count >= 10 && cli_sampling_wire_is(&words[8], "VRF:") &&
	    !cli_sampling_wire_is(&words[9], "default"))
		text_addf(ret, " --vrf %.*s", WORD(&words[9]));
	text_add(ret, "\n");
}

static void cli_sampling_wire_take_line(const char *line, size_t size, struct text *ret)
{
	struct cli_sampling_wire_word words[WORDS];
	size_t count = words_of(line, size, words);
	bool in_table = size > 0 && line[0] == '|';

	if (count >= 2 && cli_sampling_wire_is(&words[0], "Name:")) {
		cli_sampling_wire_take_collector(words, count, ret);
	} else if (count == 4 && cli_sampling_wire_is(&words[0], "sFlow") &&
		   cli_sampling_wire_is(&words[1], "Admin")) {
		if (cli_sampling_wire_is(&words[3], "up"))
			text_add(ret, "sudo config sflow enable\n");
	} else if (count == 4 && cli_sampling_wire_is(&words[0], "sFlow") &&
		   cli_sampling_wire_is(&words[1], "Polling")) {
		if (cli_sampling_wire_is_number(&words[3]))
			text_addf(ret, "sudo config sflow polling-interval %.*s\n",
				  WORD(&words[3]));
	} else if (in_table && count >= 3 && cli_sampling_wire_is_port(&words[0])) {
		if (cli_sampling_wire_is(&words[1], "up"))
			text_addf(ret, "sudo config sflow interface enable %.*s\n",
				  WORD(&words[0]));
		if (cli_sampling_wire_is_number(&words[2]))
			text_addf(ret, "sudo config sflow interface sample-rate %.*s %.*s\n",
				  WORD(&words[0]), WORD(&words[2]));
	} else if (count >= 8 && cli_sampling_wire_is_port(&words[0])) {
		text_addf(ret, "interface %.*s\n", WORD(&words[0]));
	}
}

int cli_sflow_typed(const char *shown, struct text *ret)
{
	while (*shown) {
		size_t size = strcspn(shown, "\n");

		cli_sampling_wire_take_line(shown, size, ret);
		shown += size + (shown[size] == '\n');
	}
	return ret->failed ? -ENOMEM : 0;
}
