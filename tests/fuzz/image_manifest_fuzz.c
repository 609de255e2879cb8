// links: portal_server
/* A manifest that is accepted names a file that stays in its folder: hex digests, sizes above zero,
 * a name and a version without a slash. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/http/json_reader.h"

#include "portal/server/image_manifest_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *text_of(const json_t *manifest, const char *name)
{
	const char *text = json_string_value(json_object_get(manifest, name));

	if (!text)
		abort();
	return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct error_list errors = {0};
	struct problem problem = {0};
	json_t *manifest = NULL;
	int rc = image_manifest_check((const char *)data, size, &errors);

	if ((rc == 0) != (errors.count == 0))
		abort();
	error_list_done(&errors);
	if (rc != 0)
		return 0;
	if (json_read((const char *)data, size, MANIFEST_LIMIT, &manifest, &problem) != 0)
		abort();
	if (strspn(text_of(manifest, "stored_digest"), "0123456789abcdef") != 64 ||
	    strlen(text_of(manifest, "stored_digest")) != 64)
		abort();
	if (strpbrk(text_of(manifest, "name"), "/:\n") ||
	    strpbrk(text_of(manifest, "version"), "/:\n") || text_of(manifest, "name")[0] == '.')
		abort();
	if (json_integer_value(json_object_get(manifest, "stored_bytes")) < 1 ||
	    json_integer_value(json_object_get(manifest, "size_bytes")) < 1)
		abort();
	json_decref(manifest);
	return 0;
}
