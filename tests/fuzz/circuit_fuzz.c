// links: common_net common_base
/* A template and bytes for it: the first byte says how long the template is, the rest is the
 * sample. What matches is printable, and matches again; a template of the sample's own bytes
 * matches it and nothing shorter; every family and every proposal gives the port that was asked
 * for. */
#undef NDEBUG /* the invariants are the test */

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/net/circuit_rule.h"

#include "tests/support/fuzz_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void printable(const char *text)
{
	assert(strlen(text) < CIRCUIT_TEXT_SIZE);
	for (; *text; text++)
		assert(*text >= ' ' && *text < 0x7f && *text != '"' && *text != '\\');
}

static void same(const struct circuit_fields *a, const struct circuit_fields *b)
{
	for (size_t i = 0; i < CIRCUIT_NUMBERS; i++)
		assert(a->seen[i] == b->seen[i] && (!a->seen[i] || a->numbers[i] == b->numbers[i]));
	for (size_t i = 0; i < CIRCUIT_TEXTS; i++)
		assert(strcmp(a->texts[i], b->texts[i]) == 0);
}

static void any_template(const char *text, const struct circuit_sample *sample)
{
	struct circuit_template template;
	struct circuit_fields first = {0};
	struct circuit_fields second = {0};
	const char *why = NULL;

	if (circuit_template_parse(text, &template, &why)) {
		assert(why);
		return;
	}
	assert(template.count <= CIRCUIT_ELEMENTS_MAX);
	if (!circuit_match(&template, sample->circuit, sample->circuit_size, &first))
		return;
	for (size_t i = 0; i < CIRCUIT_TEXTS; i++)
		printable(first.texts[i]);
	assert(circuit_match(&template, sample->circuit, sample->circuit_size, &second));
	same(&first, &second);
}

static void own_template(const struct circuit_sample *sample)
{
	CLEANUP(text_done) struct text text = {0};
	struct circuit_template template;
	struct circuit_fields fields = {0};
	const char *why;

	if (circuit_template_of(sample->circuit, sample->circuit_size, &text))
		return;
	assert(circuit_template_parse(text_get(&text), &template, &why) == 0);
	assert(circuit_match(&template, sample->circuit, sample->circuit_size, &fields));
	assert(sample->circuit_size == 0 ||
	       !circuit_match(&template, sample->circuit, sample->circuit_size - 1, &fields));
}

static void proposals(const struct circuit_sample *sample, const char *port)
{
	struct circuit_proposal found[3];
	size_t count = circuit_propose(sample, "sw2", port, found, COUNT_OF(found));

	assert(count <= COUNT_OF(found));
	for (size_t i = 0; i < count; i++) {
		const struct circuit_rule_text text = {.family = found[i].family->name,
						       .switch_name =
							       found[i].names_switch ? "" : "sw2",
						       .port_offset = found[i].port_offset};
		struct circuit_place place;
		struct circuit_rule rule;
		const char *why;

		assert(circuit_rule_compile(&text, &rule, &why) == 0);
		assert(circuit_rule_apply(&rule, sample, &place));
		assert(strcmp(place.switch_name, "sw2") == 0);
		assert(strcmp(place.port, port) == 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct circuit_sample sample;
	size_t cut;
	char *text;

	if (size < 2)
		return 0;
	cut = data[0] < size - 1 ? data[0] : size - 1;
	text = fuzz_text(data + 1, cut);
	sample = (struct circuit_sample){.circuit = data + 1 + cut,
					 .circuit_size = size - 1 - cut,
					 .remote = data + 1,
					 .remote_size = cut};
	if (text) {
		any_template(text, &sample);
		proposals(&sample, text);
	}
	own_template(&sample);
	free(text);
	return 0;
}
