/* Who is logged in at tgtd: by its statistics, which hold numbers only, and by what its list of
 * targets says between two lines that are known (tgt_list_wire). The list has the addresses, beside
 * names and aliases as initiators sent them. */
#pragma once

#include "common/base/macros.h"

#include "bampi/storage/driver/storage_driver.h"
#include "bampi/storage/driver/tgt_span.h"

#define TGT_SESSIONS_MAX 65536 /* of all targets: tgtd numbers them with 16 bits */

struct tgt_login {
	int64_t target;
	uint64_t number;
};

struct tgt_logins {
	struct tgt_login *list; /* by target and number; owned, free() */
	size_t count;
};

/* The statistics of the system. E_MALFORMED: more logins than tgtd can number. -ENOMEM. */
MUST_USE int tgt_logins_decode(struct span text, struct tgt_logins *ret);
/* The sessions of `target`, which has none yet: `text` stands between its head and its units. The
 * text must tell the sessions that the statistics number: no other, none twice, and nothing else.
 * If not, those of the statistics are taken, all odd. *ret_moved becomes true where a login that
 * came or went in between explains it. -ENOMEM. */
MUST_USE int tgt_sessions_decode(struct span text, const struct tgt_logins *logins,
				 struct storage_target *target, bool *ret_moved);
/* The connections in the statistics of one session. Returns their number, at most `room`. */
size_t tgt_connections_decode(const char *text, size_t size, uint32_t ret[], size_t room);
