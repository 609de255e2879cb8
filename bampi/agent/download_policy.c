#include "bampi/agent/download_policy.h"

#include "common/base/error.h"

static struct download_verdict download_policy_fail(int code, const char *message,
						    const struct download_facts *facts,
						    const char *hint)
{
	struct download_verdict verdict = {.action = DOWNLOAD_FAIL};

	(void)problem_set(&verdict.problem, code, "%s", message);
	problem_detail(&verdict.problem, "%llu of %llu bytes came (status %d, %s)",
		       (unsigned long long)facts->offset, (unsigned long long)facts->size,
		       facts->status, facts->rc ? error_text(facts->rc) : "answered");
	problem_hint(&verdict.problem, "%s", hint);
	return verdict;
}

/* Answers that asking again will not change. */
static const struct {
	int status;
	int code;
	const char *message;
	const char *hint;
} download_policy_refusals[] = {
	{401, E_AUTHENTICATION, "the server refuses our token for the image",
	 "the boot intent was replaced; start the deployment again"},
	{403, E_DENIED, "the server refuses the image to this node",
	 "the boot intent names no image or another one"},
	{404, E_NOT_FOUND, "the server does not have the image",
	 "upload the image again; its file is gone from image_dir"},
	{410, E_NOT_FOUND, "the server does not have the image any more", "upload the image again"},
	{416, E_DIGEST, "the stored image is shorter than its manifest says",
	 "upload the image again"},
};

struct download_verdict download_next(const struct download_facts *facts, int64_t now_ms)
{
	bool came = facts->rc == 0 && (facts->status == 200 || facts->status == 206);
	int64_t delay_ms = 250;

	if (facts->rc == 0)
		for (size_t i = 0; i < COUNT_OF(download_policy_refusals); i++)
			if (facts->status == download_policy_refusals[i].status)
				return download_policy_fail(download_policy_refusals[i].code,
							    download_policy_refusals[i].message,
							    facts,
							    download_policy_refusals[i].hint);
	/* The whole image from the start, where its middle was asked for: what we hold is no longer
	 * what was stored. */
	if (facts->asked_range && came && facts->status == 200)
		return download_policy_fail(
			E_PROTOCOL, "the server does not serve parts of the image", facts,
			"it ignored the Range header; check for a proxy between node and bampi-bootd");
	if (facts->offset == facts->size)
		return (struct download_verdict){.action = DOWNLOAD_DONE};
	if (now_ms - facts->last_byte_ms >= facts->silence_ms * DOWNLOAD_PATIENCE_FACTOR)
		return download_policy_fail(E_TIMEOUT, "the image stopped coming", facts,
					    "check the provisioning network and bampi-bootd");
	/* At once after bytes came: that was a broken connection, not a server in trouble. */
	if (facts->attempts > 0)
		for (unsigned i = 1; i < facts->attempts && delay_ms < 8000; i++)
			delay_ms *= 2;
	else
		delay_ms = 0;
	return (struct download_verdict){.action = DOWNLOAD_AGAIN, .delay_ms = delay_ms};
}
