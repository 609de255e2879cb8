#include "portal/cli/selector.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/json_text.h"

#include "portal/cli/ask.h"

#define SELECTOR_SHOWN 10

static int selector_get(struct haasctl *haasctl, const struct command_input *input,
			const struct selector_row *row, const char *where,
			struct haasctl_reply *ret)
{
	CLEANUP(text_done) struct text target = {0};

	text_addf(&target, "%s?count=exact&limit=%d&q=", row->path, SELECTOR_SHOWN);
	text_add_percent(&target, where);
	return haasctl_get_before(haasctl, input, text_get(&target), ret);
}

static void selector_show(const struct selector_row *row, const json_t *items, int64_t count)
{
	const json_t *item;
	size_t i;

	fprintf(stderr, "%" PRId64 " %s %s:\n", count, row->noun, row->effect);
	json_array_foreach(items, i, item)
	{
		const char *name = haasctl_word(item, "name");

		fprintf(stderr, "  %s%s%s%s\n", name[0] ? name : haasctl_word(item, "node"),
			haasctl_word(item, "state")[0] ? ", " : "", haasctl_word(item, "state"),
			haasctl_word(item, "tenant")[0] ? ", of a tenant" : "");
	}
	if (count > SELECTOR_SHOWN)
		fprintf(stderr, "  and %" PRId64 " more\n", count - SELECTOR_SHOWN);
}

/* The number is typed: who sees ten names knows how many are meant. */
static int selector_ask(struct haasctl *haasctl, const struct selector_row *row,
			const json_t *items, int64_t count)
{
	char wanted[24];

	selector_show(row, items, count);
	if (!isatty(STDIN_FILENO))
		return haasctl_usage(
			"nobody can be asked here, so nothing is done; --expected %" PRId64
			" does it without a question",
			count);
	(void)text_format(wanted, sizeof(wanted), "%" PRId64, count);
	return ask_to_go_on(haasctl, wanted);
}

static int selector_count(struct haasctl *haasctl, const struct command_input *input,
			  const struct selector_row *row, struct selector *ret)
{
	CLEANUP(haasctl_reply_done) struct haasctl_reply reply = {0};
	int status = selector_get(haasctl, input, row, ret->where, &reply);

	if (status != EXIT_OK)
		return status;
	ret->expected = json_integer_value(json_object_get(reply.json, "count"));
	if (ret->expected == 0) {
		fprintf(stderr, "haasctl: none of the %s matches '%s'\n", row->noun, ret->where);
		return EXIT_NOT_FOUND;
	}
	if (!row->effect || command_option(input, "--yes"))
		return EXIT_OK;
	return selector_ask(haasctl, row, json_object_get(reply.json, "items"), ret->expected);
}

int selector_read(struct haasctl *haasctl, const struct command_input *input,
		  const struct selector_row *row, struct selector *ret)
{
	size_t first = row->first_word < input->word_count ? row->first_word : input->word_count;
	const char *expected = command_option(input, "--expected");

	*ret = (struct selector){.where = command_option(input, "--where"),
				 .names = input->words + first,
				 .count = input->word_count - first};
	if (!ret->where && expected)
		return haasctl_usage("--expected belongs to --where");
	if (ret->where && ret->count > 0)
		return haasctl_usage("either %s by name, or --where", row->noun);
	if (!ret->where)
		return ret->count > 0
			       ? EXIT_OK
			       : haasctl_usage("%s are needed, by name or by --where", row->noun);
	return expected ? haasctl_number("--expected", expected, &ret->expected)
			: selector_count(haasctl, input, row, ret);
}

void selector_json(struct text *body, const char *member, const struct selector *selector)
{
	if (!selector->where) {
		haasctl_json_words(body, member, selector->names, selector->count);
		return;
	}
	json_put_string(body, "where", selector->where);
	json_put_int(body, "expected", selector->expected);
}
