// links: bampi_agent
/* Any identify page gives a plan that ends in an overwrite and holds nothing the drive does not
 * offer; any sense data gives a status or none, never "done" together with "running" of a refused
 * command taken as success. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bampi/agent/ata_wire.h"
#include "bampi/agent/erase_policy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t page[ATA_IDENTIFY_SIZE] = {0};
	struct erase_facts facts = {.kind = DISK_ATA, .ata_identified = true, .siblings = 1};
	struct ata_sanitize_status status = {.progress = 1};
	struct erase_plan plan;

	memcpy(page + 118, data, size < 2 ? size : 2);
	if (ata_drive_decode(page, sizeof(page), &facts.ata))
		abort();
	plan = erase_plan(&facts);
	if (plan.count == 0 || plan.methods[plan.count - 1] != ERASE_OVERWRITE)
		abort();
	for (size_t i = 0; i < plan.count; i++) {
		if ((plan.methods[i] == ERASE_ATA_CRYPTO && !facts.ata.sanitize_crypto) ||
		    (plan.methods[i] == ERASE_ATA_BLOCK && !facts.ata.sanitize_block))
			abort();
	}
	if (ata_sanitize_status_decode(data, size, &status) && status.progress != 1)
		abort(); /* results are written on success only */
	return 0;
}
