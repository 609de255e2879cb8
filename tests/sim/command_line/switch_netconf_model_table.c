#include <string.h>

#include "tests/sim/command_line/switch_netconf.h"

static const struct netconf_model *const switch_netconf_model_table_models[] = {
	&netconf_nxos,
	&netconf_iosxe,
	&netconf_comware,
	&netconf_openconfig,
};

const struct netconf_model *netconf_model_at(size_t i)
{
	return i < COUNT_OF(switch_netconf_model_table_models)
		       ? switch_netconf_model_table_models[i]
		       : NULL;
}

const struct netconf_model *netconf_model_find(const char *name)
{
	for (size_t i = 0; i < COUNT_OF(switch_netconf_model_table_models); i++) {
		if (strcmp(switch_netconf_model_table_models[i]->name, name) == 0)
			return switch_netconf_model_table_models[i];
	}
	return NULL;
}

const struct netconf_model *netconf_model_of(const char *family)
{
	for (size_t i = 0; i < COUNT_OF(switch_netconf_model_table_models); i++) {
		if (strcmp(switch_netconf_model_table_models[i]->family, family) == 0)
			return switch_netconf_model_table_models[i];
	}
	return NULL;
}
