/* What people read of an alert. */
#pragma once

#include "common/base/text.h"

#include "peregrine/flowd/alert/alert_watch.h"

#define ALERT_NUMBER_SIZE 32

/* A measurement as people read it, the same in each place where it stands: "96", "2.4", "0.0". */
const char *alert_number_text(double value, char ret[ALERT_NUMBER_SIZE]);
/* "leaf1:up0 is used to 96 % (mean of 1 s)"; while it goes and when it is over also the peak. */
void alert_message(const struct alert_entry *entry, struct text *ret);
/* The path for haasctl drill, "" where there is none. */
void alert_drill(const struct alert_entry *entry, struct text *ret);
