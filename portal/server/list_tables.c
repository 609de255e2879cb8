/* All lists that a client may filter and order; list.c finds one by its plain statement. */
#include "portal/server/account_store_sql.h"
#include "portal/server/address_store_sql.h"
#include "portal/server/alert_store_sql.h"
#include "portal/server/cable_store_sql.h"
#include "portal/server/capture_store_sql.h"
#include "portal/server/deployment_store_sql.h"
#include "portal/server/event_store_sql.h"
#include "portal/server/fabric_store_sql.h"
#include "portal/server/grant_store_sql.h"
#include "portal/server/health_store_sql.h"
#include "portal/server/image_store_sql.h"
#include "portal/server/list.h"
#include "portal/server/network_store_sql.h"
#include "portal/server/node_store_sql.h"
#include "portal/server/pdci_store_sql.h"
#include "portal/server/record_store_sql.h"
#include "portal/server/rotation_store_sql.h"
#include "portal/server/sampling_store_sql.h"
#include "portal/server/volume_store_sql.h"

const struct list *const list_tables[] = {
	&node_list_table,
	&deployment_list_table,
	&pdci_list_table,
	&usage_list_table,
	&alert_list_table,
	&silence_list_table,
	&case_list_table,
	&event_newest_table,
	&event_oldest_table,
	&volume_list_table,
	&archive_list_table,
	&storage_list_table,
	&switch_list_table,
	&port_list_table,
	&circuit_list_table,
	&rule_list_table,
	&capture_list_table,
	&fabric_list_table,
	&aggregate_list_table,
	&link_list_table,
	&location_list_table,
	&wiring_list_table,
	&subnet_list_table,
	&reservation_list_table,
	&lease_list_table,
	&account_list_table,
	&tenant_list_table,
	&job_list_table,
	&certificate_list_table,
	&image_list_table,
	&grants_table,
	&package_list_table,
	&network_list_table,
	&label_list_table,
	&rotation_list_table,
	&sampling_list_table,
	NULL,
};
