#include "portal/server/pdci_body.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/macros.h"
#include "common/base/text.h"
#include "common/net/ipv4.h"

#include "portal/server/member_check.h"
#include "portal/server/pdci_sheet.h"
#include "portal/server/volume_body.h"

#define PDCI_BODY_POINTER_SIZE 64

/* clang-format off */
static const struct member_row body_members[] = {
	{"name",     MEMBER_NAME,   MEMBER_REQUIRED, 0, 0,                 NULL},
	{"tenant",   MEMBER_NAME,   0,               0, 0,                 NULL},
	{"groups",   MEMBER_LIST,   MEMBER_REQUIRED, 1, PDCI_GROUPS_MAX,   NULL},
	{"networks", MEMBER_LIST,   0,               0, PDCI_NETWORKS_MAX, NULL},
	{"spread",   MEMBER_WORD,   0,               0, 0,                 spread_words},
	{"spare",    MEMBER_WORD,   0,               0, 0,                 spare_words},
	{"params",   MEMBER_OBJECT, 0,               0, 0,                 NULL},
	{"volumes",  MEMBER_LIST,   0,               0, PDCI_VOLUMES_MAX,  NULL},
	{"sheet",    MEMBER_LIST,   0,               0, PDCI_PLACES_MAX,   NULL},
};
static const struct member_row group_members[] = {
	{"class", MEMBER_TEXT,  0,               0, 63,             NULL},
	{"count", MEMBER_INT,   MEMBER_REQUIRED, 1, PDCI_COUNT_MAX, NULL},
	{"image", MEMBER_IMAGE, MEMBER_REQUIRED, 0, 0,              NULL},
	{"nics",  MEMBER_LIST,  0,               0, PDCI_NICS_MAX,  NULL},
	{"bonds", MEMBER_LIST,  0,               0, PDCI_BONDS_MAX, NULL},
	{"disks", MEMBER_OBJECT, 0,              0, 0,              NULL},
};
static const struct member_row disk_members[] = {
	{"count",      MEMBER_INT,  0, 1, PDCI_DISKS_MAX,      NULL},
	{"min_bytes",  MEMBER_INT,  0, 1, PDCI_DISK_SIZE_MAX,  NULL},
	{"rotational", MEMBER_BOOL, 0, 0, 0,                   NULL},
};
static const struct member_row bond_members[] = {
	{"name", MEMBER_TEXT, MEMBER_REQUIRED, 1, 15,                  NULL},
	{"nics", MEMBER_LIST, MEMBER_REQUIRED, 2, PDCI_BOND_NICS_MAX,  NULL},
};
static const struct member_row pdci_body_nic_members[] = {
	{"nic",     MEMBER_TEXT, MEMBER_REQUIRED, 1, 15, NULL},
	{"network", MEMBER_NAME, MEMBER_REQUIRED, 0, 0,  NULL},
	{"mode",    MEMBER_WORD, 0,               0, 0,  attachment_mode_words},
};
static const struct member_row pdci_body_network_members[] = {
	{"name",   MEMBER_NAME,   MEMBER_REQUIRED, 0, 0, NULL},
	{"prefix", MEMBER_PREFIX, 0,               0, 0, NULL},
};
static const struct member_row pdci_body_param_members[] = {
	{"ssh_keys",  MEMBER_LIST, 0, 0, SSH_KEYS_MAX, NULL},
	{"user_data", MEMBER_TEXT, 0, 0, 65536, NULL},
	{"packages",  MEMBER_LIST, 0, 0, PACKAGES_MAX, NULL},
};
/* clang-format on */

static void pdci_body_pointer_of(const char *list, size_t index, const char *member,
				 char ret[PDCI_BODY_POINTER_SIZE])
{
	(void)text_format(ret, PDCI_BODY_POINTER_SIZE, "%s/%zu%s", list, index, member);
}

static const char *pdci_body_word_of(const json_t *object, const char *name, const char *fallback)
{
	const char *word = json_string_value(json_object_get(object, name));

	return word ? word : fallback;
}

static void pdci_body_check_name(const char *name, const char *pointer, struct error_list *errors)
{
	if (name[0] != '\0' && name[strspn(name, "0123456789")] == '\0')
		error_list_pointer(errors, pointer,
				   "a name of digits alone would be taken for an id",
				   "a name with a letter");
}

void pdci_name_check(const json_t *body, struct error_list *errors)
{
	pdci_body_check_name(pdci_body_word_of(body, "name", ""), "/name", errors);
}

/* --- NICs --- */

/* What a NIC has so far, as bits. */
enum { NIC_UNTAGGED = 1, NIC_TAGGED = 2, NIC_ACCESS = 4 };

static void check_mode(json_t *seen, const json_t *nic, const char *pointer,
		       struct error_list *errors)
{
	const char *mode = pdci_body_word_of(nic, "mode", "access");
	const char *name = pdci_body_word_of(nic, "nic", "");
	bool tagged = strcmp(mode, "tagged") == 0;
	bool access = strcmp(mode, "access") == 0;
	json_int_t was = json_integer_value(json_object_get(seen, name));
	json_int_t now = (tagged ? NIC_TAGGED : NIC_UNTAGGED) | (access ? NIC_ACCESS : 0);

	if (was & now & NIC_UNTAGGED)
		error_list_pointer(errors, pointer, "the NIC has an untagged network already",
				   "mode tagged");
	else if (was && ((was | now) & NIC_ACCESS))
		error_list_pointer(errors, pointer,
				   "mode access leaves no room for another network on the NIC",
				   "mode native for the untagged one");
	(void)json_object_set_new(seen, name, json_integer(was | now));
}

void pdci_nics_check(const json_t *nics, const json_t *networks, const char *pointer,
		     struct error_list *errors)
{
	CLEANUP(json_decrefp) json_t *seen = json_object();
	CLEANUP(json_decrefp) json_t *pairs = json_object();
	char path[PDCI_BODY_POINTER_SIZE];
	char pair[128];

	objects_check(nics, pdci_body_nic_members, COUNT_OF(pdci_body_nic_members), pointer,
		      errors);
	for (size_t i = 0; errors->count == 0 && i < json_array_size(nics); i++) {
		const json_t *nic = json_array_get(nics, i);
		const char *network = pdci_body_word_of(nic, "network", "");

		pdci_body_pointer_of(pointer, i, "/network", path);
		if (networks && !json_object_get(networks, network))
			error_list_pointer(errors, path, "the PDCI has no network of this name",
					   "one of those that it asks for");
		(void)text_format(pair, sizeof(pair), "%s %s", pdci_body_word_of(nic, "nic", ""),
				  network);
		if (json_object_get(pairs, pair))
			error_list_pointer(errors, path, "the NIC has this network already", NULL);
		(void)json_object_set_new(pairs, pair, json_true());
		pdci_body_pointer_of(pointer, i, "/mode", path);
		check_mode(seen, nic, path, errors);
	}
}

/* --- bonds --- */

/* As the OS has it, and as node_bond of db/schema does. */
static bool pdci_body_is_bond_name(const char *name)
{
	return name[0] >= 'a' && name[0] <= 'z' &&
	       name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-")] == '\0';
}

/* `taken`: NICs and names of bonds so far. */
static void pdci_body_take_name(json_t *taken, const char *name, const char *pointer,
				struct error_list *errors)
{
	if (json_object_get(taken, name))
		error_list_pointer(errors, pointer, "this NIC or bond is there already", NULL);
	(void)json_object_set_new(taken, name, json_true());
}

static void check_bond(const json_t *bond, const char *pointer, json_t *taken,
		       struct error_list *errors)
{
	static const struct member_row nic = {.kind = MEMBER_TEXT, .min = 1, .max = 15};
	const json_t *nics = json_object_get(bond, "nics");
	char path[PDCI_BODY_POINTER_SIZE];
	char list[PDCI_BODY_POINTER_SIZE];

	(void)text_format(list, sizeof(list), "%s/nics", pointer);
	elements_check(nics, &nic, true, list, errors);
	(void)text_format(path, sizeof(path), "%s/name", pointer);
	if (!pdci_body_is_bond_name(pdci_body_word_of(bond, "name", "")))
		error_list_value(errors, path, "a name for a bond, like bond0");
	pdci_body_take_name(taken, pdci_body_word_of(bond, "name", ""), path, errors);
	for (size_t i = 0; errors->count == 0 && i < json_array_size(nics); i++) {
		pdci_body_pointer_of(list, i, "", path);
		pdci_body_take_name(taken, json_string_value(json_array_get(nics, i)), path,
				    errors);
	}
}

static bool pdci_body_is_member(const json_t *bonds, const char *nic)
{
	for (size_t i = 0; i < json_array_size(bonds); i++) {
		const json_t *nics = json_object_get(json_array_get(bonds, i), "nics");

		for (size_t j = 0; j < json_array_size(nics); j++) {
			if (strcmp(json_string_value(json_array_get(nics, j)), nic) == 0)
				return true;
		}
	}
	return false;
}

/* A NIC or bond once, and what is in a bond has no networks of its own. */
static void check_bonds(const json_t *group, const char *pointer, struct error_list *errors)
{
	const json_t *bonds = json_object_get(group, "bonds");
	const json_t *nics = json_object_get(group, "nics");
	CLEANUP(json_decrefp) json_t *taken = json_object();
	char list[PDCI_BODY_POINTER_SIZE];
	char path[PDCI_BODY_POINTER_SIZE];

	if (!json_is_array(bonds))
		return;
	(void)text_format(list, sizeof(list), "%s/bonds", pointer);
	objects_check(bonds, bond_members, COUNT_OF(bond_members), list, errors);
	for (size_t i = 0; errors->count == 0 && i < json_array_size(bonds); i++) {
		pdci_body_pointer_of(list, i, "", path);
		check_bond(json_array_get(bonds, i), path, taken, errors);
	}
	(void)text_format(list, sizeof(list), "%s/nics", pointer);
	for (size_t i = 0; errors->count == 0 && i < json_array_size(nics); i++) {
		if (!pdci_body_is_member(bonds,
					 pdci_body_word_of(json_array_get(nics, i), "nic", "")))
			continue;
		pdci_body_pointer_of(list, i, "/nic", path);
		error_list_pointer(errors, path, "the NIC is in a bond", "the bond");
	}
}

/* --- networks --- */

/* Addresses that nodes get of a prefix (network_address of db/schema): what is behind its first
 * eighth, without the broadcast. */
static int64_t room_of(struct ipv4_prefix prefix)
{
	if (prefix.length > 29)
		return 0;
	return ((int64_t)1 << (32 - prefix.length)) - ((int64_t)1 << (29 - prefix.length)) - 1;
}

static bool pdci_body_overlap(struct ipv4_prefix a, struct ipv4_prefix b)
{
	return a.length <= b.length ? ipv4_in_prefix(b.address, a) : ipv4_in_prefix(a.address, b);
}

static int64_t node_count(const json_t *body)
{
	const json_t *groups = json_object_get(body, "groups");
	int64_t count = 0;

	for (size_t i = 0; i < json_array_size(groups); i++)
		count += json_integer_value(json_object_get(json_array_get(groups, i), "count"));
	return count;
}

static bool prefix_of(const json_t *network, struct ipv4_prefix *ret)
{
	const char *prefix = pdci_body_word_of(network, "prefix", NULL);

	return prefix && ipv4_prefix_parse(prefix, ret) == 0;
}

static void check_prefix(const json_t *networks, size_t index, int64_t nodes,
			 struct error_list *errors)
{
	struct ipv4_prefix prefix;
	struct ipv4_prefix other;
	char path[PDCI_BODY_POINTER_SIZE];
	char allowed[64];

	if (!prefix_of(json_array_get(networks, index), &prefix))
		return;
	pdci_body_pointer_of("/networks", index, "/prefix", path);
	if (room_of(prefix) < nodes) {
		(void)text_format(allowed, sizeof(allowed), "room for %lld nodes; it has %lld",
				  (long long)nodes, (long long)room_of(prefix));
		error_list_pointer(errors, path, "the prefix is too small", allowed);
	}
	for (size_t i = 0; i < index; i++) {
		if (prefix_of(json_array_get(networks, i), &other) &&
		    pdci_body_overlap(prefix, other))
			error_list_pointer(errors, path,
					   "the prefix overlaps that of another network", NULL);
	}
}

/* The names that there are; a new reference. */
static json_t *check_networks(const json_t *body, struct error_list *errors)
{
	const json_t *networks = json_object_get(body, "networks");
	json_t *names = json_object();
	char path[PDCI_BODY_POINTER_SIZE];

	if (!json_is_array(networks))
		return names;
	objects_check(networks, pdci_body_network_members, COUNT_OF(pdci_body_network_members),
		      "/networks", errors);
	for (size_t i = 0; errors->count == 0 && i < json_array_size(networks); i++) {
		const char *name = pdci_body_word_of(json_array_get(networks, i), "name", "");

		pdci_body_pointer_of("/networks", i, "/name", path);
		pdci_body_check_name(name, path, errors);
		if (json_object_get(names, name))
			error_list_pointer(errors, path, "is there twice", NULL);
		(void)json_object_set_new(names, name, json_true());
		check_prefix(networks, i, node_count(body), errors);
	}
	return names;
}

/* --- the whole --- */

static void pdci_body_check_params(const json_t *body, struct error_list *errors)
{
	json_t *params = json_object_get(body, "params");
	const json_t *keys = json_object_get(params, "ssh_keys");

	if (!json_is_object(params))
		return;
	members_check(params, pdci_body_param_members, COUNT_OF(pdci_body_param_members), "/params",
		      errors);
	ssh_keys_check(keys, errors);
	packages_check(json_object_get(params, "packages"), errors);
}

void pdci_body_check(json_t *body, bool tenant_needed, struct error_list *errors)
{
	CLEANUP(json_decrefp) json_t *names = NULL;
	const json_t *groups = json_object_get(body, "groups");
	char path[PDCI_BODY_POINTER_SIZE];

	members_check(body, body_members, COUNT_OF(body_members), "", errors);
	if (tenant_needed && !json_object_get(body, "tenant"))
		error_list_pointer(errors, "/tenant", "is needed", "the owner of the PDCI");
	pdci_name_check(body, errors);
	pdci_body_check_params(body, errors);
	if (json_is_array(groups))
		objects_check(groups, group_members, COUNT_OF(group_members), "/groups", errors);
	for (size_t i = 0; i < json_array_size(groups); i++) {
		json_t *disks = json_object_get(json_array_get(groups, i), "disks");

		pdci_body_pointer_of("/groups", i, "/disks", path);
		if (json_is_object(disks))
			members_check(disks, disk_members, COUNT_OF(disk_members), path, errors);
	}
	if (errors->count > 0)
		return; /* what follows takes the kinds for granted */
	pdci_volumes_check(json_object_get(body, "volumes"), errors);
	names = check_networks(body, errors);
	for (size_t i = 0; i < json_array_size(groups); i++) {
		pdci_body_pointer_of("/groups", i, "/nics", path);
		pdci_nics_check(json_object_get(json_array_get(groups, i), "nics"), names, path,
				errors);
		pdci_body_pointer_of("/groups", i, "", path);
		check_bonds(json_array_get(groups, i), path, errors);
	}
	if (errors->count == 0)
		pdci_sheet_check(json_object_get(body, "sheet"), body, "/sheet", errors);
}

char *pdci_request_text(json_t *body)
{
	CLEANUP(json_decrefp) json_t *request = json_copy(body);

	(void)json_object_del(request, "name");
	(void)json_object_del(request, "tenant");
	return request ? json_dumps(request, JSON_COMPACT) : NULL;
}
