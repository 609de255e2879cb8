#include "bampi/bmc/ipmi_sensors.h"

#include <errno.h>
#include <freeipmi/freeipmi.h>
#include <stdlib.h>

#include "common/base/text.h"

static const char *ipmi_sensors_state_text(unsigned state)
{
	static const char *const words[] = {
		[IPMI_INTERPRET_STATE_NOMINAL] = "nominal",
		[IPMI_INTERPRET_STATE_WARNING] = "warning",
		[IPMI_INTERPRET_STATE_CRITICAL] = "critical",
	};

	return state < COUNT_OF(words) ? words[state] : "unknown";
}

static void sensor_row(ipmi_interpret_ctx_t interpret, const struct ipmi_sensor *sensor,
		       const struct ipmi_reading *reading, struct bmc_sensor *ret)
{
	const char *type = ipmi_get_sensor_type_string(sensor->type);
	unsigned state = IPMI_INTERPRET_STATE_UNKNOWN;
	double value;

	*ret = (struct bmc_sensor){.number = sensor->number};
	(void)text_copy(ret->name, sizeof(ret->name), sensor->name);
	(void)text_copy(ret->type, sizeof(ret->type), type ? type : "OEM");
	if (sensor->percentage)
		(void)text_copy(ret->unit, sizeof(ret->unit), "%");
	else if (sensor->unit != 0 && IPMI_SENSOR_UNIT_VALID(sensor->unit))
		(void)text_copy(ret->unit, sizeof(ret->unit), ipmi_sensor_units[sensor->unit]);
	if (reading->readable && sensor->analog &&
	    ipmi_sensor_decode_value(sensor->r_exponent, sensor->b_exponent, sensor->m, sensor->b,
				     sensor->linearization, sensor->format, reading->value,
				     &value) == 0) {
		ret->has_reading = true;
		ret->reading = value;
	}
	if (reading->readable && ipmi_interpret_sensor(interpret, sensor->reading_type,
						       sensor->type, reading->events, &state) < 0)
		state = IPMI_INTERPRET_STATE_UNKNOWN;
	(void)text_copy(ret->state, sizeof(ret->state), ipmi_sensors_state_text(state));
}

int ipmi_sensors_result(const struct ipmi_sensor_table *table, const struct ipmi_reading readings[],
			struct bmc_result *ret)
{
	ipmi_interpret_ctx_t interpret = ipmi_interpret_ctx_create();
	struct bmc_sensor *rows = calloc(table->count ? table->count : 1, sizeof(*rows));

	for (size_t i = 0; interpret && rows && i < table->count; i++)
		sensor_row(interpret, &table->rows[i], &readings[i], &rows[i]);
	if (interpret)
		ipmi_interpret_ctx_destroy(interpret);
	if (!interpret || !rows) {
		free(rows);
		return -ENOMEM;
	}
	*ret = (struct bmc_result){.op = BMC_SENSORS,
				   .sensors = {.rows = rows, .count = table->count}};
	return 0;
}
