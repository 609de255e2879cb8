#include "common/base/error.h"
#include "common/base/macros.h"
#include "common/base/text.h"

#include "bampi/control/deploy/steps/steps.h"

#define STEPS_CONFIGURE_OS_LOOK_MS 1000

static void copy_member(json_t *params, const json_t *from, const char *key)
{
	json_t *value = json_object_get(from, key);

	if (value && !json_is_null(value))
		(void)json_object_set(params, key, value);
}

/* VLAN of a network of ours; 0 = it has none yet. */
static int steps_configure_os_vlan_of(const struct facts *facts, int64_t network)
{
	for (int i = 0; i < facts->network.vlan_count; i++) {
		if (facts->network.vlans[i].network == network)
			return facts->network.vlans[i].vlan;
	}
	return 0;
}

/* Where an address is in a tagged network, its number is told instead. Without switches of ours
 * nobody knows one, and there is no such interface. False: it has none yet. */
static bool steps_configure_os_name_vlans(const struct facts *facts, json_t *params)
{
	const json_t *given = json_object_get(facts->deployment.params, "addresses");
	json_t *told = json_array();
	bool all = true;

	for (size_t i = 0; i < json_array_size(given); i++) {
		json_t *row = json_copy(json_array_get(given, i));
		int64_t network = json_integer_value(json_object_get(row, "network"));
		int vlan = network ? steps_configure_os_vlan_of(facts, network) : 0;

		if (network && !facts->network.managed) {
			json_decref(row);
			continue;
		}
		all &= !network || vlan != 0;
		(void)json_object_del(row, "network");
		if (vlan)
			(void)json_object_set_new(row, "vlan", json_integer(vlan));
		(void)json_array_append_new(told, row);
	}
	if (json_is_array(given))
		(void)json_object_set(params, "addresses", told);
	json_decref(told);
	return all;
}

/* The volumes as the agent is told them. A storage that is heard of is waited for until it sealed
 * its secret: its name in *ret_waits. One that is silent holds up no install: its volume is left
 * out, and said so in `note`. */
static json_t *iscsi_of(const struct facts *facts, const char **ret_waits, char *note, size_t room)
{
	static const char *const told[] = {"target", "portal", "user", "sealed"};
	const json_t *volumes = json_object_get(facts->volumes, "volumes");
	json_t *list = json_array();
	const json_t *volume;
	size_t i;

	*ret_waits = NULL;
	json_array_foreach(volumes, i, volume)
	{
		json_t *row;

		if (!json_is_string(json_object_get(volume, "sealed"))) {
			if (json_is_true(json_object_get(volume, "heard")))
				*ret_waits = text_of(volume, "storage");
			else
				(void)text_format(
					note, room,
					"its OS was installed without volume %s: storage %s is silent",
					text_of(volume, "volume"), text_of(volume, "storage"));
			continue;
		}
		row = json_object();
		for (size_t j = 0; j < COUNT_OF(told); j++)
			copy_member(row, volume, told[j]);
		(void)json_array_append_new(list, row);
	}
	return json_pack("{s:s, s:o}", "initiator", text_of(facts->volumes, "initiator"), "volumes",
			 list);
}

static json_t *steps_configure_os_params_of(const struct facts *facts)
{
	const char *hostname = text_of(facts->deployment.params, "hostname");
	const json_t *written = json_object_get(facts->results, task_kind_words[TASK_WRITE_IMAGE]);
	char callback[160];
	json_t *params;

	(void)text_format(callback, sizeof(callback), "%s/callback/%s", facts->boot_url,
			  facts->intent.nonce);
	params = json_pack("{s:s, s:s, s:i, s:s}", "hostname",
			   hostname[0] ? hostname : facts->node.name, "callback", callback,
			   "root_partition", facts->image.root_partition, "disk",
			   text_of(written, "disk"));
	/* With switches of ours it starts where nothing leads to us: it says so on its console. */
	if (facts->network.managed)
		(void)json_object_set_new(params, "callback_console", json_true());
	copy_member(params, facts->deployment.params, "bonds");
	copy_member(params, facts->deployment.params, "ssh_keys");
	copy_member(params, facts->deployment.params, "user_data");
	return params;
}

/* Posts with the volumes, when all storages that are to be waited for have sealed their secrets. */
static bool work_with_volumes(const struct facts *facts, int64_t now_ms, json_t *params,
			      struct outcome *ret)
{
	const char *waits = NULL;
	char note[sizeof(ret->note)] = "";
	bool done;

	(void)json_object_set_new(params, "iscsi", iscsi_of(facts, &waits, note, sizeof(note)));
	done = agent_work(facts, now_ms, TASK_CONFIGURE_OS, params, ret);
	if (ret->post != TASK_NONE && waits) {
		json_decref(ret->post_params);
		ret->post_params = NULL;
		ret->post = TASK_NONE;
		ret->drop_tasks = false;
		outcome_wait(ret, now_ms + STEPS_CONFIGURE_OS_LOOK_MS, E_TIMEOUT,
			     "storage %s has not sealed the secret of a volume for node %s", waits,
			     facts->node.name);
		problem_hint(&ret->problem, "is its bampi-stored running? haasctl storage list");
		outcome_say(ret, "storage %s has not sealed the secret of a volume", waits);
		ret->waits_kind = WAIT_STORAGE;
	} else if (ret->post != TASK_NONE) {
		(void)text_copy(ret->note, sizeof(ret->note), note);
	}
	return done;
}

void step_configure_os(const struct facts *facts, int64_t now_ms, struct outcome *ret)
{
	json_t *params;

	ret->memo = facts->memo;
	if (!facts->boot_url[0]) {
		outcome_fail(ret, E_NOT_FOUND, "no subnet has an address of ours for node %s",
			     facts->node.name);
		problem_hint(&ret->problem, "its boot NIC has no lease: haasctl lease list");
		return;
	}
	params = steps_configure_os_params_of(facts);
	if (!steps_configure_os_name_vlans(facts, params)) {
		json_decref(params);
		outcome_wait(ret, now_ms + STEPS_CONFIGURE_OS_LOOK_MS, E_TIMEOUT,
			     "a tagged network of node %s has no VLAN yet", facts->node.name);
		problem_hint(&ret->problem, "is peregrined running? haasctl network list");
		return;
	}
	if (facts->volumes && !json_is_null(facts->volumes)
		    ? work_with_volumes(facts, now_ms, params, ret)
		    : agent_work(facts, now_ms, TASK_CONFIGURE_OS, params, ret))
		outcome_finish(ret);
}
