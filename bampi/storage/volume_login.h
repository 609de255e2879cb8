/* Secrets of volumes for the nodes that are being installed (docs/decision/way-to-a-volume.md).
 * They are opened with the storage's key, and sealed to the key that a node's agent made for this
 * boot. So neither the rows nor the way there can be read. */
#pragma once

#include "bampi/storage/volume_runner.h"
#include "bampi/storage/volume_store.h"

/* The rows of volume_login_work: of a volume without a secret one is made, for the others it is
 * sealed; what cannot be opened is left out and logged. `fn` when it is written. */
void volume_logins_take(const struct volume_runner_options *options,
			const struct storage_claim *claim, const PGresult *rows, db_result_fn fn,
			void *context);
