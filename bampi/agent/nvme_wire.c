#include "bampi/agent/nvme_wire.h"

#include "common/base/error.h"

enum { OACS_AT = 256, SANICAP_AT = 328, NN_AT = 516, FNA_AT = 524 };
enum { FLBAS_AT = 26, DPS_AT = 29 };
enum { OACS_FORMAT = 1 << 1, FNA_FORMAT_ALL = 1 << 0, FNA_ERASE_ALL = 1 << 1, FNA_CRYPTO = 1 << 2 };
enum { SANICAP_CRYPTO = 1 << 0, SANICAP_BLOCK = 1 << 1 };

static uint32_t nvme_wire_le(const uint8_t *at, size_t size)
{
	uint32_t value = 0;

	for (size_t i = 0; i < size; i++)
		value |= (uint32_t)at[i] << (8 * i);
	return value;
}

int nvme_controller_decode(const void *data, size_t size, struct nvme_controller *ret)
{
	const uint8_t *bytes = data;
	uint32_t oacs;
	uint32_t sanicap;
	uint32_t fna;

	if (size < NVME_IDENTIFY_SIZE)
		return E_MALFORMED;
	oacs = nvme_wire_le(bytes + OACS_AT, 2);
	sanicap = nvme_wire_le(bytes + SANICAP_AT, 4);
	fna = bytes[FNA_AT];
	*ret = (struct nvme_controller){
		.sanitize_crypto = (sanicap & SANICAP_CRYPTO) != 0,
		.sanitize_block = (sanicap & SANICAP_BLOCK) != 0,
		.format = (oacs & OACS_FORMAT) != 0,
		.format_crypto = (oacs & OACS_FORMAT) != 0 && (fna & FNA_CRYPTO) != 0,
		.format_all = (fna & (FNA_FORMAT_ALL | FNA_ERASE_ALL)) != 0,
		.namespaces = nvme_wire_le(bytes + NN_AT, 4),
	};
	return 0;
}

int nvme_sanitize_status_decode(const void *data, size_t size, struct nvme_sanitize_status *ret)
{
	const uint8_t *bytes = data;

	if (size < 4)
		return E_MALFORMED;
	*ret = (struct nvme_sanitize_status){.progress = nvme_wire_le(bytes, 2),
					     .state = nvme_wire_le(bytes + 2, 2) & 7U};
	return 0;
}

int nvme_format_dword(const void *identify_namespace, size_t size, enum nvme_format_erase erase,
		      uint32_t *ret)
{
	const uint8_t *bytes = identify_namespace;
	uint32_t flbas;
	uint32_t dps;

	if (size < NVME_IDENTIFY_SIZE)
		return E_MALFORMED;
	flbas = bytes[FLBAS_AT];
	dps = bytes[DPS_AT];
	/* LBAF 3:0, MSET 4, PI 7:5, PIL 8, SES 11:9, LBAF upper 13:12. */
	*ret = (flbas & 0xfU) | (flbas & 0x10U) | (dps & 7U) << 5 | (dps >> 3 & 1U) << 8 |
	       (uint32_t)erase << 9 | (flbas >> 5 & 3U) << 12;
	return 0;
}
