#include "bampi/agent/os_files.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/http/json_reader.h"
#include "common/net/ipv4.h"

#define HOSTNAME_MAX 253
#define KEY_MAX      16384
#define CALLBACK_MAX 512

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
static bool is_line(const char *text, size_t limit)
{
	size_t size = strlen(text);

	if (size == 0 || size > limit)
		return false;
	for (size_t i = 0; i < size; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
			return false;
	return true;
}

static bool read_address(const char *text, struct os_nic *nic)
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

static int read_nic(const json_t *object, size_t index, struct os_nic *ret, struct problem *problem)
{
	struct json_reader reader = json_reader(object);
	const char *mac = json_get_string(&reader, "mac", true);
	const char *address = json_is_null(json_object_get(object, "address"))
				      ? NULL
				      : json_get_string(&reader, "address", false);
	const char *gateway = json_is_null(json_object_get(object, "gateway"))
				      ? NULL
				      : json_get_string(&reader, "gateway", false);
	struct os_nic nic = {0};

	if (problem_is_set(&reader.problem)) {
		*problem = reader.problem;
		return problem->code;
	}
	if (mac_parse(mac, &nic.mac))
		return problem_set(problem, E_MALFORMED, "addresses[%zu].mac is not a MAC address",
				   index);
	nic.dhcp = !address || strcmp(address, "dhcp") == 0;
	if (!nic.dhcp && !read_address(address, &nic))
		return problem_set(problem, E_MALFORMED,
				   "addresses[%zu].address is not like 10.2.0.7/24", index);
	nic.has_gateway = !nic.dhcp && gateway && *gateway;
	if (nic.has_gateway && ipv4_parse(gateway, &nic.gateway))
		return problem_set(problem, E_MALFORMED,
				   "addresses[%zu].gateway is not an IPv4 address", index);
	*ret = nic;
	return 0;
}

static int read_nics(const json_t *addresses, struct os_settings *settings, struct problem *problem)
{
	size_t count = json_array_size(addresses);

	if (addresses && !json_is_null(addresses) && !json_is_array(addresses))
		return problem_set(problem, E_MALFORMED, "addresses is not an array");
	if (count > OS_NIC_LIMIT)
		return problem_set(problem, E_LIMIT, "more than %d addresses", OS_NIC_LIMIT);
	for (size_t i = 0; i < count; i++) {
		int rc = read_nic(json_array_get(addresses, i), i, &settings->nics[i], problem);

		if (rc)
			return rc;
	}
	settings->nic_count = count;
	return 0;
}

static int check_keys(const json_t *keys, struct problem *problem)
{
	size_t index;
	const json_t *key;

	if (keys && !json_is_null(keys) && !json_is_array(keys))
		return problem_set(problem, E_MALFORMED, "ssh_keys is not an array");
	json_array_foreach(keys, index, key)
	{
		if (!json_is_string(key) || !is_line(json_string_value(key), KEY_MAX))
			return problem_set(problem, E_MALFORMED,
					   "ssh_keys[%zu] is not one line of text", index);
	}
	return 0;
}

static const char *optional(struct json_reader *reader, const char *key)
{
	return json_is_null(json_object_get(reader->object, key))
		       ? NULL
		       : json_get_string(reader, key, false);
}

int os_settings_read(const json_t *params, struct os_settings *ret, struct problem *problem)
{
	struct json_reader reader = json_reader(params);
	int rc;

	memset(ret, 0, sizeof(*ret));
	ret->hostname = json_get_string(&reader, "hostname", true);
	ret->disk = json_get_string(&reader, "disk", true);
	ret->root_partition = (uint32_t)json_get_int(&reader, "root_partition", 1, 128, 0, true);
	ret->user_data = optional(&reader, "user_data");
	ret->callback = optional(&reader, "callback");
	ret->callback_console = json_get_bool(&reader, "callback_console", false);
	ret->ssh_keys = json_get(&reader, "ssh_keys", false);
	if (problem_is_set(&reader.problem)) {
		*problem = reader.problem;
		return problem->code;
	}
	if (!*ret->hostname || !is_hostname(ret->hostname))
		return problem_set(problem, E_MALFORMED, "hostname is not a host name (RFC 1123)");
	if (ret->callback &&
	    (!is_line(ret->callback, CALLBACK_MAX) || strncmp(ret->callback, "http://", 7) != 0))
		return problem_set(problem, E_MALFORMED, "callback is not an http:// URL");
	rc = check_keys(ret->ssh_keys, problem);
	if (rc)
		return rc;
	return read_nics(json_object_get(params, "addresses"), ret, problem);
}

void os_hosts_text(const struct os_settings *settings, struct text *ret)
{
	const char *dot = strchr(settings->hostname, '.');
	char address[IPV4_TEXT_SIZE];
	const struct os_nic *first = NULL;

	for (size_t i = 0; i < settings->nic_count && !first; i++)
		if (!settings->nics[i].dhcp)
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

void os_interfaces_text(const struct os_settings *settings, struct text *ret)
{
	text_add(
		ret,
		"# Written when the node was installed; the names belong to the MACs beside them.\n");
	text_add(ret, "auto lo\niface lo inet loopback\n");
	for (size_t i = 0; i < settings->nic_count; i++) {
		const struct os_nic *nic = &settings->nics[i];
		char mac[MAC_TEXT_SIZE];
		char address[IPV4_TEXT_SIZE];

		text_addf(ret, "\n# %s\nauto %s\niface %s inet %s\n", mac_text(nic->mac, mac),
			  nic->name, nic->name, nic->dhcp ? "dhcp" : "static");
		if (nic->dhcp)
			continue;
		text_addf(ret, "\taddress %s\n", ipv4_text(nic->address, address));
		text_addf(ret, "\tnetmask %s\n", ipv4_text(ipv4_mask(nic->length), address));
		if (nic->has_gateway)
			text_addf(ret, "\tgateway %s\n", ipv4_text(nic->gateway, address));
	}
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

void os_keys_text(const struct os_settings *settings, struct text *ret)
{
	size_t index;
	const json_t *key;

	json_array_foreach(settings->ssh_keys, index, key)
	{
		text_addf(ret, "%s\n", json_string_value(key));
	}
}
