#include "bampi/control/inventory/node_inventory.h"

#include <string.h>

#include "common/base/error.h"
#include "common/http/json_reader.h"
#include "common/net/ipv4.h"
#include "common/net/mac.h"

#define BYTES_MAX INT64_C(1) << 60
#define WORD_MAX  128

static const char *node_inventory_text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

const char *node_inventory_drive_key(const json_t *drive)
{
	const char *serial = node_inventory_text_of(drive, "serial");

	return serial[0] ? serial : node_inventory_text_of(drive, "name");
}

bool node_inventory_drive_passive(const json_t *drive)
{
	return json_is_true(json_object_get(drive, "read_only")) ||
	       json_is_true(json_object_get(drive, "removable"));
}

static int node_inventory_check_words(const json_t *object, const char *where,
				      const char *const keys[], struct problem *problem)
{
	for (size_t i = 0; keys[i]; i++) {
		const json_t *value = json_object_get(object, keys[i]);

		if (!value || json_is_null(value))
			continue;
		if (!json_is_string(value))
			return problem_set(problem, E_MALFORMED,
					   "inventory: %s of %s is not a text", keys[i], where);
		if (json_string_length(value) > WORD_MAX)
			return problem_set(problem, E_LIMIT,
					   "inventory: %s of %s is longer than %d", keys[i], where,
					   WORD_MAX);
	}
	return 0;
}

static int check_drive(const json_t *drives, size_t index, struct problem *problem)
{
	static const char *const words[] = {"name", "model", "serial", "kind", NULL};
	const json_t *drive = json_array_get(drives, index);
	struct json_reader reader = json_reader(drive);
	const char *key;
	int rc;

	if (!json_is_object(drive))
		return problem_set(problem, E_MALFORMED, "inventory: a drive is not an object");
	rc = node_inventory_check_words(drive, "a drive", words, problem);
	if (rc)
		return rc;
	(void)json_get_int(&reader, "size_bytes", 0, BYTES_MAX, 0, true);
	if (problem_is_set(&reader.problem)) {
		*problem = reader.problem;
		return problem->code;
	}
	key = node_inventory_drive_key(drive);
	if (!key[0])
		return problem_set(problem, E_MALFORMED,
				   "inventory: a drive has neither serial nor name");
	for (size_t i = 0; i < index; i++)
		if (strcmp(node_inventory_drive_key(json_array_get(drives, i)), key) == 0)
			return problem_set(problem, E_MALFORMED,
					   "inventory: two drives are called %s", key);
	return 0;
}

static int check_nic(const json_t *nic, struct problem *problem)
{
	static const char *const words[] = {"name", "mac", "driver", NULL};
	struct mac mac;
	int rc;

	if (!json_is_object(nic))
		return problem_set(problem, E_MALFORMED, "inventory: a NIC is not an object");
	rc = node_inventory_check_words(nic, "a NIC", words, problem);
	if (rc)
		return rc;
	if (node_inventory_text_of(nic, "mac")[0] &&
	    mac_parse(node_inventory_text_of(nic, "mac"), &mac) != 0)
		return problem_set(problem, E_MALFORMED, "inventory: %s of a NIC is not a MAC",
				   node_inventory_text_of(nic, "mac"));
	return 0;
}

/* Null on a node without a BMC that answers. */
static int node_inventory_check_bmc(const json_t *data, struct problem *problem)
{
	static const char *const words[] = {"address", "mac", NULL};
	const json_t *bmc = json_object_get(data, "bmc");
	uint32_t address;
	struct mac mac;
	int rc;

	if (!bmc || json_is_null(bmc))
		return 0;
	if (!json_is_object(bmc))
		return problem_set(problem, E_MALFORMED, "inventory: bmc is not an object");
	rc = node_inventory_check_words(bmc, "the BMC", words, problem);
	if (rc)
		return rc;
	if (node_inventory_text_of(bmc, "mac")[0] &&
	    mac_parse(node_inventory_text_of(bmc, "mac"), &mac) != 0)
		return problem_set(problem, E_MALFORMED, "inventory: %s of the BMC is not a MAC",
				   node_inventory_text_of(bmc, "mac"));
	if (node_inventory_text_of(bmc, "address")[0] &&
	    ipv4_parse(node_inventory_text_of(bmc, "address"), &address) != 0)
		return problem_set(problem, E_MALFORMED,
				   "inventory: %s of the BMC is not an IPv4 address",
				   node_inventory_text_of(bmc, "address"));
	return 0;
}

static int node_inventory_check_list(const json_t *data, const char *key, size_t limit,
				     struct problem *problem)
{
	const json_t *list = json_object_get(data, key);

	if (!json_is_array(list))
		return problem_set(problem, E_MALFORMED, "inventory: %s is not a list", key);
	if (json_array_size(list) > limit)
		return problem_set(problem, E_LIMIT, "inventory: more than %zu %s", limit, key);
	return 0;
}

int node_inventory_check(const json_t *data, struct problem *problem)
{
	static const char *const words[] = {"serial",  "uuid",     "vendor",
					    "product", "firmware", NULL};
	const json_t *drives;
	const json_t *nics;
	int rc;

	if (!json_is_object(data))
		return problem_set(problem, E_MALFORMED, "the inventory is not an object");
	rc = node_inventory_check_words(data, "the node", words, problem);
	if (rc == 0)
		rc = node_inventory_check_bmc(data, problem);
	if (rc == 0)
		rc = node_inventory_check_list(data, "disks", INVENTORY_DRIVES_MAX, problem);
	if (rc == 0)
		rc = node_inventory_check_list(data, "nics", INVENTORY_NICS_MAX, problem);
	drives = json_object_get(data, "disks");
	nics = json_object_get(data, "nics");
	for (size_t i = 0; rc == 0 && i < json_array_size(drives); i++)
		rc = check_drive(drives, i, problem);
	for (size_t i = 0; rc == 0 && i < json_array_size(nics); i++)
		rc = check_nic(json_array_get(nics, i), problem);
	return rc;
}

json_t *node_inventory_drives(const json_t *data, bool forget)
{
	const json_t *drives = json_object_get(data, "disks");
	json_t *rows = json_array();

	for (size_t i = 0; rows && i < json_array_size(drives); i++) {
		const json_t *drive = json_array_get(drives, i);
		json_t *row;

		if (node_inventory_drive_passive(drive))
			continue;
		row = json_pack("{s:s, s:s, s:s, s:s, s:I}", "serial",
				node_inventory_drive_key(drive), "name",
				node_inventory_text_of(drive, "name"), "model",
				node_inventory_text_of(drive, "model"), "kind",
				node_inventory_text_of(drive, "kind"), "size_bytes",
				json_integer_value(json_object_get(drive, "size_bytes")));
		if (row && forget &&
		    json_object_set_new(row, "verdict", json_string("unknown")) < 0) {
			json_decref(row);
			row = NULL;
		}
		if (!row || json_array_append_new(rows, row) < 0) {
			json_decref(rows);
			return NULL;
		}
	}
	return rows;
}

static void node_inventory_differ(struct text *ret, const char *what, const char *declared,
				  const char *found)
{
	text_addf(ret, "%s%s is %s, declared is %s", ret->size > 0 ? "; " : "", what,
		  found[0] ? found : "not told", declared);
}

static bool node_inventory_has_mac(const json_t *nics, struct mac wanted)
{
	for (size_t i = 0; i < json_array_size(nics); i++) {
		struct mac mac;

		if (mac_parse(node_inventory_text_of(json_array_get(nics, i), "mac"), &mac) == 0 &&
		    mac_equal(mac, wanted))
			return true;
	}
	return false;
}

void node_inventory_compare(const json_t *data, const struct node_declared *declared,
			    struct text *ret)
{
	const char *firmware = node_inventory_text_of(data, "firmware");
	struct mac boot;
	struct mac bmc;

	if (declared->serial[0] &&
	    strcmp(declared->serial, node_inventory_text_of(data, "serial")) != 0)
		node_inventory_differ(ret, "serial", declared->serial,
				      node_inventory_text_of(data, "serial"));
	if (mac_parse(declared->boot_mac, &boot) == 0 &&
	    !node_inventory_has_mac(json_object_get(data, "nics"), boot))
		text_addf(ret, "%sno NIC has the declared boot MAC %s", ret->size > 0 ? "; " : "",
			  declared->boot_mac);
	/* A tenant can write a MAC into the node's BMC. */
	if (mac_parse(node_inventory_text_of(json_object_get(data, "bmc"), "mac"), &bmc) == 0 &&
	    node_inventory_has_mac(json_object_get(data, "nics"), bmc))
		text_addf(ret, "%sthe BMC tells the MAC of a NIC, %s", ret->size > 0 ? "; " : "",
			  node_inventory_text_of(json_object_get(data, "bmc"), "mac"));
	if (firmware[0] && strcmp(firmware, declared->uefi ? "uefi" : "bios") != 0)
		node_inventory_differ(ret, "firmware", declared->uefi ? "uefi" : "bios", firmware);
	if (declared->secure_boot && strcmp(node_inventory_text_of(data, "secure_boot"), "on") != 0)
		node_inventory_differ(ret, "secure_boot", "on", "off");
}
