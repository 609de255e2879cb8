/* Keeps the storage's side of its networks as the rows say: in a worker, one look and one round of
 * deeds after another until nothing is left to do; then tells what came of each. */
#pragma once

#include "bampi/storage/network_host.h"
#include "bampi/storage/volume_runner.h"
#include "bampi/storage/volume_store.h"

struct network_runner;

/* `changed` is called when a row was told to be otherwise than before. Both borrowed. */
MUST_USE int network_runner_new(const struct volume_runner_options *options,
				void (*changed)(void *context), void *context,
				struct network_runner **ret);
/* Nothing is told or begun any more. */
void network_runner_stop(struct network_runner *runner);
/* After worker_free and db_free. */
void network_runner_free(struct network_runner *runner);
/* The rows of storage_network_work. While a round is under way nothing begins: the next pass comes.
 */
void network_runner_take(struct network_runner *runner, const struct storage_claim *claim,
			 const PGresult *rows);
