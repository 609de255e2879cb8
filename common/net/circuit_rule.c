#include "common/net/circuit_rule.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"

#define NO_PORT       "-"
#define SWITCH_BY_MAC "{mac}"
#define OFFSET_MAX    64 /* of a proposal: base 0, 1, 3, or the ports of a stack's units before */

static const char *circuit_rule_either(const char *own, const char *family)
{
	return own && *own ? own : family;
}

static int copy_format(const char *format, char ret[CIRCUIT_TEXT_SIZE], const char **ret_why)
{
	*ret_why = "switch and port are texts with fields: sw2, {switch}, {slot}/{port}";
	if (*format == '\0' || !circuit_format_valid(format))
		return E_MALFORMED;
	return text_copy(ret, CIRCUIT_TEXT_SIZE, format) ? 0 : E_LIMIT;
}

int circuit_rule_compile(const struct circuit_rule_text *text, struct circuit_rule *ret,
			 const char **ret_why)
{
	static const struct circuit_family none = {.circuit = "", .remote = ""};
	const struct circuit_family *family =
		text->family && *text->family ? circuit_family_find(text->family) : &none;
	const char *remote;
	const char *port;
	struct circuit_rule rule = {0};
	int rc;

	if (!family) {
		*ret_why = "there is no such family";
		return E_NOT_FOUND;
	}
	if (!*circuit_rule_either(text->circuit, family->circuit)) {
		*ret_why = "a family or a template of the circuit-id is needed";
		return E_MALFORMED;
	}
	remote = circuit_rule_either(text->remote, family->remote);
	port = circuit_rule_either(text->port, family->port ? family->port : "");
	rule.any_remote = *remote == '\0';
	rule.no_port = strcmp(port, NO_PORT) == 0;
	rule.port_offset = family->port_offset + text->port_offset;
	rc = circuit_template_parse(circuit_rule_either(text->circuit, family->circuit),
				    &rule.circuit, ret_why);
	if (rc == 0)
		rc = circuit_template_parse(remote, &rule.remote, ret_why);
	if (rc == 0)
		rc = copy_format(
			circuit_rule_either(text->switch_name,
					    family->switch_name ? family->switch_name : ""),
			rule.switch_name, ret_why);
	if (rc == 0)
		rc = copy_format(port, rule.port, ret_why);
	if (rc)
		return rc;
	*ret = rule;
	return 0;
}

bool circuit_rule_apply(const struct circuit_rule *rule, const struct circuit_sample *sample,
			struct circuit_place *ret)
{
	struct circuit_fields fields = {0};
	struct circuit_place place = {0};

	if (!rule->any_remote &&
	    !circuit_match(&rule->remote, sample->remote, sample->remote_size, &fields))
		return false;
	if (!circuit_match(&rule->circuit, sample->circuit, sample->circuit_size, &fields) ||
	    circuit_format(rule->switch_name, &fields, 0, place.switch_name,
			   sizeof(place.switch_name)))
		return false;
	if (!rule->no_port &&
	    circuit_format(rule->port, &fields, rule->port_offset, place.port, sizeof(place.port)))
		return false;
	*ret = place;
	return true;
}

bool circuit_port_number(const char *pattern, const char *port, uint32_t *ret)
{
	struct circuit_template template;
	struct circuit_fields fields = {0};
	const char *why;

	if (circuit_template_parse(pattern, &template, &why) ||
	    !circuit_match(&template, port, strlen(port), &fields) || !fields.seen[CIRCUIT_PORT])
		return false;
	*ret = fields.numbers[CIRCUIT_PORT];
	return true;
}

/* --- proposals --- */

int circuit_template_of(const void *bytes, size_t size, struct text *ret)
{
	const uint8_t *at = bytes;

	if (size > CIRCUIT_ELEMENTS_MAX)
		return E_LIMIT;
	for (size_t i = 0; i < size; i++) {
		bool plain = at[i] > ' ' && at[i] < 0x7f && at[i] != '\\' && at[i] != '{' &&
			     at[i] != '}' && at[i] != '"';

		if (plain)
			text_add_bytes(ret, &at[i], 1);
		else
			text_addf(ret, "\\x%02x", at[i]);
	}
	return ret->failed ? -ENOMEM : 0;
}

/* The offset that turns what a family reads into `port`; false when none does. */
static bool offset_to(const char *read, const char *port, int32_t *ret)
{
	const char *read_tail = strrchr(read, '/');
	const char *port_tail = strrchr(port, '/');
	size_t head = read_tail ? (size_t)(read_tail + 1 - read) : 0;
	char *end;
	long from;
	long to;

	if (strcmp(read, port) == 0) {
		*ret = 0;
		return true;
	}
	/* "0/16" may be meant as "0/14": the same before the last number. */
	if ((port_tail ? (size_t)(port_tail + 1 - port) : 0) != head ||
	    strncmp(read, port, head) != 0)
		return false;
	from = strtol(read + head, &end, 10);
	if (end == read + head || *end)
		return false;
	to = strtol(port + head, &end, 10);
	if (end == port + head || *end || from < 0 || to < 0 || to - from > OFFSET_MAX ||
	    from - to > OFFSET_MAX)
		return false;
	*ret = (int32_t)(to - from);
	return true;
}

/* Smaller is likelier: an exact port and a switch that the sample names speak for a family. */
static unsigned circuit_rule_doubt(const struct circuit_proposal *proposal)
{
	return (proposal->port_offset ? 2U : 0U) + (proposal->names_switch ? 0U : 1U);
}

static bool circuit_rule_propose(const struct circuit_family *family,
				 const struct circuit_sample *sample, const char *switch_name,
				 const char *port, struct circuit_proposal *ret)
{
	const struct circuit_rule_text text = {
		.family = family->name, .switch_name = *family->switch_name ? "" : switch_name};
	struct circuit_proposal proposal = {.family = family};
	struct circuit_place place;
	struct circuit_rule rule;
	const char *why;

	if (circuit_rule_compile(&text, &rule, &why) || !circuit_rule_apply(&rule, sample, &place))
		return false;
	if (!offset_to(place.port, port, &proposal.port_offset))
		return false;
	proposal.names_switch = *family->switch_name && strcmp(place.switch_name, switch_name) == 0;
	/* A name that the switch gives itself in the circuit is not ours to replace: the rule would
	 * take every other switch for this one. A MAC in the remote-id can be pinned. */
	if (*family->switch_name && !proposal.names_switch &&
	    strcmp(family->switch_name, SWITCH_BY_MAC) != 0)
		return false;
	/* An offset does nothing for a port that is known by its name. */
	rule.port_offset += proposal.port_offset;
	if (!circuit_rule_apply(&rule, sample, &place) || strcmp(place.port, port) != 0)
		return false;
	*ret = proposal;
	return true;
}

size_t circuit_propose(const struct circuit_sample *sample, const char *switch_name,
		       const char *port, struct circuit_proposal ret[], size_t room)
{
	size_t count = 0;

	for (size_t i = 0; i < circuit_family_count; i++) {
		struct circuit_proposal proposal;
		size_t at = count;

		if (!circuit_rule_propose(&circuit_families[i], sample, switch_name, port,
					  &proposal))
			continue;
		while (at > 0 && circuit_rule_doubt(&ret[at - 1]) > circuit_rule_doubt(&proposal))
			at--;
		if (at == room)
			continue;
		if (count < room)
			count++;
		memmove(&ret[at + 1], &ret[at], (count - at - 1) * sizeof(ret[0]));
		ret[at] = proposal;
	}
	return count;
}

int circuit_place_set(struct circuit_place *ret, const char *switch_name, const char *port)
{
	return text_copy(ret->switch_name, sizeof(ret->switch_name), switch_name) &&
			       text_copy(ret->port, sizeof(ret->port), port)
		       ? 0
		       : E_MALFORMED;
}
