#include "peregrine/switch/cli/cli_config_wire.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "peregrine/switch/cli/cli_port.h"

LEAKS_LEFT_TO_SANITIZER

int cli_config_new(const struct cli_dialect *dialect, struct cli_config **ret)
{
	struct cli_config *config = calloc(1, sizeof(*config));

	if (!config)
		return -ENOMEM;
	config->dialect = dialect;
	*ret = config;
	return 0;
}

void cli_config_free(struct cli_config *config)
{
	if (!config)
		return;
	free(config->ports);
	free(config->filters);
	free(config);
}

/* --- lists of VLANs --- */

/* "10", "20-30": one number and perhaps another, ended by anything else. */
static const char *parse_range(const char *at, struct vlan_set *set)
{
	char *end;
	unsigned long low = strtoul(at, &end, 10);
	unsigned long high = low;
	const char *dash;

	if (end == at || low < VLAN_FIRST || low > VLAN_LAST)
		return NULL;
	dash = end + strspn(end, " ");
	if (*dash == '-' || strncasecmp(dash, "to ", 3) == 0) {
		dash += *dash == '-' ? 1 : 3;
		dash += strspn(dash, " ");
		high = strtoul(dash, &end, 10);
		if (end == dash || high < low || high > VLAN_LAST)
			return NULL;
	}
	vlan_set_add_range(set, (unsigned)low, (unsigned)high);
	return end;
}

int cli_list_parse(const char *text, struct vlan_set *ret)
{
	struct vlan_set set = {{0}};

	text += strspn(text, " \t");
	if (strncasecmp(text, "none", 4) == 0)
		text += 4;
	else if (strncasecmp(text, "all", 3) == 0) {
		vlan_set_add_range(&set, VLAN_FIRST, VLAN_LAST);
		text += 3;
	}
	text += strspn(text, " ,\t");
	while (*text) {
		if (!isdigit((unsigned char)*text))
			return E_MALFORMED;
		text = parse_range(text, &set);
		if (!text)
			return E_MALFORMED;
		text += strspn(text, " ,\t");
	}
	*ret = set;
	return 0;
}

/* --- one line against one rule --- */

struct cli_config_wire_match {
	unsigned number;
	char rest[2048]; /* %l %p %t, and %q */
	char word[64];   /* %s */
};

static const char *skip_word(const char *line)
{
	return line + strcspn(line, " \t");
}

static const char *skip_space(const char *line)
{
	return line + strspn(line, " \t");
}

static bool take_rest(const char *line, struct cli_config_wire_match *match)
{
	size_t length;

	if (!text_copy(match->rest, sizeof(match->rest), line))
		return false;
	length = strlen(match->rest);
	while (length && strchr(" \t\r", match->rest[length - 1]))
		match->rest[--length] = '\0';
	return length > 0;
}

/* A name may stand in quotes. */
static bool cli_config_wire_unquote(char *ret, size_t room, const char *text)
{
	size_t length = strlen(text);

	if (length >= 2 && (*text == '"' || *text == '\'') && text[length - 1] == *text)
		return text_format(ret, room, "%.*s", (int)length - 2, text + 1);
	return text_copy(ret, room, text);
}

/* %n %v %w %q %s: what one word of the line must be. */
static bool cli_config_wire_take_word(char kind, const char *line,
				      struct cli_config_wire_match *match)
{
	size_t length = (size_t)(skip_word(line) - line);
	unsigned long number;
	char *end;

	if (!length)
		return false;
	if (kind == 'v' && (length < 5 || strncasecmp(line, "vlan", 4) != 0))
		return false;
	if (kind == 'n' || kind == 'v') {
		line += kind == 'v' ? 4 : 0;
		length -= kind == 'v' ? 4 : 0;
		number = strtoul(line, &end, 10);
		match->number = number < UINT_MAX ? (unsigned)number : UINT_MAX; /* no VLAN */
		return end == line + length && isdigit((unsigned char)*line);
	}
	if (kind == 'q')
		return text_format(match->rest, sizeof(match->rest), "%.*s", (int)length, line);
	if (kind == 's') {
		char word[sizeof(match->word)];

		return text_format(word, sizeof(word), "%.*s", (int)length, line) &&
		       cli_config_wire_unquote(match->word, sizeof(match->word), word);
	}
	return true;
}

static bool rule_matches(const char *rule, const char *line, struct cli_config_wire_match *match)
{
	for (;;) {
		size_t length = (size_t)(skip_word(rule) - rule);

		line = skip_space(line);
		if (length == 0)
			return *line == '\0';
		if (length == 2 && rule[0] == '%' && rule[1] == '*')
			return true;
		if (length == 2 && rule[0] == '%' && strchr("lpt", rule[1]))
			return take_rest(line, match);
		if (length == 2 && rule[0] == '%' && strchr("nwqsv", rule[1])) {
			if (!cli_config_wire_take_word(rule[1], line, match))
				return false;
		} else if (strncasecmp(rule, line, length) != 0 ||
			   skip_word(line) != line + length) {
			return false;
		}
		line = skip_word(line);
		rule = skip_space(rule + length);
	}
}

/* --- what a line says --- */

struct cli_config_wire_reader {
	struct cli_config *config;
	enum cli_section section;
	size_t port;        /* SECTION_PORT: index; ports move when they grow */
	uint16_t vlan;      /* SECTION_VLAN */
	uint16_t group;     /* of the list of ports under way that are apart */
	enum cli_fact fact; /* of the list of ports under way */
	int rc;
};

static void cli_config_wire_odd(struct cli_config_wire_reader *reader, const char *line)
{
	if (!reader->config->odd++)
		text_copy(reader->config->odd_text, sizeof(reader->config->odd_text), line);
}

static bool port_get(struct cli_config_wire_reader *reader, const char *name, size_t *ret)
{
	struct cli_config *config = reader->config;
	char ours[64];

	cli_port_name(config->dialect, name, ours, sizeof(ours));
	for (size_t i = 0; i < config->port_count; i++) {
		if (strcasecmp(config->ports[i].name, ours) == 0) {
			*ret = i;
			return true;
		}
	}
	if (config->port_count >= CLI_PORT_LIMIT) {
		reader->rc = E_LIMIT;
		return false;
	}
	if (config->port_count == config->port_room) {
		size_t room = config->port_room ? config->port_room * 2 : 32;
		struct cli_port *ports = realloc(config->ports, room * sizeof(*ports));

		if (!ports) {
			reader->rc = -ENOMEM;
			return false;
		}
		config->ports = ports;
		config->port_room = room;
	}
	*ret = config->port_count++;
	config->ports[*ret] = (struct cli_port){
		.mode = config->dialect->default_mode,
		.routed = config->dialect->routed_unless_said,
	};
	text_copy(config->ports[*ret].name, sizeof(config->ports[*ret].name), ours);
	return true;
}

static void on_member(void *context, const char *name)
{
	struct cli_config_wire_reader *reader = context;
	struct cli_port *port;
	size_t at;

	if (!port_get(reader, name, &at))
		return;
	port = &reader->config->ports[at];
	port->configured = true;
	port->routed = false;
	vlan_set_remove(&port->tagged, reader->vlan);
	vlan_set_remove(&port->untagged, reader->vlan);
	if (reader->fact == FACT_PORTS_TAGGED || reader->fact == FACT_ROW_TAGGED)
		vlan_set_add(&port->tagged, reader->vlan);
	else if (reader->fact != FACT_PORTS_DROP)
		vlan_set_add(&port->untagged, reader->vlan);
}

static void cli_config_wire_members(struct cli_config_wire_reader *reader, enum cli_fact fact,
				    const char *ports)
{
	reader->fact = fact;
	if (!reader->vlan || !cli_port_list_each(reader->config->dialect, ports, on_member, reader))
		cli_config_wire_odd(reader, ports);
}

/* --- what keeps ports apart --- */

/* The group as cli_port.apart counts it: Dell counts from 0. */
static uint16_t apart_group(unsigned number)
{
	return (uint16_t)(number < UINT16_MAX ? number + 1 : UINT16_MAX);
}

static void on_apart(void *context, const char *name)
{
	struct cli_config_wire_reader *reader = context;
	size_t at;

	if (port_get(reader, name, &at))
		reader->config->ports[at].apart = reader->group;
}

/* Aggregates stand behind the ports. The maker's software writes those of the uplinks there
 * (cli_runcfg.c): they are passed over. */
static bool say_apart_ports(struct cli_config_wire_reader *reader,
			    const struct cli_config_wire_match *match)
{
	char list[sizeof(match->rest)];
	char *lags;

	(void)text_copy(list, sizeof(list), match->rest);
	lags = strstr(list, "port-channel");
	if (lags)
		*lags = '\0';
	reader->group = apart_group(match->number);
	return cli_port_list_each(reader->config->dialect, list, on_apart, reader);
}

static bool say_filter(struct cli_config_wire_reader *reader,
		       const struct cli_config_wire_match *match)
{
	struct cli_config *config = reader->config;
	struct cli_filter *filters;
	size_t port;

	if (config->filter_count == CLI_FILTER_LIMIT || !port_get(reader, match->word, &port))
		return false;
	for (size_t i = 0; i < config->filter_count; i++) {
		if (config->filters[i].port == port) /* a port has one */
			return false;
	}
	filters = realloc(config->filters, (config->filter_count + 1) * sizeof(*filters));
	if (!filters) {
		reader->rc = -ENOMEM;
		return false;
	}
	config->filters = filters;
	filters += config->filter_count;
	filters->port = port;
	if (!text_copy(filters->list, sizeof(filters->list), match->rest))
		return false;
	config->filter_count++;
	return true;
}

/* What was not understood may keep ports apart all the same. It is no membership: never odd. */
static void say_apart(struct cli_config_wire_reader *reader, enum cli_fact fact,
		      const struct cli_config_wire_match *match)
{
	struct cli_config *config = reader->config;

	if (fact == FACT_APART_ON)
		config->apart_on = true;
	else if (fact == FACT_APART_VAGUE ||
		 !(fact == FACT_APART_PORTS ? say_apart_ports(reader, match)
					    : say_filter(reader, match)))
		config->apart_vague = true;
}

static bool is_vlan(unsigned number)
{
	return number >= VLAN_FIRST && number <= VLAN_LAST;
}

static void begin_vlan(struct cli_config_wire_reader *reader, const struct vlan_set *set)
{
	reader->section = SECTION_VLAN;
	reader->vlan = (uint16_t)vlan_set_next(set, 1);
	reader->config->vlans = vlan_set_union(&reader->config->vlans, set);
}

/* Facts that stand outside of a section, or begin one. */
static bool say_anywhere(struct cli_config_wire_reader *reader, enum cli_fact fact,
			 const struct cli_config_wire_match *match)
{
	struct vlan_set set = {{0}};

	if (fact == FACT_END) {
		reader->section = SECTION_NONE;
		return true;
	}
	if (fact == FACT_PORT) {
		reader->section = SECTION_NONE;
		if (cli_port_is_known(reader->config->dialect, match->rest) &&
		    port_get(reader, match->rest, &reader->port)) {
			reader->section = SECTION_PORT;
			reader->config->ports[reader->port].configured = true;
		}
		return true;
	}
	if (fact == FACT_VLAN) {
		reader->section = SECTION_NONE;
		if (is_vlan(match->number))
			vlan_set_add(&set, match->number);
		/* Else "vlan internal allocation policy ..." and the like: not ours. */
		else if (cli_list_parse(match->rest, &set))
			return true;
		begin_vlan(reader, &set);
		return true;
	}
	if (!is_vlan(match->number))
		return false;
	vlan_set_add(&set, match->number);
	begin_vlan(reader, &set);
	if (fact == FACT_VLAN_NAMED)
		cli_config_wire_unquote(reader->config->names[reader->vlan].name,
					sizeof(reader->config->names[0].name), match->rest);
	else
		cli_config_wire_members(reader, fact, match->rest);
	reader->section = SECTION_NONE;
	return true;
}

static bool say_vlan(struct cli_config_wire_reader *reader, enum cli_fact fact,
		     const struct cli_config_wire_match *match)
{
	if (fact == FACT_VLAN_NAME)
		cli_config_wire_unquote(reader->config->names[reader->vlan].name,
					sizeof(reader->config->names[0].name), match->rest);
	else
		cli_config_wire_members(reader, fact, match->rest);
	return true;
}

static bool say_list(struct cli_port *port, enum cli_fact fact, const char *text)
{
	struct vlan_set set = {{0}};

	if (cli_list_parse(text, &set))
		return false;
	if (fact == FACT_TAGGED) {
		port->tagged = vlan_set_union(&port->tagged, &set);
		port->untagged = vlan_set_minus(&port->untagged, &set);
	} else if (fact == FACT_UNTAGGED) {
		port->untagged = vlan_set_union(&port->untagged, &set);
		port->tagged = vlan_set_minus(&port->tagged, &set);
	} else if (fact == FACT_MEMBERS_DROP) {
		port->untagged = vlan_set_minus(&port->untagged, &set);
		port->tagged = vlan_set_minus(&port->tagged, &set);
	} else if (fact == FACT_ALLOWED) {
		port->allowed = set;
	} else if (fact == FACT_ALLOWED_ADD) {
		port->allowed = vlan_set_union(&port->allowed, &set);
	} else {
		port->allowed = vlan_set_minus(&port->allowed, &set);
	}
	return true;
}

static bool cli_config_wire_say_number(struct cli_port *port, enum cli_fact fact, unsigned number)
{
	if (fact == FACT_LAG) {
		port->lag = number;
		return true;
	}
	if (fact == FACT_APART) {
		port->apart = apart_group(number);
		return true;
	}
	if (!is_vlan(number))
		return false;
	if (fact == FACT_ACCESS)
		port->access = (uint16_t)number;
	else
		port->native = (uint16_t)number;
	return true;
}

static bool cli_config_wire_say_port(struct cli_config_wire_reader *reader, enum cli_fact fact,
				     const struct cli_config_wire_match *match)
{
	const struct cli_dialect *dialect = reader->config->dialect;
	struct cli_port *port = &reader->config->ports[reader->port];

	if ((fact == FACT_ALLOWED_ADD || fact == FACT_ALLOWED_DROP) && !port->allowed_said) {
		if (dialect->trunk_default_all)
			vlan_set_add_range(&port->allowed, VLAN_FIRST, VLAN_LAST);
		else if (!dialect->trunk_default_none)
			vlan_set_add(&port->allowed, 1);
	}
	if (fact >= FACT_ALLOWED && fact <= FACT_ALLOWED_NONE)
		port->allowed_said = true;
	if (fact >= FACT_ACCESS && fact <= FACT_ALLOWED_NONE && dialect->routed_unless_said)
		port->routed = false;
	if (dialect->trunk_by_list && fact >= FACT_NATIVE && fact <= FACT_ALLOWED_NONE)
		port->mode = FACT_MODE_TRUNK;
	switch ((int)fact) {
	case FACT_ALIAS:
		cli_config_wire_unquote(port->alias, sizeof(port->alias), match->rest);
		return true;
	case FACT_SHUT: port->shut = true; return true;
	case FACT_ROUTED: port->routed = true; return true;
	case FACT_BRIDGED: port->routed = false; return true;
	case FACT_MODE_ACCESS:
	case FACT_MODE_TRUNK:
	case FACT_MODE_HYBRID:
	case FACT_MODE_OTHER: port->mode = fact; return true;
	case FACT_NATIVE_NONE: port->native_none = true; return true;
	case FACT_ALLOWED_ALL:
		vlan_set_add_range(&port->allowed, VLAN_FIRST, VLAN_LAST);
		return true;
	case FACT_ALLOWED_NONE: port->allowed = (struct vlan_set){{0}}; return true;
	case FACT_LAG:
	case FACT_APART:
	case FACT_ACCESS:
	case FACT_NATIVE: return cli_config_wire_say_number(port, fact, match->number);
	default: return say_list(port, fact, match->rest);
	}
}

static bool is_anywhere(enum cli_fact fact)
{
	return fact == FACT_END || fact == FACT_PORT || fact == FACT_VLAN ||
	       fact == FACT_VLAN_NAMED || fact == FACT_ROW_TAGGED || fact == FACT_ROW_UNTAGGED;
}

static void cli_config_wire_read_line(struct cli_config_wire_reader *reader, const char *line)
{
	const struct cli_dialect *dialect = reader->config->dialect;

	for (size_t i = 0; i < COUNT_OF(dialect->rules) && dialect->rules[i].line; i++) {
		const struct cli_rule *rule = &dialect->rules[i];
		struct cli_config_wire_match match;
		bool fine;

		match.number = 0; /* of a rule that was tried in vain */
		match.rest[0] = '\0';
		if ((rule->section != SECTION_NONE && rule->section != reader->section) ||
		    !rule_matches(rule->line, line, &match))
			continue;
		if (rule->fact >= FACT_APART_ON) {
			say_apart(reader, rule->fact, &match);
			return;
		}
		if (is_anywhere(rule->fact))
			fine = say_anywhere(reader, rule->fact, &match);
		else if (rule->section == SECTION_VLAN)
			fine = say_vlan(reader, rule->fact, &match);
		else
			fine = reader->config->port_count &&
			       cli_config_wire_say_port(reader, rule->fact, &match);
		if (!fine)
			cli_config_wire_odd(reader, line);
		return;
	}
}

int cli_config_read(struct cli_config *config, const char *text)
{
	struct cli_config_wire_reader reader = {.config = config};

	while (*text && !reader.rc) {
		size_t length = strcspn(text, "\n");
		char line[2048];

		/* A longer one is cut: its list would look shorter than it is. */
		if (text_format(line, sizeof(line), "%.*s", (int)(length < 4096 ? length : 4096),
				text))
			cli_config_wire_read_line(&reader, line);
		else
			cli_config_wire_odd(&reader, line);
		text += length + (text[length] == '\n');
	}
	return reader.rc;
}

/* --- what counts --- */

const struct cli_port *cli_config_port(const struct cli_config *config, const char *name)
{
	char ours[64];

	cli_port_name(config->dialect, name, ours, sizeof(ours));
	for (size_t i = 0; i < config->port_count; i++) {
		if (strcasecmp(config->ports[i].name, ours) == 0)
			return &config->ports[i];
	}
	return NULL;
}

struct vlan_set cli_port_allowed(const struct cli_config *config, const struct cli_port *port)
{
	const struct cli_dialect *dialect = config->dialect;
	struct vlan_set set = {{0}};

	if (port->allowed_said)
		return port->allowed;
	if (dialect->trunk_default_all)
		vlan_set_add_range(&set, VLAN_FIRST, VLAN_LAST);
	else if (!dialect->trunk_default_none)
		vlan_set_add(&set, 1);
	return set;
}

/* A port that carries several VLANs untagged has none of them as the one: the switch sends all of
 * them out without a tag. Seen as a trunk of all, so that nobody takes it for exact. */
static void member_vlans(const struct cli_config *config, const struct cli_port *port,
			 struct port_vlans *ret)
{
	bool exact = vlan_set_count(&port->untagged) <= 1;

	ret->native = (uint16_t)vlan_set_next(&port->untagged, 1);
	ret->tagged = port->tagged;
	if (config->dialect->pvid_apart && ret->native) {
		uint16_t pvid = port->native ? port->native : 1;

		exact &= pvid == ret->native;
		ret->native = pvid;
	}
	if (!exact)
		ret->tagged = vlan_set_union(&ret->tagged, &port->untagged);
	vlan_set_remove(&ret->tagged, ret->native);
	ret->trunk = ret->native == 0 || !vlan_set_is_empty(&ret->tagged);
}

static void trunk_vlans(const struct cli_config *config, const struct cli_port *port,
			struct port_vlans *ret)
{
	const struct cli_dialect *dialect = config->dialect;
	uint16_t native = dialect->access_is_native ? port->access : port->native;

	ret->trunk = true;
	ret->tagged = cli_port_allowed(config, port);
	if (!native)
		native = 1;
	if (port->native_none)
		return;
	if (dialect->native_apart || vlan_set_has(&ret->tagged, native))
		ret->native = native;
	vlan_set_remove(&ret->tagged, native);
}

bool cli_port_vlans(const struct cli_config *config, const struct cli_port *port,
		    struct port_vlans *ret)
{
	struct port_vlans vlans = {0};

	if (port->routed)
		return false;
	if (config->dialect->model == MODEL_MEMBERS || port->mode == FACT_MODE_HYBRID)
		member_vlans(config, port, &vlans);
	else if (port->mode == FACT_MODE_ACCESS)
		vlans.native = port->access ? port->access : 1;
	else
		trunk_vlans(config, port, &vlans);
	*ret = vlans;
	return true;
}
