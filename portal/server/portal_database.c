/* The connections of portald: a set for operators and a set for tenants. Of each set one writes, one follows what goes on, and some
 * read. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/io/log.h"

#include "portal/server/event_stream.h"
#include "portal/server/identity.h"
#include "portal/server/image_sweep.h"
#include "portal/server/listener.h"
#include "portal/server/login_key.h"
#include "portal/server/portal.h"
#include "portal/server/read_pool.h"

#define TENANT_ROLE "portald_tenant"

/* The functions of the database notify these; whoever writes events without them is seen within a
 * second. */
static const char *const portal_channels[] = {"deployment", "inventory", "address", "network",
					      "event",      "account",   NULL};

const struct db *portal_database_away(const struct portal *portal)
{
	const struct db *const all[] = {portal->db, portal->live, portal->tenant_db,
					portal->tenant_live};
	const struct read_pool *const pools[] = {portal->reads, portal->tenant_reads};
	const struct db *away = NULL;

	for (size_t i = 0; i < COUNT_OF(all) && !away; i++)
		away = all[i] && !db_connected(all[i]) ? all[i] : NULL;
	for (size_t i = 0; i < COUNT_OF(pools) && !away; i++)
		away = pools[i] ? read_pool_away(pools[i]) : NULL;
	return away;
}

static void on_database(void *context, bool connected)
{
	struct portal *portal = context;
	const struct db *away = portal_database_away(portal);

	portal->counters.database_connected = !away;
	if (portal->db)
		login_key_db_state(portal->login_key, db_connected(portal->db));
	if (connected) {
		event_stream_wake(portal->stream);
		image_sweep_soon(portal->sweep);
		if (!away) {
			log_info("database", "connected");
			listeners_begin(portal->listeners);
		}
	} else if (away) {
		log_warn("database", "away: %s", db_away(away)->message);
	}
}

static void portal_on_notify(void *context, const char *channel)
{
	struct portal *portal = context;

	if (strcmp(channel, "account") == 0)
		identity_book_forget(portal->identities);
	event_stream_wake(portal->stream);
}

/* A value of a conninfo, quoted (libpq, 34.1.1.1). */
static void conninfo_add(struct text *conninfo, const char *key, const char *value)
{
	text_addf(conninfo, "%s%s='", conninfo->size > 0 ? " " : "", key);
	for (; *value; value++)
		text_addf(conninfo, "%s%c", *value == '\\' || *value == '\'' ? "\\" : "", *value);
	text_add(conninfo, "'");
}

/* `database` with another role: it may be a URI. */
static int tenant_conninfo(const struct portal_conf *conf, struct text *ret)
{
	PQconninfoOption *options = PQconninfoParse(conf->database, NULL);

	if (!options)
		return E_MALFORMED;
	for (const PQconninfoOption *option = options; option->keyword; option++) {
		if (option->val && strcmp(option->keyword, "user") != 0)
			conninfo_add(ret, option->keyword, option->val);
	}
	conninfo_add(ret, "user", TENANT_ROLE);
	PQconninfoFree(options);
	return ret->failed ? -ENOMEM : 0;
}

/* What the connections of a role have in common. */
struct portal_role {
	struct db_options options;
	struct db **write, **live;
	struct read_pool **reads;
	unsigned
		among; /* one has so large a part of the connections while others are about: 1 / among */
};

static int portal_open_role(struct portal *portal, const struct portal_role *role, bool follows)
{
	struct db_options live = role->options;
	struct read_pool_options reads = {
		.db = role->options,
		.connections = (unsigned)portal->conf->read_connections,
		.among = (unsigned)portal->conf->read_connections / role->among,
		.wait_ms = portal->conf->read_limit_s * 1000,
	};
	struct db_options write = role->options;
	int rc;

	write.setup = portal->writes_setup.statements;
	live.setup = reads.db.setup = portal->reads_setup.statements;
	if (follows) {
		write.daemon = "portald"; /* one connection tells of us */
		live.on_notify = portal_on_notify;
		live.channels = portal_channels;
	}
	rc = db_new(portal->loop, &write, role->write);
	if (rc == 0)
		rc = db_new(portal->loop, &live, role->live);
	return rc == 0 ? read_pool_new(portal->loop, &reads, role->reads) : rc;
}

static void portal_limit(struct portal_setup *setup, int64_t seconds)
{
	(void)text_format(setup->limit, sizeof(setup->limit),
			  "set statement_timeout = '%" PRId64 "s'", seconds);
	setup->statements[0] = setup->limit;
}

int portal_database_open(struct portal *portal, struct problem *problem)
{
	CLEANUP(text_done) struct text conninfo = {0};
	struct portal_role site = {
		.options = {.conninfo = portal->conf->database,
			    .application = "portald",
			    .on_state = on_database,
			    .context = portal},
		.write = &portal->db,
		.live = &portal->live,
		.reads = &portal->reads,
		.among = 2,
	};
	struct portal_role tenant = {
		.options = site.options,
		.write = &portal->tenant_db,
		.live = &portal->tenant_live,
		.reads = &portal->tenant_reads,
		.among = 4, /* strangers to one another */
	};
	int rc = 0;

	portal_limit(&portal->reads_setup, portal->conf->read_limit_s);
	portal_limit(&portal->writes_setup, portal->conf->write_limit_s);
	if (portal->conf->tenant_database[0] != '\0')
		text_add(&conninfo, portal->conf->tenant_database);
	else
		rc = tenant_conninfo(portal->conf, &conninfo);
	tenant.options.conninfo = text_get(&conninfo);
	if (rc == 0)
		rc = portal_open_role(portal, &site, true);
	if (rc == 0)
		rc = portal_open_role(portal, &tenant, false);
	return rc == 0 ? 0
		       : problem_set(problem, rc, "no database connection can be made: %s",
				     error_text(rc));
}

static void portal_close_db(struct db **db)
{
	struct db *gone = *db;

	*db = NULL; /* whoever is called back may ask for it */
	db_free(gone);
}

static void portal_close_pool(struct read_pool **pool)
{
	struct read_pool *gone = *pool;

	*pool = NULL;
	read_pool_free(gone);
}

void portal_database_close(struct portal *portal)
{
	portal_close_pool(&portal->reads);
	portal_close_pool(&portal->tenant_reads);
	portal_close_db(&portal->db);
	portal_close_db(&portal->tenant_db);
	portal_close_db(&portal->live);
	portal_close_db(&portal->tenant_live);
}
