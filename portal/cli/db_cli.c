/* haasctl db: the one noun that speaks to PostgreSQL itself, because it makes what portald needs.
 */
#include <glob.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "portal/cli/backup_key.h"
#include "portal/cli/db_admin.h"
#include "portal/cli/listing.h"

/* --database, else that of the private cluster in --dir, else HAAS_DATABASE, else that of the usual
 * private cluster. */
static const char *database_of(const struct command_input *input, struct text *scratch)
{
	const char *given = command_option(input, "--database");
	const char *folder = command_option(input, "--dir");

	if (!given && folder) {
		text_addf(scratch, "host=%s dbname=haas user=haas", folder);
		return text_get(scratch);
	}
	if (!given)
		given = getenv("HAAS_DATABASE");
	return given ? given : DB_DEFAULT_CONNINFO;
}

static const char *folder_of(const struct command_input *input)
{
	const char *given = command_option(input, "--dir");

	return given ? given : DB_DEFAULT_FOLDER;
}

static const char *db_cli_user_of(const struct command_input *input)
{
	const char *given = command_option(input, "--user");

	return given ? given : "postgres";
}

/* Says what was done, or the problem; the exit status. */
static int db_cli_end(const struct command_input *input, int rc, const struct problem *problem)
{
	if (rc == 0) {
		haasctl_say_done(input, input->command->done, NULL, NULL);
		return EXIT_OK;
	}
	return haasctl_told(problem);
}

static int db_init(void *context, const struct command_input *input)
{
	CLEANUP(text_done) struct text conninfo = {0};
	struct problem problem = {0};
	int rc;

	(void)context;
	if (command_option(input, "--database")) {
		text_add(&conninfo, command_option(input, "--database"));
		rc = 0;
	} else {
		text_addf(&conninfo, "host=%s dbname=haas user=haas", folder_of(input));
		rc = db_cluster_init(folder_of(input), db_cli_user_of(input), &problem);
	}
	if (rc == 0)
		rc = db_migrate(text_get(&conninfo), stderr, &problem);
	if (rc == 0)
		printf("%s\n", text_get(&conninfo));
	return db_cli_end(input, rc, &problem);
}

static int db_start(void *context, const struct command_input *input)
{
	struct problem problem = {0};

	(void)context;
	return db_cli_end(input,
			  db_cluster_start(folder_of(input), db_cli_user_of(input), &problem),
			  &problem);
}

static int db_serve(void *context, const struct command_input *input)
{
	struct problem problem = {0};

	(void)context;
	return db_cli_end(input,
			  db_cluster_serve(folder_of(input), db_cli_user_of(input), &problem),
			  &problem);
}

static int db_stop(void *context, const struct command_input *input)
{
	struct problem problem = {0};

	(void)context;
	return db_cli_end(input, db_cluster_stop(folder_of(input), db_cli_user_of(input), &problem),
			  &problem);
}

static int db_migrate_run(void *context, const struct command_input *input)
{
	CLEANUP(text_done) struct text conninfo = {0};
	struct problem problem = {0};

	(void)context;
	return db_cli_end(input, db_migrate(database_of(input, &conninfo), stderr, &problem),
			  &problem);
}

static int db_status(void *context, const struct command_input *input)
{
	static const struct output_column columns[] = {NUMBER("number"), COLUMN("name"),
						       COLUMN("state"), COLUMN("applied_at")};
	CLEANUP(freep) struct db_migration_state *states = NULL;
	CLEANUP(text_done) struct text conninfo = {0};
	struct problem problem = {0};
	struct listing *listing = NULL;
	size_t count = 0;
	size_t pending = 0;

	(void)context;
	int status = listing_new(input, columns, COUNT_OF(columns), &listing);
	if (status != EXIT_OK)
		return status;
	int rc = db_migration_states(database_of(input, &conninfo), &states, &count, &pending,
				     &problem);
	if (rc < 0)
		return listing_end(listing, db_cli_end(input, rc, &problem));
	for (size_t i = 0; i < count; i++) {
		json_t *row = json_pack("{s:i, s:s, s:s, s:s?}", "number", states[i].number, "name",
					states[i].name, "state",
					states[i].applied ? "applied" : "pending", "applied_at",
					states[i].applied ? states[i].applied_at : NULL);

		listing_row(listing, row);
		json_decref(row);
	}
	status = listing_end(listing, EXIT_OK);
	if (pending > 0)
		fprintf(stderr, "%zu pending; apply: haasctl db migrate\n", pending);
	return pending == 0 ? status : EXIT_FAILED;
}

/* --plain and --key exclude each other. *ret: the key file, NULL with --plain. */
static int db_cli_key(const struct command_input *input, const char *usual, const char **ret)
{
	const char *key = command_option(input, "--key");
	bool plain = command_option(input, "--plain") != NULL;

	if (plain && key)
		return haasctl_usage(
			"--plain and --key exclude each other: a plain backup has no key");
	if (!plain && !key && !usual)
		return haasctl_usage(
			"db restore needs --key FILE, the .restore file of haasctl db backup-key, or --plain");
	*ret = plain ? NULL : key ? key : usual;
	return EXIT_OK;
}

/* Without the daemons' keys a backup is half of one (user 15): passwords are sealed to them. */
static void db_cli_tell_keys(void)
{
	glob_t found = {0};

	fputs("The keys of the daemons are not in it. Sealed passwords and certificates need them: haasctl db backup-keys.\n",
	      stderr);
	if (glob("/var/lib/haas/*/keys/*", 0, NULL, &found) == 0) {
		for (size_t i = 0; i < found.gl_pathc; i++)
			fprintf(stderr, "  %s\n", found.gl_pathv[i]);
	} else {
		fputs("  /var/lib/haas/*/keys on the controller and on each storage\n", stderr);
	}
	globfree(&found);
}

/* FILE, or with --keep a new file in the folder FILE, where older ones go. */
static int db_cli_backup_into(const struct command_input *input, const char *conninfo,
			      const char *key, struct problem *problem)
{
	const char *number = command_option(input, "--keep");
	const char *path = input->words[0];
	char *end = NULL;
	long keep = number ? strtol(number, &end, 10) : 0;
	char name[PATH_MAX];
	int rc = 0;

	if (number && (*end != '\0' || keep < 1 || keep > 10000))
		return haasctl_usage("--keep %s: must be a whole number from 1 to 10000", number);
	if (number)
		rc = db_keep_name(path, name, problem);
	if (rc == 0)
		rc = db_backup(conninfo, number ? name : path, key, problem);
	if (rc == 0 && number)
		rc = db_keep_newest(path, (int)keep, problem);
	return db_cli_end(input, rc, problem);
}

static int db_backup_run(void *context, const struct command_input *input)
{
	CLEANUP(text_done) struct text conninfo = {0};
	struct problem problem = {0};
	const char *key = NULL;
	int status = db_cli_key(input, BACKUP_KEY_DEFAULT, &key);

	(void)context;
	if (status != EXIT_OK)
		return status;
	status = db_cli_backup_into(input, database_of(input, &conninfo), key, &problem);
	if (status != EXIT_OK || command_option(input, "--keep"))
		return status;
	if (!key)
		fprintf(stderr,
			"WARNING: %s is not encrypted and not signed. Who can read it has the data of all tenants.\n",
			input->words[0]);
	db_cli_tell_keys();
	return EXIT_OK;
}

/* Of the options --root and --key. */
static int db_cli_keys(const struct command_input *input, const char *usual_key,
		       int (*run)(const char *root, const char *path, const char *key,
				  struct problem *problem))
{
	const char *root = command_option(input, "--root");
	const char *key = command_option(input, "--key");
	struct problem problem = {0};

	if (!key && !usual_key)
		return haasctl_usage(
			"db restore-keys needs --key FILE, the .restore file of haasctl db backup-key");
	return db_cli_end(input,
			  run(root ? root : "", input->words[0], key ? key : usual_key, &problem),
			  &problem);
}

static int db_backup_keys_run(void *context, const struct command_input *input)
{
	(void)context;
	return db_cli_keys(input, BACKUP_KEY_DEFAULT, db_keys_backup);
}

static int db_restore_keys_run(void *context, const struct command_input *input)
{
	(void)context;
	return db_cli_keys(input, NULL, db_keys_restore);
}

static int db_backup_key_run(void *context, const struct command_input *input)
{
	struct problem problem = {0};

	(void)context;
	int status = db_cli_end(input, backup_key_make(input->words[0], &problem), &problem);
	if (status == EXIT_OK)
		fprintf(stderr,
			"%s.backup belongs on the controller, as " BACKUP_KEY_DEFAULT ".\n"
			"Keep %s.restore elsewhere: it alone opens the backups.\n",
			input->words[0], input->words[0]);
	return status;
}

static int db_restore_run(void *context, const struct command_input *input)
{
	CLEANUP(text_done) struct text conninfo = {0};
	struct problem problem = {0};
	struct db_restore restore = {
		.conninfo = database_of(input, &conninfo),
		.path = input->words[0],
		.replace = command_option(input, "--replace") != NULL,
	};
	int status = db_cli_key(input, NULL, &restore.key);

	(void)context;
	if (status != EXIT_OK)
		return status;
	status = db_cli_end(input, db_restore(&restore, &problem), &problem);
	if (status == EXIT_OK)
		fputs("Nodes, switches and volumes stay as they are until an operator has compared them with the database.\n"
		      "Then: haasctl db accept-restore\n",
		      stderr);
	return status;
}

static int db_accept_restore_run(void *context, const struct command_input *input)
{
	CLEANUP(text_done) struct text conninfo = {0};
	struct problem problem = {0};
	const struct passwd *user = getpwuid(getuid());

	(void)context;
	return db_cli_end(input,
			  db_accept_restore(database_of(input, &conninfo),
					    user ? user->pw_name : "unknown", &problem),
			  &problem);
}

#define DATABASE_ROW                                                 \
	{                                                            \
		"--database", 0, OPTION_VALUE, "CONNINFO",           \
			"another PostgreSQL (default HAAS_DATABASE)" \
	}
#define FOLDER_ROW                                                               \
	{                                                                        \
		"--dir", 0, OPTION_VALUE, "DIR",                                 \
			"of the private cluster (default " DB_DEFAULT_FOLDER ")" \
	}
#define USER_ROW                                                                             \
	{                                                                                    \
		"--user", 0, OPTION_VALUE, "USER", "OS user that runs it (default postgres)" \
	}

static const struct option_row init_options[] = {DATABASE_ROW, FOLDER_ROW, USER_ROW};
static const struct option_row cluster_options[] = {FOLDER_ROW, USER_ROW};
static const struct option_row database_options[] = {DATABASE_ROW, FOLDER_ROW};
static const struct option_row db_cli_backup_options[] = {
	DATABASE_ROW,
	FOLDER_ROW,
	{"--key", 0, OPTION_VALUE, "FILE", "the .backup file (default " BACKUP_KEY_DEFAULT ")"},
	{"--plain", 0, OPTION_FLAG, NULL, "neither encrypt nor sign: for a lab"},
	{"--keep", 0, OPTION_VALUE, "N", "FILE is a folder: a new file in it, the N newest stay"},
};
#define ROOT_ROW                                                                          \
	{                                                                                 \
		"--root", 0, OPTION_VALUE, "DIR", "the machine whose files lie below DIR" \
	}
static const struct option_row db_cli_backup_keys_options[] = {
	{"--key", 0, OPTION_VALUE, "FILE", "the .backup file (default " BACKUP_KEY_DEFAULT ")"},
	ROOT_ROW,
};
static const struct option_row db_cli_restore_keys_options[] = {
	{"--key", 0, OPTION_VALUE, "FILE", "the .restore file that opens and checks"},
	ROOT_ROW,
};
static const struct option_row db_cli_restore_options[] = {
	DATABASE_ROW,
	FOLDER_ROW,
	{"--key", 0, OPTION_VALUE, "FILE", "the .restore file that opens and checks"},
	{"--plain", 0, OPTION_FLAG, NULL, "the backup is plain; nobody knows who made it"},
	{"--replace", 0, OPTION_FLAG, NULL, "drop our schema in the database first"},
};

static const struct command db_cli_commands[] = {
	{"db", "init", "", "make the private cluster, migrate, print its conninfo", init_options,
	 COUNT_OF(init_options), 0, 0, db_init, .example = "db init"},
	{"db", "start", "", "start the private cluster", cluster_options, COUNT_OF(cluster_options),
	 0, 0, db_start, .example = "db start", .done = "private cluster started"},
	{"db", "serve", "", "be the private cluster, for a service manager; makes it when new",
	 cluster_options, COUNT_OF(cluster_options), 0, 0, db_serve, .example = "db serve"},
	{"db", "stop", "", "stop the private cluster", cluster_options, COUNT_OF(cluster_options),
	 0, 0, db_stop, .example = "db stop", .done = "private cluster stopped"},
	{"db", "migrate", "", "bring tables, functions and rights up to this program",
	 database_options, COUNT_OF(database_options), 0, 0, db_migrate_run,
	 .example = "db migrate", .done = "schema is up to date"},
	{"db", "status", "", "applied parts of the schema; exit 1 unless all are", database_options,
	 COUNT_OF(database_options), 0, 0, db_status, .example = "db status"},
	{"db", "backup-key", "FILE",
	 "make the keys of backups: FILE.backup to write, FILE.restore to read", NO_OPTIONS, 1, 1,
	 db_backup_key_run, .example = "db backup-key /root/site1",
	 .done = "backup keys {1}.backup and {1}.restore made"},
	{"db", "backup", "FILE", "write a backup, encrypted and signed",
	 OPTIONS(db_cli_backup_options), 1, 1, db_backup_run,
	 .example = "db backup /var/backups/haas.backup", .done = "backup written to {1}"},
	{"db", "backup-keys", "FILE",
	 "write settings and keys of this machine, encrypted and signed",
	 OPTIONS(db_cli_backup_keys_options), 1, 1, db_backup_keys_run,
	 .example = "db backup-keys /var/backups/haas.keys", .done = "keys written to {1}"},
	{"db", "restore-keys", "FILE", "put settings and keys back in their places",
	 OPTIONS(db_cli_restore_keys_options), 1, 1, db_restore_keys_run,
	 .example = "db restore-keys /var/backups/haas.keys --key /media/key/site1.restore",
	 .done = "keys of {1} restored"},
	{"db", "restore", "FILE", "read a backup into an empty database",
	 OPTIONS(db_cli_restore_options), 1, 1, db_restore_run,
	 .example = "db restore /var/backups/haas.backup --key /media/key/site1.restore",
	 .done = "backup {1} restored"},
	{"db", "accept-restore", "",
	 "let the programs change nodes, switches and volumes again after a restore",
	 OPTIONS(database_options), 0, 0, db_accept_restore_run, .example = "db accept-restore",
	 .done = "restored database accepted"},
};
const struct command_group db_group = {db_cli_commands, COUNT_OF(db_cli_commands)};
