/* Who looks at the load of links now: the site, and tenants. Each is asked for in turn; of whom nobody
 * has looked for a moment, the values are dropped. No I/O. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/macros.h"

#define LOOKER_BOOK_MAX     64
#define LOOKER_BOOK_MS      2000 /* so long after a look somebody still looks */
#define LOOKER_BOOK_ID_SIZE 24

struct looker_book {
	struct looker {
		char tenant[LOOKER_BOOK_ID_SIZE]; /* its id, as flowd knows it; "" = the site */
		int64_t looked_ms;
		bool held; /* there are values of it */
	} lookers[LOOKER_BOOK_MAX];
	size_t count, turn;
};

/* False: more look than are served. Those that left are taken out first (looker_book_leave). */
bool looker_book_look(struct looker_book *book, const char *tenant, int64_t now_ms);
/* Whose values are asked for next; NULL: nobody looks. Borrowed until the next call. */
const char *looker_book_next(struct looker_book *book, int64_t now_ms);
/* Values of it were kept. False: it is not among those who look; they have to be dropped. */
MUST_USE bool looker_book_hold(struct looker_book *book, const char *tenant);
/* Takes one out that looks no more. True: the values of `ret` have to be dropped; call it again. */
MUST_USE bool looker_book_leave(struct looker_book *book, int64_t now_ms,
				char ret[LOOKER_BOOK_ID_SIZE]);
