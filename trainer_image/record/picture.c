#include "trainer_image/record/picture.h"

#include <errno.h>
#include <stdlib.h>

int picture_reserve(struct picture *picture, uint32_t width, uint32_t height)
{
	size_t size;

	if (__builtin_mul_overflow((size_t)width * 4, (size_t)height, &size))
		return -ENOMEM;
	if (size > picture->room) {
		uint8_t *data = malloc(size);

		if (!data)
			return -ENOMEM;
		free(picture->data); /* old pixels are not kept: no realloc, which would copy them */
		picture->data = data;
		picture->room = size;
	}
	picture->width = width;
	picture->height = height;
	picture->stride = (size_t)width * 4;
	picture->left = 0;
	picture->top = 0;
	picture->region_width = width;
	picture->region_height = height;
	return 0;
}

void picture_done(struct picture *picture)
{
	free(picture->data);
	*picture = (struct picture){0};
}
