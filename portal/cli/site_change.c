#include "portal/cli/site_change.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/error.h"
#include "common/io/conf_edit.h"
#include "common/io/file.h"

#define SITE_CHANGE_FILE    ((size_t)1 << 20)
#define SITE_CHANGE_NOTE    "/var/lib/haas/site-init.json"
#define SITE_CHANGE_SCHEMA  "/etc/haas/schema.env"
#define SITE_CHANGE_DEFAULT "host=/var/lib/haas/pg dbname=haas"

/* --- what a plan says of each setting --- */

static void site_change_list(char *const *list, struct text *ret)
{
	text_add(ret, "[");
	for (char *const *each = list; each && *each; each++) {
		text_add(ret, each == list ? "" : ", ");
		conf_edit_quote(ret, *each);
	}
	text_add(ret, "]");
}

static void site_change_interfaces(const struct site_plan *plan, const char *arg, struct text *ret)
{
	(void)arg;
	site_change_list(plan->interfaces, ret);
}

static void site_change_address(const struct site_plan *plan, const char *arg, struct text *ret)
{
	uint32_t address = plan->controllers == 2 ? plan->server_address : 0;

	(void)arg;
	text_addf(ret, "\"%u.%u.%u.%u\"", address >> 24, address >> 16 & 255U, address >> 8 & 255U,
		  address & 255U);
}

/* Without HTTPS these settings are none of ours: nothing is said of them. */
static void site_change_certificate(const struct site_plan *plan, const char *arg, struct text *ret)
{
	(void)arg;
	if (plan->https != SITE_HTTPS_OFF)
		text_add(ret, "\"" SITE_TLS_CERTIFICATE "\"");
}

static void site_change_tls_mode(const struct site_plan *plan, const char *arg, struct text *ret)
{
	(void)arg;
	if (plan->https != SITE_HTTPS_OFF)
		text_addf(ret, "\"%s\"", site_https_words[plan->https]);
}

static void site_change_database(const struct site_plan *plan, const char *role, struct text *ret)
{
	CLEANUP(text_done) struct text value = {0};

	text_addf(&value, "%s user=%s", plan->database[0] ? plan->database : SITE_CHANGE_DEFAULT,
		  role);
	conf_edit_quote(ret, text_get(&value));
}

static void site_change_storage(const struct site_plan *plan, const char *arg, struct text *ret)
{
	(void)arg;
	conf_edit_quote(ret, plan->storage_name);
}

static void site_change_uplink(const struct site_plan *plan, const char *arg, struct text *ret)
{
	(void)arg;
	conf_edit_quote(ret, plan->storage_uplink);
}

static void site_change_relay_interfaces(const struct site_plan *plan, const char *arg,
					 struct text *ret)
{
	(void)arg;
	site_change_list(plan->relay_interfaces, ret);
}

static void site_change_relay_servers(const struct site_plan *plan, const char *arg,
				      struct text *ret)
{
	(void)arg;
	site_change_list(plan->relay_servers, ret);
}

static void site_change_relay_controller(const struct site_plan *plan, const char *arg,
					 struct text *ret)
{
	(void)arg;
	conf_edit_quote(ret, plan->relay_controller);
}

static const struct site_change_row {
	const char *role, *program, *key;
	const char *usual; /* as the package brings it; NULL: made from `arg`, a database role */
	void (*value)(const struct site_plan *plan, const char *arg, struct text *ret);
	const char *arg;
} site_change_rows[] = {
	{"controller", "bampi-bootd", "interfaces", "[]", site_change_interfaces, NULL},
	{"controller", "bampi-bootd", "server_address", "\"0.0.0.0\"", site_change_address, NULL},
	{"controller", "bampi-bootd", "tls.certificate", "\"\"", site_change_certificate, NULL},
	{"controller", "bampi-bootd", "tls.mode", "\"required\"", site_change_tls_mode, NULL},
	{"controller", "bampi-bootd", "database", NULL, site_change_database, "bampi_bootd"},
	{"controller", "bampid", "database", NULL, site_change_database, "bampid"},
	{"controller", "portald", "database", NULL, site_change_database, "portald"},
	{"controller", "portal-outward", "database", NULL, site_change_database, "portal_outward"},
	{"controller", "peregrined", "database", NULL, site_change_database, "peregrined"},
	{"controller", "peregrine-flowd", "database", NULL, site_change_database,
	 "peregrine_flowd"},
	{"controller", "peregrine-captured", "database", NULL, site_change_database,
	 "peregrine_captured"},
	{"storage", "bampi-stored", "database", NULL, site_change_database, "bampi_stored"},
	{"storage", "bampi-stored", "storage", "\"\"", site_change_storage, NULL},
	{"storage", "bampi-stored", "uplink", "\"\"", site_change_uplink, NULL},
	{"relay", "bampi-relay", "interfaces", "[]", site_change_relay_interfaces, NULL},
	{"relay", "bampi-relay", "dhcp.servers", "[]", site_change_relay_servers, NULL},
	{"relay", "bampi-relay", "controller", "\"\"", site_change_relay_controller, NULL},
};

/* --- what is there --- */

static int site_change_path(const struct site_changes *changes, const char *path,
			    char ret[PATH_MAX], struct problem *problem)
{
	if (text_format(ret, PATH_MAX, "%s%s", changes->root, path))
		return 0;
	return problem_set(problem, -ENAMETOOLONG, "the path of %s is too long", path);
}

/* A file that is not there is empty. */
static int site_change_read(const struct site_changes *changes, const char *path, char **ret,
			    struct problem *problem)
{
	char whole[PATH_MAX];
	size_t size = 0;
	int rc = site_change_path(changes, path, whole, problem);

	if (rc)
		return rc;
	rc = file_read(whole, SITE_CHANGE_FILE, ret, &size);
	if (rc == -ENOENT) {
		*ret = strdup("");
		rc = *ret ? 0 : -ENOMEM;
	}
	return rc ? problem_set(problem, rc, "cannot read %s: %s", path, error_text(rc)) : 0;
}

/* Has site init ever written this value? */
static bool site_change_is_ours(const struct site_changes *changes,
				const struct site_change *change)
{
	char name[192];
	const json_t *value;
	size_t i;

	(void)text_format(name, sizeof(name), "%s %s", change->path, change->key);
	json_array_foreach(json_object_get(changes->written, name), i, value)
	{
		if (strcmp(json_string_value(value) ? json_string_value(value) : "",
			   change->before) == 0)
			return true;
	}
	return false;
}

static int site_change_add(struct site_changes *changes, const struct site_change *change,
			   const char *usual, struct problem *problem)
{
	struct site_change *row = &changes->rows[changes->count];

	if (changes->count == SITE_CHANGES)
		return problem_set(problem, E_LIMIT, "more settings than site init can write");
	*row = *change;
	if (strcmp(row->before, row->after) == 0)
		row->state = SITE_CHANGE_SAME;
	else if (row->before[0] == '\0' || strcmp(row->before, usual) == 0 ||
		 site_change_is_ours(changes, row))
		row->state = SITE_CHANGE_EDIT;
	else
		row->state = SITE_CHANGE_CONFLICT;
	changes->count++;
	return 0;
}

static int site_change_setting(struct site_changes *changes, const struct site_plan *plan,
			       const struct site_change_row *row, struct problem *problem)
{
	CLEANUP(text_done) struct text before = {0};
	CLEANUP(text_done) struct text after = {0};
	CLEANUP(text_done) struct text usual = {0};
	CLEANUP(freep) char *text = NULL;
	struct site_change change = {0};
	int rc;

	(void)text_format(change.path, sizeof(change.path), "/etc/haas/%s.conf", row->program);
	(void)text_copy(change.key, sizeof(change.key), row->key);
	rc = site_change_read(changes, change.path, &text, problem);
	if (rc)
		return rc;
	if (text[0] == '\0') {
		(void)problem_set(problem, E_NOT_FOUND, "%s is not there", change.path);
		problem_hint(problem,
			     "install the package of this role: apt install ./haas-%s_*.deb",
			     row->role);
		return E_NOT_FOUND;
	}
	rc = conf_edit_get(text, row->key, &before, problem);
	if (rc) {
		problem_hint(problem, "correct %s; %s --print-config shows each setting",
			     change.path, row->program);
		return rc;
	}
	row->value(plan, row->arg, &after);
	if (after.size == 0)
		return 0;
	if (row->usual) {
		text_add(&usual, row->usual);
	} else {
		CLEANUP(text_done) struct text value = {0};

		text_addf(&value, SITE_CHANGE_DEFAULT " user=%s", row->arg);
		conf_edit_quote(&usual, text_get(&value));
	}
	if (!text_copy(change.before, sizeof(change.before), text_get(&before)) ||
	    !text_copy(change.after, sizeof(change.after), text_get(&after)))
		return problem_set(problem, E_LIMIT, "%s of %s is too long", row->key, change.path);
	return site_change_add(changes, &change, text_get(&usual), problem);
}

/* The database of haas-schema and of `site check`. */
static int site_change_schema(struct site_changes *changes, const struct site_plan *plan,
			      struct problem *problem)
{
	struct site_change change = {.path = SITE_CHANGE_SCHEMA};
	CLEANUP(freep) char *text = NULL;
	int rc = site_change_read(changes, SITE_CHANGE_SCHEMA, &text, problem);

	if (rc || !site_plan_has(plan, "controller"))
		return rc;
	if (!text_copy(change.before, sizeof(change.before), text) ||
	    (plan->database[0] && !text_format(change.after, sizeof(change.after),
					       "HAAS_DATABASE=\"%s user=haas\"\n", plan->database)))
		return problem_set(problem, E_LIMIT, "the database in %s is too long",
				   SITE_CHANGE_SCHEMA);
	return site_change_add(changes, &change, "", problem);
}

/* Units that may speak to this machine alone, unless the database is elsewhere. */
static const struct {
	const char *unit, *lifted;
} site_change_drop_ins[] = {
	{"portald", "PrivateNetwork=no\nRestrictAddressFamilies=AF_INET AF_INET6\n"},
	{"haas-schema", "IPAddressAllow=any\n"},
	{"haas-backup", "IPAddressAllow=any\n"},
};

static int site_change_units(struct site_changes *changes, const struct site_plan *plan,
			     struct problem *problem)
{
	for (size_t i = 0; i < COUNT_OF(site_change_drop_ins) && site_plan_has(plan, "controller");
	     i++) {
		CLEANUP(freep) char *text = NULL;
		struct site_change change = {0};
		int rc;

		(void)text_format(change.path, sizeof(change.path),
				  "/etc/systemd/system/%s.service.d/database.conf",
				  site_change_drop_ins[i].unit);
		rc = site_change_read(changes, change.path, &text, problem);
		if (rc)
			return rc;
		if (plan->database[0])
			(void)text_format(
				change.after, sizeof(change.after),
				"# haasctl site init: PostgreSQL is elsewhere.\n[Service]\n%s",
				site_change_drop_ins[i].lifted);
		if (!text_copy(change.before, sizeof(change.before), text))
			return problem_set(problem, E_LIMIT, "%s is too long", change.path);
		rc = site_change_add(changes, &change, "", problem);
		if (rc)
			return rc;
	}
	return 0;
}

int site_changes_find(const struct site_plan *plan, const char *root, struct site_changes *ret,
		      struct problem *problem)
{
	struct site_changes changes = {.root = root};
	CLEANUP(freep) char *note = NULL;
	int rc = site_change_read(&changes, SITE_CHANGE_NOTE, &note, problem);

	if (rc)
		return rc;
	changes.written = json_loads(note, 0, NULL);
	if (!json_is_object(changes.written)) {
		json_decref(changes.written);
		changes.written = json_object();
	}
	for (size_t i = 0; i < COUNT_OF(site_change_rows) && rc == 0; i++) {
		if (site_plan_has(plan, site_change_rows[i].role))
			rc = site_change_setting(&changes, plan, &site_change_rows[i], problem);
	}
	if (rc == 0)
		rc = site_change_schema(&changes, plan, problem);
	if (rc == 0)
		rc = site_change_units(&changes, plan, problem);
	if (rc) {
		site_changes_done(&changes);
		return rc;
	}
	*ret = changes;
	return 0;
}

void site_changes_done(struct site_changes *changes)
{
	json_decref(changes->written);
	changes->written = NULL;
}

/* --- writing --- */

static bool site_change_is_due(const struct site_change *change, bool replace)
{
	return change->state == SITE_CHANGE_EDIT ||
	       (replace && change->state == SITE_CHANGE_CONFLICT);
}

/* Mode and owner stay those of the file. */
static int site_change_put(const struct site_changes *changes, const char *path, const char *text,
			   struct problem *problem)
{
	char whole[PATH_MAX];
	struct stat st;
	int rc = site_change_path(changes, path, whole, problem);

	if (rc)
		return rc;
	if (stat(whole, &st) < 0) {
		char folder[PATH_MAX];
		char *end;

		st.st_mode = 0644;
		(void)text_copy(folder, sizeof(folder), whole);
		end = strrchr(folder, '/');
		if (end)
			*end = '\0';
		rc = file_make_folder(folder, 0755);
	}
	if (rc == 0)
		rc = file_write_atomic(whole, text, strlen(text), st.st_mode & 0777U);
	return rc ? problem_set(problem, rc, "cannot write %s: %s", path, error_text(rc)) : 0;
}

/* Before the first file: a value that is half written is ours when we come again. */
static int site_change_note(struct site_changes *changes, bool replace, struct problem *problem)
{
	CLEANUP(freep) char *text = NULL;
	bool any = false;

	for (size_t i = 0; i < changes->count; i++) {
		const struct site_change *change = &changes->rows[i];
		char name[192];
		json_t *values;

		if (!site_change_is_due(change, replace))
			continue;
		(void)text_format(name, sizeof(name), "%s %s", change->path, change->key);
		values = json_object_get(changes->written, name);
		if (!json_is_array(values)) {
			values = json_array();
			(void)json_object_set_new(changes->written, name, values);
		}
		(void)json_array_append_new(values, json_string(change->after));
		any = true;
	}
	if (!any)
		return 0;
	text = json_dumps(changes->written, JSON_INDENT(1) | JSON_SORT_KEYS);
	if (!text)
		return problem_set(problem, -ENOMEM, "out of memory");
	return site_change_put(changes, SITE_CHANGE_NOTE, text, problem);
}

/* All settings of one file in one step. */
static int site_change_file(struct site_changes *changes, size_t first, bool replace,
			    struct problem *problem)
{
	const char *path = changes->rows[first].path;
	CLEANUP(freep) char *text = NULL;
	bool edited = false;
	int rc = site_change_read(changes, path, &text, problem);

	for (size_t i = first; i < changes->count && rc == 0; i++) {
		const struct site_change *change = &changes->rows[i];
		CLEANUP(text_done) struct text next = {0};

		if (strcmp(change->path, path) != 0 || !site_change_is_due(change, replace))
			continue;
		if (change->key[0])
			rc = conf_edit_set(text, change->key, change->after, &next, problem);
		else
			text_add(&next, change->after);
		freep(&text);
		text = rc == 0 ? strdup(text_get(&next)) : NULL;
		if (rc == 0 && !text)
			rc = problem_set(problem, -ENOMEM, "out of memory");
		edited = true;
	}
	return rc == 0 && edited ? site_change_put(changes, path, text, problem) : rc;
}

int site_changes_write(struct site_changes *changes, bool replace, struct problem *problem)
{
	int rc = site_change_note(changes, replace, problem);

	for (size_t i = 0; i < changes->count && rc == 0; i++) {
		bool begun = false;

		for (size_t j = 0; j < i; j++)
			begun |= strcmp(changes->rows[j].path, changes->rows[i].path) == 0;
		if (!begun)
			rc = site_change_file(changes, i, replace, problem);
	}
	return rc;
}
