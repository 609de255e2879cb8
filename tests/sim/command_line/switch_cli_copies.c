/* Mirror sessions on the data plane: each that is whole is one of the bridge's mirrors. */
#include "tests/sim/command_line/switch_cli_copies.h"

#include <string.h>

#include "common/base/text.h"

#define ORIGIN "monitor erspan origin ip-address " /* NX-OS: of all sessions */

/* What the bridge calls a port; "": it has none there. An aggregate is its bond, or its only
 * member. */
static void switch_cli_copies_name_of(const struct cli_store *store, unsigned port,
				      char ret[SWITCH_PORT_NAME])
{
	unsigned lag = cli_lag_number(port);

	if (lag == 0 && port <= store->port_count)
		lag = store->running->ports[port].lag;
	if (lag && cli_ports_next(&store->bonds[lag], 1)) {
		(void)text_format(ret, SWITCH_PORT_NAME, "lag%u", lag);
		return;
	}
	if (cli_lag_number(port)) {
		struct cli_ports members = cli_lag_members(store->running, lag);

		port = cli_ports_next(&members, 1);
	}
	ret[0] = '\0';
	for (size_t i = 0; i < store->plane.port_count && port; i++) {
		if (store->plane.ports[i].number == port)
			(void)text_copy(ret, SWITCH_PORT_NAME, store->plane.ports[i].name);
	}
}

static void switch_cli_copies_add_source(struct switch_ovs_mirror *mirror, const char *name)
{
	for (size_t i = 0; i < mirror->count; i++) {
		if (strcmp(mirror->ports[i], name) == 0)
			return; /* two members of a bond */
	}
	if (name[0] && mirror->count < SWITCH_MIRROR_PORTS)
		(void)text_copy(mirror->ports[mirror->count++], SWITCH_PORT_NAME, name);
}

static void find_origin(const struct cli_config *config, char ret[16])
{
	for (size_t i = 0; i < CLI_KEPT_MAX; i++) {
		const char *line = config->kept[i];

		if (strncmp(line, ORIGIN, strlen(ORIGIN)) == 0)
			(void)text_format(ret, 16, "%.*s", (int)strcspn(line + strlen(ORIGIN), " "),
					  line + strlen(ORIGIN));
	}
}

/* As bytes: what was copied into it ends in zeros. False: nothing is copied, as long as a part of
 * the session is missing or it was not told to begin. */
static bool switch_cli_copies_is_whole(const struct cli_store *store,
				       const struct cli_mirror_row *row,
				       struct switch_ovs_mirror *ret)
{
	struct switch_ovs_mirror mirror;
	char name[SWITCH_PORT_NAME];

	memset(&mirror, 0, sizeof(mirror));
	mirror.number = row->number;
	for (unsigned port = cli_ports_next(&row->sources, 1); port;
	     port = cli_ports_next(&row->sources, port + 1)) {
		switch_cli_copies_name_of(store, port, name);
		switch_cli_copies_add_source(&mirror, name);
	}
	if (row->is_sent) {
		mirror.id = row->id;
		(void)text_copy(mirror.to, sizeof(mirror.to), row->to);
		(void)text_copy(mirror.from, sizeof(mirror.from), row->from);
		if (!mirror.from[0])
			find_origin(store->running, mirror.from);
	} else if (row->target) {
		switch_cli_copies_name_of(store, row->target, mirror.target);
	}
	memcpy(ret, &mirror, sizeof(*ret));
	return row->number && mirror.count &&
	       (row->is_sent ? row->is_on && mirror.to[0] && mirror.from[0] : mirror.target[0]);
}

static int switch_cli_copies_change(struct cli_store *store, struct switch_ovs_mirror *is,
				    const struct switch_ovs_mirror *wanted)
{
	int rc = is->number ? switch_ovs_mirror(store->ovs, is, false) : 0;

	if (rc == 0)
		memset(is, 0, sizeof(*is));
	if (rc == 0 && wanted)
		rc = switch_ovs_mirror(store->ovs, wanted, true);
	if (rc == 0 && wanted)
		memcpy(is, wanted, sizeof(*is));
	return rc;
}

/* Those that are other than they were go first: a port is the target of one. */
int cli_copies_push(struct cli_store *store)
{
	struct switch_ovs_mirror wanted[CLI_MIRRORS];
	bool whole[CLI_MIRRORS];
	int rc = 0;

	for (size_t i = 0; i < CLI_MIRRORS; i++) {
		struct switch_ovs_mirror *is = &store->copies[i];

		whole[i] =
			switch_cli_copies_is_whole(store, &store->running->mirrors[i], &wanted[i]);
		if (rc == 0 && is->number &&
		    (!whole[i] || memcmp(is, &wanted[i], sizeof(*is)) != 0))
			rc = switch_cli_copies_change(store, is, NULL);
	}
	for (size_t i = 0; i < CLI_MIRRORS && rc == 0; i++) {
		if (whole[i] && store->copies[i].number == 0)
			rc = switch_cli_copies_change(store, &store->copies[i], &wanted[i]);
	}
	return rc;
}

int cli_copies_end(struct cli_store *store)
{
	int rc = 0;

	for (size_t i = 0; i < CLI_MIRRORS && rc == 0; i++)
		rc = switch_cli_copies_change(store, &store->copies[i], NULL);
	return rc;
}
