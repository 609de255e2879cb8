// links: portal_server control_alloc
/* A body of POST /pdcis that is accepted asks for 1..PDCI_GROUPS_MAX groups of nodes, each NIC for
 * a network of the PDCI, at most one of them untagged, each NIC in one bond at most; its prefixes
 * do not overlap and have room; the request that is made of it is the body without its name and
 * tenant, and bampid reads it with the same counts. One that is refused has an error with a place.
 */
#undef NDEBUG /* the invariants are the test */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/net/ipv4.h"

#include "bampi/control/alloc/pdci_request.h"
#include "portal/server/pdci_body.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *word_of(const json_t *object, const char *name)
{
	return json_string_value(json_object_get(object, name));
}

static bool is_network(const json_t *body, const char *name)
{
	const json_t *networks = json_object_get(body, "networks");

	for (size_t i = 0; i < json_array_size(networks); i++) {
		if (strcmp(word_of(json_array_get(networks, i), "name"), name) == 0)
			return true;
	}
	return false;
}

static void check_nics(const json_t *body, const json_t *nics)
{
	assert(json_array_size(nics) <= PDCI_NICS_MAX);
	for (size_t i = 0; i < json_array_size(nics); i++) {
		const json_t *nic = json_array_get(nics, i);
		const char *mode = word_of(nic, "mode");
		size_t untagged = 0;
		size_t all = 0;

		assert(is_network(body, word_of(nic, "network")));
		for (size_t j = 0; j < json_array_size(nics); j++) {
			const json_t *other = json_array_get(nics, j);
			const char *its = word_of(other, "mode");

			if (strcmp(word_of(nic, "nic"), word_of(other, "nic")) != 0)
				continue;
			all++;
			untagged += !its || strcmp(its, "tagged") != 0;
			assert(i == j ||
			       strcmp(word_of(nic, "network"), word_of(other, "network")) != 0);
		}
		assert(untagged <= 1);
		assert(all == 1 || (mode && strcmp(mode, "access") != 0));
	}
}

/* Times that a group's bonds name a NIC or a bond. */
static size_t times(const json_t *bonds, const char *name)
{
	size_t found = 0;

	for (size_t i = 0; i < json_array_size(bonds); i++) {
		const json_t *bond = json_array_get(bonds, i);
		const json_t *nics = json_object_get(bond, "nics");

		assert(json_array_size(nics) >= 2 && json_array_size(nics) <= PDCI_BOND_NICS_MAX);
		found += strcmp(word_of(bond, "name"), name) == 0;
		for (size_t j = 0; j < json_array_size(nics); j++)
			found += strcmp(json_string_value(json_array_get(nics, j)), name) == 0;
	}
	return found;
}

static bool is_bond(const json_t *bonds, const char *name)
{
	for (size_t i = 0; i < json_array_size(bonds); i++) {
		if (strcmp(word_of(json_array_get(bonds, i), "name"), name) == 0)
			return true;
	}
	return false;
}

/* Each name once, and what carries a network is a bond or in none. */
static void check_bonds(const json_t *bonds, const json_t *nics)
{
	for (size_t i = 0; i < json_array_size(bonds); i++) {
		const json_t *bond = json_array_get(bonds, i);
		const json_t *members = json_object_get(bond, "nics");

		assert(times(bonds, word_of(bond, "name")) == 1);
		for (size_t j = 0; j < json_array_size(members); j++)
			assert(times(bonds, json_string_value(json_array_get(members, j))) == 1);
	}
	for (size_t i = 0; i < json_array_size(nics); i++) {
		const char *nic = word_of(json_array_get(nics, i), "nic");

		assert(times(bonds, nic) == 0 || is_bond(bonds, nic));
	}
}

/* Within the limits, and read as asked for. */
static void check_disks(const json_t *disks, const struct alloc_disks_wanted *read)
{
	const json_t *count = json_object_get(disks, "count");
	const json_t *bytes = json_object_get(disks, "min_bytes");
	const json_t *rotational = json_object_get(disks, "rotational");

	assert(read->count <= PDCI_DISKS_MAX && PDCI_DISKS_MAX == ALLOC_DISKS_MAX);
	assert(read->count == (disks ? count ? (unsigned)json_integer_value(count) : 1 : 0));
	assert(read->min_bytes == (uint64_t)json_integer_value(bytes));
	assert((read->kind == ALLOC_DISK_ROTATING) == json_is_true(rotational));
	assert((read->kind == ALLOC_DISK_FLASH) == json_is_false(rotational));
}

static void check_prefixes(const json_t *networks)
{
	for (size_t i = 0; i < json_array_size(networks); i++) {
		const char *text = word_of(json_array_get(networks, i), "prefix");
		struct ipv4_prefix a;
		struct ipv4_prefix b;

		if (!text)
			continue;
		assert(ipv4_prefix_parse(text, &a) == 0 && a.length <= 29);
		for (size_t j = 0; j < i; j++) {
			const char *other = word_of(json_array_get(networks, j), "prefix");

			if (!other)
				continue;
			assert(ipv4_prefix_parse(other, &b) == 0);
			assert(!ipv4_in_prefix(a.address, b) && !ipv4_in_prefix(b.address, a));
		}
	}
}

static void check_accepted(json_t *body)
{
	const json_t *groups = json_object_get(body, "groups");
	char *text = pdci_request_text(body);
	struct pdci_request request;
	struct problem problem = {0};
	json_t *again = NULL;

	assert(word_of(body, "name") && word_of(body, "tenant"));
	assert(json_array_size(groups) >= 1 && json_array_size(groups) <= PDCI_GROUPS_MAX);
	check_prefixes(json_object_get(body, "networks"));
	assert(text && json_read(text, strlen(text), SIZE_MAX, &again, &problem) == 0);
	assert(!json_object_get(again, "name") && !json_object_get(again, "tenant"));
	assert(json_equal(json_object_get(again, "groups"), groups));
	assert(pdci_request_read(again, &request, &problem) == 0);
	assert(request.group_count == json_array_size(groups));
	assert(request.spare ==
	       (word_of(body, "spare") && strcmp(word_of(body, "spare"), "automatic") == 0));
	for (size_t i = 0; i < request.group_count; i++) {
		const json_t *group = json_array_get(groups, i);

		assert(request.groups[i].count ==
		       (unsigned)json_integer_value(json_object_get(group, "count")));
		check_nics(body, json_object_get(group, "nics"));
		check_bonds(json_object_get(group, "bonds"), json_object_get(group, "nics"));
		check_disks(json_object_get(group, "disks"), &request.groups[i].disks);
	}
	json_decref(again);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct error_list errors = {0};
	struct problem problem = {0};
	json_t *body = NULL;

	if (json_read((const char *)data, size, 1 << 20, &body, &problem) != 0)
		return 0;
	if (json_is_object(body)) { /* the dispatcher lets nothing else through */
		pdci_body_check(body, true, &errors);
		if (errors.count == 0)
			check_accepted(body);
		else
			assert(json_object_get(json_array_get(errors.items, 0), "pointer"));
	}
	error_list_done(&errors);
	json_decref(body);
	return 0;
}
