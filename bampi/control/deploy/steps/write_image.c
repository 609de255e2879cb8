#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "bampi/control/deploy/steps/steps.h"
#include "bampi/control/image/image_trust.h"

/* The manifest travels as a text: the signature is over its exact bytes, and the agent checks it
 * again. */
static json_t *steps_write_image_params_of(const struct facts *facts)
{
	const char *disk = text_of(facts->deployment.params, "disk");
	char url[128];

	(void)text_format(url, sizeof(url), "/boot/image/%s", facts->image.stored_digest);
	return json_pack("{s:s, s:s, s:s, s:s}", "manifest", facts->image.manifest, "signature",
			 facts->image.signature, "url", url, "disk", disk[0] ? disk : "auto");
}

/* What the agent wrote is what the manifest names: it says the digest of the bytes on the disk. */
static bool steps_write_image_is_right(const struct facts *facts, struct outcome *ret)
{
	CLEANUP(json_decrefp)
	json_t *manifest = json_loads(facts->image.manifest, JSON_REJECT_DUPLICATES, NULL);
	const char *wanted = text_of(manifest, "digest");
	const char *written = text_of(facts->task.result, "digest");

	if (wanted[0] && strcmp(wanted, written) == 0)
		return true;
	outcome_fail(ret, E_DIGEST, "node %s reports another image than the one asked for",
		     facts->node.name);
	problem_detail(&ret->problem, "wanted %.16s, written %.16s", wanted, written);
	problem_hint(&ret->problem,
		     "the agent's ramdisk is of another version, or somebody answers for the node");
	return false;
}

void step_write_image(const struct facts *facts, int64_t now_ms, struct outcome *ret)
{
	struct problem problem = {0};
	int rc;

	ret->memo = facts->memo;
	if (!facts->image.present) {
		outcome_fail(ret, E_NOT_FOUND, "the image of this deployment is gone");
		ret->permanent = true;
		return;
	}
	if (facts->image.withdrawn) {
		outcome_fail(ret, E_DENIED, "the image of this deployment was withdrawn");
		problem_hint(&ret->problem, "install another version: haasctl image list");
		ret->permanent = true;
		return;
	}
	rc = image_trust_verify(facts->trust, facts->image.manifest, facts->image.signature,
				&problem);
	if (rc) {
		ret->verdict = STEP_FAILED;
		ret->problem = problem;
		ret->permanent = true;
		return;
	}
	if (!agent_work(facts, now_ms, TASK_WRITE_IMAGE, steps_write_image_params_of(facts), ret))
		return;
	if (!steps_write_image_is_right(facts, ret))
		return;
	(void)text_format(
		ret->note, sizeof(ret->note),
		"image written to %s (serial %s), %lld bytes, digest %.16s",
		text_of(facts->task.result, "disk"), text_of(facts->task.result, "serial"),
		(long long)json_integer_value(json_object_get(facts->task.result, "bytes")),
		text_of(facts->task.result, "digest"));
	outcome_finish(ret);
}
