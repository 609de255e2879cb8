#include "bampi/agent/task_table.h"

#include <string.h>

#include "bampi/agent/attest.h"
#include "bampi/agent/configure_os.h"
#include "bampi/agent/erase.h"
#include "bampi/agent/inventory.h"
#include "bampi/agent/power.h"
#include "bampi/agent/put_packages.h"
#include "bampi/agent/verify_erased.h"
#include "bampi/agent/write_image.h"

/* clang-format off */
static const struct task_row task_table_rows[] = {
	/* kind            handler            powers off */
	{"inventory",      inventory_run,     false},
	{"write_image",    write_image_run,   false},
	{"configure_os",   configure_os_run,  false},
	{"put_packages",   put_packages_run,  false},
	{"erase",          erase_run,         false},
	{"verify_erased",  verify_erased_run, false},
	{"power_off",      power_off_run,     true},
	{"attest",         attest_run,        false},
};
/* clang-format on */

const struct task_row *task_table_find(const char *kind)
{
	for (size_t i = 0; i < COUNT_OF(task_table_rows); i++)
		if (strcmp(task_table_rows[i].kind, kind) == 0)
			return &task_table_rows[i];
	return NULL;
}
