/* Takes secrets out of what `site report` packs. Three nets, one behind the other: known secrets (the
 * contents of keys and credentials) wherever they stand; values behind words like "password"; text that
 * looks like a token. Settings of a daemon are shown only where they are known to be none. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/base/macros.h"
#include "common/base/text.h"

#define SITE_MASK_TEXT "[masked]"

struct site_mask_secret {
	char *bytes;
	size_t size;
};

struct site_mask {
	struct site_mask_secret *secrets;
	size_t count;
	bool begins[256]; /* some secret begins with this byte */
	bool failed;      /* out of memory: nothing may be packed */
};

void site_mask_done(struct site_mask *mask);
/* The content of a secret file: each line of it; of bytes that are no text their hex. */
void site_mask_learn(struct site_mask *mask, const char *bytes, size_t size);
/* Adds the text without its secrets. */
void site_mask_add(const struct site_mask *mask, const char *bytes, size_t size, struct text *ret);
/* Adds the settings of a configuration, a line each, without comments. `sample` is that of the package:
 * what is as there is shown. What is not shown becomes a known secret: a daemon quotes a wrong value. */
void site_mask_conf(struct site_mask *mask, const char *conf, const char *sample, struct text *ret);
