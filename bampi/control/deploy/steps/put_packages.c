#include "common/base/error.h"
#include "common/base/text.h"

#include "bampi/control/deploy/steps/steps.h"

/* A grant may have been taken back, or the package deleted, since it was asked for. */
static bool all_allowed(const struct facts *facts, struct outcome *ret)
{
	for (size_t i = 0; i < json_array_size(facts->packages); i++) {
		const json_t *package = json_array_get(facts->packages, i);

		if (json_is_true(json_object_get(package, "allowed")))
			continue;
		outcome_fail(ret, E_DENIED, "package %s:%s may no longer be used by %s",
			     text_of(package, "name"), text_of(package, "version"),
			     facts->tenant[0] ? facts->tenant : "the operator");
		problem_detail(
			&ret->problem,
			"it was granted when the install was asked for; since then the grant was withdrawn or has ended, or the package was deleted");
		problem_hint(
			&ret->problem,
			"see haasctl package list and haasctl grant list; grant it again and retry, or install without it");
		ret->permanent = true;
		return false;
	}
	return true;
}

static json_t *steps_put_packages_params_of(const struct facts *facts)
{
	const json_t *written = json_object_get(facts->results, task_kind_words[TASK_WRITE_IMAGE]);
	json_t *packages = json_deep_copy(facts->packages);

	for (size_t i = 0; i < json_array_size(packages); i++) {
		json_t *package = json_array_get(packages, i);
		char url[128];

		(void)text_format(url, sizeof(url), "/boot/image/%s", text_of(package, "digest"));
		(void)json_object_set_new(package, "url", json_string(url));
		(void)json_object_del(package, "allowed");
	}
	return json_pack("{s:s, s:i, s:o}", "disk", text_of(written, "disk"), "root_partition",
			 facts->image.root_partition, "packages", packages);
}

static void steps_put_packages_note(const struct facts *facts, struct outcome *ret)
{
	CLEANUP(text_done) struct text text = {0};

	for (size_t i = 0; i < json_array_size(facts->packages); i++) {
		const json_t *package = json_array_get(facts->packages, i);

		text_addf(&text, "%s%s:%s", i ? ", " : "", text_of(package, "name"),
			  text_of(package, "version"));
	}
	(void)text_format(
		ret->note, sizeof(ret->note), "packages for the first boot: %s (%lld bytes)",
		text_get(&text),
		(long long)json_integer_value(json_object_get(facts->task.result, "bytes")));
}

void step_put_packages(const struct facts *facts, int64_t now_ms, struct outcome *ret)
{
	ret->memo = facts->memo;
	if (!facts->packages) {
		outcome_finish(ret);
		return;
	}
	if (!all_allowed(facts, ret))
		return;
	if (!agent_work(facts, now_ms, TASK_PUT_PACKAGES, steps_put_packages_params_of(facts), ret))
		return;
	steps_put_packages_note(facts, ret);
	outcome_finish(ret);
}
