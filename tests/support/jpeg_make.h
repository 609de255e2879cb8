/* Makes JPEGs for tests: smooth colours, edges and a little noise, which depend on the seed alone. */
#pragma once

#include <stdlib.h>
#include <string.h>

/* clang-format off */
#include <stdio.h> /* jpeglib.h wants its FILE */
#include <jpeglib.h>
#include <jerror.h>
/* clang-format on */

struct jpeg_make {
	unsigned width, height;
	int components; /* 1, 3, 4 */
	int quality;
	int sampling; /* chroma: 1 = 4:4:4, 2 = 4:2:0 */
	int progressive;
	unsigned seed;
};

static inline unsigned char jpeg_make_sample(const struct jpeg_make *make, unsigned x, unsigned y,
					     unsigned component)
{
	unsigned hash = (x * 2654435761U) ^ (y * 2246822519U) ^ (make->seed * 3266489917U);
	unsigned smooth = (x * (component + 1) * 255 / make->width + y * 255 / make->height) / 2;
	unsigned box = ((x / 37 + y / 29 + make->seed + component) & 3) * 24;

	hash = (hash ^ (hash >> 15)) * 2246822519U;
	return (unsigned char)((smooth + box + (hash >> 28)) & 255);
}

/* The caller frees *ret with free(). */
static inline void jpeg_make(const struct jpeg_make *make, unsigned char **ret, size_t *ret_size)
{
	struct jpeg_compress_struct library;
	struct jpeg_error_mgr errors;
	unsigned long size = 0;
	size_t components = (size_t)make->components;
	unsigned char *row = malloc(make->width * components);

	*ret = NULL;
	library.err = jpeg_std_error(&errors);
	jpeg_create_compress(&library);
	jpeg_mem_dest(&library, ret, &size);
	library.image_width = make->width;
	library.image_height = make->height;
	library.input_components = make->components;
	library.in_color_space = make->components == 1   ? JCS_GRAYSCALE
				 : make->components == 3 ? JCS_RGB
							 : JCS_CMYK;
	jpeg_set_defaults(&library);
	jpeg_set_quality(&library, make->quality, TRUE);
	library.comp_info[0].h_samp_factor = make->components == 3 ? make->sampling : 1;
	library.comp_info[0].v_samp_factor = library.comp_info[0].h_samp_factor;
	if (make->progressive)
		jpeg_simple_progression(&library);
	jpeg_start_compress(&library, TRUE);
	while (library.next_scanline < make->height) {
		unsigned y = library.next_scanline;

		for (size_t i = 0; i < make->width * components; i++)
			row[i] = jpeg_make_sample(make, (unsigned)(i / components), y,
						  (unsigned)(i % components));
		(void)jpeg_write_scanlines(&library, &row, 1);
	}
	jpeg_finish_compress(&library);
	jpeg_destroy_compress(&library);
	free(row);
	*ret_size = size;
}
