#include "bampi/control/alloc/pdci_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/enum_text.h"
#include "common/base/error.h"
#include "common/base/json_text.h"
#include "common/db/array.h"

#define JSON_MAX ((size_t)1 << 20)

const char *const pdci_state_words[PDCI_STATE_COUNT + 1] = {
	[PDCI_REQUESTED] = "requested", [PDCI_INFEASIBLE] = "infeasible",
	[PDCI_BUILDING] = "building",   [PDCI_READY] = "ready",
	[PDCI_FAILED] = "failed",       [PDCI_RELEASING] = "releasing",
	[PDCI_RELEASED] = "released",
};

/* clang-format off */
/* e is the newest deployment of the node, whoever asked for it. */
#define MEMBERS "haas.pdci_node m left join haas.deployment d on d.id = m.deployment_id left join haas.node n on n.id = m.node_id " \
	"left join lateral (select x.id, x.plan, x.state, x.problem, x.due_at from haas.deployment x where x.node_id = m.node_id order by x.id desc limit 1) e on true"
/* No more its tenant's, by somebody's word: released, repaired or unheld by hand. */
#define LOST "coalesce(n.state not in ('reserved', 'active', 'broken', 'held') or n.tenant_id is distinct from p.tenant_id, true)"
/* A cancelled or cleared deployment will never hand the node over: that counts as failed; so does a node that nobody may touch, and one that is being installed by nothing. */
#define FAILED "(coalesce(d.state in ('failed', 'cancelled', 'cleared'), true) or n.state in ('broken', 'held') or " LOST \
	" or (n.state = 'reserved' and d.state = 'done' and e.due_at is null))"
/* To be replaced, and nobody has come yet. */
#define ASKED "(m.replace_asked_at is not null and m.replaced_by is null)"
static const struct db_query claim_query = {"pdci_claim",
	"with due as ("
	"  select id from haas.pdci where due_at <= now() and (claim_until is null or claim_until <= now())"
	"  order by due_at limit 1 for update skip locked"
	"), p as ("
	"  update haas.pdci x set claim_owner = $1, claim_until = now() + $2::bigint * interval '1 ms', due_at = now() + $2::bigint * interval '1 ms',"
	"    generation = x.generation + 1 from due where x.id = due.id returning x.*"
	") "
	"select p.id, p.generation, p.name, t.name, p.wanted = 'absent', p.state, p.request, s.nodes, s.done, s.failed, f.node, f.why, s.replacing, f.spare, f.lost,"
	"  p.problem ->> 'message' "
	"from p join haas.tenant t on t.id = p.tenant_id "
	"cross join lateral (select count(*) as nodes,"
	"  count(*) filter (where not " ASKED " and not " FAILED " and d.state = 'done' and n.state = 'active') as done,"
	"  count(*) filter (where not " ASKED " and " FAILED ") as failed, count(*) filter (where " ASKED ") as replacing"
	"  from " MEMBERS " where m.pdci_id = p.id and (m.released_at is null or " ASKED ")) s "
	"left join lateral (select m.node, m.replaces is not null as spare, " LOST " as lost, case when n.state in ('broken', 'held') then 'it is ' || n.state"
	"  when d.state in ('failed', 'cancelled', 'cleared') then coalesce(d.problem ->> 'message', 'deployment ' || d.id || ' is ' || d.state)"
	"  when n.id is null then 'it was deleted' when " LOST " then 'it is ' || n.state || ': it was taken out of this PDCI'"
	"  else coalesce(e.problem ->> 'message', 'deployment ' || e.id || ' (' || e.plan || ') is ' || e.state, 'its deployment is gone') end as why"
	"  from " MEMBERS " where m.pdci_id = p.id and m.released_at is null and not " ASKED " and " FAILED
	"  order by m.replaces is not null, m.node limit 1) f on true", 2};

static const struct db_query images_query = {"pdci_images",
	"select w.name, i.id is not null, 'bios' = any (i.firmware), 'uefi' = any (i.firmware) "
	"from unnest($2::text[]) with ordinality as w (name, at) "
	"left join lateral (select x.* from haas.image x where x.name = split_part(w.name, ':', 1) and x.state = 'ready'"
	"  and (position(':' in w.name) = 0 or x.version = substr(w.name, position(':' in w.name) + 1))"
	"  and haas.image_allowed(x.id, (select t.id from haas.tenant t where t.name = $1)) order by x.created_at desc, x.id desc limit 1) i on true "
	"order by w.at", 2};
static const struct db_query packages_query = {"pdci_packages",
	"select w.name from unnest($2::text[]) with ordinality as w (name, at) "
	"where not haas.package_allowed(w.name, (select t.id from haas.tenant t where t.name = $1)) order by w.at limit 1", 2};

static const struct db_query nodes_query = {"pdci_nodes",
	"with short as materialized (select * from haas.vlan_short(nullif($2, '0')::bigint, $1::jsonb, $3::integer)) "
	"select n.id, n.name, n.class, n.rack, n.state, n.firmware, n.dirty,"
	/* busy; also one that somebody released by hand while its PDCI still has it */
	"  exists (select from haas.deployment d where d.node_id = n.id and d.due_at is not null)"
	"   or (n.state = 'free' and exists (select from haas.pdci_node m where m.node_id = n.id and m.released_at is null)),"
	"  exists (select from haas.bmc b where b.node_id = n.id) and exists (select from haas.nic x where x.node_id = n.id and x.boot),"
	"  case when n.state = 'free' then (haas.health_effect(n.id, 'no_allocation')).label end,"
	"  coalesce((select s.name from haas.wiring w join haas.switch s on s.id = w.switch_id where w.node_id = n.id order by s.name limit 1),"
	"           (select s.name from haas.nic_location l join haas.nic x on x.mac = l.mac join haas.switch s on s.id = l.switch_id"
	"            where x.node_id = n.id order by x.boot desc, s.name limit 1),"
	"           (select s.name from haas.port p join haas.switch s on s.id = p.switch_id where p.node_id = n.id order by s.name limit 1), ''),"
	"  case when n.state = 'free' then haas.node_fits(n.id, n.class, $1::jsonb) end,"
	/* of alloc_disks_parse; null: nobody looked. NVMe is flash, whatever its drive says. */
	"  case when n.state = 'free' and jsonb_path_exists($1::jsonb, '$.groups[*].disks') then (select"
	"   (select coalesce(string_agg((d ->> 'size_bytes') || case when d -> 'rotational' = 'true' then 'r' when d -> 'rotational' = 'false' or d ->> 'kind' = 'nvme' then 'f' else 'u' end, ' '), '')"
	"    from jsonb_array_elements(coalesce(i.data -> 'disks', '[]')) d"
	"    where coalesce(d -> 'removable' <> 'true', true) and coalesce(d -> 'read_only' <> 'true', true))"
	"   from haas.node_inventory i where i.node_id = n.id) end,"
	"  case when n.state = 'free' and exists (select from jsonb_array_elements($1::jsonb -> 'groups') g where coalesce(g ->> 'class', '') in ('', n.class))"
	"   then haas.node_port_fault(n.id) end,"
	"  case when n.state = 'free' and exists (select from short) then (select min(s.why) from short s"
	"    where s.fabric_id in (select haas.node_fabrics(n.id))) end "
	"from haas.node n order by n.name", 3};

static const struct db_query allocate_query = {"pdci_allocate", "select haas.pdci_allocate($1::bigint, $2::bigint, $3::jsonb, 'bampid')", 3};
static const struct db_query release_query = {"pdci_release", "select node, waits_for from haas.pdci_release_step($1::bigint, $2::bigint, 'bampid')", 2};

static const struct db_query replace_query = {"pdci_replace",
	"select haas.pdci_replace(p.id, $3, 'bampid') from haas.pdci p where p.id = $1::bigint and p.generation = $2::bigint", 3};
static const struct db_query replace_step_query = {"pdci_replace_step",
	"select node, group_index, waits_for from haas.pdci_replace_step($1::bigint, $2::bigint, 'bampid')", 2};
static const struct db_query replace_take_query = {"pdci_replace_take", "select haas.pdci_replace_take($1::bigint, $2::bigint, $3::jsonb, 'bampid')", 3};

/* Due before its claim runs out: one of its nodes changed since, so it is looked at again at once. */
static const struct db_query save_query = {"pdci_save",
	"with was as (select id, name, tenant_id, state from haas.pdci where id = $1::bigint), saved as ("
	"  update haas.pdci p set state = $3, problem = $4::jsonb, due_at = case when p.due_at < p.claim_until then now() when $5::bigint >= 0 then now() + $5::bigint * interval '1 ms' end,"
	"    claim_owner = null, claim_until = null, version = version + case when p.state <> $3 or p.problem is distinct from $4::jsonb then 1 else 0 end,"
	"    ready_at = case when $3 = 'ready' then coalesce(p.ready_at, now()) else p.ready_at end"
	"  where p.id = $1::bigint and p.generation = $2::bigint returning p.id"
	") "
	"select haas.event_add('bampid', 'pdci.' || $3, 'pdci', was.name, was.tenant_id, coalesce($4::jsonb ->> 'message', was.state || ' -> ' || $3),"
	"  jsonb_build_object('pdci', was.id, 'problem', $4::jsonb)) from was join saved on true where was.state <> $3", 5};
/* clang-format on */

void pdci_claim_done(struct pdci_claim *claim)
{
	json_decref(claim->request);
	*claim = (struct pdci_claim){0};
}

static void alloc_pdci_store_number(char ret[24], int64_t value)
{
	(void)text_format(ret, 24, "%lld", (long long)value);
}

int pdci_store_claim(struct db *db, const char *owner, int64_t claim_ms, db_result_fn fn,
		     void *context)
{
	char ms[24];
	const char *params[] = {owner, ms};

	alloc_pdci_store_number(ms, claim_ms);
	return db_submit(db, &claim_query, params, fn, context);
}

int pdci_claim_read(const PGresult *result, struct pdci_claim *ret)
{
	const char *request = db_text(result, 0, 6, "{}");
	struct problem ignored = {0};
	int state = enum_value(pdci_state_words, PDCI_STATE_COUNT, db_text(result, 0, 5, ""));

	*ret = (struct pdci_claim){
		.id = db_int(result, 0, 0, 0),
		.generation = db_int(result, 0, 1, 0),
		.absent = db_bool(result, 0, 4),
		.nodes = db_int(result, 0, 7, 0),
		.done = db_int(result, 0, 8, 0),
		.failed = db_int(result, 0, 9, 0),
		.replacing = db_int(result, 0, 12, 0),
		.failed_is_spare = db_bool(result, 0, 13),
		.failed_is_lost = db_bool(result, 0, 14),
	};
	(void)text_copy(ret->name, sizeof(ret->name), db_text(result, 0, 2, ""));
	(void)text_copy(ret->tenant, sizeof(ret->tenant), db_text(result, 0, 3, ""));
	(void)text_copy(ret->failed_node, sizeof(ret->failed_node), db_text(result, 0, 10, ""));
	(void)text_copy(ret->failed_why, sizeof(ret->failed_why), db_text(result, 0, 11, ""));
	(void)text_copy(ret->told, sizeof(ret->told), db_text(result, 0, 15, ""));
	if (state < 0)
		return E_MALFORMED;
	ret->state = (enum pdci_state)state;
	return json_read(request, strlen(request), JSON_MAX, &ret->request, &ignored);
}

int pdci_store_facts(struct db *db, const struct pdci_facts_ask *ask,
		     const struct pdci_facts_calls *fns, void *context)
{
	const struct pdci_request *request = ask->request;
	CLEANUP(text_done) struct text images = {0};
	CLEANUP(text_done) struct text packages = {0};
	CLEANUP(freep) char *text = json_dumps(ask->json, JSON_COMPACT);

	array_begin(&images);
	for (size_t i = 0; i < request->group_count; i++)
		array_add(&images, request->images[i]);
	array_end(&images);
	array_begin(&packages);
	for (size_t i = 0; i < request->package_count; i++)
		array_add(&packages, request->packages[i]);
	array_end(&packages);
	if (images.failed || packages.failed || !text)
		return -ENOMEM;

	const char *params[] = {ask->tenant, text_get(&images)};
	const char *package_params[] = {ask->tenant, text_get(&packages)};
	char pdci[24];
	char links[24];
	const char *node_params[] = {text, pdci, links};

	alloc_pdci_store_number(pdci, ask->pdci);
	alloc_pdci_store_number(links, ask->links);

	const struct db_call calls[] = {
		{&images_query, params, fns->on_images, context},
		{&packages_query, package_params, fns->on_packages, context},
		{&nodes_query, node_params, fns->on_nodes, context}};

	return db_submit_all(db, calls, COUNT_OF(calls));
}

void pdci_images_read(const PGresult *result, struct pdci_request *request,
		      struct problem *ret_problem)
{
	for (size_t i = 0; i < request->group_count; i++) {
		int row = (int)i;

		if (row >= PQntuples(result) || !db_bool(result, row, 1)) {
			(void)problem_set(ret_problem, E_NOT_FOUND,
					  "image %s does not exist or may not be used here",
					  request->images[i]);
			problem_hint(ret_problem,
				     "haasctl image list shows the images that are ready");
			return;
		}
		request->groups[i].firmwares = (db_bool(result, row, 2) ? 1U << FIRMWARE_BIOS : 0) |
					       (db_bool(result, row, 3) ? 1U << FIRMWARE_UEFI : 0);
	}
}

static int alloc_pdci_store_read_node(const PGresult *result, int row, struct alloc_node *node)
{
	int state = enum_value(node_state_words, NODE_STATE_COUNT, db_text(result, row, 4, ""));
	int firmware = enum_value(node_firmware_words, FIRMWARE_COUNT, db_text(result, row, 5, ""));

	if (state < 0 || firmware < 0)
		return E_MALFORMED;
	*node = (struct alloc_node){
		.id = db_int(result, row, 0, 0),
		.state = (enum node_state)state,
		.firmware = (enum node_firmware)firmware,
		.dirty = db_bool(result, row, 6),
		.busy = db_bool(result, row, 7),
		.bootable = db_bool(result, row, 8),
	};
	(void)text_copy(node->name, sizeof(node->name), db_text(result, row, 1, ""));
	(void)text_copy(node->class, sizeof(node->class), db_text(result, row, 2, ""));
	(void)text_copy(node->rack, sizeof(node->rack), db_text(result, row, 3, ""));
	(void)text_copy(node->label, sizeof(node->label), db_text(result, row, 9, ""));
	(void)text_copy(node->leaf, sizeof(node->leaf), db_text(result, row, 10, ""));
	(void)text_copy(node->fits, sizeof(node->fits), db_text(result, row, 11, ""));
	(void)text_copy(node->cable, sizeof(node->cable), db_text(result, row, 13, ""));
	(void)text_copy(node->numbers, sizeof(node->numbers), db_text(result, row, 14, ""));
	return 0;
}

void pdci_packages_read(const PGresult *result, struct problem *ret_problem)
{
	if (PQntuples(result) == 0)
		return;
	(void)problem_set(ret_problem, E_NOT_FOUND,
			  "package %s does not exist or may not be used here",
			  db_text(result, 0, 0, ""));
	problem_hint(ret_problem, "haasctl package list shows the packages that are ready");
}

/* Of a node of more disks than anybody has, some. */
static size_t disk_count(const PGresult *result, int row)
{
	size_t count = alloc_disks_parse(db_text(result, row, 12, ""), NULL, 0);

	return count < ALLOC_DISKS_MAX ? count : ALLOC_DISKS_MAX;
}

/* The disks lie behind the nodes, in one block. */
int pdci_nodes_read(const PGresult *result, struct alloc_node **ret, size_t *ret_count)
{
	int rows = PQntuples(result);
	CLEANUP(freep) struct alloc_node *nodes = NULL;
	struct alloc_disk *disks;
	size_t all = 0;

	for (int row = 0; row < rows; row++)
		all += disk_count(result, row);
	nodes = calloc(1, ((size_t)rows + 1) * sizeof(*nodes) + all * sizeof(*disks));
	if (!nodes)
		return -ENOMEM;
	disks = (struct alloc_disk *)(void *)&nodes[rows + 1];
	for (int row = 0; row < rows; row++) {
		size_t count = disk_count(result, row);
		int rc = alloc_pdci_store_read_node(result, row, &nodes[row]);

		if (rc)
			return rc;
		(void)alloc_disks_parse(db_text(result, row, 12, ""), disks, count);
		nodes[row].disks = (struct alloc_disks){!db_is_null(result, row, 12), disks, count};
		disks += count;
	}
	*ret = TAKE(nodes);
	*ret_count = (size_t)rows;
	return 0;
}

/* Who gets the answer of a statement. */
struct answer_to {
	struct db *db;
	db_result_fn fn;
	void *context;
};

static int alloc_pdci_store_take(const struct answer_to *to, const struct db_query *query,
				 const struct pdci_claim *claim, const struct alloc_node nodes[],
				 const struct alloc_answer *answer)
{
	CLEANUP(text_done) struct text picks = {0};
	char id[24];
	char generation[24];

	alloc_pdci_store_number(id, claim->id);
	alloc_pdci_store_number(generation, claim->generation);
	text_add(&picks, "[");
	for (size_t i = 0; i < answer->pick_count; i++)
		text_addf(&picks, "%s{\"group\":%zu,\"node\":%lld}", i ? "," : "",
			  answer->picks[i].group, (long long)nodes[answer->picks[i].node].id);
	text_add(&picks, "]");
	if (picks.failed)
		return -ENOMEM;

	const char *params[] = {id, generation, text_get(&picks)};

	return db_submit(to->db, query, params, to->fn, to->context);
}

int pdci_store_allocate(struct db *db, const struct pdci_claim *claim,
			const struct alloc_node nodes[], const struct alloc_answer *answer,
			db_result_fn fn, void *context)
{
	return alloc_pdci_store_take(&(struct answer_to){db, fn, context}, &allocate_query, claim,
				     nodes, answer);
}

int pdci_store_replace_take(struct db *db, const struct pdci_claim *claim,
			    const struct alloc_node nodes[], const struct alloc_answer *answer,
			    db_result_fn fn, void *context)
{
	return alloc_pdci_store_take(&(struct answer_to){db, fn, context}, &replace_take_query,
				     claim, nodes, answer);
}

static int alloc_pdci_store_step(struct db *db, const struct db_query *query,
				 const struct pdci_claim *claim, const char *node, db_result_fn fn,
				 void *context)
{
	char id[24];
	char generation[24];
	const char *params[] = {id, generation, node};

	alloc_pdci_store_number(id, claim->id);
	alloc_pdci_store_number(generation, claim->generation);
	return db_submit(db, query, params, fn, context);
}

int pdci_store_release(struct db *db, const struct pdci_claim *claim, db_result_fn fn,
		       void *context)
{
	return alloc_pdci_store_step(db, &release_query, claim, NULL, fn, context);
}

int pdci_store_replace(struct db *db, const struct pdci_claim *claim, db_result_fn fn,
		       void *context)
{
	return alloc_pdci_store_step(db, &replace_query, claim, claim->failed_node, fn, context);
}

int pdci_store_replace_step(struct db *db, const struct pdci_claim *claim, db_result_fn fn,
			    void *context)
{
	return alloc_pdci_store_step(db, &replace_step_query, claim, NULL, fn, context);
}

int pdci_store_save(struct db *db, const struct pdci_claim *claim, const struct pdci_save *save,
		    db_result_fn fn, void *context)
{
	CLEANUP(text_done) struct text problem = {0};
	char id[24];
	char generation[24];
	char due[24];
	const char *params[] = {id, generation, pdci_state_words[save->state], NULL, due};

	alloc_pdci_store_number(id, claim->id);
	alloc_pdci_store_number(generation, claim->generation);
	alloc_pdci_store_number(due, save->due_ms);
	if (problem_is_set(&save->problem)) {
		json_begin_object(&problem, NULL);
		json_put_string(&problem, "code", error_word(save->problem.code));
		json_put_string(&problem, "message", save->problem.message);
		json_put_string(&problem, "detail", save->problem.detail);
		json_put_string(&problem, "hint", save->problem.hint);
		json_end_object(&problem);
		if (problem.failed)
			return -ENOMEM;
		params[3] = text_get(&problem);
	}
	return db_submit(db, &save_query, params, fn, context);
}
