// links: common_net
/* What a TPM, or who plays one, may answer; and the quote that bampid is handed. Invariants: nothing is
 * written without success; a refusal has a code; a quote fits its room. */
#undef NDEBUG /* the invariants are the test */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "common/base/error.h"
#include "common/net/tpm_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t values[TPM_REGISTERS + 1][TPM_DIGEST_SIZE];
	struct tpm_quoted quoted = {.attest_size = 0};
	struct tpm_quote quote = {.registers = 0};
	struct tpm_key key;
	uint32_t handle = 0;
	uint32_t code = 0;
	int rc;

	if (size == 0)
		return 0;
	switch (data[0] % 4) {
	case 0: rc = tpm_key_decode(data + 1, size - 1, &code, &handle, &key); break;
	case 1:
		rc = tpm_quoted_decode(data + 1, size - 1, &code, &quoted);
		assert(rc ? quoted.attest_size == 0 : quoted.attest_size <= TPM_ATTEST_MAX);
		break;
	case 2:
		memset(values, 0xa5, sizeof(values));
		rc = tpm_registers_decode(data + 1, size - 1, 1U << 7 | 1U << 11, &code, values);
		assert(values[2][0] == 0xa5 && (!rc || values[0][0] == 0xa5));
		break;
	default:
		rc = tpm_attest_decode(data + 1, size - 1, &quote);
		assert(!rc || quote.registers == 0);
		break;
	}
	assert((rc == E_DENIED) == (code != 0));
	return 0;
}
