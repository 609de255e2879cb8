// links: bampi_agent
/* Any identify page gives a plan that ends in an overwrite, never with a method that the drive does
 * not offer; a format keeps the format. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bampi/agent/erase_policy.h"
#include "bampi/agent/nvme_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t page[NVME_IDENTIFY_SIZE] = {0};
	struct erase_facts facts = {.kind = DISK_NVME, .identified = true, .siblings = size & 3U};
	struct erase_plan plan;
	struct nvme_sanitize_status status;
	uint32_t dword;

	/* The interesting bytes first: inputs stay short. */
	if (size > 0)
		memcpy(page + 256, data, size < 300 ? size : 300);
	if (size > 300)
		memcpy(page, data + 300, size - 300 < 64 ? size - 300 : 64);
	if (nvme_controller_decode(page, sizeof(page), &facts.controller))
		abort();
	plan = erase_plan(&facts);
	if (plan.count == 0 || plan.count > ERASE_METHOD_COUNT ||
	    plan.methods[plan.count - 1] != ERASE_OVERWRITE)
		abort();
	for (size_t i = 0; i < plan.count; i++) {
		enum erase_method method = plan.methods[i];

		if ((method == ERASE_SANITIZE_CRYPTO && !facts.controller.sanitize_crypto) ||
		    (method == ERASE_SANITIZE_BLOCK && !facts.controller.sanitize_block) ||
		    (method == ERASE_FORMAT_CRYPTO && !facts.controller.format_crypto) ||
		    (method == ERASE_FORMAT_USER_DATA && !facts.controller.format))
			abort();
	}
	if (nvme_format_dword(page, sizeof(page), NVME_FORMAT_CRYPTO, &dword) ||
	    (dword & 0xfU) != (page[26] & 0xfU) || (dword >> 9 & 7U) != NVME_FORMAT_CRYPTO)
		abort();
	if (nvme_sanitize_status_decode(data, size, &status) == 0 &&
	    (status.progress > 65535 || status.state > 7))
		abort();
	return 0;
}
