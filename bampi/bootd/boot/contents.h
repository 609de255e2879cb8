/* Images and packages here, and those that another controller has. Each bampi-bootd tells the database what it holds,
 * and hears what it lacks and who has it. It copies that from another one's boot server, one at a time
 * (docs/decision/images-between-controllers.md). What portald took is in image_dir, copies are in copy_dir. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/db/db.h"
#include "common/http/tls.h"
#include "common/io/loop.h"

#include "bampi/bootd/boot/boot_counters.h"

struct contents;

/* Borrowed, all of it, for the object's life. */
struct contents_options {
	struct db *db;
	struct boot_counters *counters;
	const char *image_dir;
	const char *copy_dir; /* made when it is missing; "" = nothing is copied */
	uint32_t address;     /* where other controllers reach us; 0 = nowhere */
	uint16_t https_port;
	const struct tls_files
		*tls_files; /* NULL = no certificate: nothing is copied or given away */
};

MUST_USE int contents_new(struct loop *loop, const struct contents_options *options,
			  struct contents **ret);
/* After db_free. A copy under way ends within a moment, and goes on after the next start. */
void contents_free(struct contents *contents);

/* The folder that holds this content; NULL = it is not here. */
const char *contents_folder(const struct contents *contents, const char *digest);
/* A node waits for one that is not here: may it come? It is copied next. */
bool contents_coming(struct contents *contents, const char *digest);
