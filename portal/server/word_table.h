/* The words of enumerations as the API takes them; each list ends with NULL. The database has the
 * same in its types and checks. */
#pragma once

#include "common/model/vocabulary.h"

#define NAME_SIZE 64 /* of nodes, tenants, subnets, images; with NUL */

extern const char *const node_event_request_words[]; /* those that a person may fire */
extern const char *const node_action_words[];
extern const char *const bmc_driver_words[];
extern const char *const bmc_tls_words[];
extern const char *const bmc_workaround_words[];
extern const char *const boot_device_words[];
extern const char *const deployment_action_words[];
extern const char *const label_action_words[];
extern const char *const severity_words[];
extern const char *const effect_words[];
extern const char *const plan_request_words[];
extern const char *const image_state_words[];
extern const char *const job_state_words[];
extern const char *const order_words[];
extern const char *const cable_answer_words[]; /* switch.moved, switch.swapped */
extern const char *const fabric_repair_words[];
extern const char *const switch_role_words[];
extern const char *const snmp_auth_words[];
extern const char *const snmp_priv_words[];
extern const char *const link_state_words[];
extern const char *const alert_state_words[];
extern const char *const delivery_state_words[];
extern const char *const scheme_words[];
extern const char *const silence_state_words[]; /* cases are open in the same words */
extern const char *const case_entry_words[];
extern const char *const attachment_mode_words[];
extern const char *const network_kind_words[];
extern const char *const port_action_words[];
extern const char *const pdci_action_words[];
extern const char *const spare_words[];
extern const char *const pdci_state_words[];
extern const char *const spread_words[];
extern const char *const volume_action_words[];
extern const char *const volume_kind_words[];
extern const char *const volume_state_words[];
extern const char *const archive_state_words[];
extern const char *const grant_kind_words[];
extern const char *const limit_kind_words[]; /* of tenant_limit.kind */
extern const char *const package_kind_words[];
