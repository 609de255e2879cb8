#include "portal/server/looker_book.h"

#include <string.h>

#include "common/base/text.h"

static struct looker *looker_book_find(struct looker_book *book, const char *tenant)
{
	for (size_t i = 0; i < book->count; i++) {
		if (strcmp(book->lookers[i].tenant, tenant) == 0)
			return &book->lookers[i];
	}
	return NULL;
}

static bool looker_looks(const struct looker *looker, int64_t now_ms)
{
	return now_ms - looker->looked_ms < LOOKER_BOOK_MS;
}

bool looker_book_look(struct looker_book *book, const char *tenant, int64_t now_ms)
{
	struct looker *looker = looker_book_find(book, tenant);

	if (!looker) {
		if (book->count == LOOKER_BOOK_MAX)
			return false;
		looker = &book->lookers[book->count++];
		*looker = (struct looker){0};
		(void)text_copy(looker->tenant, sizeof(looker->tenant), tenant);
	}
	looker->looked_ms = now_ms;
	return true;
}

const char *looker_book_next(struct looker_book *book, int64_t now_ms)
{
	for (size_t i = 0; i < book->count; i++) {
		struct looker *looker = &book->lookers[(book->turn + i) % book->count];

		if (!looker_looks(looker, now_ms))
			continue;
		book->turn = (book->turn + i + 1) % book->count;
		return looker->tenant;
	}
	return NULL;
}

bool looker_book_hold(struct looker_book *book, const char *tenant)
{
	struct looker *looker = looker_book_find(book, tenant);

	if (looker)
		looker->held = true;
	return looker != NULL;
}

bool looker_book_leave(struct looker_book *book, int64_t now_ms, char ret[LOOKER_BOOK_ID_SIZE])
{
	for (size_t i = 0; i < book->count;) {
		struct looker left = book->lookers[i];

		if (looker_looks(&left, now_ms)) {
			i++;
			continue;
		}
		book->lookers[i] = book->lookers[--book->count];
		if (!left.held)
			continue;
		memcpy(ret, left.tenant, LOOKER_BOOK_ID_SIZE);
		return true;
	}
	return false;
}
