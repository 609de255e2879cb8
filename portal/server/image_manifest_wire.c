#include "portal/server/image_manifest_wire.h"

#include <string.h>

#include "common/base/error.h"

#include "portal/server/member_check.h"
#include "portal/server/word_table.h"

#define SIZE_LIMIT ((int64_t)1 << 42)

static const char *const arch_words[] = {"x86_64", NULL};
static const char *const format_words[] = {"raw+zstd", NULL};

/* clang-format off */
static const struct member_row image_manifest_wire_members[] = {
	{"name",           MEMBER_TEXT, MEMBER_REQUIRED, 1, 63,         NULL},
	{"version",        MEMBER_TEXT, MEMBER_REQUIRED, 1, 63,         NULL},
	{"arch",           MEMBER_WORD, MEMBER_REQUIRED, 0, 0,          arch_words},
	{"format",         MEMBER_WORD, MEMBER_REQUIRED, 0, 0,          format_words},
	{"digest",         MEMBER_HEX,  MEMBER_REQUIRED, 0, 64,         NULL},
	{"size_bytes",     MEMBER_INT,  MEMBER_REQUIRED, 1, SIZE_LIMIT, NULL},
	{"stored_digest",  MEMBER_HEX,  MEMBER_REQUIRED, 0, 64,         NULL},
	{"stored_bytes",   MEMBER_INT,  MEMBER_REQUIRED, 1, SIZE_LIMIT, NULL},
	{"root_partition", MEMBER_INT,  MEMBER_REQUIRED, 1, 128,        NULL},
	{"firmware",       MEMBER_LIST, MEMBER_REQUIRED, 1, 2,          NULL},
};
/* clang-format on */

/* Takes the members that are not ours out of the copy that is checked. */
static json_t *ours_of(const json_t *manifest)
{
	json_t *ours = json_object();

	for (size_t i = 0; i < COUNT_OF(image_manifest_wire_members); i++) {
		json_t *value = json_object_get(manifest, image_manifest_wire_members[i].name);

		if (value)
			(void)json_object_set(ours, image_manifest_wire_members[i].name, value);
	}
	return ours;
}

/* "NAME:VERSION" must name the image in a deployment. */
static void image_manifest_wire_check_name(const json_t *ours, struct error_list *errors)
{
	const struct member_row image = {.kind = MEMBER_IMAGE};
	const char *name = json_string_value(json_object_get(ours, "name"));
	const char *version = json_string_value(json_object_get(ours, "version"));
	char both[2 * NAME_SIZE];
	char room[128];

	if (!name || !version || !text_format(both, sizeof(both), "%s:%s", name, version) ||
	    strchr(name, ':'))
		error_list_value(errors, "/manifest/name", "1 to 63 of a-z 0-9 . -");
	else if (member_text_check(&image, both, room))
		error_list_pointer(
			errors, "/manifest/name", "name or version is not allowed",
			"name: 1 to 63 of a-z 0-9 . -, version: 1 to 63 of A-Z a-z 0-9 . _ + -, each beginning with a letter or digit");
}

int image_manifest_check(const char *text, size_t size, struct error_list *errors)
{
	const struct member_row firmware = {.kind = MEMBER_WORD, .words = node_firmware_words};
	CLEANUP(json_decrefp) json_t *manifest = NULL;
	CLEANUP(json_decrefp) json_t *ours = NULL;
	struct problem problem = {0};

	if (json_read(text, size, MANIFEST_LIMIT, &manifest, &problem) != 0 ||
	    !json_is_object(manifest)) {
		error_list_pointer(
			errors, "/manifest",
			problem.message[0] != '\0' ? problem.message : "not a JSON object", NULL);
		return E_INVALID;
	}
	ours = ours_of(manifest);
	members_check(ours, image_manifest_wire_members, COUNT_OF(image_manifest_wire_members),
		      "/manifest", errors);
	if (errors->count == 0) {
		image_manifest_wire_check_name(ours, errors);
		elements_check(json_object_get(ours, "firmware"), &firmware, true,
			       "/manifest/firmware", errors);
	}
	return errors->count > 0 ? E_INVALID : 0;
}
