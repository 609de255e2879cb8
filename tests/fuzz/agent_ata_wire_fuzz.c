// links: bampi_agent
/* Any identify page gives a plan that ends in an overwrite and holds nothing the drive does not
 * offer; any sense data gives a status or none, never "done" together with "running" of a refused
 * command taken as success. A last address has the bits of its command, and a refused command
 * tells none. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bampi/agent/ata_wire.h"
#include "bampi/agent/erase_policy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Words 59, 82, 83 and 119, in this order. */
static void identify_page(const uint8_t *data, size_t size, uint8_t page[ATA_IDENTIFY_SIZE])
{
	static const size_t places[] = {118, 164, 166, 238};

	for (size_t i = 0; i < COUNT_OF(places) && 2 * i + 2 <= size; i++)
		memcpy(page + places[i], data + 2 * i, 2);
}

static void check_last_address(const uint8_t *data, size_t size)
{
	for (enum ata_max_way way = ATA_MAX_HPA28; way <= ATA_MAX_AMAX; way++) {
		uint64_t last = 7;
		int rc = ata_native_max_decode(data, size, way, &last);

		if (rc != ata_status_decode(data, size) || (rc && last != 7) ||
		    last >> (way == ATA_MAX_HPA28 ? 28 : 48) != 0)
			abort();
	}
}

/* With the signature and a sum that fits, so that the rest of the page is read. */
static void check_overlay(const uint8_t *data, size_t size)
{
	uint8_t page[ATA_IDENTIFY_SIZE] = {0};
	uint64_t last = 7;
	uint8_t sum = 0;
	int rc;

	memcpy(page, data, size < 510 ? size : 510);
	page[510] = 0xa5;
	for (size_t i = 0; i < 511; i++)
		sum = (uint8_t)(sum + page[i]);
	page[511] = (uint8_t)(256 - sum);
	rc = ata_overlay_decode(page, sizeof(page), &last);
	if ((rc && last != 7) || last >> 48 != 0)
		abort();
	page[511]++;
	if (ata_overlay_decode(page, sizeof(page), &last) == 0)
		abort();
	(void)!ata_overlay_decode(data, size, &last);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t page[ATA_IDENTIFY_SIZE] = {0};
	struct erase_facts facts = {.kind = DISK_ATA, .ata_identified = true, .siblings = 1};
	struct ata_sanitize_status status = {.progress = 1};
	struct erase_plan plan;

	identify_page(data, size, page);
	check_last_address(data, size);
	check_overlay(data, size);
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
