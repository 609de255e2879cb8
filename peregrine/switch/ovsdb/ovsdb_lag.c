/* SWITCH_LAG: what there is is read, one transaction makes or unmakes the aggregate, and the data
 * plane says that it has it. */
#include <errno.h>

#include "common/base/text.h"

#include "peregrine/switch/ovsdb/ovsdb_driver.h"
#include "peregrine/switch/ovsdb/ovsdb_lag_policy.h"
#include "peregrine/switch/ovsdb/ovsdb_switch.h"

LEAKS_LEFT_TO_SANITIZER

enum { NUMBER_MAX = 4096 };

bool ovsdb_lag_name(const struct switch_family *family, unsigned number, char ret[64])
{
	(void)family;
	(void)text_format(ret, 64, "haas-%u", number);
	return number > 0 && number <= NUMBER_MAX;
}

static void ovsdb_lag_on_facts(struct ovsdb_switch *one, int rc, const struct problem *problem)
{
	struct problem why = {0};

	if (rc) {
		switch_call_end(&one->call, rc, NULL, problem);
		return;
	}
	ovsdb_plan_done(&one->plan);
	rc = ovsdb_lag_plan(&one->facts, one->call.request->lag, &one->plan, &why);
	ovsdb_switch_transact(one, rc ? &why : NULL);
}

int ovsdb_lag_start(struct ovsdb_switch *one)
{
	return ovsdb_switch_look(one, FACTS_WHOLE, ovsdb_lag_on_facts);
}
