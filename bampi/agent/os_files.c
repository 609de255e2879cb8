#include "bampi/agent/os_files.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/http/json_reader.h"
#include "common/net/ipv4.h"

#define HOSTNAME_MAX     253
#define OS_FILES_KEY_MAX 16384
#define CALLBACK_MAX     512

/* RFC 1123 2.1: labels of letters, digits and inner hyphens, at most 63 each. */
static bool is_hostname(const char *name)
{
	size_t label = 0;
	char before = '.';

	for (size_t i = 0; name[i]; i++) {
		char c = name[i];
		bool letter =
			(c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');

		if (i >= HOSTNAME_MAX)
			return false;
		if (c == '.' && (before == '.' || before == '-'))
			return false;
		if (c == '-' && before == '.')
			return false;
		if (!letter && c != '.' && c != '-')
			return false;
		label = c == '.' ? 0 : label + 1;
		if (label > 63)
			return false;
		before = c;
	}
	return before != '.' && before != '-';
}

/* One line: no control characters that would begin another. */
static bool os_files_is_line(const char *text, size_t limit)
{
	size_t size = strlen(text);

	if (size == 0 || size > limit)
		return false;
	for (size_t i = 0; i < size; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
			return false;
	return true;
}

static bool os_files_read_address(const char *text, struct os_nic *nic)
{
	char address[IPV4_TEXT_SIZE];
	const char *slash = strchr(text, '/');
	size_t size = slash ? (size_t)(slash - text) : 0;
	char *end = NULL;
	long length;

	if (!slash || size >= sizeof(address) || slash[1] < '0' || slash[1] > '9')
		return false;
	memcpy(address, text, size);
	address[size] = '\0';
	length = strtol(slash + 1, &end, 10);
	if (*end || length < 1 || length > 32 || ipv4_parse(address, &nic->address))
		return false;
	nic->length = (uint8_t)length;
	return true;
}

static int read_address_of(const json_t *object, size_t index, struct os_nic *ret,
			   struct problem *problem)
{
	struct json_reader reader = json_reader(object);
	const char *address = json_is_null(json_object_get(object, "address"))
				      ? NULL
				      : json_get_string(&reader, "address", false);
	const char *gateway = json_is_null(json_object_get(object, "gateway"))
				      ? NULL
				      : json_get_string(&reader, "gateway", false);

	if (problem_is_set(&reader.problem)) {
		*problem = reader.problem;
		return problem->code;
	}
	if (address && strcmp(address, "none") == 0)
		return 0;
	ret->addressed = true;
	ret->dhcp = !address || strcmp(address, "dhcp") == 0;
	if (!ret->dhcp && !os_files_read_address(address, ret))
		return problem_set(problem, E_MALFORMED,
				   "addresses[%zu].address is not like 10.2.0.7/24", index);
	ret->has_gateway = !ret->dhcp && gateway && *gateway;
	if (ret->has_gateway && ipv4_parse(gateway, &ret->gateway))
		return problem_set(problem, E_MALFORMED,
				   "addresses[%zu].gateway is not an IPv4 address", index);
	return 0;
}

static struct os_nic *os_files_add_nic(struct os_settings *settings, const struct os_nic *nic)
{
	if (settings->nic_count == OS_NIC_LIMIT)
		return NULL;
	settings->nics[settings->nic_count] = *nic;
	return &settings->nics[settings->nic_count++];
}

static struct os_nic *nic_of(struct os_settings *settings, struct mac mac)
{
	for (size_t i = 0; i < settings->nic_count; i++) {
		if (settings->nics[i].kind == OS_NIC && mac_equal(settings->nics[i].mac, mac))
			return &settings->nics[i];
	}
	return NULL;
}

static struct os_nic *os_files_bond_of(struct os_settings *settings, const char *name)
{
	for (size_t i = 0; i < settings->nic_count; i++) {
		if (settings->nics[i].kind == OS_BOND && strcmp(settings->nics[i].name, name) == 0)
			return &settings->nics[i];
	}
	return NULL;
}

/* A name of an interface that may stand in any file and in a path. */
static bool os_files_is_bond_name(const char *name)
{
	return name[0] >= 'a' && name[0] <= 'z' && strlen(name) < OS_NAME_SIZE &&
	       name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-")] == '\0' &&
	       strcmp(name, "lo") != 0;
}

static int read_bond(const json_t *object, size_t index, struct os_settings *settings,
		     struct problem *problem)
{
	struct json_reader reader = json_reader(object);
	const char *name = json_get_string(&reader, "name", true);
	const json_t *macs = json_object_get(object, "macs");
	struct os_nic bond = {.kind = OS_BOND, .parent = OS_NONE};
	size_t parent = settings->nic_count;

	if (problem_is_set(&reader.problem)) {
		*problem = reader.problem;
		return problem->code;
	}
	if (!os_files_is_bond_name(name) || os_files_bond_of(settings, name) ||
	    json_array_size(macs) == 0)
		return problem_set(problem, E_MALFORMED,
				   "bonds[%zu] has no name of its own, or no MACs", index);
	(void)text_copy(bond.name, sizeof(bond.name), name);
	if (!os_files_add_nic(settings, &bond))
		return problem_set(problem, E_LIMIT, "more than %d interfaces", OS_NIC_LIMIT);
	for (size_t i = 0; i < json_array_size(macs); i++) {
		const char *text = json_string_value(json_array_get(macs, i));
		struct os_nic nic = {.parent = parent};

		if (!text || mac_parse(text, &nic.mac) || nic_of(settings, nic.mac))
			return problem_set(problem, E_MALFORMED,
					   "bonds[%zu].macs[%zu] is not a MAC address, or is there "
					   "twice",
					   index, i);
		if (!os_files_add_nic(settings, &nic))
			return problem_set(problem, E_LIMIT, "more than %d interfaces",
					   OS_NIC_LIMIT);
	}
	return 0;
}

/* What an element of addresses is about, "mac" or "bond"; a NIC comes into being by it. NULL: with
 * a problem. */
static struct os_nic *os_files_target_of(const json_t *object, size_t index,
					 struct os_settings *settings, struct problem *problem)
{
	const char *mac = json_string_value(json_object_get(object, "mac"));
	const char *bond = json_string_value(json_object_get(object, "bond"));
	struct os_nic nic = {.parent = OS_NONE};
	struct os_nic *target = bond ? os_files_bond_of(settings, bond) : NULL;

	if (bond && !target) {
		(void)problem_set(problem, E_MALFORMED, "addresses[%zu].bond does not name a bond",
				  index);
		return NULL;
	}
	if (bond)
		return target;
	if (!mac || mac_parse(mac, &nic.mac)) {
		(void)problem_set(problem, E_MALFORMED, "addresses[%zu].mac is not a MAC address",
				  index);
		return NULL;
	}
	target = nic_of(settings, nic.mac);
	if (target && target->parent != OS_NONE) {
		(void)problem_set(problem, E_MALFORMED, "addresses[%zu].mac is in a bond", index);
		return NULL;
	}
	if (!target)
		target = os_files_add_nic(settings, &nic);
	if (!target)
		(void)problem_set(problem, E_LIMIT, "more than %d interfaces", OS_NIC_LIMIT);
	return target;
}

static int os_files_read_nic(const json_t *object, size_t index, struct os_settings *settings,
			     struct problem *problem)
{
	struct json_reader reader = json_reader(object);
	int64_t vlan = json_get_int(&reader, "vlan", 1, 4094, 0, false);
	struct os_nic *target = os_files_target_of(object, index, settings, problem);
	struct os_nic tagged = {.kind = OS_VLAN, .vlan = (uint16_t)vlan};

	if (!target)
		return problem->code;
	if (problem_is_set(&reader.problem)) {
		*problem = reader.problem;
		return problem->code;
	}
	if (vlan) {
		tagged.parent = (size_t)(target - settings->nics);
		for (size_t i = 0; i < settings->nic_count; i++) {
			if (settings->nics[i].kind == OS_VLAN && settings->nics[i].vlan == vlan &&
			    settings->nics[i].parent == tagged.parent)
				return problem_set(problem, E_MALFORMED,
						   "addresses[%zu].vlan is there twice", index);
		}
		target = os_files_add_nic(settings, &tagged);
		if (!target)
			return problem_set(problem, E_LIMIT, "more than %d interfaces",
					   OS_NIC_LIMIT);
	} else if (target->addressed) {
		return problem_set(problem, E_MALFORMED, "addresses[%zu] is there twice", index);
	}
	return read_address_of(object, index, target, problem);
}

static int read_nics(const json_t *params, struct os_settings *settings, struct problem *problem)
{
	const json_t *addresses = json_object_get(params, "addresses");
	const json_t *bonds = json_object_get(params, "bonds");
	int rc = 0;

	if ((addresses && !json_is_null(addresses) && !json_is_array(addresses)) ||
	    (bonds && !json_is_null(bonds) && !json_is_array(bonds)))
		return problem_set(problem, E_MALFORMED, "addresses or bonds is not an array");
	if (json_array_size(addresses) > OS_NIC_LIMIT)
		return problem_set(problem, E_LIMIT, "more than %d addresses", OS_NIC_LIMIT);
	for (size_t i = 0; rc == 0 && i < json_array_size(bonds); i++)
		rc = read_bond(json_array_get(bonds, i), i, settings, problem);
	for (size_t i = 0; rc == 0 && i < json_array_size(addresses); i++)
		rc = os_files_read_nic(json_array_get(addresses, i), i, settings, problem);
	return rc;
}

static int check_keys(const json_t *keys, struct problem *problem)
{
	size_t index;
	const json_t *key;

	if (keys && !json_is_null(keys) && !json_is_array(keys))
		return problem_set(problem, E_MALFORMED, "ssh_keys is not an array");
	json_array_foreach(keys, index, key)
	{
		if (!json_is_string(key) ||
		    !os_files_is_line(json_string_value(key), OS_FILES_KEY_MAX))
			return problem_set(problem, E_MALFORMED,
					   "ssh_keys[%zu] is not one line of text", index);
	}
	return 0;
}

static const char *os_files_optional(struct json_reader *reader, const char *key)
{
	return json_is_null(json_object_get(reader->object, key))
		       ? NULL
		       : json_get_string(reader, key, false);
}

/* RFC 3722: what stands in a file name and on a line of its own, and nothing else. */
static bool is_iscsi_name(const char *name)
{
	return strncmp(name, "iqn.", 4) == 0 && strlen(name) < OS_ISCSI_SIZE &&
	       name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789.:-")] == '\0' &&
	       !strstr(name, "..");
}

static bool os_files_is_word(const char *text, size_t limit)
{
	return os_files_is_line(text, limit) &&
	       text[strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789.-_")] == '\0';
}

/* "100.96.0.1:3260" */
static bool read_portal(const char *text, struct os_volume *volume)
{
	char address[IPV4_TEXT_SIZE];
	const char *colon = strchr(text, ':');
	size_t size = colon ? (size_t)(colon - text) : 0;
	char *end = NULL;
	long port;

	if (!colon || size >= sizeof(address) || colon[1] < '1' || colon[1] > '9')
		return false;
	memcpy(address, text, size);
	address[size] = '\0';
	port = strtol(colon + 1, &end, 10);
	if (*end || port > UINT16_MAX || ipv4_parse(address, &volume->portal))
		return false;
	volume->port = (uint16_t)port;
	return true;
}

static int read_volume(const json_t *object, size_t index, struct os_volume *ret,
		       struct problem *problem)
{
	struct json_reader reader = json_reader(object);
	const char *portal = json_get_string(&reader, "portal", true);

	ret->target = json_get_string(&reader, "target", true);
	ret->user = json_get_string(&reader, "user", true);
	ret->sealed = json_get_string(&reader, "sealed", true);
	if (problem_is_set(&reader.problem)) {
		*problem = reader.problem;
		return problem->code;
	}
	if (!is_iscsi_name(ret->target) || !os_files_is_word(ret->user, 63) ||
	    !read_portal(portal, ret))
		return problem_set(problem, E_MALFORMED,
				   "iscsi.volumes[%zu] has no iSCSI name, user or portal", index);
	return 0;
}

static int read_volumes(const json_t *params, struct os_settings *ret, struct problem *problem)
{
	const json_t *iscsi = json_object_get(params, "iscsi");
	const json_t *volumes = json_object_get(iscsi, "volumes");
	int rc = 0;

	if (!iscsi || json_is_null(iscsi))
		return 0;
	ret->initiator = json_string_value(json_object_get(iscsi, "initiator"));
	if (!ret->initiator || !is_iscsi_name(ret->initiator))
		return problem_set(problem, E_MALFORMED, "iscsi.initiator is not an iSCSI name");
	if (json_array_size(volumes) > OS_VOLUME_LIMIT)
		return problem_set(problem, E_LIMIT, "more than %d volumes", OS_VOLUME_LIMIT);
	for (size_t i = 0; rc == 0 && i < json_array_size(volumes); i++)
		rc = read_volume(json_array_get(volumes, i), ret->volume_count++, &ret->volumes[i],
				 problem);
	return rc;
}

int os_settings_read(const json_t *params, struct os_settings *ret, struct problem *problem)
{
	struct json_reader reader = json_reader(params);
	int rc;

	memset(ret, 0, sizeof(*ret));
	ret->hostname = json_get_string(&reader, "hostname", true);
	ret->disk = json_get_string(&reader, "disk", true);
	ret->root_partition = (uint32_t)json_get_int(&reader, "root_partition", 1, 128, 0, true);
	ret->user_data = os_files_optional(&reader, "user_data");
	ret->callback = os_files_optional(&reader, "callback");
	ret->callback_console = json_get_bool(&reader, "callback_console", false);
	ret->ssh_keys = json_get(&reader, "ssh_keys", false);
	if (problem_is_set(&reader.problem)) {
		*problem = reader.problem;
		return problem->code;
	}
	if (!*ret->hostname || !is_hostname(ret->hostname))
		return problem_set(problem, E_MALFORMED, "hostname is not a host name (RFC 1123)");
	if (ret->callback && (!os_files_is_line(ret->callback, CALLBACK_MAX) ||
			      strncmp(ret->callback, "http://", 7) != 0))
		return problem_set(problem, E_MALFORMED, "callback is not an http:// URL");
	rc = check_keys(ret->ssh_keys, problem);
	if (rc == 0)
		rc = read_volumes(params, ret, problem);
	if (rc)
		return rc;
	return read_nics(params, ret, problem);
}

void os_hosts_text(const struct os_settings *settings, struct text *ret)
{
	const char *dot = strchr(settings->hostname, '.');
	char address[IPV4_TEXT_SIZE];
	const struct os_nic *first = NULL;

	for (size_t i = 0; i < settings->nic_count && !first; i++)
		if (settings->nics[i].addressed && !settings->nics[i].dhcp)
			first = &settings->nics[i];
	text_add(ret, "127.0.0.1 localhost\n");
	/* Debian's way for a host without a fixed address (Debian reference 5.1.1). */
	text_addf(ret, "%s %s", first ? ipv4_text(first->address, address) : "127.0.1.1",
		  settings->hostname);
	if (dot)
		text_addf(ret, " %.*s", (int)(dot - settings->hostname), settings->hostname);
	text_add(ret, "\n::1 localhost ip6-localhost ip6-loopback\n");
	text_add(ret, "ff02::1 ip6-allnodes\nff02::2 ip6-allrouters\n");
}

void os_link_text(const struct os_nic *nic, struct text *ret)
{
	char mac[MAC_TEXT_SIZE];

	text_addf(ret, "[Match]\nMACAddress=%s\n\n[Link]\nName=%s\n", mac_text(nic->mac, mac),
		  nic->name);
}

void os_callback_text(const struct os_settings *settings, struct text *ret)
{
	text_addf(ret, "%s\n%s", settings->callback, settings->callback_console ? "console\n" : "");
}

void os_initiator_text(const struct os_settings *settings, struct text *ret)
{
	text_addf(ret, "InitiatorName=%s\n", settings->initiator);
}

/* What iscsiadm writes, of which it fills in the rest itself. */
void os_volume_text(const struct os_volume *volume, struct text *ret)
{
	char address[IPV4_TEXT_SIZE];

	(void)ipv4_text(volume->portal, address);
	text_add(ret, "# BEGIN RECORD 2.0-873\n");
	text_addf(ret, "node.name = %s\nnode.tpgt = 1\nnode.startup = automatic\n", volume->target);
	text_add(ret, "node.leading_login = No\niface.iscsi_ifacename = default\n"
		      "iface.transport_name = tcp\nnode.discovery_type = static\n");
	text_addf(ret,
		  "node.session.auth.authmethod = CHAP\nnode.session.auth.username = %s\n"
		  "node.session.auth.password = %s\n",
		  volume->user, volume->secret);
	/* the switches and the storage may be a little later than the node */
	text_add(ret, "node.session.initial_login_retry_max = 60\n");
	text_addf(ret, "node.conn[0].address = %s\nnode.conn[0].port = %u\n", address,
		  (unsigned)volume->port);
	text_add(ret, "node.conn[0].startup = automatic\n# END RECORD\n");
}

void os_keys_text(const struct os_settings *settings, struct text *ret)
{
	size_t index;
	const json_t *key;

	json_array_foreach(settings->ssh_keys, index, key)
	{
		text_addf(ret, "%s\n", json_string_value(key));
	}
}
