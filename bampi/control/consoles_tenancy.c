/* Tenants at consoles. What a node says is its tenant's while it is active and no deployment is due:
 * before that and afterwards the system that runs there is ours, and a key pressed there is a way into
 * the provisioning network. */
#include <inttypes.h>
#include <utlist.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/db/db.h"
#include "common/io/log.h"

#include "bampi/control/consoles_private.h"
#include "bampi/control/consoles_sql.h"

#define TENANCY_MS       2000
#define TENANCY_LAPSE_MS 10000 /* so long the last answer stands: a restart of PostgreSQL */

static bool tenancy_holds(const PGresult *result, const struct viewer *viewer)
{
	for (int row = 0; row < PQntuples(result); row++) {
		if (db_int(result, row, CONSOLES_TENANCY_NODE_ID, 0) == viewer->node_id)
			return db_int(result, row, CONSOLES_TENANCY_TENANT_ID, 0) ==
			       viewer->reader.tenant;
	}
	return false;
}

static bool tenancy_was_asked(const struct viewer *viewer)
{
	return viewer->reader.tenant != 0 && viewer->asked;
}

static void tenancy_end(struct viewer *viewer)
{
	struct problem problem = {0};

	(void)problem_set(&problem, E_CONFLICT, "node %s is not its tenant's now: its console ends",
			  http_request_param(viewer->request, "node"));
	problem_hint(&problem, "its console is its tenant's while the node is active");
	consoles_viewer_end(viewer, &problem);
}

/* Nobody said for long that the node is the tenant's: it may be another's by now. */
static void tenancy_lapse(struct viewer *viewer)
{
	struct problem problem = {0};

	(void)problem_set(&problem, E_UNAVAILABLE,
			  "the database did not say for %d s whose node %s is: its console ends",
			  TENANCY_LAPSE_MS / 1000, http_request_param(viewer->request, "node"));
	problem_hint(&problem, "open it again when the database is back");
	consoles_viewer_end(viewer, &problem);
}

static void tenancy_on_rows(void *context, int rc, const PGresult *result,
			    const struct problem *problem)
{
	struct consoles *consoles = context;
	struct viewer *viewer;
	struct viewer *next;

	consoles->tenancy_asked = false;
	if (rc != 0) {
		if (log_allowed(&consoles->log_limit, loop_now_ms(consoles->loop)))
			log_problem(LOG_LEVEL_WARN, CONSOLES_SUBJECT, problem);
		return;
	}
	DL_FOREACH_SAFE(consoles->viewers, viewer, next)
	{
		if (!tenancy_was_asked(viewer))
			continue;
		if (tenancy_holds(result, viewer))
			viewer->held_ms = consoles->tenancy_asked_ms;
		else
			tenancy_end(viewer);
	}
}

static void tenancy_lapse_old(struct consoles *consoles)
{
	int64_t since_ms = loop_now_ms(consoles->loop) - TENANCY_LAPSE_MS;
	struct viewer *viewer;
	struct viewer *next;

	DL_FOREACH_SAFE(consoles->viewers, viewer, next)
	{
		if (viewer->reader.tenant != 0 && viewer->held_ms <= since_ms)
			tenancy_lapse(viewer);
	}
}

static void tenancy_on_timer(void *context)
{
	struct consoles *consoles = context;
	CLEANUP(text_done) struct text nodes = {0};
	const char *params[1];
	struct viewer *viewer;
	bool any = false;

	tenancy_lapse_old(consoles);
	text_add(&nodes, "{");
	DL_FOREACH(consoles->viewers, viewer)
	{
		if (viewer->reader.tenant == 0)
			continue;
		text_addf(&nodes, "%s%" PRId64, any ? "," : "", viewer->node_id);
		any = true;
	}
	text_add(&nodes, "}");
	if (!any)
		return;
	loop_timer_arm(consoles->tenancy_timer, TENANCY_MS);
	if (consoles->tenancy_asked || !consoles->db || nodes.failed)
		return;
	params[0] = text_get(&nodes);
	consoles->tenancy_asked = db_submit(consoles->db, &consoles_tenancy_query, params,
					    tenancy_on_rows, consoles) == 0;
	consoles->tenancy_asked_ms = loop_now_ms(consoles->loop);
	DL_FOREACH(consoles->viewers, viewer)
	viewer->asked = consoles->tenancy_asked;
}

int consoles_tenancy_new(struct consoles *consoles)
{
	return loop_timer_new(consoles->loop, tenancy_on_timer, consoles, &consoles->tenancy_timer);
}

void consoles_tenancy_begin(struct consoles *consoles)
{
	loop_timer_arm(consoles->tenancy_timer, 0);
}

void consoles_tenancy_over(struct consoles *consoles, int64_t node_id)
{
	struct viewer *viewer;
	struct viewer *next;

	DL_FOREACH_SAFE(consoles->viewers, viewer, next)
	{
		if (viewer->reader.tenant != 0 && viewer->node_id == node_id)
			tenancy_end(viewer);
	}
}

bool consoles_tenancy_looks(const struct consoles *consoles, int64_t node_id, int64_t tenant)
{
	const struct viewer *viewer;

	DL_FOREACH(consoles->viewers, viewer)
	{
		if (viewer->node_id == node_id && viewer->reader.tenant == tenant)
			return true;
	}
	return false;
}
