#include "bampi/control/deploy/action_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/db/array.h"
#include "common/http/json_reader.h"

/* clang-format off */
static const struct db_query action_store_claim_query = {"action_claim",
	"with due as ("
	"  select id, state from haas.node_action"
	"  where due_at <= now() and (claim_until is null or claim_until <= now())"
	"  order by due_at limit 128 for no key update skip locked"
	") "
	"update haas.node_action a set claim_owner = $1, claim_until = now() + $2::bigint * interval '1 ms',"
	"  due_at = now() + $2::bigint * interval '1 ms', generation = a.generation + 1, state = 'running' "
	"from due, haas.node n where a.id = due.id and n.id = a.node_id "
	"returning a.id, a.generation, a.node_id, n.name, a.action, due.state = 'running', n.firmware = 'uefi', a.params", 2};

static const struct db_query action_store_extend_query = {"action_extend",
	"with k as (select * from unnest($1::bigint[], $2::bigint[]) as k (id, generation)), kept as ("
	" update haas.node_action a set claim_until = now() + $3::bigint * interval '1 ms', due_at = now() + $3::bigint * interval '1 ms' from k"
	" where a.id = k.id and a.generation = k.generation and a.claim_owner = $4 returning a.id) "
	"select k.id, k.generation from k where not exists (select from kept where kept.id = k.id)", 4};

#define ROWS "jsonb_to_recordset($1::jsonb) as x (id bigint, generation bigint, result jsonb, problem jsonb)"
static const struct db_query save_query = {"action_save",
	"with saved as ("
	"  update haas.node_action a set state = case when nullif(x.problem, 'null') is null then 'done' else 'failed' end, result = nullif(x.result, 'null'),"
	"    problem = nullif(x.problem, 'null'), due_at = null, claim_owner = null, claim_until = null, ended_at = now()"
	"  from " ROWS " where a.id = x.id and a.generation = x.generation returning a.*"
	") "
	"select haas.event_add('bampid', case s.state when 'done' then 'node.action_done' else 'node.action_failed' end, 'node', n.name, s.tenant_id,"
	"  s.action || case s.state when 'done' then ' done' else ' failed: ' || (s.problem ->> 'message') end,"
	"  jsonb_build_object('action', s.id, 'problem', s.problem)) "
	"from saved s join haas.node n on n.id = s.node_id", 1};
/* clang-format on */

int action_store_claim(struct db *db, const struct save_options *options, db_result_fn fn,
		       void *context)
{
	char claim_ms[24];
	const char *params[] = {options->owner, claim_ms};

	(void)text_format(claim_ms, sizeof(claim_ms), "%lld", (long long)options->claim_ms);
	return db_submit(db, &action_store_claim_query, params, fn, context);
}

int action_row_read(const PGresult *result, int row, struct action_row *ret)
{
	const char *params = db_text(result, row, 7, "{}");
	struct problem ignored = {0};

	*ret = (struct action_row){
		.id = db_int(result, row, 0, 0),
		.generation = db_int(result, row, 1, 0),
		.node_id = db_int(result, row, 2, 0),
		.repeated = db_bool(result, row, 5),
		.uefi = db_bool(result, row, 6),
	};
	(void)text_copy(ret->node, sizeof(ret->node), db_text(result, row, 3, ""));
	(void)text_copy(ret->action, sizeof(ret->action), db_text(result, row, 4, ""));
	return json_read(params, strlen(params), JSON_LIMIT_DEFAULT, &ret->params, &ignored);
}

int action_store_extend(struct db *db, const struct extend_options *options, db_result_fn fn,
			void *context)
{
	return claim_extend(db, &action_store_extend_query, options, fn, context);
}

int action_store_save(struct db *db, const json_t *rows, db_result_fn fn, void *context)
{
	CLEANUP(freep) char *text = json_dumps(rows, JSON_COMPACT);
	const char *params[] = {text};

	return text ? db_submit(db, &save_query, params, fn, context) : -ENOMEM;
}
