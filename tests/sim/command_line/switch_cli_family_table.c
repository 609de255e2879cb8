#include <string.h>

#include "tests/sim/command_line/switch_cli.h"

static const struct cli_family *const switch_cli_family_table_families[] = {
	&cli_ios,   &cli_nxos, &cli_os10, &cli_aoscx, &cli_procurve,    &cli_comware,
	&cli_delln, &cli_os9,  &cli_ecs,  &cli_sonic, &cli_sonic201911,
};

const struct cli_family *cli_family_at(size_t i)
{
	return i < COUNT_OF(switch_cli_family_table_families) ? switch_cli_family_table_families[i]
							      : NULL;
}

const struct cli_family *cli_family_find(const char *name)
{
	for (size_t i = 0; i < COUNT_OF(switch_cli_family_table_families); i++) {
		if (strcmp(switch_cli_family_table_families[i]->name, name) == 0)
			return switch_cli_family_table_families[i];
	}
	return NULL;
}
