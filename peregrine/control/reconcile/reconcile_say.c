#include "peregrine/control/reconcile/reconcile_say.h"

#include <string.h>

#include "common/base/hash.h"

void say_raise(const struct alert_row *alert, struct text *json)
{
	json_begin_object(json, NULL);
	json_put_string(json, "op", "raise");
	json_put_alert(json, alert);
	json_end_object(json);
}

void say_clear(const struct alert_row *alert, struct text *json)
{
	CLEANUP(text_done) struct text key = {0};

	alert_row_key(alert, &key);
	json_begin_object(json, NULL);
	json_put_string(json, "op", "clear");
	json_put_string(json, "key", text_get(&key));
	json_end_object(json);
}

void say_event(const char *kind, const char *subject_kind, const char *subject, const char *message,
	       const struct text *detail, struct text *json)
{
	json_begin_object(json, NULL);
	json_put_string(json, "kind", kind);
	json_put_string(json, "subject_kind", subject_kind);
	json_put_string(json, "subject", subject);
	json_put_string(json, "message", message);
	if (detail)
		json_put_raw(json, "detail", text_get(detail));
	json_end_object(json);
}

void say_state(port_state state, struct text *json, const char *key)
{
	CLEANUP(text_done) struct text text = {0};

	if (state)
		port_vlans_text(state, &text);
	json_put_string(json, key, state ? text_get(&text) : NULL);
}

/* What differs at one switch: what was applied by us, and what is there. */
unsigned say_drift(const struct pass *pass, uint32_t at, struct text *json, const char *key)
{
	const struct scene *scene = &pass->scene;
	unsigned count = 0;

	json_begin_array(json, key);
	for (uint32_t p = scene->model.switches[at].first_port;
	     p < scene->model.switches[at].first_port + scene->model.switches[at].port_count; p++) {
		port_state before = scene->applied[p];

		if (scene->model.ports[p].role == PORT_UPLINK)
			before = scene_uplink_drifted(scene, p) ? before : NULL;
		if (!before || !scene->observed[p] || scene->model.ports[p].carrier != p ||
		    scene->model.ports[p].busy || port_vlans_equal(before, scene->observed[p]))
			continue;
		json_begin_object(json, NULL);
		json_put_string(json, "port", scene->model.ports[p].name);
		say_state(before, json, "applied");
		say_state(scene->observed[p], json, "observed");
		json_end_object(json);
		count++;
	}
	json_end_array(json);
	return count;
}

/* Never 0 or ALERT_TOLD. */
static alert_told say_told(const struct alert_row *alert)
{
	const char *detail = alert->detail ? text_get(alert->detail) : "";
	alert_told told = hash_bytes(hash_bytes(HASH_START, alert->message, strlen(alert->message)),
				     detail, strlen(detail));

	return told | 2;
}

void say_while(bool on, alert_told *told, const struct alert_row *alert, struct said *said)
{
	alert_told now = on ? say_told(alert) : ALERT_UNTOLD;

	if (now == *told)
		return;
	*told = now;
	if (on)
		say_raise(alert, &said->alerts);
	else
		say_clear(alert, &said->alerts);
	said->count++;
}
