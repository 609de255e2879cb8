/* Makes PNGs for tests: of any kind, also those that are no masks. */
#pragma once

#include <png.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"

struct png_make {
	unsigned width, height;
	int colour, bits; /* as libpng has them */
	int interlace;    /* PNG_INTERLACE_* */
};

static inline void png_make_put(png_structp png, png_bytep from, size_t size)
{
	text_add_bytes(png_get_io_ptr(png), from, size);
}

static inline void png_make_flush(png_structp png)
{
	(void)png;
}

/* `bytes`: one a channel, of numbers below 2^bits; with 16 bits it is both halves. The caller ends `ret`. */
static inline void png_make(const struct png_make *make, const unsigned char *bytes,
			    struct text *ret)
{
	png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
	png_infop info = png_create_info_struct(png);
	png_color palette[256];
	unsigned char row[4096];

	png_set_write_fn(png, ret, png_make_put, png_make_flush);
	png_set_IHDR(png, info, make->width, make->height, make->bits, make->colour,
		     make->interlace, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
	for (size_t i = 0; i < 256; i++)
		palette[i] = (png_color){(png_byte)i, (png_byte)(i * 7), (png_byte)(255 - i)};
	if (make->colour == PNG_COLOR_TYPE_PALETTE)
		png_set_PLTE(png, info, palette, 1 << make->bits);
	png_write_info(png, info);
	if (make->bits < 8)
		png_set_packing(png);
	size_t samples = make->width * (size_t)png_get_channels(png, info);

	for (int pass = png_set_interlace_handling(png); pass > 0; pass--)
		for (size_t y = 0; y < make->height; y++) {
			for (size_t i = 0; i < samples; i++)
				memset(row + i * (make->bits == 16 ? 2 : 1), bytes[y * samples + i],
				       make->bits == 16 ? 2 : 1);
			png_write_row(png, row);
		}
	png_write_end(png, info);
	png_destroy_write_struct(&png, &info);
}
