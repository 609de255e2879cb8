#include "portal/server/conflict_table.h"

#include <string.h>

#include "common/base/macros.h"
#include "common/base/text.h"

/* clang-format off */
static const struct {
	const char *constraint;
	int status;
	const char *message, *hint;
} conflict_table_rows[] = {
	{"tenant_name_key", 409, "a tenant of this name exists", "haasctl tenant list shows the tenants"},
	{"image_name_version_key", 409, "an image of this name and version exists", "go on with its upload, or choose a new version"},
	{"public_is_the_operators", 422, "only an image of the operator can be public", "leave out public, or tenant"},
	{"subnets_are_disjoint", 409, "the prefix overlaps that of another subnet", "haasctl subnet list shows the subnets"},
	{"pool_in_prefix", 422, "the pool is not inside of the prefix", "pool_low and pool_high come together, low first, both inside of prefix"},
	{"lease_subnet_id_fkey", 409, "the subnet has leases", "reclaim them first: haasctl lease list"},
	{"reservation_subnet_id_fkey", 409, "the subnet has reservations", "delete them first: haasctl reservation list"},
	{"reservation_address_key", 409, "the address is kept for another MAC", "haasctl reservation list shows them"},
	{"reservation_pkey", 409, "the MAC got a reservation at the same time", "look at it and repeat"},
	{"port_address_key", 409, "another port gives this address", "haasctl port list shows the ports"},
	{"switch_ports_in_order", 422, "port_low is above port_high", "the two are the first and the last port that gives an address"},
	{"nic_pkey", 409, "a MAC belongs to another node", "haasctl node list shows the nodes"},
	{"nic_node_id_name_key", 422, "two NICs have the same name", "give each its own"},
	{"nic_one_boot", 422, "the node can boot from one NIC only", "set boot for one of them"},
	{"bmc_address_port_key", 409, "another node has this BMC address and port", "haasctl node list shows the nodes"},
	{"deployment_one_active", 409, "a node got another deployment at the same time", "look at the node and repeat"},
	{"node_name_key", 409, "a node of this name exists", "change it with PATCH, or import its row again"},
	{"health_label_label_check", 422, "a health label is one word", "small letters, digits and _, a letter first; at most 48"},
	{"node_tenant_id_fkey", 404, "the tenant does not exist", "haasctl tenant list shows the tenants"},
};
/* clang-format on */

int conflict_explain(struct problem *problem)
{
	char quoted[64];

	for (size_t i = 0; i < COUNT_OF(conflict_table_rows); i++) {
		int code = problem->code;
		char detail[sizeof(problem->detail)];

		if (!text_format(quoted, sizeof(quoted), "\"%s\"",
				 conflict_table_rows[i].constraint) ||
		    !strstr(problem->message, quoted))
			continue;
		(void)text_copy(detail, sizeof(detail), problem->detail);
		(void)problem_set(problem, code, "%s", conflict_table_rows[i].message);
		problem_detail(problem, "%s", detail);
		problem_hint(problem, "%s", conflict_table_rows[i].hint);
		return conflict_table_rows[i].status;
	}
	return 0;
}
