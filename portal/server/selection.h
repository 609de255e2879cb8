/* What an action on many is meant for: names in the body, or a filter (docs/filter.md) with the
 * number of rows that the caller saw. The rows are chosen, locked and chosen again in the transaction
 * that acts on them. When they are not as many, or not the same, nothing is done (409). */
#pragma once

#include "portal/server/exchange.h"
#include "portal/server/list.h"

#define SELECTION_STEPS 1

/* Rows of member_row for a body that may choose so; its list of names is not required then. */
#define SELECTION_MEMBERS                                 \
	{"where", MEMBER_TEXT, 0, 1, 1000, NULL},         \
	{                                                 \
		"expected", MEMBER_INT, 0, 0, 10000, NULL \
	}

/* Says what is wrong where the body has both, none, or one without the other. `names`: the member
 * that lists them, "nodes". */
void selection_check(const struct exchange *exchange, const char *names, struct error_list *errors);
/* What a filter chooses from. */
struct selection_row {
	const struct list *list;
	const char *column; /* of the list: the key */
	const char *kind;   /* of haas.selection_lock */
};
extern const struct selection_row selection_nodes, selection_deployments;

/* The steps before the one that acts; it finds the chosen in ${selected} (store_text.sql). *ret_count
 * is 0 where the body has names. Non-zero = answered. */
MUST_USE int selection_steps(struct exchange *exchange, const struct selection_row *row,
			     struct exchange_step steps[SELECTION_STEPS], size_t *ret_count);
