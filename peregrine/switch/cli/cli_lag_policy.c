#include "peregrine/switch/cli/cli_lag_policy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "peregrine/switch/cli/cli_port.h"

LEAKS_LEFT_TO_SANITIZER

struct cli_lag_policy_maker {
	const struct cli_lag *row;
	const struct cli_config *config;
	const struct switch_lag *lag;
	unsigned number;
	const struct cli_port *there; /* the aggregate; NULL: it is not configured */
	bool begun;
	struct cli_plan *plan;
	struct problem *problem;
};

/* The number of an aggregate of that name; 0: it is no name of one. */
static unsigned cli_lag_policy_number_of(const struct cli_lag *row, const char *name)
{
	char ours[64];

	for (unsigned number = 1; cli_lag_name(row, number, ours); number++) {
		if (cli_port_same(row->dialect, ours, name))
			return number;
	}
	return 0;
}

bool cli_lag_name(const struct cli_lag *row, unsigned number, char ret[64])
{
	(void)text_format(ret, 64, "%s%u", row->name, number);
	return number > 0 && number <= row->last;
}

static struct cli_lag_policy_maker
maker_of(const struct cli_lag *row, const struct cli_config *config, const struct switch_lag *lag)
{
	struct cli_lag_policy_maker maker = {.row = row, .config = config, .lag = lag};
	const struct cli_port *there = cli_config_port(config, lag->name);

	maker.number = cli_lag_policy_number_of(row, lag->name);
	maker.there = there && there->configured ? there : NULL;
	return maker;
}

static int cli_lag_policy_refuse(struct cli_lag_policy_maker *maker, const char *message,
				 const char *port)
{
	(void)problem_set(maker->problem, E_CONFLICT, "%s", message);
	problem_detail(maker->problem, "%s", port);
	return E_CONFLICT;
}

static bool cli_lag_policy_is_access(const struct cli_config *config, const struct cli_port *port,
				     uint16_t vlan)
{
	struct port_vlans vlans;

	return port && cli_port_vlans(config, port, &vlans) && !vlans.trunk && vlans.native == vlan;
}

static bool cli_lag_policy_is_member(const struct cli_lag_policy_maker *maker, const char *name)
{
	const struct cli_port *port = cli_config_port(maker->config, name);

	return port && port->lag == maker->number;
}

/* A port that is in it and is none of those that are said; NULL. */
static const char *cli_lag_policy_stranger(const struct cli_lag_policy_maker *maker)
{
	for (size_t i = 0; i < maker->config->port_count; i++) {
		const struct cli_port *port = &maker->config->ports[i];
		bool said = port->lag != maker->number;

		for (size_t k = 0; k < maker->lag->member_count && !said; k++)
			said = cli_port_same(maker->config->dialect, port->name,
					     maker->lag->members[k]);
		if (!said)
			return port->name;
	}
	return NULL;
}

static bool has_all(const struct cli_lag_policy_maker *maker)
{
	for (size_t i = 0; i < maker->lag->member_count; i++) {
		if (!cli_lag_policy_is_member(maker, maker->lag->members[i]))
			return false;
	}
	return true;
}

/* --- lines --- */

static void cli_lag_policy_add_word(const struct cli_lag_policy_maker *maker, const char *word,
				    size_t member, struct text *ret)
{
	const struct switch_lag *lag = maker->lag;

	if (strncmp(word, "{number}", 8) == 0)
		text_addf(ret, "%u", maker->number);
	else if (strncmp(word, "{vlan}", 6) == 0)
		text_addf(ret, "%u", lag->vlan);
	else if (strncmp(word, "{from}", 6) == 0)
		text_addf(ret, "%u", lag->member_vlans[member]);
	else if (strncmp(word, "{port}", 6) == 0)
		text_add(ret, lag->members[member]);
}

static int cli_lag_policy_add_line(struct cli_lag_policy_maker *maker, const char *text,
				   size_t length, size_t member)
{
	CLEANUP(text_done) struct text line = {0};
	bool optional = *text == '?';
	const char *end = text + length;

	text += optional;
	while (text < end) {
		size_t plain = strcspn(text, "{");

		plain = plain < (size_t)(end - text) ? plain : (size_t)(end - text);
		text_add_bytes(&line, text, plain);
		text += plain;
		if (text == end)
			break;
		cli_lag_policy_add_word(maker, text, member, &line);
		text += strcspn(text, "}") + 1;
	}
	if (line.failed)
		return -ENOMEM;
	return cli_plan_add(maker->plan, text_get(&line), true, optional);
}

static int cli_lag_policy_add(struct cli_lag_policy_maker *maker, const char *text, size_t member)
{
	int rc = 0;

	while (*text && !rc) {
		size_t length = strcspn(text, "\n");

		rc = cli_lag_policy_add_line(maker, text, length, member);
		text += length + (text[length] == '\n');
	}
	return rc;
}

/* --- both ways --- */

static int check_member(struct cli_lag_policy_maker *maker, size_t i)
{
	const struct cli_config *config = maker->config;
	const char *name = maker->lag->members[i];
	const struct cli_port *port = cli_config_port(config, name);

	if (port && port->lag && port->lag != maker->number)
		return cli_lag_policy_refuse(maker, "a port of the aggregate is in another one",
					     name);
	/* What was begun is on its way. */
	if (!maker->begun && !cli_lag_policy_is_access(config, port, maker->lag->member_vlans[i]))
		return cli_lag_policy_refuse(
			maker, "a port of the aggregate is not off every network", name);
	return 0;
}

/* Without a member, in a VLAN where nobody else's ports are: what a call of ours left that could
 * not end it. */
static bool cli_lag_policy_is_left_over(const struct cli_lag_policy_maker *maker)
{
	for (size_t i = 0; i < maker->config->port_count; i++) {
		if (maker->config->ports[i].lag == maker->number)
			return false;
	}
	return cli_lag_policy_is_access(maker->config, maker->there, maker->lag->vlan);
}

static int cli_lag_policy_make_it(struct cli_lag_policy_maker *maker)
{
	const struct switch_lag *lag = maker->lag;
	int rc = 0;

	if (maker->there && has_all(maker) && !cli_lag_policy_stranger(maker))
		return cli_lag_policy_is_access(maker->config, maker->there, lag->vlan) ||
				       !maker->begun
			       ? 0
			       : cli_lag_policy_add(maker, maker->row->open, 0);
	if ((maker->there && !maker->begun && !cli_lag_policy_is_left_over(maker)) ||
	    cli_lag_policy_stranger(maker))
		return cli_lag_policy_refuse(maker, "there is another aggregate of that name",
					     lag->name);
	if (!vlan_set_has(&maker->config->vlans, lag->vlan))
		return cli_lag_policy_refuse(
			maker, "the VLAN of the aggregate is not on the switch", lag->name);
	for (size_t i = 0; i < lag->member_count && rc == 0; i++)
		rc = check_member(maker, i);
	if (rc == 0)
		rc = cli_lag_policy_add(maker, maker->row->open, 0);
	for (size_t i = 0; i < lag->member_count && rc == 0; i++) {
		if (!cli_lag_policy_is_member(maker, lag->members[i]))
			rc = cli_lag_policy_add(maker, maker->row->join, i);
	}
	return rc;
}

static int cli_lag_policy_unmake(struct cli_lag_policy_maker *maker)
{
	const struct switch_lag *lag = maker->lag;
	const char *other = cli_lag_policy_stranger(maker);
	int rc = 0;

	if (other)
		return cli_lag_policy_refuse(maker, "the aggregate has other members", other);
	if (!maker->begun && !maker->there)
		return 0;
	if (!maker->begun && !has_all(maker))
		return cli_lag_policy_refuse(maker, "the aggregate has other members", lag->name);
	if (!maker->begun && !cli_lag_policy_is_access(maker->config, maker->there, lag->vlan))
		return cli_lag_policy_refuse(maker, "the aggregate is not off every network",
					     lag->name);
	for (size_t i = 0; i < lag->member_count && rc == 0; i++) {
		const struct cli_port *port = cli_config_port(maker->config, lag->members[i]);

		/* One that was not yet touched is where it was. */
		if (cli_lag_policy_is_member(maker, lag->members[i]) ||
		    (!cli_lag_policy_is_access(maker->config, port, lag->vlan) &&
		     !cli_lag_policy_is_access(maker->config, port, lag->member_vlans[i])))
			rc = cli_lag_policy_add(maker, maker->row->leave, i);
	}
	return rc || !maker->there ? rc : cli_lag_policy_add(maker, maker->row->close, 0);
}

int cli_lag_plan(const struct cli_lag *row, const struct cli_config *config,
		 const struct switch_lag *lag, bool begun, struct cli_plan *ret,
		 struct problem *problem)
{
	struct cli_lag_policy_maker maker = maker_of(row, config, lag);
	int rc;

	maker.begun = begun;
	maker.plan = ret;
	maker.problem = problem;
	if (!maker.number)
		return problem_set(problem, E_INVALID, "no aggregate of this family is called %s",
				   lag->name);
	for (size_t i = 0; i < lag->member_count; i++) {
		if (!cli_port_name_ok(lag->members[i]))
			return problem_set(problem, E_INVALID, "no port is called \"%s\"",
					   lag->members[i]);
	}
	rc = lag->make ? cli_lag_policy_make_it(&maker) : cli_lag_policy_unmake(&maker);
	if (rc && !problem_is_set(problem))
		(void)problem_set(problem, rc, "the lines for aggregate %s cannot be made",
				  lag->name);
	return rc;
}

bool cli_lag_holds(const struct cli_lag *row, const struct cli_config *config,
		   const struct switch_lag *lag)
{
	struct cli_lag_policy_maker maker = maker_of(row, config, lag);

	if (lag->make)
		return maker.there && has_all(&maker) && !cli_lag_policy_stranger(&maker) &&
		       cli_lag_policy_is_access(config, maker.there, lag->vlan);
	if (maker.there || cli_lag_policy_stranger(&maker))
		return false;
	for (size_t i = 0; i < lag->member_count; i++) {
		if (cli_lag_policy_is_member(&maker, lag->members[i]) ||
		    !cli_lag_policy_is_access(config, cli_config_port(config, lag->members[i]),
					      lag->vlan))
			return false;
	}
	return true;
}
