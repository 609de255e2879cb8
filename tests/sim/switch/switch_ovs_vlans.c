#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "tests/sim/switch/switch_ovs_private.h"

#define KEY "vlan-"

/* 0: the key is none of a VLAN. */
static unsigned vid_of(const char *key)
{
	unsigned long vid;
	char *end;

	if (strncmp(key, KEY, sizeof(KEY) - 1) != 0)
		return 0;
	vid = strtoul(key + sizeof(KEY) - 1, &end, 10);
	return *end == '\0' && vid >= VLAN_FIRST && vid <= VLAN_LAST ? (unsigned)vid : 0;
}

static const char *text_at(const json_t *pair, size_t i)
{
	const char *text = json_string_value(json_array_get(pair, i));

	return text ? text : "";
}

/* In `ret_pairs` the bridge's external_ids, ["key","value"] each. Caller drops *ret_answer. */
static int read_ids(struct switch_ovs *ovs, json_t **ret_answer, json_t **ret_pairs)
{
	json_t *rows;
	int rc = switch_rpc_call(&ovs->database, "transact",
				 json_pack("[s,{s:s,s:s,s:[[s,s,s]],s:[s]}]", "Open_vSwitch", "op",
					   "select", "table", "Bridge", "where", "name",
					   "==", ovs->bridge, "columns", "external_ids"),
				 ret_answer);

	if (rc != 0)
		return rc;
	rows = json_object_get(json_array_get(*ret_answer, 0), "rows");
	*ret_pairs = json_array_get(json_object_get(json_array_get(rows, 0), "external_ids"), 1);
	if (*ret_pairs)
		return 0;
	json_decref(*ret_answer);
	return E_PROTOCOL;
}

static void switch_ovs_vlans_take(const json_t *pairs, struct switch_ovs_vlans *ret)
{
	const json_t *pair;
	size_t i;

	ret->vids = (struct vlan_set){{0}};
	json_array_foreach(pairs, i, pair)
	{
		unsigned vid = vid_of(text_at(pair, 0));

		vlan_set_add(&ret->vids, vid);
		if (vid)
			(void)text_copy(ret->names[vid], sizeof(ret->names[vid]), text_at(pair, 1));
	}
}

int switch_ovs_vlans(struct switch_ovs *ovs, struct switch_ovs_vlans *ret)
{
	json_t *answer = NULL;
	json_t *pairs = NULL;
	int rc = read_ids(ovs, &answer, &pairs);

	if (rc != 0)
		return rc;
	switch_ovs_vlans_take(pairs, ret);
	json_decref(answer);
	return 0;
}

static bool are_equal(const struct switch_ovs_vlans *a, const struct switch_ovs_vlans *b)
{
	if (!vlan_set_equal(&a->vids, &b->vids))
		return false;
	for (unsigned v = vlan_set_next(&a->vids, 1); v; v = vlan_set_next(&a->vids, v + 1)) {
		if (strcmp(a->names[v], b->names[v]) != 0)
			return false;
	}
	return true;
}

/* What else stands there stays. */
static json_t *ids_of(const json_t *pairs, const struct switch_ovs_vlans *vlans)
{
	json_t *list = json_array();
	json_t *pair;
	size_t i;

	json_array_foreach(pairs, i, pair)
	{
		if (vid_of(text_at(pair, 0)) == 0)
			(void)json_array_append(list, pair);
	}
	for (unsigned v = vlan_set_next(&vlans->vids, 1); v;
	     v = vlan_set_next(&vlans->vids, v + 1)) {
		char key[16];

		(void)text_format(key, sizeof(key), KEY "%u", v);
		(void)json_array_append_new(list, json_pack("[s,s]", key, vlans->names[v]));
	}
	return json_pack("[s,o]", "map", list);
}

int switch_ovs_keep_vlans(struct switch_ovs *ovs, const struct switch_ovs_vlans *vlans)
{
	struct switch_ovs_vlans *before = calloc(1, sizeof(*before));
	json_t *answer = NULL;
	json_t *pairs = NULL;
	int rc = before ? read_ids(ovs, &answer, &pairs) : -ENOMEM;

	if (rc == 0) {
		switch_ovs_vlans_take(pairs, before);
		if (!are_equal(before, vlans))
			rc = switch_ovs_transact(
				ovs, json_pack("[s,{s:s,s:s,s:[[s,s,s]],s:{s:o}}]", "Open_vSwitch",
					       "op", "update", "table", "Bridge", "where", "name",
					       "==", ovs->bridge, "row", "external_ids",
					       ids_of(pairs, vlans)));
		json_decref(answer);
	}
	free(before);
	return rc;
}
