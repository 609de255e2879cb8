#include <sodium.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "bampi/bmc/bmc_driver.h"

static const struct {
	const char *word;
	enum bmc_workaround bit;
} workaround_table[] = {
	{"authcap", BMC_WORKAROUND_AUTHCAP},
	{"intel20", BMC_WORKAROUND_INTEL20},
	{"supermicro20", BMC_WORKAROUND_SUPERMICRO20},
	{"sun20", BMC_WORKAROUND_SUN20},
	{"opensesspriv", BMC_WORKAROUND_OPENSESSPRIV},
	{"integritycheckvalue", BMC_WORKAROUND_INTEGRITYCHECKVALUE},
	{"nochecksumcheck", BMC_WORKAROUND_NOCHECKSUMCHECK},
};

void bmc_endpoint_wipe(struct bmc_endpoint *endpoint)
{
	sodium_memzero(endpoint, sizeof(*endpoint));
}

enum bmc_tls bmc_tls_find(const char *word)
{
	if (strcmp(word, "unverified") == 0)
		return BMC_TLS_UNVERIFIED;
	return strcmp(word, "off") == 0 ? BMC_TLS_OFF : BMC_TLS_VERIFY;
}

static uint32_t workaround_bit(const char *word, size_t length)
{
	for (size_t i = 0; i < COUNT_OF(workaround_table); i++) {
		if (strlen(workaround_table[i].word) == length &&
		    memcmp(workaround_table[i].word, word, length) == 0)
			return workaround_table[i].bit;
	}
	return 0;
}

int bmc_workarounds_parse(const char *words, uint32_t *ret, struct problem *problem)
{
	static const char separators[] = ", ";
	uint32_t bits = 0;

	for (const char *at = words + strspn(words, separators); *at;
	     at += strspn(at, separators)) {
		size_t length = strcspn(at, separators);
		uint32_t bit = workaround_bit(at, length);

		if (!bit) {
			char known[160];

			(void)bmc_workarounds_text(UINT32_MAX, known, sizeof(known));
			problem_set(problem, E_NOT_FOUND, "unknown BMC workaround '%.*s'",
				    (int)(length < 40 ? length : 40), at);
			problem_hint(problem, "known ones: %s", known);
			return E_NOT_FOUND;
		}
		bits |= bit;
		at += length;
	}
	*ret = bits;
	return 0;
}

bool bmc_workarounds_text(uint32_t bits, char *ret, size_t room)
{
	size_t used = 0;

	if (room == 0)
		return false;
	ret[0] = '\0';
	for (size_t i = 0; i < COUNT_OF(workaround_table); i++) {
		if (!(bits & (uint32_t)workaround_table[i].bit))
			continue;
		if (!text_format(ret + used, room - used, "%s%s", used ? "," : "",
				 workaround_table[i].word))
			return false;
		used += strlen(ret + used);
	}
	return true;
}
