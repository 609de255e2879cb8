#include "tests/sim/switch/switch_links.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"
#include "common/io/file.h"

#define FOLDER "/sys/class/net"

static bool switch_links_number_of(const char *name, const char *what, uint32_t *ret)
{
	char path[320];
	char *text = NULL;
	size_t size;
	bool read = text_format(path, sizeof(path), FOLDER "/%s/%s", name, what) &&
		    file_read(path, 4096, &text, &size) == 0;

	if (read)
		*ret = (uint32_t)strtoul(text, NULL, 10);
	free(text);
	return read;
}

static const struct switch_link *switch_links_find(const struct switch_links *links,
						   uint32_t if_index)
{
	for (size_t i = 0; i < links->count; i++) {
		if (links->items[i].if_index == if_index)
			return &links->items[i];
	}
	return NULL;
}

uint32_t switch_links_ticks(const struct switch_links *links, uint32_t if_index)
{
	const struct switch_link *link = switch_links_find(links, if_index);

	return link ? link->ticks : 0;
}

static int compare_links(const void *a, const void *b)
{
	uint32_t x = ((const struct switch_link *)a)->if_index;
	uint32_t y = ((const struct switch_link *)b)->if_index;

	return x < y ? -1 : x > y;
}

void switch_links_look(struct switch_links *links, uint32_t now)
{
	struct switch_links next = {.serial = links->serial};
	bool first = links->count == 0;
	DIR *folder = opendir(FOLDER);
	const struct dirent *entry;
	bool changed;

	/* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread */
	while (folder && (entry = readdir(folder)) && next.count < SWITCH_LINKS_MAX) {
		struct switch_link *link = &next.items[next.count];
		const struct switch_link *before;

		if (entry->d_name[0] == '.' ||
		    !switch_links_number_of(entry->d_name, "ifindex", &link->if_index) ||
		    !switch_links_number_of(entry->d_name, "carrier_changes", &link->changes))
			continue;
		before = switch_links_find(links, link->if_index);
		if (before && before->changes == link->changes)
			link->ticks = before->ticks;
		else
			link->ticks = first ? 0 : now;
		next.count++;
	}
	if (folder)
		(void)closedir(folder);
	qsort(next.items, next.count, sizeof(next.items[0]), compare_links);
	changed = next.count != links->count ||
		  memcmp(next.items, links->items, next.count * sizeof(next.items[0])) != 0;
	next.serial += changed;
	*links = next;
}
