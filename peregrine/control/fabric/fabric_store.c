#include "peregrine/control/fabric/fabric_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "peregrine/control/fabric/fabric_store_sql.h"

static void done_nics(struct fact_rows *rows)
{
	free(rows->nics);
	free(rows->nic_texts);
	rows->nics = NULL;
	rows->nic_texts = NULL;
	rows->nic_count = 0;
}

static void done_sightings(struct fact_rows *rows)
{
	free(rows->sightings);
	free(rows->sighting_texts);
	rows->sightings = NULL;
	rows->sighting_texts = NULL;
	rows->sighting_count = 0;
}

static void done_wiring(struct fact_rows *rows)
{
	free(rows->wiring);
	free(rows->wiring_texts);
	rows->wiring = NULL;
	rows->wiring_texts = NULL;
	rows->wiring_count = 0;
}

static void done_guards(struct fact_rows *rows)
{
	free(rows->guards);
	free(rows->guard_texts);
	rows->guards = NULL;
	rows->guard_texts = NULL;
	rows->guard_count = 0;
}

static void done_given(struct fact_rows *rows)
{
	free(rows->given);
	rows->given = NULL;
	rows->given_count = 0;
}

static void done_ends(struct fact_rows *rows)
{
	free(rows->ends);
	rows->ends = NULL;
	rows->end_count = 0;
}

void fact_rows_done(struct fact_rows *rows)
{
	done_ends(rows);
	done_given(rows);
	done_guards(rows);
	done_nics(rows);
	done_sightings(rows);
	done_wiring(rows);
}

#define TAKE_TEXT(array, result, row, column) \
	((void)text_copy((array), sizeof(array), db_text((result), (row), (column), "")), (array))

static int fabric_store_compare_nics(const void *left, const void *right)
{
	uint64_t a = mac_key(((const struct fabric_nic *)left)->mac);
	uint64_t b = mac_key(((const struct fabric_nic *)right)->mac);

	return a < b ? -1 : a > b;
}

int fabric_rows_nics(const PGresult *result, struct fact_rows *ret)
{
	int rows = PQntuples(result);

	done_nics(ret);
	ret->nics = calloc((size_t)rows + 1, sizeof(*ret->nics));
	ret->nic_texts = calloc((size_t)rows + 1, sizeof(*ret->nic_texts));
	if (!ret->nics || !ret->nic_texts)
		return -ENOMEM;
	for (int i = 0; i < rows; i++) {
		struct nic_row *text = &ret->nic_texts[i];
		struct fabric_nic *nic = &ret->nics[ret->nic_count];

		if (mac_parse(db_text(result, i, FABRIC_NICS_MAC, ""), &nic->mac) != 0)
			continue;
		nic->node_id = db_int(result, i, FABRIC_NICS_NODE_ID, 0);
		nic->node = TAKE_TEXT(text->node, result, i, FABRIC_NICS_NODE);
		nic->name = TAKE_TEXT(text->name, result, i, FABRIC_NICS_NAME);
		nic->heard_chassis = TAKE_TEXT(text->chassis, result, i, FABRIC_NICS_HEARD_CHASSIS);
		nic->heard_port = TAKE_TEXT(text->port, result, i, FABRIC_NICS_HEARD_PORT);
		nic->heard_system = TAKE_TEXT(text->system, result, i, FABRIC_NICS_HEARD_SYSTEM);
		nic->heard_us = db_int(result, i, FABRIC_NICS_HEARD_US, 0);
		nic->tenant_id = db_int(result, i, FABRIC_NICS_TENANT_ID, 0);
		nic->off = strcmp(db_text(result, i, FABRIC_NICS_POWER, ""), "off") == 0;
		nic->on = strcmp(db_text(result, i, FABRIC_NICS_POWER, ""), "on") == 0;
		nic->idle = strcmp(db_text(result, i, FABRIC_NICS_IDLE, ""), "t") == 0;
		nic->starting = strcmp(db_text(result, i, FABRIC_NICS_STARTING, ""), "t") == 0;
		ret->nic_count++;
	}
	qsort(ret->nics, ret->nic_count, sizeof(*ret->nics), fabric_store_compare_nics);
	return 0;
}

int fabric_rows_sightings(const PGresult *result, struct fact_rows *ret)
{
	int rows = PQntuples(result);

	done_sightings(ret);
	ret->sightings = calloc((size_t)rows + 1, sizeof(*ret->sightings));
	ret->sighting_texts = calloc((size_t)rows + 1, sizeof(*ret->sighting_texts));
	if (!ret->sightings || !ret->sighting_texts)
		return -ENOMEM;
	for (int i = 0; i < rows; i++) {
		struct sighting_row *text = &ret->sighting_texts[i];
		struct fabric_sighting *sighting = &ret->sightings[ret->sighting_count];

		if (mac_parse(db_text(result, i, FABRIC_SIGHTINGS_MAC, ""), &sighting->mac) != 0)
			continue;
		sighting->switch_name =
			TAKE_TEXT(text->switch_name, result, i, FABRIC_SIGHTINGS_SWITCH);
		sighting->port = TAKE_TEXT(text->port, result, i, FABRIC_SIGHTINGS_PORT);
		sighting->seen_us = db_int(result, i, FABRIC_SIGHTINGS_SEEN_US, 0);
		ret->sighting_count++;
	}
	return 0;
}

int fabric_rows_wiring(const PGresult *result, struct fact_rows *ret)
{
	int rows = PQntuples(result);

	done_wiring(ret);
	ret->wiring = calloc((size_t)rows + 1, sizeof(*ret->wiring));
	ret->wiring_texts = calloc((size_t)rows + 1, sizeof(*ret->wiring_texts));
	if (!ret->wiring || !ret->wiring_texts)
		return -ENOMEM;
	for (int i = 0; i < rows; i++) {
		struct plan_row *text = &ret->wiring_texts[i];

		ret->wiring[i] = (struct wiring_row){
			.switch_id = db_int(result, i, FABRIC_WIRING_SWITCH_ID, 0),
			.port = TAKE_TEXT(text->port, result, i, FABRIC_WIRING_PORT),
			.node_id = db_int(result, i, FABRIC_WIRING_NODE_ID, 0),
			.node = TAKE_TEXT(text->node, result, i, FABRIC_WIRING_NODE),
			.nic = TAKE_TEXT(text->nic, result, i, FABRIC_WIRING_NIC),
			.peer_id = db_int(result, i, FABRIC_WIRING_PEER_ID, 0),
			.peer = TAKE_TEXT(text->peer, result, i, FABRIC_WIRING_PEER),
			.peer_port = TAKE_TEXT(text->peer_port, result, i, FABRIC_WIRING_PEER_PORT),
		};
	}
	ret->wiring_count = (size_t)rows;
	return 0;
}

int fabric_rows_guards(const PGresult *result, struct fact_rows *ret)
{
	int rows = PQntuples(result);

	done_guards(ret);
	ret->guards = calloc((size_t)rows + 1, sizeof(*ret->guards));
	ret->guard_texts = calloc((size_t)rows + 1, sizeof(*ret->guard_texts));
	if (!ret->guards || !ret->guard_texts)
		return -ENOMEM;
	for (int i = 0; i < rows; i++) {
		struct guard_row *text = &ret->guard_texts[i];

		ret->guards[i] = (struct guard_port){
			.switch_id = db_int(result, i, FABRIC_GUARDS_SWITCH_ID, 0),
			.port = TAKE_TEXT(text->port, result, i, FABRIC_GUARDS_PORT),
			.version = db_int(result, i, FABRIC_GUARDS_VERSION, 0),
			.tenant_id = db_int(result, i, FABRIC_GUARDS_TENANT_ID, 0),
			.networks = TAKE_TEXT(text->networks, result, i, FABRIC_GUARDS_NETWORKS),
		};
	}
	ret->guard_count = (size_t)rows;
	return 0;
}

int fabric_rows_given(const PGresult *result, struct fact_rows *ret)
{
	int rows = PQntuples(result);

	done_given(ret);
	ret->given = calloc((size_t)rows + 1, sizeof(*ret->given));
	if (!ret->given)
		return -ENOMEM;
	for (int i = 0; i < rows; i++) {
		ret->given[i].switch_id = db_int(result, i, FABRIC_GIVEN_SWITCH_ID, 0);
		(void)text_copy(ret->given[i].port, sizeof(ret->given[i].port),
				db_text(result, i, FABRIC_GIVEN_PORT, ""));
		ret->given[i].bundle = (uint32_t)db_int(result, i, FABRIC_GIVEN_BUNDLE, 0);
		ret->given[i].holder = db_int(result, i, FABRIC_GIVEN_HOLDER, 0);
	}
	ret->given_count = (size_t)rows;
	return 0;
}

int fabric_rows_ends(const PGresult *result, struct fact_rows *ret)
{
	int rows = PQntuples(result);

	done_ends(ret);
	ret->ends = calloc((size_t)rows + 1, sizeof(*ret->ends));
	if (!ret->ends)
		return -ENOMEM;
	for (int i = 0; i < rows; i++) {
		ret->ends[i].switch_id = db_int(result, i, FABRIC_ENDS_SWITCH_ID, 0);
		(void)text_copy(ret->ends[i].port, sizeof(ret->ends[i].port),
				db_text(result, i, FABRIC_ENDS_PORT, ""));
		ret->ends[i].peer_id = db_int(result, i, FABRIC_ENDS_PEER_ID, 0);
	}
	ret->end_count = (size_t)rows;
	return 0;
}

int fabric_rows_blocks(const PGresult *result, struct guard_block **ret, size_t *ret_count)
{
	int rows = PQntuples(result);
	struct guard_block *blocks = calloc((size_t)rows + 1, sizeof(*blocks));
	size_t count = 0;

	if (!blocks)
		return -ENOMEM;
	for (int i = 0; i < rows; i++) {
		struct guard_block *block = &blocks[count];

		if (mac_parse(db_text(result, i, FABRIC_BLOCKS_MAC, ""), &block->mac) != 0)
			continue;
		block->switch_id = db_int(result, i, FABRIC_BLOCKS_SWITCH_ID, 0);
		(void)text_copy(block->port, sizeof(block->port),
				db_text(result, i, FABRIC_BLOCKS_PORT, ""));
		block->kind = strcmp(db_text(result, i, FABRIC_BLOCKS_KIND, ""), "foreign") == 0
				      ? GUARD_FOREIGN
				      : GUARD_MOVED;
		block->version = db_int(result, i, FABRIC_BLOCKS_VERSION, 0);
		count++;
	}
	*ret = blocks;
	*ret_count = count;
	return 0;
}
