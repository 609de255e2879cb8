/* Which driver does which operation at a switch. */
#include <errno.h>
#include <string.h>

#include "common/base/error.h"

#include "peregrine/switch/cli/cli_dialect.h"
#include "peregrine/switch/snmp/snmp_dialect.h"
#include "peregrine/switch/switch_queue_private.h"

static bool lacks_ssh(const struct line *line, const char *driver)
{
	return !line->endpoint.ssh_user[0] &&
	       (strcmp(driver, "cli") == 0 || strcmp(driver, "netconf") == 0);
}

static bool has_snmp(const struct line *line)
{
	return line->endpoint.snmp_user[0] || line->endpoint.snmp_community[0];
}

/* A family that is read over SSH is read by SNMP as long as there is no SSH user. */
static const char *reader_of(const struct line *line)
{
	const char *driver = line->family->read_driver;

	return lacks_ssh(line, driver) && has_snmp(line) ? "snmp" : driver;
}

const char *line_driver_name(const struct line *line, enum way_kind kind)
{
	const char *const names[WAY_COUNT] = {
		[WAY_READ] = reader_of(line),
		[WAY_WRITE] = line->family->write_driver,
		[WAY_HEALTH] = "snmp",
		[WAY_CLI] = "cli",
	};

	return names[kind];
}

const struct switch_driver *line_driver(const struct line *line, enum way_kind kind)
{
	return line->queue->options.catalog.find_driver(line_driver_name(line, kind));
}

static bool is_same_driver(const struct line *line, enum way_kind a, enum way_kind b)
{
	return line_driver(line, a) == line_driver(line, b);
}

/* A command line that is known, and that we have credentials for. */
static bool may_use_cli(const struct line *line)
{
	return line->family->cli && line->endpoint.ssh_user[0];
}

/* --- conditions of the rows --- */

static bool reads_by_snmp(const struct line *line)
{
	return is_same_driver(line, WAY_READ, WAY_HEALTH);
}

/* Where the command line can set sampling up, the agent that is only read cannot (Dell OS9). */
static bool samples_by_writer(const struct line *line)
{
	return line->family->cli && line->family->cli->sampling &&
	       is_same_driver(line, WAY_WRITE, WAY_CLI);
}

static bool mirrors_by_cli(const struct line *line)
{
	const struct switch_driver *writer = line_driver(line, WAY_WRITE);

	return writer && !writer->mirrors && may_use_cli(line);
}

static bool bonds_by_cli(const struct line *line)
{
	const struct switch_driver *writer = line_driver(line, WAY_WRITE);

	return writer && !writer->lag_name && may_use_cli(line);
}

static bool tells_apart(const struct line *line)
{
	return may_use_cli(line) && line->family->apart == FAMILY_APART_SHOWN;
}

/* The first row of an operation that holds; an operation without one goes by the writer. */
static const struct {
	enum switch_op op;
	enum way_kind way;
	bool (*holds)(const struct line *line); /* NULL: always */
} switch_routes[] = {
	{SWITCH_READ, WAY_READ, NULL},       {SWITCH_HEALTH, WAY_READ, reads_by_snmp},
	{SWITCH_HEALTH, WAY_HEALTH, NULL},   {SWITCH_SAMPLING, WAY_WRITE, samples_by_writer},
	{SWITCH_SAMPLING, WAY_READ, NULL},   {SWITCH_MIRROR, WAY_CLI, mirrors_by_cli},
	{SWITCH_LAG, WAY_CLI, bonds_by_cli}, {SWITCH_APART, WAY_CLI, tells_apart},
};

enum way_kind line_way(const struct line *line, enum switch_op op)
{
	enum way_kind way = WAY_WRITE;

	for (size_t i = COUNT_OF(switch_routes); i-- > 0;) {
		if (switch_routes[i].op == op &&
		    (!switch_routes[i].holds || switch_routes[i].holds(line)))
			way = switch_routes[i].way;
	}
	/* One driver that reads and writes needs one session. */
	return way == WAY_WRITE && is_same_driver(line, WAY_READ, WAY_WRITE) ? WAY_READ : way;
}

/* --- what a switch lacks --- */

/* Its family is the last resort, and nobody said so. */
static bool is_unknown(const struct line *line)
{
	return line->heard && !line->endpoint.family[0] &&
	       line->family == line->queue->options.catalog.detect_family("", "");
}

static bool lacks_writer_ssh(const struct line *line)
{
	return lacks_ssh(line, line->family->write_driver);
}

static bool is_read_alone(const struct line *line)
{
	return line->family->snmp && line->family->snmp->writer == SNMP_WRITER_NONE &&
	       strcmp(line->family->write_driver, "snmp") == 0;
}

/* Who is on the way could set it, too. */
static bool is_set_in_clear(const struct line *line)
{
	const struct switch_endpoint *endpoint = &line->endpoint;
	bool sealed = endpoint->snmp_user[0] && endpoint->snmp_auth != SNMP_AUTH_NONE &&
		      endpoint->snmp_priv != SNMP_PRIV_NONE;

	return strcmp(line->family->write_driver, "snmp") == 0 && !sealed &&
	       !endpoint->snmp_insecure;
}

static const struct {
	bool (*holds)(const struct line *line);
	const char *message;
	const char *option, *hint; /* behind `haasctl switch add NAME`: in short, and all of it */
} switch_lacks[] = {
	{is_unknown, "is of no family that we know: it is read, and never set", "--family FAMILY",
	 "--family FAMILY says how it is set (generic: by Q-BRIDGE-MIB), "
	 "--managed no that it stays so"},
	{lacks_writer_ssh, "has no SSH user: it is read by SNMP, and not set", "--ssh-user USER",
	 "--ssh-user USER --host-key SHA256:... --secrets FILE, with "
	 "ssh_password=... in FILE"},
	{is_read_alone, "is of a family that is read, and not set", "--family openconfig",
	 "--family openconfig --ssh-user USER ... sets it by NETCONF, "
	 "--managed no says that it stays so"},
	{is_set_in_clear, "has SNMP without encryption: it is read, and not set",
	 "--snmp-user USER --snmp-auth sha256 --snmp-priv aes",
	 "--snmp-user USER --snmp-auth sha256 --snmp-priv aes --secrets FILE; "
	 "--snmp-insecure yes where it has nothing better"},
};

bool line_lacks(const struct line *line, struct problem *ret)
{
	for (size_t i = 0; i < COUNT_OF(switch_lacks); i++) {
		if (!switch_lacks[i].holds(line))
			continue;
		(void)problem_set(ret, E_DENIED, "switch %s %s (haasctl switch add %s %s)",
				  line->endpoint.name, switch_lacks[i].message, line->endpoint.name,
				  switch_lacks[i].option);
		problem_detail(ret, "family %s", line->family->name);
		problem_hint(ret, "haasctl switch add %s %s", line->endpoint.name,
			     switch_lacks[i].hint);
		return true;
	}
	return false;
}

/* Sampling, LEDs and what else goes by SNMP in the clear. */
static bool sends_sets(const struct line *line, const struct switch_request *request)
{
	return is_set_in_clear(line) &&
	       (request->op != SWITCH_SAMPLING || request->sampling.change) &&
	       strcmp(line_driver_name(line, line_way(line, request->op)), "snmp") == 0;
}

int line_refuses(const struct line *line, const struct switch_request *request,
		 struct problem *problem)
{
	enum switch_op op = request->op;
	bool sets = op == SWITCH_CHANGE || op == SWITCH_SAVE;

	if (op == SWITCH_READ || op == SWITCH_HEALTH)
		return 0;
	if (op == SWITCH_APART && !tells_apart(line))
		return problem_set(problem, E_UNSUPPORTED,
				   "switch %s does not show which ports it keeps apart",
				   line->endpoint.name);
	if (!line->heard) {
		(void)problem_set(problem, E_UNAVAILABLE, "switch %s: its family is not known yet",
				  line->endpoint.name);
		problem_hint(problem, "it is set after it was read");
		return E_UNAVAILABLE;
	}
	/* The others have ways of their own, and say themselves what those lack. */
	return (sets || is_unknown(line) || sends_sets(line, request)) && line_lacks(line, problem)
		       ? E_DENIED
		       : 0;
}

/* --- what the driver of a way cannot do --- */

/* Some drivers make aggregates of all families, some of a few. The command line says itself why
 * not. */
static bool can_bond(const struct line *line, const struct switch_driver *driver)
{
	char name[64];

	return driver->lag_name &&
	       (driver == line_driver(line, WAY_CLI) || driver->lag_name(line->family, 1, name));
}

/* SNMP and NETCONF have no mirror sessions that more than one family would understand. */
int line_way_check(const struct line *line, enum way_kind kind, enum switch_op op,
		   struct problem *problem)
{
	const struct switch_driver *driver = line->ways[kind].driver;
	bool lag = op == SWITCH_LAG;

	if ((!lag && (op != SWITCH_MIRROR || driver->mirrors)) || (lag && can_bond(line, driver)))
		return 0;
	(void)problem_set(problem, E_UNSUPPORTED, "switch %s: no %s by %s", line->endpoint.name,
			  lag ? "aggregate can be made" : "mirror session can be set",
			  driver->name);
	problem_detail(problem, "family %s", line->family->name);
	problem_hint(problem, "%s",
		     line->family->cli
			     ? "its command line can: haasctl switch add gives it SSH credentials"
		     : lag ? "the operator makes it: docs/switches.md, Bonds of nodes"
			   : "docs/switches.md lists the families that can, and their drivers");
	return E_UNSUPPORTED;
}
