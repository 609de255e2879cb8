/* The SQL of a storage: its claim, what is to be true of its volumes and archives, what is. All
 * writes but the claim hold only while the claim is ours. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/db/db.h"
#include "common/io/seal_key.h"

#include "bampi/storage/driver/storage_driver.h"
#include "bampi/storage/volume_file.h"
#include "bampi/storage/volume_policy.h"

struct volume_row {
	int64_t id;
	bool archive; /* it is a row of archive; `volume` is the volume that it is of */
	char name[64], tenant[64];
	bool absent;
	enum volume_state state;
	enum archive_state archive_state;
	int64_t size_bytes, kept_bytes;
	int64_t volume;
	struct volume_source source; /* of a volume to be restored; archive 0 = none */
	char source_digest[DIGEST_TEXT_SIZE];
	int64_t pdci, served_pdci; /* 0 = none */
	bool told;                 /* the row says to whom it is open, as it is wanted */
	bool open_wanted;
	char *initiators;           /* JSON as it is told; owned */
	struct storage_user *users; /* without secrets; the first is the tenant's; owned */
	size_t user_count;
	struct storage_address *addresses; /* owned */
	size_t address_count;
	char nameless[64]; /* a node that has no address to be let in by; "" = none */
	uint8_t sealed[SEAL_SIZE_MAX];
	size_t sealed_size; /* 0 = no secret was asked for */
	int64_t secret_number;
};

void volume_row_done(struct volume_row *row);
/* Why one of its nodes is not let in. */
void volume_nameless(const struct volume_row *row, struct problem *ret);

struct storage_claim {
	int64_t id, generation;
	char iqn[STORAGE_TARGET_SIZE];
};

struct storage_state {
	const char *name, *owner;
	int64_t claim_ms;
	const uint8_t *public_key;
	int64_t total_bytes, free_bytes;
	const struct problem *problem; /* of the target software; may be unset */
};

/* No row: it does not exist, is not ours, or another has it. */
MUST_USE int storage_store_claim(struct db *db, const struct storage_state *state, db_result_fn fn,
				 void *context);
/* portald seals to this key from now on. */
MUST_USE int storage_store_publish(struct db *db, const struct seal_key *key);
bool storage_claim_read(const PGresult *result, struct storage_claim *ret);
/* All in one snapshot; the archives last. */
struct volume_work_fns {
	db_result_fn on_networks, on_logins, on_volumes, on_archives;
};
MUST_USE int volume_store_work(struct db *db, const struct storage_claim *claim,
			       const struct volume_work_fns *fns, void *context);
/* JSON: [{"network", "up", "problem"}]. */
MUST_USE int storage_store_networks(struct db *db, const struct storage_claim *claim,
				    const char *rows, db_result_fn fn, void *context);
MUST_USE int volume_row_read(const PGresult *result, int row, struct volume_row *ret);
MUST_USE int archive_row_read(const PGresult *result, int row, struct volume_row *ret);

/* JSON: [{"volume", "number", "sealed"}], [{"volume", "node", "key", "number", "sealed"}]. */
MUST_USE int storage_store_secrets(struct db *db, const struct storage_claim *claim,
				   const char *rows, db_result_fn fn, void *context);
MUST_USE int storage_store_logins(struct db *db, const struct storage_claim *claim,
				  const char *rows, db_result_fn fn, void *context);

/* What was done, or why not. */
struct volume_done {
	enum volume_action action;
	struct problem problem; /* unset: it is done */
	int64_t bytes;          /* ACTION_DESTROY: read back as zeros */
	size_t odd_logins;      /* ACTION_EXPEL: cut for what they said of themselves */
	struct archive_digest digest;
};
MUST_USE int volume_store_done(struct db *db, const struct storage_claim *claim,
			       const struct volume_row *row, const struct volume_done *done,
			       db_result_fn fn, void *context);
/* Bytes done so far, as array literals of ids and bytes. */
MUST_USE int volume_store_progress(struct db *db, bool archives, const char *ids,
				   const char *bytes);
