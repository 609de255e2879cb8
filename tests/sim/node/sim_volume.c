#include "tests/sim/node/sim_volume.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/hex.h"
#include "common/base/text.h"
#include "common/io/file.h"
#include "common/io/seal_key.h"

static int sim_volume_add(const struct agent_key *key, json_t *row, const char *initiator,
			  struct text *lines)
{
	const char *target = "";
	const char *portal = "";
	const char *user = "";
	const char *hex = "";
	uint8_t sealed[SEAL_SIZE_MAX];
	char secret[64];
	size_t size;

	if (json_unpack(row, "{s:s, s:s, s:s, s:s}", "target", &target, "portal", &portal, "user",
			&user, "sealed", &hex) != 0)
		return -1;
	size = strlen(hex) / 2;
	if (size > sizeof(sealed) || hex_decode(hex, sealed, size) != 0 ||
	    agent_key_open(key, sealed, size, secret, sizeof(secret)) != 0)
		return -1;
	text_addf(lines, "%s %s %s %s %s\n", target, portal, user, secret, initiator);
	return 0;
}

int sim_volume_write(const struct agent_key *key, const char *folder, int node, const char *iscsi)
{
	CLEANUP(text_done) struct text lines = {0};
	json_t *params = json_loads(iscsi, 0, NULL);
	const json_t *volumes = json_object_get(params, "volumes");
	const char *initiator = json_string_value(json_object_get(params, "initiator"));
	json_t *row;
	char path[4096];
	size_t i;
	int rc = 0;

	(void)text_format(path, sizeof(path), "%s/s%d.iscsi", folder, node);
	json_array_foreach(volumes, i, row)
	{
		if (sim_volume_add(key, row, initiator ? initiator : "", &lines) != 0) {
			(void)fprintf(stderr, "simnodes: s%d cannot open the secret of a volume\n",
				      node);
			rc = -1;
		}
	}
	json_decref(params);
	if (lines.size == 0)
		(void)unlink(path);
	else if (file_write_atomic(path, text_get(&lines), lines.size, 0640) != 0)
		rc = -1;
	return rc;
}
