/* Writes the results of a pass and of a batch as JSON (intent_store_save), with their alerts and
 * events. Shared by reconcile_tell.c, reconcile_alert.c and reconcile_diff.c. */
#pragma once

#include "common/base/json_text.h"
#include "common/model/alert_row.h"

#include "peregrine/control/reconcile/reconcile_private.h"

#define UNDO_FAILED "switch.undo_failed" /* of a fabric */

struct said {
	struct text alerts, events;
	unsigned count;
};

/* --- reconcile_say.c --- */
void say_raise(const struct alert_row *alert, struct text *json);
void say_clear(const struct alert_row *alert, struct text *json);
void say_event(const char *kind, const char *subject_kind, const char *subject, const char *message,
	       const struct text *detail, struct text *json);
void say_state(port_state state, struct text *json, const char *key);
/* Writes the drift of one switch: applied and observed membership per port. Returns the number of
 * ports. */
unsigned say_drift(const struct pass *pass, uint32_t at, struct text *json, const char *key);
/* Raises an alert while `on` is true, says it anew when its text or its ports have changed, and
 * clears it after. */
void say_while(bool on, alert_told *told, const struct alert_row *alert, struct said *said);

/* --- reconcile_apart.c --- */
/* Writes whether nodes in the provisioning network hear each other, per switch, and the alert of it:
 * the member "apart" of a result. */
void say_apart(const struct engine_fabric *fabric, const struct pass *pass, struct said *said,
	       struct text *json);

/* --- reconcile_alert.c --- */
/* An alert about a switch that is there exactly while `on` is true. */
void say_of_switch(const struct known_switch *known, bool on, alert_told *told,
		   const struct alert_row *about, struct said *said);
/* Access ports of networks for which the switch does not show that they drop tagged frames. */
unsigned say_unproven(const struct pass *pass, uint32_t at, const struct known_switch *known,
		      struct text *json, const char *key);
/* Notes that the switch's drift alert is open. */
void say_drifting(struct engine_fabric *fabric, int64_t switch_id);
void say_alerts(struct engine_fabric *fabric, const struct pass *pass, struct said *said);
