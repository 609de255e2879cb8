/* What of a switch's last reading goes on to the next. Not every switch forgets what was behind a
 * port that lost its link: such an entry would hold a NIC where its cable was pulled out, for as
 * long as an FDB ages. So an entry that was there before the link was lost does not count until it
 * has gone, or until it must have been learned anew. */
#include <stdlib.h>
#include <string.h>

#include "peregrine/control/fabric/discovery_private.h"

LEAKS_LEFT_TO_SANITIZER

/* 802.1Q 8.8.3: the default ageing time of an FDB. */
#define FDB_AGE_US ((int64_t)300 * 1000000)

static int compare_port_names(const void *left, const void *right)
{
	return strcmp((*(const struct switch_port *const *)left)->name,
		      (*(const struct switch_port *const *)right)->name);
}

/* Ports of the last reading by their name; NULL: there is none, or no memory. */
static const struct switch_port **ports_by_name(const struct switch_reading *last)
{
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers */
	const struct switch_port **ret = calloc(last->port_count + 1, sizeof(*ret));

	for (size_t i = 0; ret && i < last->port_count; i++)
		ret[i] = &last->ports[i];
	if (ret && last->port_count > 0)
		/* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers */
		qsort(ret, last->port_count, sizeof(*ret), compare_port_names);
	return ret;
}

/* The same port of the last reading: mostly it is where it was. */
static const struct switch_port *sight_age_port_before(const struct sight *sight,
						       const struct switch_port **by_name,
						       const struct switch_reading *next, size_t i)
{
	const struct switch_reading *last = &sight->reading;
	const struct switch_port *port = &next->ports[i];
	const struct switch_port **found;

	if (i < last->port_count && strcmp(last->ports[i].name, port->name) == 0)
		return &last->ports[i];
	found = by_name ? bsearch(&port, by_name, last->port_count,
				  /* NOLINTNEXTLINE(bugprone-sizeof-expression) */
				  sizeof(*by_name), compare_port_names)
			: NULL;
	return found ? *found : NULL;
}

/* Its link went and came between the two. Marks that began anew with the switch say nothing. */
static bool has_flapped(const struct sight *sight, const struct switch_reading *next,
			const struct switch_port *before, const struct switch_port *port)
{
	return before && before->up && port->up && before->link_mark && port->link_mark &&
	       before->link_mark != port->link_mark &&
	       next->identity.uptime_ms >= sight->reading.identity.uptime_ms;
}

/* A port that loses its link keeps its kind, also when ifIndexes have changed. */
static void carry_ports(struct sight *sight, const struct switch_reading *next, int64_t now_us)
{
	uint8_t *kinds = sight->kinds ? calloc(next->port_count + 1, 1) : NULL;
	int64_t *cut_us = calloc(next->port_count + 1, sizeof(*cut_us));
	const struct switch_port **by_name = ports_by_name(&sight->reading);

	for (size_t i = 0; i < next->port_count; i++) {
		const struct switch_port *old = sight_age_port_before(sight, by_name, next, i);
		size_t at = old ? (size_t)(old - sight->reading.ports) : 0;

		if (kinds && old)
			kinds[i] = sight->kinds[at];
		if (cut_us &&
		    (!next->ports[i].up || has_flapped(sight, next, old, &next->ports[i])))
			cut_us[i] = now_us;
		else if (cut_us && old && sight->cut_us)
			cut_us[i] = sight->cut_us[at];
	}
	free(by_name);
	free(sight->kinds);
	free(sight->cut_us);
	sight->kinds = kinds;
	sight->cut_us = cut_us;
}

static uint64_t key_of_entry(const struct switch_fdb_entry *entry)
{
	struct mac mac;

	memcpy(mac.bytes, entry->mac, sizeof(mac.bytes));
	return mac_key(mac) << 12 | entry->vlan;
}

/* Entries of the last reading that are old, or whose port has no link now: they are from before.
 * One that appears together with a lost link is not: a reading is no single moment, and a cable
 * that is just plugged in may be learned after its port was read. */
static int old_entries(const struct sight *sight, const struct switch_reading *next,
		       struct key_map *ret)
{
	const struct switch_reading *last = &sight->reading;
	int rc = 0;

	for (size_t i = 0; i < last->fdb_count && rc == 0; i++) {
		const struct switch_port *port = switch_reading_port(next, last->fdb[i].if_index);
		const struct switch_port *before = switch_reading_port(last, last->fdb[i].if_index);

		if (port && (!port->up || (sight->fdb_old && sight->fdb_old[i]) ||
			     has_flapped(sight, next, before, port)))
			rc = key_map_add(ret, key_of_entry(&last->fdb[i]), last->fdb[i].if_index);
	}
	return rc;
}

static bool was_old(struct key_map *old, const struct switch_fdb_entry *entry)
{
	for (uint32_t at = key_map_first(old, key_of_entry(entry)); at != KEY_NONE;
	     at = key_map_next(old, at)) {
		if (key_map_value(old, at) == entry->if_index)
			return true;
	}
	return false;
}

static uint8_t *carry_fdb(const struct switch_reading *next, struct key_map *old)
{
	uint8_t *fdb_old = old->count ? calloc(next->fdb_count + 1, 1) : NULL;

	for (size_t i = 0; fdb_old && i < next->fdb_count; i++)
		fdb_old[i] = was_old(old, &next->fdb[i]);
	return fdb_old;
}

/* What has been there for longer than an entry lives was learned since. */
static void sight_age_forgive(const struct sight *sight, const struct switch_reading *next,
			      int64_t now_us)
{
	for (size_t i = 0; sight->fdb_old && sight->cut_us && i < next->fdb_count; i++) {
		const struct switch_port *port = switch_reading_port(next, next->fdb[i].if_index);
		size_t at = port ? (size_t)(port - next->ports) : 0;

		if (!port || now_us - sight->cut_us[at] > FDB_AGE_US)
			sight->fdb_old[i] = 0;
	}
}

static void mark_seen(const struct switch_reading *reading, uint32_t if_index, bool seen[])
{
	const struct switch_port *port = switch_reading_port(reading, if_index);

	if (port)
		seen[port - reading->ports] = true;
}

/* Uplinks, too: LLDP tells who is there. NULL: no memory. */
static bool *seen_ports(const struct sight *sight)
{
	const struct switch_reading *reading = &sight->reading;
	bool *seen = calloc(reading->port_count + 1, sizeof(*seen));

	for (size_t i = 0; seen && i < reading->neighbor_count; i++)
		mark_seen(reading, reading->neighbors[i].if_index, seen);
	for (size_t i = 0; seen && i < reading->fdb_count; i++) {
		if (!sight->fdb_old || !sight->fdb_old[i])
			mark_seen(reading, reading->fdb[i].if_index, seen);
	}
	return seen;
}

bool sight_is_unseen(const struct sight *sight, int64_t now_us)
{
	bool *seen = sight->cut_us ? seen_ports(sight) : NULL;
	bool unseen = false;

	for (size_t i = 0; seen && i < sight->reading.port_count && !unseen; i++) {
		const struct switch_port *port = &sight->reading.ports[i];

		/* Of an aggregate the FDB tells, not of its members. */
		unseen = port->up && !port->lag && sight->cut_us[i] &&
			 now_us - sight->cut_us[i] <= FDB_AGE_US && !seen[i];
	}
	free(seen);
	return unseen;
}

void sight_carry(struct sight *sight, const struct switch_reading *next, int64_t now_us)
{
	struct key_map old = {0};
	uint8_t *fdb_old = NULL;

	if (old_entries(sight, next, &old) == 0)
		fdb_old = carry_fdb(next, &old);
	key_map_done(&old);
	free(sight->fdb_old);
	sight->fdb_old = fdb_old;
	carry_ports(sight, next, now_us);
	sight_age_forgive(sight, next, now_us);
}
