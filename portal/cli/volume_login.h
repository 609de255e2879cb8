/* haasctl volume login VOLUME NODE: a row of volume_cli.c. */
#pragma once

#include "portal/cli/haasctl.h"

int haasctl_volume_login(void *context, const struct command_input *input);
