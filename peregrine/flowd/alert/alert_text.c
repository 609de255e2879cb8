#include "peregrine/flowd/alert/alert_text.h"

#include <math.h>
#include <string.h>

#include "common/model/drill_path.h"

const char *alert_number_text(double value, char ret[ALERT_NUMBER_SIZE])
{
	/* 9.96 is 10, and no 10.0. */
	(void)text_format(ret, ALERT_NUMBER_SIZE, value < 9.95 ? "%.1f" : "%.0f", value);
	return ret;
}

void alert_message(const struct alert_entry *entry, struct text *ret)
{
	const char *subject = entry->subject;
	const char *unit = alert_kind_rows[entry->kind].unit;
	char value[ALERT_NUMBER_SIZE];
	char peak[ALERT_NUMBER_SIZE];

	alert_number_text(entry->state.value, value);
	switch (entry->kind) {
	case ALERT_UTILISATION: text_addf(ret, "%s is used to %s %%", subject, value); break;
	case ALERT_ERRORS: text_addf(ret, "%s has %s errors/s", subject, value); break;
	case ALERT_DISCARDS: text_addf(ret, "%s discards %s frames/s", subject, value); break;
	case ALERT_IMBALANCE:
		text_addf(ret,
			  "the %s of %s are loaded unevenly: one has %s %% of its speed more "
			  "than their mean",
			  entry->port[0] ? "members" : "uplinks", subject, value);
		break;
	case ALERT_SHARE: text_addf(ret, "%s has %s %% of %s", entry->who, value, subject); break;
	case ALERT_GAP:
		text_addf(ret, "%s %% of the samples of %s are missing", value, subject);
		break;
	case ALERT_SILENT: text_addf(ret, "%s has sent no sFlow for %s s", subject, value); break;
	case ALERT_KIND_COUNT: break;
	}
	if (entry->window_s > 0)
		text_addf(ret, " (mean of %.0f s)", fmax(1, entry->window_s));
	if ((entry->state.phase == ALERT_FALLING || entry->state.phase == ALERT_CALM) &&
	    entry->state.peak > entry->state.value)
		text_addf(ret, ", %s %s at most", alert_number_text(entry->state.peak, peak), unit);
}

void alert_drill(const struct alert_entry *entry, struct text *ret)
{
	struct drill_path path = {.level = DRILL_LINK, .at_link = true};
	size_t owner = strlen(entry->subject);

	if (!entry->port[0] || !alert_kind_rows[entry->kind].traffic)
		return;
	owner -= strlen(entry->port) + 1;
	if (!text_format(path.switch_name, sizeof(path.switch_name), "%.*s", (int)owner,
			 entry->subject))
		return;
	(void)text_copy(path.port, sizeof(path.port), entry->port);
	if (entry->who[0]) {
		path.level = DRILL_OWNER;
		(void)text_copy(path.owner, sizeof(path.owner), entry->who);
	}
	drill_path_print(&path, ret);
}
