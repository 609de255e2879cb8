#include "portal/server/pdci_sheet.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/net/ipv4.h"

#include "portal/server/member_check.h"
#include "portal/server/pdci_body.h"

#define PDCI_SHEET_POINTER_SIZE 96
#define PDCI_SHEET_ADDRESS_MAX  PDCI_NETWORKS_MAX
#define PDCI_SHEET_USER_DATA    65536

/* clang-format off */
static const struct member_row pdci_sheet_members[] = {
	{"place",     MEMBER_INT,  MEMBER_REQUIRED, 1, PDCI_PLACES_MAX,        NULL},
	{"hostname",  MEMBER_TEXT, MEMBER_NULLABLE, 1, 63,                     NULL},
	{"addresses", MEMBER_LIST, MEMBER_NULLABLE, 0, PDCI_SHEET_ADDRESS_MAX, NULL},
	{"ssh_keys",  MEMBER_LIST, MEMBER_NULLABLE, 0, SSH_KEYS_MAX,           NULL},
	{"user_data", MEMBER_TEXT, MEMBER_NULLABLE, 0, PDCI_SHEET_USER_DATA,   NULL},
	{"packages",  MEMBER_LIST, MEMBER_NULLABLE, 0, PACKAGES_MAX,           NULL},
	{"disk",      MEMBER_TEXT, MEMBER_NULLABLE, 1, 127,                    NULL},
};
/* clang-format on */

/* What is checked against: the request, and what rows before said. */
struct pdci_sheet_state {
	const json_t *request;
	const char *pointer;
	struct error_list *errors;
	json_t *places;    /* rows so far, by the text of their place */
	json_t *hostnames; /* places, by host name */
	json_t *addresses; /* places, by address */
	json_int_t total;
};

static void pdci_sheet_path(const struct pdci_sheet_state *state, size_t row, const char *member,
			    char ret[PDCI_SHEET_POINTER_SIZE])
{
	(void)text_format(ret, PDCI_SHEET_POINTER_SIZE, "%s/%zu/%s", state->pointer, row, member);
}

static json_int_t pdci_sheet_total(const json_t *request)
{
	const json_t *group;
	json_int_t total = 0;
	size_t i;

	json_array_foreach(json_object_get(request, "groups"), i, group) total +=
		json_integer_value(json_object_get(group, "count"));
	return total;
}

/* The group of a place: places are counted through the groups in their order. */
static const json_t *pdci_sheet_group(const json_t *request, json_int_t place)
{
	const json_t *group;
	size_t i;

	json_array_foreach(json_object_get(request, "groups"), i, group)
	{
		json_int_t count = json_integer_value(json_object_get(group, "count"));

		if (place <= count)
			return group;
		place -= count;
	}
	return NULL;
}

/* --- addresses --- */

static bool pdci_sheet_prefix(const json_t *network, struct ipv4_prefix *ret)
{
	const char *text = json_string_value(json_object_get(network, "prefix"));

	return text && ipv4_prefix_parse(text, ret) == 0;
}

/* The network of the request that the address lies in; NULL = none. */
static const json_t *pdci_sheet_network(const json_t *request, uint32_t address,
					struct ipv4_prefix *ret)
{
	const json_t *network;
	size_t i;

	json_array_foreach(json_object_get(request, "networks"), i, network)
	{
		if (pdci_sheet_prefix(network, ret) && ipv4_in_prefix(address, *ret))
			return network;
	}
	return NULL;
}

/* The place that has this address when no row says otherwise (network_address of db/schema); 0 =
 * none has. */
static json_int_t pdci_sheet_own_place(uint32_t address, struct ipv4_prefix prefix)
{
	uint32_t first = prefix.address + (prefix.length <= 29 ? 1U << (29 - prefix.length) : 0);

	return prefix.length <= 29 && address >= first ? (json_int_t)(address - first) + 1 : 0;
}

/* Does a group have the network on a NIC? Without "nics" it has all of them. */
static bool pdci_sheet_has_network(const json_t *group, const char *name)
{
	const json_t *nics = json_object_get(group, "nics");
	const json_t *nic;
	size_t i;

	json_array_foreach(nics, i, nic)
	{
		if (strcmp(json_string_value(json_object_get(nic, "network")), name) == 0)
			return true;
	}
	return !nics;
}

/* Does the row say an address of this prefix itself? */
static bool pdci_sheet_says(const json_t *row, struct ipv4_prefix prefix)
{
	const json_t *address;
	uint32_t value;
	size_t i;

	json_array_foreach(json_object_get(row, "addresses"), i, address)
	{
		if (json_is_string(address) &&
		    ipv4_parse(json_string_value(address), &value) == 0 &&
		    ipv4_in_prefix(value, prefix))
			return true;
	}
	return false;
}

/* NULL = it may stand there. */
static const char *pdci_sheet_address_fault(const struct pdci_sheet_state *state, json_int_t place,
					    const char *text, const char **ret_allowed)
{
	struct ipv4_prefix prefix = {0};
	const json_t *network;
	uint32_t address;

	*ret_allowed = "an address in a prefix of the PDCI's networks";
	if (ipv4_parse(text, &address) != 0)
		return "is no IPv4 address";
	network = pdci_sheet_network(state->request, address, &prefix);
	if (!network)
		return "is in no network of the PDCI";
	if (address == prefix.address || address == (prefix.address | ~ipv4_mask(prefix.length)))
		return "is the first or last of its prefix";
	*ret_allowed = "an address of a network that the place has";
	if (!pdci_sheet_has_network(pdci_sheet_group(state->request, place),
				    json_string_value(json_object_get(network, "name"))))
		return "is in a network that no NIC of this place has";
	return NULL;
}

static void pdci_sheet_check_address(struct pdci_sheet_state *state, size_t row, size_t index,
				     json_int_t place, const json_t *addresses)
{
	const char *text = json_string_value(json_array_get(addresses, index));
	const char *allowed;
	const char *fault = pdci_sheet_address_fault(state, place, text, &allowed);
	char path[PDCI_SHEET_POINTER_SIZE];
	char member[32];
	char message[96];
	struct ipv4_prefix prefix;
	uint32_t address;

	(void)text_format(member, sizeof(member), "addresses/%zu", index);
	pdci_sheet_path(state, row, member, path);
	if (fault) {
		error_list_pointer(state->errors, path, fault, allowed);
		return;
	}
	if (json_object_get(state->addresses, text)) {
		(void)text_format(
			message, sizeof(message), "place %lld has this address",
			(long long)json_integer_value(json_object_get(state->addresses, text)));
		error_list_pointer(state->errors, path, message, "an address of its own");
		return;
	}
	(void)json_object_set_new(state->addresses, text, json_integer(place));
	if (ipv4_parse(text, &address) != 0 ||
	    !pdci_sheet_network(state->request, address, &prefix))
		return;
	for (size_t before = 0; before < index; before++) {
		uint32_t other;

		if (ipv4_parse(json_string_value(json_array_get(addresses, before)), &other) == 0 &&
		    ipv4_in_prefix(other, prefix))
			error_list_pointer(state->errors, path,
					   "the place has an address in this network already",
					   "one address in each network");
	}
}

/* An address of a row that another place would get by itself, since it has none in its own row. */
static void pdci_sheet_check_taken(struct pdci_sheet_state *state, size_t row, const json_t *rows)
{
	const json_t *of = json_array_get(rows, row);
	json_int_t place = json_integer_value(json_object_get(of, "place"));
	const json_t *address;
	size_t i;

	json_array_foreach(json_object_get(of, "addresses"), i, address)
	{
		char path[PDCI_SHEET_POINTER_SIZE];
		char text[96];
		char key[24];
		struct ipv4_prefix prefix;
		json_int_t other;
		uint32_t value;

		if (ipv4_parse(json_string_value(address), &value) != 0 ||
		    !pdci_sheet_network(state->request, value, &prefix))
			continue;
		other = pdci_sheet_own_place(value, prefix);
		(void)text_format(key, sizeof(key), "%lld", (long long)other);
		if (other == 0 || other == place || other > state->total ||
		    pdci_sheet_says(json_object_get(state->places, key), prefix))
			continue;
		(void)text_format(text, sizeof(text), "addresses/%zu", i);
		pdci_sheet_path(state, row, text, path);
		(void)text_format(text, sizeof(text), "place %lld gets this address by itself",
				  (long long)other);
		error_list_pointer(state->errors, path, text,
				   "another one, or an address in the row of that place");
	}
}

/* --- rows --- */

/* A label of a host name (RFC 1123), lower case. */
static bool pdci_sheet_is_hostname(const char *name)
{
	size_t size = strlen(name);

	return size > 0 && name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-")] == '\0' &&
	       name[0] != '-' && name[size - 1] != '-';
}

/* In `seen` already: the place that has it. */
static void pdci_sheet_check_hostname(struct pdci_sheet_state *state, size_t row, json_int_t place,
				      const char *name)
{
	char path[PDCI_SHEET_POINTER_SIZE];
	char message[64];

	pdci_sheet_path(state, row, "hostname", path);
	if (!pdci_sheet_is_hostname(name)) {
		error_list_value(state->errors, path,
				 "a host name of lower case letters, digits and -");
	} else if (json_object_get(state->hostnames, name)) {
		(void)text_format(
			message, sizeof(message), "place %lld has this host name",
			(long long)json_integer_value(json_object_get(state->hostnames, name)));
		error_list_pointer(state->errors, path, message, "a name of its own");
	} else {
		(void)json_object_set_new(state->hostnames, name, json_integer(place));
	}
}

static void pdci_sheet_check_place(struct pdci_sheet_state *state, size_t row, json_int_t place)
{
	char path[PDCI_SHEET_POINTER_SIZE];
	char text[64];

	pdci_sheet_path(state, row, "place", path);
	(void)text_format(text, sizeof(text), "1 to %lld: a place of the PDCI",
			  (long long)state->total);
	if (place > state->total)
		error_list_value(state->errors, path, text);
	(void)text_format(text, sizeof(text), "%lld", (long long)place);
	if (json_object_get(state->places, text))
		error_list_pointer(state->errors, path, "has a row already",
				   "a row for each place");
}

/* Lists of one row: their elements are the kinds that they have to be. */
static void pdci_sheet_check_lists(struct pdci_sheet_state *state, size_t row, const json_t *of)
{
	static const struct member_row address = {.kind = MEMBER_IPV4};
	char path[PDCI_SHEET_POINTER_SIZE];

	pdci_sheet_path(state, row, "addresses", path);
	if (json_is_array(json_object_get(of, "addresses")))
		elements_check(json_object_get(of, "addresses"), &address, true, path,
			       state->errors);
	pdci_sheet_path(state, row, "ssh_keys", path);
	ssh_keys_check_at(json_object_get(of, "ssh_keys"), path, state->errors);
	pdci_sheet_path(state, row, "packages", path);
	packages_check_at(json_object_get(of, "packages"), path, state->errors);
}

static void pdci_sheet_check_row(struct pdci_sheet_state *state, size_t row, json_t *of)
{
	json_int_t place = json_integer_value(json_object_get(of, "place"));
	const char *hostname = json_string_value(json_object_get(of, "hostname"));
	const json_t *addresses = json_object_get(of, "addresses");
	size_t before = state->errors->count;
	bool kinds;
	char key[24];

	pdci_sheet_check_lists(state, row, of);
	kinds = state->errors->count == before;
	pdci_sheet_check_place(state, row, place);
	(void)text_format(key, sizeof(key), "%lld", (long long)place);
	(void)json_object_set(state->places, key, of);
	if (hostname)
		pdci_sheet_check_hostname(state, row, place, hostname);
	for (size_t i = 0; kinds && i < json_array_size(addresses); i++)
		pdci_sheet_check_address(state, row, i, place, addresses);
}

void pdci_sheet_check(json_t *rows, const json_t *request, const char *pointer,
		      struct error_list *errors)
{
	CLEANUP(json_decrefp) json_t *places = json_object();
	CLEANUP(json_decrefp) json_t *hostnames = json_object();
	CLEANUP(json_decrefp) json_t *addresses = json_object();
	struct pdci_sheet_state state = {.request = request,
					 .pointer = pointer,
					 .errors = errors,
					 .places = places,
					 .hostnames = hostnames,
					 .addresses = addresses,
					 .total = pdci_sheet_total(request)};
	size_t before = errors->count;

	objects_check(rows, pdci_sheet_members, COUNT_OF(pdci_sheet_members), pointer, errors);
	if (errors->count > before)
		return; /* what follows takes the kinds for granted */
	for (size_t i = 0; i < json_array_size(rows); i++)
		pdci_sheet_check_row(&state, i, json_array_get(rows, i));
	for (size_t i = 0; errors->count == before && i < json_array_size(rows); i++)
		pdci_sheet_check_taken(&state, i, rows);
}

void pdci_sheet_check_packages(const json_t *rows, const json_t *refused, const char *pointer,
			       struct error_list *errors)
{
	const json_t *row;
	size_t i;

	json_array_foreach(rows, i, row)
	{
		const json_t *name;
		size_t at;

		json_array_foreach(json_object_get(row, "packages"), at, name)
		{
			char path[PDCI_SHEET_POINTER_SIZE];
			const json_t *one;
			size_t k;

			(void)text_format(path, sizeof(path), "%s/%zu/packages/%zu", pointer, i,
					  at);
			json_array_foreach(refused, k, one)
			{
				if (json_equal(one, name))
					error_list_pointer(
						errors, path,
						"does not exist or may not be used here",
						"a package that haasctl package list shows");
			}
		}
	}
}
