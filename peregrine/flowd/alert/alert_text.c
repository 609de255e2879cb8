#include "peregrine/flowd/alert/alert_text.h"

#include <string.h>

#include "common/model/drill_path.h"

void alert_message(const struct alert_entry *entry, struct text *ret)
{
	const char *subject = entry->subject;
	double value = entry->state.value;

	switch (entry->kind) {
	case ALERT_UTILISATION: text_addf(ret, "%s is used to %.0f %%", subject, value); break;
	case ALERT_ERRORS: text_addf(ret, "%s has %.1f errors/s", subject, value); break;
	case ALERT_DISCARDS: text_addf(ret, "%s discards %.1f frames/s", subject, value); break;
	case ALERT_IMBALANCE:
		text_addf(ret,
			  "the %s of %s are loaded unevenly: one has %.0f %% of its speed more "
			  "than their mean",
			  entry->port[0] ? "members" : "uplinks", subject, value);
		break;
	case ALERT_SHARE: text_addf(ret, "%s has %.0f %% of %s", entry->who, value, subject); break;
	case ALERT_GAP:
		text_addf(ret, "%.1f %% of the samples of %s are missing", value, subject);
		break;
	case ALERT_SILENT: text_addf(ret, "%s has sent no sFlow for %.0f s", subject, value); break;
	case ALERT_KIND_COUNT: break;
	}
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
