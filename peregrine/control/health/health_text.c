#include "peregrine/control/health/health_text.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "common/base/json_text.h"

#include "peregrine/switch/cli/cli_port.h"

const char health_copy_statement[] =
	"copy haas.traffic_60_counter (at, switch_id, port, seconds, in_bytes, out_bytes, in_packets, "
	"out_packets, in_errors, out_errors, in_discards, out_discards, speed_bps, up) from stdin";

static const char *const stp_state_words[] = {"none",     "disabled",   "blocking", "listening",
					      "learning", "forwarding", "broken"};
static const char *const stp_role_words[] = {[STP_ROLE_NONE] = "none",
					     [STP_ROLE_ROOT] = "root",
					     [STP_ROLE_DESIGNATED] = "designated",
					     [STP_ROLE_ALTERNATE] = "alternate"};
static const char *const sensor_status_words[] = {"unknown", "ok", "unavailable", "broken"};

static const char *health_text_word_of(const char *const words[], size_t count, unsigned number)
{
	return words[number < count ? number : 0];
}
#define WORD(words, number) health_text_word_of(words, COUNT_OF(words), number)

static void health_text_time_text(int64_t at_us, char ret[40])
{
	time_t at = (time_t)(at_us / 1000000);
	struct tm parts;
	size_t length = gmtime_r(&at, &parts) ? strftime(ret, 24, "%Y-%m-%dT%H:%M:%S", &parts) : 0;

	(void)text_format(ret + length, 40 - length, ".%06dZ", (int)(at_us % 1000000));
}

/* --- counters --- */

/* COPY's text format: a backslash is the only thing that would be taken for something else. */
static void health_text_add_name(struct text *rows, const char *name)
{
	for (; *name; name++) {
		if (*name == '\\')
			text_add(rows, "\\");
		text_add_bytes(rows, name, 1);
	}
}

void health_counter_row(struct text *rows, int64_t at_us, int64_t switch_id,
			const struct port_health *port, const struct counter_interval *interval)
{
	char at[40];

	health_text_time_text(at_us, at);
	text_addf(rows, "%s\t%" PRId64 "\t", at, switch_id);
	health_text_add_name(rows, port->name);
	text_addf(rows, "\t%.3f", interval->seconds);
	for (unsigned i = 0; i < PORT_COUNTS; i++) {
		if (interval->known & (1U << i))
			text_addf(rows, "\t%" PRIu64, interval->values[i]);
		else
			text_add(rows, "\t\\N");
	}
	text_addf(rows, "\t%" PRIu64 "\t%c\n", port->speed_bps, port->up ? 't' : 'f');
}

/* --- documents --- */

static void add_mac(struct text *json, const char *key, const uint8_t mac[6])
{
	char text[24];

	(void)text_format(text, sizeof(text), "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1],
			  mac[2], mac[3], mac[4], mac[5]);
	json_put_string(json, key, text);
}

/* "8000.52:54:..": priority and MAC, as people write it. */
static void add_root(struct text *json, const uint8_t root[8])
{
	char text[32];

	(void)text_format(text, sizeof(text), "%02x%02x.%02x:%02x:%02x:%02x:%02x:%02x", root[0],
			  root[1], root[2], root[3], root[4], root[5], root[6], root[7]);
	json_put_string(json, "root", text);
}

static const char *version_word(uint32_t version)
{
	switch (version) {
	case 0: return "stp";
	case 2: return "rstp";
	case 3: return "mstp";
	default: return "unknown";
	}
}

static void add_stp_port(struct text *json, const struct port_health *port)
{
	json_begin_object(json, NULL);
	json_put_string(json, "port", port->name);
	json_put_string(json, "state", WORD(stp_state_words, port->stp_state));
	json_put_string(json, "role", WORD(stp_role_words, (unsigned)port->stp_role));
	json_put_int(json, "transitions", port->stp_transitions);
	json_end_object(json);
}

void health_stp_text(const struct switch_health *health, int64_t at_us, struct text *ret)
{
	const struct switch_stp *stp = &health->stp;
	char changed[40];

	if (!(health->parts & HEALTH_STP)) {
		text_add(ret, "null");
		return;
	}
	json_begin_object(ret, NULL);
	json_put_bool(ret, "running", stp->there);
	if (stp->there) {
		/* Whole seconds: it is told anew each time. */
		health_text_time_text((at_us / 1000000 - stp->changed_ticks / 100) * 1000000,
				      changed);
		json_put_string(ret, "version", version_word(stp->version));
		add_mac(ret, "bridge", stp->bridge);
		json_put_int(ret, "priority", stp->priority);
		add_root(ret, stp->root);
		json_put_bool(ret, "is_root",
			      memcmp(&stp->root[2], stp->bridge, sizeof(stp->bridge)) == 0);
		json_put_int(ret, "root_cost", stp->root_cost);
		json_put_string(ret, "root_port", stp->root_port_name);
	}
	if (stp->there && stp->changes != UINT32_MAX) {
		json_put_int(ret, "changes", stp->changes);
		json_put_string(ret, "changed_at", changed);
	}
	json_begin_array(ret, "ports");
	for (size_t i = 0; stp->there && i < health->port_count; i++)
		if (health->ports[i].stp_state)
			add_stp_port(ret, &health->ports[i]);
	json_end_array(ret);
	json_end_object(ret);
}

static void health_text_add_number(struct text *json, const char *port, uint32_t if_index)
{
	json_begin_object(json, NULL);
	json_put_string(json, "port", port);
	json_put_int(json, "if_index", if_index);
	json_end_object(json);
}

void health_numbers_text(const struct switch_health *health, struct text *ret)
{
	char name[sizeof(health->ports[0].name) + 24];

	json_begin_array(ret, NULL);
	for (size_t i = 0; i < health->port_count; i++) {
		const struct port_health *port = &health->ports[i];

		if (!port->name[0])
			continue;
		health_text_add_number(ret, port->name, port->if_index);
		/* IOS alone has another ifName ("Gi1/0/1") than its command line, which is read
		 * there ("GigabitEthernet1/0/1"). */
		cli_port_name(&cli_dialect_ios, port->name, name, sizeof(name));
		if (strcasecmp(name, port->name) != 0)
			health_text_add_number(ret, name, port->if_index);
	}
	json_end_array(ret);
}

/* The aggregate that a port is in, or would be in if its partner agreed. */
static uint32_t health_text_lag_of(const struct port_health *port)
{
	return port->lag ? port->lag : port->lag_selected;
}

static const char *health_text_name_of(const struct switch_health *health, uint32_t if_index)
{
	for (size_t i = 0; i < health->port_count; i++)
		if (health->ports[i].if_index == if_index)
			return health->ports[i].name;
	return "";
}

static void health_text_add_member(struct text *json, const struct port_health *port)
{
	char octet[8];

	json_begin_object(json, NULL);
	json_put_string(json, "port", port->name);
	json_put_bool(json, "up", port->up);
	json_put_bool(json, "bundled", port->lag && switch_lag_bundled(port->lag_actor));
	json_put_string(json, "partner", port->lag_partner_system);
	(void)text_format(octet, sizeof(octet), "%02x", port->lag_actor);
	json_put_string(json, "actor_state", octet);
	(void)text_format(octet, sizeof(octet), "%02x", port->lag_partner);
	json_put_string(json, "partner_state", octet);
	json_end_object(json);
}

/* Few ports are members of anything, so each aggregate is looked for where its first one is. */
static bool health_text_is_first(const struct switch_health *health, size_t number)
{
	for (size_t i = 0; i < number; i++)
		if (health->ports[i].lag_member &&
		    health_text_lag_of(&health->ports[i]) ==
			    health_text_lag_of(&health->ports[number]))
			return false;
	return true;
}

void health_lags_text(const struct switch_health *health, struct text *ret)
{
	json_begin_array(ret, NULL);
	for (size_t i = 0; i < health->port_count; i++) {
		uint32_t lag = health_text_lag_of(&health->ports[i]);

		/* Ports that are not configured to aggregate have rows too, in themselves. */
		if (!health->ports[i].lag_member || !lag || lag == health->ports[i].if_index ||
		    !health_text_is_first(health, i))
			continue;
		json_begin_object(ret, NULL);
		json_put_string(ret, "lag", health_text_name_of(health, lag));
		json_begin_array(ret, "members");
		for (size_t j = i; j < health->port_count; j++)
			if (health->ports[j].lag_member &&
			    health_text_lag_of(&health->ports[j]) == lag)
				health_text_add_member(ret, &health->ports[j]);
		json_end_array(ret);
		json_end_object(ret);
	}
	json_end_array(ret);
}

void health_sensors_text(const struct switch_health *health, struct text *ret)
{
	json_begin_array(ret, NULL);
	for (size_t i = 0; i < health->sensor_count; i++) {
		const struct switch_sensor *sensor = &health->sensors[i];
		const char *unit = switch_sensor_unit(sensor->type);

		if (!unit[0])
			continue;
		json_begin_object(ret, NULL);
		json_put_string(ret, "name", sensor->name);
		json_put_string(ret, "text", sensor->text);
		json_put_string(ret, "port", sensor->port);
		json_put_double(ret, "value", switch_sensor_value(sensor));
		json_put_string(ret, "unit", unit);
		json_put_string(ret, "status", WORD(sensor_status_words, sensor->status));
		json_end_object(ret);
	}
	json_end_array(ret);
}
