/* What DHCP tells people: log lines, events, and the observation that a node asked. Repeated
 * refusals are said under a rate limit. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/macros.h"
#include "common/db/db.h"
#include "common/io/loop.h"
#include "common/net/mac.h"

#include "bampi/bootd/dhcp/architecture_policy.h"
#include "bampi/bootd/dhcp/client_policy.h"
#include "bampi/bootd/dhcp/dhcp_policy.h"
#include "bampi/bootd/identify/identity.h"
#include "bampi/bootd/identify/inventory.h"
#include "bampi/bootd/identify/observation.h"

struct dhcp_report;

/* Who asked; survives the turn of the loop. */
struct dhcp_client {
	struct mac mac;
	enum client_kind kind;
	uint32_t architecture; /* as it says, ARCHITECTURE_UNTOLD */
	bool without_file;     /* it boots by network, and there is no file for it */
	int64_t node_id;       /* 0 = not a node of ours */
	char text[65];         /* vendor class */
};

/* All borrowed. */
MUST_USE int dhcp_report_new(struct loop *loop, struct db *db, const struct inventory *inventory,
			     struct observations *observations, struct dhcp_report **ret);
/* After db_free. */
void dhcp_report_free(struct dhcp_report *report);
void dhcp_report_flush(struct dhcp_report *report);

void dhcp_report_offer(struct dhcp_report *report, const struct dhcp_client *client,
		       uint32_t address);
/* fresh: the binding is new or moved. */
void dhcp_report_ack(struct dhcp_report *report, const struct dhcp_client *client, uint32_t address,
		     bool fresh);
void dhcp_report_nak(struct dhcp_report *report, const struct dhcp_client *client, uint32_t address,
		     enum dhcp_reason reason);
void dhcp_report_decline(struct dhcp_report *report, const struct dhcp_client *client,
			 uint32_t address);
/* The database kept another binding. */
void dhcp_report_conflict(struct dhcp_report *report, const struct dhcp_client *client,
			  uint32_t address);
/* subnet may be NULL. */
void dhcp_report_silence(struct dhcp_report *report, const struct dhcp_client *client,
			 const struct inventory_subnet *subnet, enum dhcp_reason reason,
			 enum address_refusal refusal);
/* Dropped before anything was decided: told once a minute per reason, with how many. giaddr: 0 =
 * no relay. */
void dhcp_report_dropped(struct dhcp_report *report, const struct dhcp_client *client,
			 uint32_t giaddr, enum dhcp_reason reason);
/* What is worth telling of who asked; nothing when it is not. */
void dhcp_report_identity(struct dhcp_report *report, const struct identity *identity);
void dhcp_report_database(struct dhcp_report *report, bool connected);
