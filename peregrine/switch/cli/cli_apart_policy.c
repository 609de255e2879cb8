#include "peregrine/switch/cli/cli_apart_policy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "peregrine/switch/cli/cli_port.h"

/* Groups of filters begin behind those that a switch numbers. Lists name so many ports at most. */
enum { FILTER_GROUP = 0x8000, FILTER_NAMES = 65536 };

/* --- filters: two ports are apart when each drops what goes to the other --- */

struct filter_name {
	const char *name;
	size_t filter; /* its number */
};

struct filters {
	const struct cli_config *config;
	struct filter_name *by_name;
	bool *drops; /* [from * count + to], by number of the filter */
	size_t from, names;
	bool too_many;
};

static int by_filter_name(const void *a, const void *b)
{
	const struct filter_name *one = a;
	const struct filter_name *other = b;

	return strcasecmp(one->name, other->name);
}

static void on_dropped(void *context, const char *name)
{
	struct filters *filters = context;
	size_t count = filters->config->filter_count;
	const struct filter_name wanted = {.name = name};
	const struct filter_name *found;

	if (++filters->names > FILTER_NAMES) {
		filters->too_many = true;
		return;
	}
	found = bsearch(&wanted, filters->by_name, count, sizeof(wanted), by_filter_name);
	if (found)
		filters->drops[filters->from * count + found->filter] = true;
}

static bool is_apart_from_group(const struct filters *filters, const uint16_t groups[], size_t one,
				uint16_t group)
{
	size_t count = filters->config->filter_count;

	for (size_t i = 0; i < one; i++) {
		if (groups[i] == group &&
		    !(filters->drops[i * count + one] && filters->drops[one * count + i]))
			return false;
	}
	return true;
}

/* Each port joins the first group all of which it is apart from. Ports of two groups pass for some
 * that hear each other, whether they do or not. */
static void group_filters(const struct filters *filters, uint16_t groups[], struct cli_apart ret[])
{
	const struct cli_config *config = filters->config;

	for (size_t i = 0; i < config->filter_count; i++) {
		uint16_t group = FILTER_GROUP;

		while (!is_apart_from_group(filters, groups, i, group))
			group++;
		groups[i] = group;
		ret[config->filters[i].port] = (struct cli_apart){APART_FROM_ALIKE, group};
	}
}

/* False: some list could not be read. */
static bool read_filters(struct filters *filters)
{
	const struct cli_config *config = filters->config;
	bool fine = true;

	for (size_t i = 0; i < config->filter_count; i++)
		filters->by_name[i] =
			(struct filter_name){config->ports[config->filters[i].port].name, i};
	qsort(filters->by_name, config->filter_count, sizeof(*filters->by_name), by_filter_name);
	for (; filters->from < config->filter_count && !filters->too_many; filters->from++)
		fine &= cli_port_list_each(config->dialect, config->filters[filters->from].list,
					   on_dropped, filters);
	return fine && !filters->too_many;
}

static int find_by_filters(const struct cli_config *config, struct cli_apart ret[], bool *ret_fine)
{
	size_t count = config->filter_count;
	struct filters filters = {.config = config,
				  .by_name = calloc(count + 1, sizeof(*filters.by_name)),
				  .drops = calloc(count * count + 1, 1)};
	uint16_t *groups = calloc(count + 1, sizeof(*groups));
	int rc = filters.by_name && filters.drops && groups ? 0 : -ENOMEM;

	if (!rc) {
		*ret_fine = read_filters(&filters);
		if (*ret_fine)
			group_filters(&filters, groups, ret);
	}
	free(filters.by_name);
	free(filters.drops);
	free(groups);
	return rc;
}

/* --- lists --- */

/* "ethernet 1/" of "ethernet 1/12". */
static size_t unit_length(const char *name)
{
	const char *slash = strrchr(name, '/');

	return slash ? (size_t)(slash - name) : 0;
}

/* A list has one number of a unit, whichever its ports are of (edge-core/AOS,
 * CLI_LIB_Stack_Bitmap_To_List): of a stack it says nothing. */
static bool is_stack(const struct cli_config *config)
{
	const char *first = NULL;

	for (size_t i = 0; i < config->port_count; i++) {
		const char *name = config->ports[i].name;
		size_t length = unit_length(name);

		if (length == 0)
			continue;
		if (first && (unit_length(first) != length || strncmp(first, name, length) != 0))
			return true;
		first = name;
	}
	return false;
}

int cli_apart_find(const struct cli_config *config, struct cli_apart ret[])
{
	bool by_list = config->dialect->apart_by_list;
	bool vague = config->apart_vague || (by_list && config->apart_on && is_stack(config));
	bool fine = true;
	int rc;

	for (size_t i = 0; i < config->port_count; i++) {
		uint16_t group =
			by_list && (!config->apart_on || vague) ? 0 : config->ports[i].apart;

		ret[i] = (struct cli_apart){group ? APART_FROM_ALIKE : APART_NOT, group};
	}
	rc = config->filter_count ? find_by_filters(config, ret, &fine) : 0;
	for (size_t i = 0; (vague || !fine) && i < config->port_count; i++) {
		if (ret[i].apart == APART_NOT)
			ret[i].apart = APART_UNTOLD;
	}
	return rc;
}
