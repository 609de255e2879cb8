/* haasctl capture download CAPTURE [FILE]: a row of capture_cli.c. */
#pragma once

#include "portal/cli/haasctl.h"

int haasctl_capture_download(void *context, const struct command_input *input);
