#include "common/base/error.h"
#include "common/base/text.h"

#include "bampi/control/deploy/steps/steps.h"

static void copy_member(json_t *params, const json_t *from, const char *key)
{
	json_t *value = json_object_get(from, key);

	if (value && !json_is_null(value))
		(void)json_object_set(params, key, value);
}

static json_t *params_of(const struct facts *facts)
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
	copy_member(params, facts->deployment.params, "addresses");
	copy_member(params, facts->deployment.params, "ssh_keys");
	copy_member(params, facts->deployment.params, "user_data");
	return params;
}

void step_configure_os(const struct facts *facts, int64_t now_ms, struct outcome *ret)
{
	ret->memo = facts->memo;
	if (!facts->boot_url[0]) {
		outcome_fail(ret, E_NOT_FOUND, "no subnet says where node %s reaches us",
			     facts->node.name);
		problem_hint(&ret->problem, "its boot NIC has no lease: haasctl lease list");
		return;
	}
	if (agent_work(facts, now_ms, TASK_CONFIGURE_OS, params_of(facts), ret))
		outcome_finish(ret);
}
