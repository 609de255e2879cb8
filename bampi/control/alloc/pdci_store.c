#include "bampi/control/alloc/pdci_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/enum_text.h"
#include "common/base/error.h"
#include "common/base/json_text.h"
#include "common/db/array.h"

#include "bampi/control/alloc/pdci_store_sql.h"

#define JSON_MAX ((size_t)1 << 20)

const char *const pdci_state_words[PDCI_STATE_COUNT + 1] = {
	[PDCI_REQUESTED] = "requested", [PDCI_INFEASIBLE] = "infeasible",
	[PDCI_BUILDING] = "building",   [PDCI_READY] = "ready",
	[PDCI_FAILED] = "failed",       [PDCI_RELEASING] = "releasing",
	[PDCI_RELEASED] = "released",
};

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
	return db_submit(db, &pdci_claim_query, params, fn, context);
}

int pdci_claim_read(const PGresult *result, struct pdci_claim *ret)
{
	const char *request = db_text(result, 0, PDCI_CLAIM_REQUEST, "{}");
	struct problem ignored = {0};
	int state = enum_value(pdci_state_words, PDCI_STATE_COUNT,
			       db_text(result, 0, PDCI_CLAIM_STATE, ""));

	*ret = (struct pdci_claim){
		.id = db_int(result, 0, PDCI_CLAIM_ID, 0),
		.generation = db_int(result, 0, PDCI_CLAIM_GENERATION, 0),
		.absent = db_bool(result, 0, PDCI_CLAIM_ABSENT),
		.nodes = db_int(result, 0, PDCI_CLAIM_NODES, 0),
		.done = db_int(result, 0, PDCI_CLAIM_DONE, 0),
		.failed = db_int(result, 0, PDCI_CLAIM_FAILED, 0),
		.replacing = db_int(result, 0, PDCI_CLAIM_REPLACING, 0),
		.failed_is_spare = db_bool(result, 0, PDCI_CLAIM_FAILED_IS_SPARE),
		.failed_is_lost = db_bool(result, 0, PDCI_CLAIM_FAILED_IS_LOST),
	};
	(void)text_copy(ret->name, sizeof(ret->name), db_text(result, 0, PDCI_CLAIM_NAME, ""));
	(void)text_copy(ret->tenant, sizeof(ret->tenant),
			db_text(result, 0, PDCI_CLAIM_TENANT, ""));
	(void)text_copy(ret->failed_node, sizeof(ret->failed_node),
			db_text(result, 0, PDCI_CLAIM_FAILED_NODE, ""));
	(void)text_copy(ret->failed_why, sizeof(ret->failed_why),
			db_text(result, 0, PDCI_CLAIM_FAILED_WHY, ""));
	(void)text_copy(ret->told, sizeof(ret->told), db_text(result, 0, PDCI_CLAIM_PROBLEM, ""));
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
		{&pdci_images_query, params, fns->on_images, context},
		{&pdci_packages_query, package_params, fns->on_packages, context},
		{&pdci_nodes_query, node_params, fns->on_nodes, context}};

	return db_submit_all(db, calls, COUNT_OF(calls));
}

void pdci_images_read(const PGresult *result, struct pdci_request *request,
		      struct problem *ret_problem)
{
	for (size_t i = 0; i < request->group_count; i++) {
		int row = (int)i;

		if (row >= PQntuples(result) || !db_bool(result, row, PDCI_IMAGES_FOUND)) {
			(void)problem_set(ret_problem, E_NOT_FOUND,
					  "image %s does not exist or may not be used here",
					  request->images[i]);
			problem_hint(ret_problem,
				     "haasctl image list shows the images that are ready");
			return;
		}
		request->groups[i].firmwares =
			(db_bool(result, row, PDCI_IMAGES_BIOS) ? 1U << FIRMWARE_BIOS : 0) |
			(db_bool(result, row, PDCI_IMAGES_UEFI) ? 1U << FIRMWARE_UEFI : 0);
	}
}

static int alloc_pdci_store_read_node(const PGresult *result, int row, struct alloc_node *node)
{
	int state = enum_value(node_state_words, NODE_STATE_COUNT,
			       db_text(result, row, PDCI_NODES_STATE, ""));
	int firmware = enum_value(node_firmware_words, FIRMWARE_COUNT,
				  db_text(result, row, PDCI_NODES_FIRMWARE, ""));

	if (state < 0 || firmware < 0)
		return E_MALFORMED;
	*node = (struct alloc_node){
		.id = db_int(result, row, PDCI_NODES_ID, 0),
		.state = (enum node_state)state,
		.firmware = (enum node_firmware)firmware,
		.dirty = db_bool(result, row, PDCI_NODES_DIRTY),
		.busy = db_bool(result, row, PDCI_NODES_BUSY),
		.bootable = db_bool(result, row, PDCI_NODES_BOOTABLE),
		.unseen = db_bool(result, row, PDCI_NODES_UNSEEN),
	};
	(void)text_copy(node->name, sizeof(node->name), db_text(result, row, PDCI_NODES_NAME, ""));
	(void)text_copy(node->class, sizeof(node->class),
			db_text(result, row, PDCI_NODES_CLASS, ""));
	(void)text_copy(node->rack, sizeof(node->rack), db_text(result, row, PDCI_NODES_RACK, ""));
	(void)text_copy(node->label, sizeof(node->label),
			db_text(result, row, PDCI_NODES_LABEL, ""));
	(void)text_copy(node->leaf, sizeof(node->leaf), db_text(result, row, PDCI_NODES_LEAF, ""));
	(void)text_copy(node->fits, sizeof(node->fits), db_text(result, row, PDCI_NODES_FITS, ""));
	(void)text_copy(node->cable, sizeof(node->cable),
			db_text(result, row, PDCI_NODES_CABLE, ""));
	(void)text_copy(node->numbers, sizeof(node->numbers),
			db_text(result, row, PDCI_NODES_NUMBERS, ""));
	return 0;
}

void pdci_packages_read(const PGresult *result, struct problem *ret_problem)
{
	if (PQntuples(result) == 0)
		return;
	(void)problem_set(ret_problem, E_NOT_FOUND,
			  "package %s does not exist or may not be used here",
			  db_text(result, 0, PDCI_PACKAGES_NAME, ""));
	problem_hint(ret_problem, "haasctl package list shows the packages that are ready");
}

/* Of a node of more disks than anybody has, some. */
static size_t disk_count(const PGresult *result, int row)
{
	size_t count = alloc_disks_parse(db_text(result, row, PDCI_NODES_DISKS, ""), NULL, 0);

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
		(void)alloc_disks_parse(db_text(result, row, PDCI_NODES_DISKS, ""), disks, count);
		nodes[row].disks = (struct alloc_disks){!db_is_null(result, row, PDCI_NODES_DISKS),
							disks, count};
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
	return alloc_pdci_store_take(&(struct answer_to){db, fn, context}, &pdci_allocate_query,
				     claim, nodes, answer);
}

int pdci_store_replace_take(struct db *db, const struct pdci_claim *claim,
			    const struct alloc_node nodes[], const struct alloc_answer *answer,
			    db_result_fn fn, void *context)
{
	return alloc_pdci_store_take(&(struct answer_to){db, fn, context}, &pdci_replace_take_query,
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
	return alloc_pdci_store_step(db, &pdci_release_query, claim, NULL, fn, context);
}

int pdci_store_replace(struct db *db, const struct pdci_claim *claim, db_result_fn fn,
		       void *context)
{
	return alloc_pdci_store_step(db, &pdci_replace_query, claim, claim->failed_node, fn,
				     context);
}

int pdci_store_replace_step(struct db *db, const struct pdci_claim *claim, db_result_fn fn,
			    void *context)
{
	return alloc_pdci_store_step(db, &pdci_replace_step_query, claim, NULL, fn, context);
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
		json_put_problem(&problem, NULL, &save->problem);
		if (problem.failed)
			return -ENOMEM;
		params[3] = text_get(&problem);
	}
	return db_submit(db, &pdci_save_query, params, fn, context);
}
