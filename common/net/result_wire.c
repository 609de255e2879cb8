#include "common/net/result_wire.h"

#include <inttypes.h>
#include <sodium.h>
#include <string.h>

#include "common/base/macros.h"
#include "common/base/text.h"

void result_statement(int64_t task, const char *token, const void *body, size_t size,
		      char ret[RESULT_STATEMENT_SIZE])
{
	char boot[DIGEST_TEXT_SIZE];
	char result[DIGEST_TEXT_SIZE];

	digest_text(token, strlen(token), boot);
	digest_text(body, size, result);
	(void)text_format(ret, RESULT_STATEMENT_SIZE,
			  "haas-result 1\ntask %" PRId64 "\nboot %s\nresult %s\n", task, boot,
			  result);
}

static bool result_wire_hex(const char *text, uint8_t *ret, size_t size)
{
	return text && hex_decode(text, ret, size) == 0;
}

bool result_is_signed(const char *agent, const char *signature, int64_t task, const char *token,
		      const void *body, size_t size)
{
	uint8_t key[crypto_sign_PUBLICKEYBYTES];
	uint8_t bytes[RESULT_SIGNATURE_SIZE];
	char statement[RESULT_STATEMENT_SIZE];

	if (!result_wire_hex(agent, key, sizeof(key)) ||
	    !result_wire_hex(signature, bytes, sizeof(bytes)))
		return false;
	result_statement(task, token, body, size, statement);
	return crypto_sign_verify_detached(bytes, (const uint8_t *)statement, strlen(statement),
					   key) == 0;
}
