/* The bytes of deleted packages go from image_dir, once no image and no other package has the same:
 * at the start, and after each deletion. Only what an event says was deleted is looked at, so that
 * a database that is new or restored takes nothing away. */
#pragma once

#include "common/base/macros.h"

struct portal;
struct image_sweep;

/* After the database and the worker are there. */
MUST_USE int image_sweep_new(struct portal *portal, struct image_sweep **ret);
/* A package is being deleted, or the database is there again. `sweep` may be NULL. */
void image_sweep_soon(struct image_sweep *sweep);
/* After the worker and the database are gone. */
void image_sweep_free(struct image_sweep *sweep);
