#include "bampi/control/attest/attest_trust.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/hex.h"
#include "common/base/text.h"
#include "common/io/file.h"

static int attest_trust_is_value(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name);

	return length > 6 && entry->d_name[0] != '.' &&
	       strcmp(entry->d_name + length - 6, ".pcr11") == 0;
}

static int attest_trust_read(const char *folder, const char *name, uint8_t ret[ATTEST_VALUE_SIZE],
			     struct problem *problem)
{
	CLEANUP(freep) char *content = NULL;
	char path[512];
	size_t size = 0;
	int rc = text_format(path, sizeof(path), "%s/%s", folder, name)
			 ? file_read(path, 256, &content, &size)
			 : -ENAMETOOLONG;

	while (!rc && size > 0 && isspace((unsigned char)content[size - 1]))
		content[--size] = '\0';
	if (!rc)
		rc = hex_decode(content, ret, ATTEST_VALUE_SIZE);
	if (!rc)
		return 0;
	(void)problem_set(problem, rc, "the measurement %s cannot be read: %s", name,
			  error_text(rc));
	problem_hint(problem, "build the signed image again: ramdisk/build --secure-boot");
	return problem->code;
}

int attest_trust_load(const char *folder, struct attest_trust *ret, struct problem *problem)
{
	struct attest_trust trust = {0};
	struct dirent **entries = NULL;
	int count = scandir(folder, &entries, attest_trust_is_value, alphasort);
	int rc = 0;

	if (count < 0 && errno != ENOENT) {
		rc = problem_set(problem, -errno, "the folder %s cannot be read: %s", folder,
				 error_text(-errno));
		return rc;
	}
	if (count > ATTEST_TRUST_MAX)
		rc = problem_set(problem, E_LIMIT, "%s has more than %d measurements", folder,
				 ATTEST_TRUST_MAX);
	for (int i = 0; i < count; i++) {
		if (!rc)
			rc = attest_trust_read(folder, entries[i]->d_name,
					       trust.values[trust.count++], problem);
		free(entries[i]);
	}
	free(entries);
	if (rc)
		return rc;

	*ret = trust;
	return 0;
}
