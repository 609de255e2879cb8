#include "trainer_image/record/picture.h"

#include <errno.h>
#include <stdlib.h>

int picture_reserve(struct picture *picture, uint32_t width, uint32_t height)
{
	uint8_t *lent = NULL;
	size_t size;

	if (__builtin_mul_overflow((size_t)width * 4, (size_t)height, &size))
		return -ENOMEM;
	if (picture->lend)
		lent = picture->lend(picture->lender, size);
	if (!lent && size > picture->room) {
		uint8_t *data = malloc(size);

		if (!data)
			return -ENOMEM;
		free(picture->own); /* old pixels are not kept: no realloc, which would copy them */
		picture->own = data;
		picture->room = size;
	}
	picture->data = lent ? lent : picture->own;
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
	free(picture->own);
	*picture = (struct picture){0};
}
