// links: portal_outward
/* Any bytes as a provider's keys and, behind the first line end, as its ID token. What is accepted is of one key and whole: with a
 * letter of its signature changed, or for another client, it is not. */
#undef NDEBUG /* the invariants are the test */

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "portal/outward/id_token.h"
#include "tests/support/fuzz_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void id_token_fuzz_accepted(char *token, const json_t *keys, const char *subject)
{
	struct id_token_want want = {
		.issuer = "https://i", .client = "other", .nonce = "n", .now_s = 1000};
	char again[ID_TOKEN_SUBJECT_SIZE];
	struct problem problem;
	char *letter = strrchr(token, '.') + 1;

	assert(subject[0] != '\0' && strlen(subject) < ID_TOKEN_SUBJECT_SIZE);
	assert(id_token_verify(token, keys, &want, again, &problem) != 0);
	want.client = "c";
	*letter = *letter == 'A' ? 'B' : 'A';
	assert(id_token_verify(token, keys, &want, again, &problem) != 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct id_token_want want = {
		.issuer = "https://i", .client = "c", .nonce = "n", .now_s = 1000};
	char *text = fuzz_text(data, size);
	size_t line = strcspn(text, "\n");
	char subject[ID_TOKEN_SUBJECT_SIZE];
	struct problem problem;
	json_t *keys = NULL;

	if (text[line] == '\n' && id_token_keys(text, line, &keys, &problem) == 0) {
		char *token = text + line + 1;

		token[strcspn(token, "\n")] = '\0';
		if (id_token_verify(token, keys, &want, subject, &problem) == 0)
			id_token_fuzz_accepted(token, keys, subject);
		json_decref(keys);
	}
	free(text);
	return 0;
}
