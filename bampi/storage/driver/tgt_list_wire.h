/* What tgtd has open, read from two texts of its own. The list of targets holds names and aliases
 * as initiators sent them (tgt usr/iscsi/session.c): with a newline in its name a tenant writes
 * lines of that list. So only this of it is believed:
 *
 *  - A target ends with a line that nobody else can write: its mark, a keyed hash of its number and
 *    name. The driver lists it like the name of an initiator; tgtd prints those last. What an
 *    initiator writes stays between the marks of its own target.
 *  - Path, accounts and addresses stand behind all logins of their target.
 *  - The numbers of the sessions are those of tgtd's statistics, which hold no foreign text. Where
 *    the list tells others, or anything else than logins, every session of that target is odd. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"

#include "bampi/storage/driver/storage_driver.h"

#define TGT_TARGETS_MAX 65536
#define TGT_MARK_SIZE   192

struct tgt_list {
	const char *targets; /* `show` of all targets; needs no NUL */
	size_t targets_size;
	const char *statistics; /* of the system, asked for before `targets` */
	size_t statistics_size;
	const uint8_t *mark_key;
};

/* "haas-mark.HASH.7.iqn.2026-11.test:volume.7". Who knows it passes the target's list of addresses,
 * so it is told to nobody. */
void tgt_mark(const uint8_t mark_key[STORAGE_MARK_KEY_SIZE], int64_t id, const char *name,
	      char ret[TGT_MARK_SIZE]);
/* Targets with a mark: number, name, file of unit 1, incoming accounts, addresses, sessions.
 * Behind them those without: number and name alone, never opened by us, or only in part.
 * *ret_moved: a login came or went between the two texts, or an initiator wants it to look so; ask
 * for both again. E_MALFORMED: more targets, accounts or addresses than there can be. -ENOMEM. */
MUST_USE int tgt_list_decode(const struct tgt_list *list, struct storage_view *ret,
			     bool *ret_moved);
