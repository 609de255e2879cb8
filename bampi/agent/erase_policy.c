#include "bampi/agent/erase_policy.h"

#include <assert.h>

#include "common/base/enum_text.h"
#include "common/base/macros.h"
#include "common/base/text.h"

#define MINUTE_MS INT64_C(60000)
#define HOUR_MS   (60 * MINUTE_MS)

/* clang-format off */
static const struct {
	const char *text;
	bool crypto;
	int64_t silence_ms;  /* 0 = tells no progress */
	int64_t deadline_ms; /* 0 = as long as there is progress */
} erase_policy_rows[] = {
	/* method                    text                        crypto  silence         deadline */
	[ERASE_SANITIZE_CRYPTO]  = {"nvme_sanitize_crypto",      true,   2 * MINUTE_MS,  10 * MINUTE_MS},
	[ERASE_SANITIZE_BLOCK]   = {"nvme_sanitize_block",       false,  10 * MINUTE_MS, 0},
	[ERASE_FORMAT_CRYPTO]    = {"nvme_format_crypto",        true,   0,              10 * MINUTE_MS},
	[ERASE_FORMAT_USER_DATA] = {"nvme_format_user_data",     false,  0,              2 * HOUR_MS},
	[ERASE_ATA_CRYPTO]       = {"ata_sanitize_crypto",       true,   2 * MINUTE_MS,  10 * MINUTE_MS},
	[ERASE_ATA_BLOCK]        = {"ata_sanitize_block",        false,  10 * MINUTE_MS, 0},
	[ERASE_OVERWRITE]        = {"overwrite",                 false,  2 * MINUTE_MS,  0},
};
/* clang-format on */
static_assert(COUNT_OF(erase_policy_rows) == ERASE_METHOD_COUNT, "a row per method");

const char *erase_method_text(enum erase_method method)
{
	return erase_policy_rows[method].text;
}

int erase_method_value(const char *text)
{
	const char *words[ERASE_METHOD_COUNT];

	for (size_t i = 0; i < COUNT_OF(erase_policy_rows); i++)
		words[i] = erase_policy_rows[i].text;
	return enum_value(words, COUNT_OF(words), text);
}

bool erase_method_is_crypto(enum erase_method method)
{
	return erase_policy_rows[method].crypto;
}

uint32_t erase_method_deadline_ms(enum erase_method method)
{
	return (uint32_t)erase_policy_rows[method].deadline_ms;
}

bool erase_is_stuck(enum erase_method method, int64_t began_ms, int64_t progressed_ms,
		    int64_t now_ms)
{
	if (erase_policy_rows[method].silence_ms &&
	    now_ms - progressed_ms >= erase_policy_rows[method].silence_ms)
		return true;
	return erase_policy_rows[method].deadline_ms &&
	       now_ms - began_ms >= erase_policy_rows[method].deadline_ms;
}

static void erase_policy_add(struct erase_plan *plan, bool offered, enum erase_method method)
{
	if (offered)
		plan->methods[plan->count++] = method;
}

static struct erase_plan plan_nvme(const struct erase_facts *facts)
{
	const struct nvme_controller *controller = &facts->controller;
	/* A format that reaches the other namespaces would pull them away from under their own
	 * erase. */
	bool format = controller->format && (facts->siblings < 2 || !controller->format_all);
	struct erase_plan plan = {0};

	erase_policy_add(&plan, controller->sanitize_crypto, ERASE_SANITIZE_CRYPTO);
	erase_policy_add(&plan, controller->sanitize_block, ERASE_SANITIZE_BLOCK);
	erase_policy_add(&plan, format && controller->format_crypto, ERASE_FORMAT_CRYPTO);
	erase_policy_add(&plan, format, ERASE_FORMAT_USER_DATA);
	erase_policy_add(&plan, true, ERASE_OVERWRITE);
	(void)text_format(plan.reason, sizeof(plan.reason),
			  "the drive offers sanitize crypto=%s block=%s, format=%s crypto=%s",
			  controller->sanitize_crypto ? "yes" : "no",
			  controller->sanitize_block ? "yes" : "no",
			  controller->format ? "yes" : "no",
			  controller->format_crypto ? "yes" : "no");
	return plan;
}

/* SECURITY ERASE UNIT is left alone: it needs a password set first, and a power cut in between
 * leaves a locked drive. */
static struct erase_plan plan_ata(const struct erase_facts *facts)
{
	struct erase_plan plan = {0};

	erase_policy_add(&plan, facts->ata.sanitize_crypto, ERASE_ATA_CRYPTO);
	erase_policy_add(&plan, facts->ata.sanitize_block, ERASE_ATA_BLOCK);
	erase_policy_add(&plan, true, ERASE_OVERWRITE);
	(void)text_format(plan.reason, sizeof(plan.reason),
			  "the drive offers sanitize crypto=%s block=%s",
			  facts->ata.sanitize_crypto ? "yes" : "no",
			  facts->ata.sanitize_block ? "yes" : "no");
	return plan;
}

struct erase_plan erase_plan(const struct erase_facts *facts)
{
	static const char *const reasons[] = {
		[DISK_NVME] =
			"the NVMe controller does not answer identify: every block is overwritten",
		[DISK_ATA] =
			"the ATA drive does not answer identify: every addressable block is overwritten",
		[DISK_SCSI] =
			"SCSI drive: every addressable block is overwritten, its own erase commands are not used",
		[DISK_VIRTIO] =
			"virtual drive: it has no erase command, every block is overwritten",
	};
	struct erase_plan plan = {0};

	if (facts->read_only || facts->removable) {
		(void)text_format(plan.reason, sizeof(plan.reason),
				  "%s medium: not part of the node's own storage",
				  facts->read_only ? "read-only" : "removable");
		return plan;
	}
	if (facts->kind == DISK_NVME && facts->identified)
		return plan_nvme(facts);
	if (facts->kind == DISK_ATA && facts->ata_identified)
		return plan_ata(facts);
	erase_policy_add(&plan, true, ERASE_OVERWRITE);
	(void)text_copy(plan.reason, sizeof(plan.reason), reasons[facts->kind]);
	return plan;
}
