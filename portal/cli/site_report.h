/* The parts of `haasctl site report`, written as files into a folder. A part that cannot be had says why in
 * its file: a report is asked for when things are broken. */
#pragma once

#include "common/base/macros.h"
#include "common/base/problem.h"

#include "portal/cli/haasctl.h"

struct site_report {
	struct haasctl *haasctl;
	const struct command_input *input;
	const char *root;
	const char *conninfo;
	const char *folder; /* where the parts go; 0700 */
	void (*progress)(const char *part);
};

/* 0, or a failure that would make the report unsafe or empty (no memory, no room on the disk). */
MUST_USE int site_report_write(const struct site_report *report, struct problem *problem);
/* Rows of statistics that hold nothing of tenants (site_report_database.c). */
void site_report_database(const char *conninfo, struct text *ret);
