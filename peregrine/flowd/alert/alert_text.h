/* What people read of an alert. */
#pragma once

#include "common/base/text.h"

#include "peregrine/flowd/alert/alert_watch.h"

/* "leaf1:up0 is used to 96 %" */
void alert_message(const struct alert_entry *entry, struct text *ret);
/* The path for haasctl drill, "" where there is none. */
void alert_drill(const struct alert_entry *entry, struct text *ret);
