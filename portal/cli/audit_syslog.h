/* An event as a syslog message (RFC 5424), for a SIEM. */
#pragma once

#include <jansson.h>

#include "common/base/text.h"

/* One line without its end. `event` is what was sealed (haas-event-1). */
void audit_syslog_add(const json_t *event, const char *position, struct text *ret);
