/* From a plan to the files of /etc/haas: which settings differ, which of them are a person's, what
 * the files become. What `site init` has ever written stands in /var/lib/haas/site-init.json: a setting
 * that is neither there nor as the package brought it is a person's edit. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "common/base/macros.h"
#include "common/base/problem.h"
#include "common/base/text.h"

#include "portal/cli/site_plan.h"

/* Of bampi-bootd, when nodes boot by HTTPS. */
#define SITE_TLS_CA          "/etc/haas/tls/ca.crt"
#define SITE_TLS_CERTIFICATE "/etc/haas/tls/bampi-bootd.crt"
#define SITE_TLS_KEY         "/etc/haas/secret/bampi-bootd/tls.key"

#define SITE_CHANGES     64
#define SITE_CHANGE_LINE 512

enum site_change_state {
	SITE_CHANGE_SAME,
	SITE_CHANGE_EDIT,    /* it will be written */
	SITE_CHANGE_CONFLICT /* a person has set it */
};

struct site_change {
	enum site_change_state state;
	char path[96]; /* below the root: "/etc/haas/bampid.conf" */
	char key[64];  /* "" = the whole file is one value */
	char before[SITE_CHANGE_LINE];
	char after[SITE_CHANGE_LINE];
};

struct site_changes {
	const char *root;
	struct site_change rows[SITE_CHANGES];
	size_t count;
	json_t *written; /* {"PATH KEY": [values]}, of site-init.json */
};

/* Compares the machine below `root` with the plan. E_NOT_FOUND: the package of a role is not installed. */
MUST_USE int site_changes_find(const struct site_plan *plan, const char *root,
			       struct site_changes *ret, struct problem *problem);
void site_changes_done(struct site_changes *changes);
/* Writes all edits; with `replace` also what a person has set. First what will be written is noted,
 * then file by file, each at once: after kill -9 the same call goes on. */
MUST_USE int site_changes_write(struct site_changes *changes, bool replace,
				struct problem *problem);
