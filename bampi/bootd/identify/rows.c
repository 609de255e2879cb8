#include "bampi/bootd/identify/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/sorted.h"

#define ROWS_MAX (1U << 22) /* of one kind; a database that says more is not ours */

int rows_append(struct rows *rows, const void *row, size_t size)
{
	if (rows->count == rows->room) {
		size_t room = rows->room ? rows->room * 2 : 64;
		void *data = room <= ROWS_MAX ? reallocarray(rows->data, room, size) : NULL;

		if (!data)
			return room <= ROWS_MAX ? -ENOMEM : E_LIMIT;
		rows->data = data;
		rows->room = room;
	}
	memcpy((char *)rows->data + rows->count++ * size, row, size);
	return 0;
}

void rows_sort(struct rows *rows, size_t size, rows_compare_fn compare)
{
	if (rows->count)
		qsort(rows->data, rows->count, size, compare);
}

const void *rows_find(const struct rows *rows, size_t size, const void *key,
		      rows_compare_fn compare)
{
	return rows->count ? bsearch(key, rows->data, rows->count, size, compare) : NULL;
}

size_t rows_first(const struct rows *rows, size_t size, const void *key, rows_compare_fn compare)
{
	return SORTED_FIRST(i, 0, rows->count,
			    compare((const char *)rows->data + i * size, key) < 0);
}

void rows_done(struct rows *rows)
{
	free(rows->data);
	*rows = (struct rows){0};
}
