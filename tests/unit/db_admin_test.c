// links: portal_cli
/* haasctl's connection to the database, against a scratch PostgreSQL of its own. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "portal/cli/db_admin.h"
#include "tests/support/cmocka.h"
#include "tests/support/scratch.h"

struct site {
	char folder[SCRATCH_SIZE];
	char conninfo[256];
};

static int cluster_start(void **state)
{
	struct site *site = calloc(1, sizeof(*site));
	char command[512];
	FILE *out;

	assert_non_null(site);
	scratch_make(site->folder, "db-admin");
	assert_int_equal(chmod(site->folder, 0755), 0);
	(void)text_format(command, sizeof(command), "%s/support/pg start %s/pg", TEST_SOURCE_DIR,
			  site->folder);
	out = popen(command, "r");
	assert_non_null(out);
	assert_non_null(fgets(site->conninfo, sizeof(site->conninfo), out));
	site->conninfo[strcspn(site->conninfo, "\n")] = '\0';
	assert_int_equal(pclose(out), 0);
	*state = site;
	return 0;
}

static int cluster_stop(void **state)
{
	struct site *site = *state;

	(void)shell("%s/support/pg stop %s/pg", TEST_SOURCE_DIR, site->folder);
	scratch_remove(site->folder);
	free(site);
	return 0;
}

static void assert_setting(PGconn *connection, const char *keyword, const char *value)
{
	PQconninfoOption *options = PQconninfo(connection);
	const PQconninfoOption *option = options;

	assert_non_null(options);
	while (option->keyword && strcmp(option->keyword, keyword) != 0)
		option++;
	assert_non_null(option->keyword);
	assert_non_null(option->val);
	assert_string_equal(option->val, value);
	PQconninfoFree(options);
}

/* A migration would wait for a quarter of an hour for a server that is not to be reached any more.
 */
static void a_path_that_swallows_what_is_sent_is_noticed(void **state)
{
	const struct site *site = *state;
	struct problem problem = {0};
	PGconn *connection = NULL;
	char conninfo[300];

	assert_int_equal(db_admin_connect(site->conninfo, &connection, &problem), 0);
	assert_setting(connection, "tcp_user_timeout", "6000");
	assert_setting(connection, "keepalives_idle", "3");
	assert_setting(connection, "dbname", "haas");
	PQfinish(connection);
	(void)text_format(conninfo, sizeof(conninfo), "%s tcp_user_timeout=0", site->conninfo);
	assert_int_equal(db_admin_connect(conninfo, &connection, &problem), 0);
	assert_setting(connection, "tcp_user_timeout", "0");
	PQfinish(connection);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_path_that_swallows_what_is_sent_is_noticed),
	};

	return cmocka_run_group_tests(tests, cluster_start, cluster_stop);
}
