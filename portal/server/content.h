/* The stored bytes of what is kept by its digest, images and packages: they come in parts, from the
 * offset that the row says. */
#pragma once

#include "portal/server/exchange.h"

struct content_kind {
	const char *what; /* "image" */
	/* $1 name $2 version -> (id, state, received_bytes, stored bytes in all, stored digest, may
	 * be written to) */
	const struct db_query *row;
	/* $1 id $2 received before $3 received now $4 state -> answer */
	const struct db_query *received;
	int sign; /* 1 or -1: ids of two kinds are told apart by it while their parts come */
};

/* The handler's work: the body of the request is the part at "?offset". */
void content_put(struct exchange *exchange, const struct content_kind *kind, const char *name,
		 const char *version);
