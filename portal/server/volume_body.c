#include "portal/server/volume_body.h"

#include <string.h>

#include "common/base/text.h"

#include "portal/server/member_check.h"

#define BLOCK     4096
#define BYTES_MIN ((int64_t)1 << 20)

/* clang-format off */
static const struct member_row volume_body_volume_members[] = {
	{"name",       MEMBER_NAME, 0, 0, 0,                NULL},
	{"size_bytes", MEMBER_INT,  0, 1, VOLUME_BYTES_MAX, NULL},
	{"archive",    MEMBER_NAME, 0, 0, 0,                NULL},
	{"storage",    MEMBER_NAME, 0, 0, 0,                NULL},
	{"keep",       MEMBER_BOOL, 0, 0, 0,                NULL},
	{"volume",     MEMBER_NAME, 0, 0, 0,                NULL},
};
/* clang-format on */

void volume_size_check(const json_t *object, const char *pointer, struct error_list *errors)
{
	const json_t *size = json_object_get(object, "size_bytes");
	char path[96];

	(void)text_format(path, sizeof(path), "%s/size_bytes", pointer);
	if (json_is_integer(size) &&
	    (json_integer_value(size) < BYTES_MIN || json_integer_value(size) % BLOCK != 0))
		error_list_value(errors, path,
				 "the size of a volume: 1048576 or more, a multiple of 4096");
}

/* One that is there already, by its name alone; or a new one: a name, and a size or an archive. */
static void volume_body_check_one(const json_t *volume, const char *pointer,
				  struct error_list *errors)
{
	bool there = json_object_get(volume, "volume") != NULL;
	bool named = json_object_get(volume, "name") != NULL;
	bool sized = json_object_get(volume, "size_bytes") || json_object_get(volume, "archive");

	if (there ? json_object_size(volume) != 1 : !named || !sized)
		error_list_pointer(errors, pointer, "this describes no volume",
				   "volume alone, or name with size_bytes or archive");
	volume_size_check(volume, pointer, errors);
}

void pdci_volumes_check(const json_t *volumes, struct error_list *errors)
{
	char pointer[64];

	if (!json_is_array(volumes))
		return;
	objects_check(volumes, volume_body_volume_members, COUNT_OF(volume_body_volume_members),
		      "/volumes", errors);
	for (size_t i = 0; errors->count == 0 && i < json_array_size(volumes); i++) {
		(void)text_format(pointer, sizeof(pointer), "/volumes/%zu", i);
		volume_body_check_one(json_array_get(volumes, i), pointer, errors);
	}
}
