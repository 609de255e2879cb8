/* JPEG by libjpeg-turbo: the wanted region of a picture alone, at the smallest scale that is enough.
 *
 * Nothing is trusted. The header is checked against limits before memory is taken for the pixels.
 * A progressive file, which needs memory for all its coefficients, has a limit of its own, also on
 * its scans. Errors of the library come back as a problem; its warnings are counted, and those that
 * tell of lost pixels are errors here.
 *
 * One decoder a thread. It is used again for each picture. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"

#include "trainer_image/record/picture.h"

enum { JPEG_SCANS_MAX = 64 };

struct jpeg_limits {
	uint64_t pixels; /* width * height of the whole picture */
	size_t memory;   /* bytes that libjpeg may take for a progressive file */
	bool whole; /* what lacks its end, or is damaged in any way, is an error; else lost pixels alone are */
};

/* 64 Mpixel, 384 MiB. */
extern const struct jpeg_limits jpeg_limits_default;

struct jpeg_header {
	uint32_t width, height;
	int components; /* 1 grey, 3 colour, 4 CMYK: all are decoded to red, green, blue */
	bool progressive;
};

struct jpeg_decoder;

MUST_USE int jpeg_decoder_new(const struct jpeg_limits *limits, struct jpeg_decoder **ret);
void jpeg_decoder_free(struct jpeg_decoder *decoder);
void jpeg_decoder_freep(struct jpeg_decoder **decoder);

/* Reads the header. `data` is borrowed until the picture was read or another is opened.
 * E_MALFORMED: no JPEG; E_LIMIT: too large; E_UNSUPPORTED: a kind of JPEG that is not decoded. */
MUST_USE int jpeg_decoder_open(struct jpeg_decoder *decoder, const void *data, size_t size,
			       struct jpeg_header *ret, struct problem *problem);
/* Decodes `region`, which lies inside of the picture that was opened, at 1/1, 1/2, 1/4 or 1/8 of its
 * size: the smallest at which the region still has least_width x least_height pixels. Pixels of the
 * region are those that the whole picture decoded at this scale has. `ret` keeps its memory.
 * E_MALFORMED, E_LIMIT, -ENOMEM. The picture is closed after it. */
MUST_USE int jpeg_decoder_read(struct jpeg_decoder *decoder, const struct picture_region *region,
			       uint32_t least_width, uint32_t least_height, struct picture *ret,
			       struct problem *problem);
/* Warnings of the library so far, of all pictures. */
uint64_t jpeg_decoder_warnings(const struct jpeg_decoder *decoder);
