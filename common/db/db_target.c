#include "common/db/db_target.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

/* What a conninfo gets where it does not say otherwise. The first four and connect_timeout are for
 * TCP: a path that swallows what is sent is noticed within seconds, and not after a quarter of an
 * hour. A server has to prove that it is the one that is named (S27): libpq's own default takes
 * whoever answers, in clear text if need be. A standby is no place for us. */
static const struct {
	const char *key, *value;
} db_target_defaults[] = {
	{"keepalives_idle", "3"},    {"keepalives_interval", "1"},
	{"keepalives_count", "3"},   {"tcp_user_timeout", "6000"},
	{"connect_timeout", "3"},    {"sslmode", "verify-full"},
	{"client_encoding", "UTF8"}, {"target_session_attrs", "read-write"},
};

/* Lists of hosts: each has a part for each host, but a single port is that of all. */
static const char *const db_target_lists[] = {"host", "hostaddr", "port"};

static const char *option_value(const PQconninfoOption *parsed, const char *key)
{
	for (; parsed->keyword; parsed++)
		if (strcmp(parsed->keyword, key) == 0)
			return parsed->val;
	return NULL;
}

static unsigned part_count(const char *list)
{
	unsigned count = 1;

	for (const char *at = list; *at; at++)
		count += *at == ',';
	return count;
}

static unsigned host_count(const PQconninfoOption *parsed)
{
	const char *addresses = option_value(parsed, "hostaddr");
	const char *hosts = addresses && addresses[0] ? addresses : option_value(parsed, "host");

	return hosts ? part_count(hosts) : 1;
}

unsigned db_target_hosts(const char *conninfo)
{
	PQconninfoOption *parsed = PQconninfoParse(conninfo, NULL);
	unsigned count = parsed ? host_count(parsed) : 0;

	PQconninfoFree(parsed);
	return count;
}

/* "a,b,c" from its part 1 on: "b,c,a". */
static char *turn_list(const char *list, unsigned first)
{
	char *turned = strdup(list);
	const char *at = list;
	size_t tail;

	for (; first > 0; first--)
		at += strcspn(at, ",") + 1;
	if (!turned || at == list)
		return turned;
	tail = strlen(at);
	memcpy(turned, at, tail);
	turned[tail] = ',';
	memcpy(turned + tail + 1, list, (size_t)(at - list) - 1); /* without its comma */
	return turned;
}

static void target_add(struct db_target *target, size_t *count, const char *key, const char *value)
{
	if (*count + 1 >= DB_TARGET_KEYS)
		return;
	target->keys[*count] = key;
	target->values[(*count)++] = value;
}

static int turn_lists(struct db_target *target, unsigned first, size_t *count)
{
	for (size_t i = 0; i < COUNT_OF(db_target_lists); i++) {
		const char *list = option_value(target->parsed, db_target_lists[i]);

		if (!list)
			continue;
		target->turned[i] = turn_list(list, part_count(list) > 1 ? first : 0);
		if (!target->turned[i])
			return -ENOMEM;
		target_add(target, count, db_target_lists[i], target->turned[i]);
	}
	return 0;
}

static bool is_list(const char *key)
{
	for (size_t i = 0; i < COUNT_OF(db_target_lists); i++)
		if (strcmp(key, db_target_lists[i]) == 0)
			return true;
	return false;
}

int db_target_init(const char *conninfo, const char *application, unsigned first,
		   struct db_target *ret)
{
	struct db_target target = {.parsed = PQconninfoParse(conninfo, NULL)};
	size_t count = 0;
	unsigned hosts;
	int rc;

	if (!target.parsed)
		return E_MALFORMED;
	hosts = host_count(target.parsed);
	for (size_t i = 0; i < COUNT_OF(db_target_defaults); i++)
		if (!option_value(target.parsed, db_target_defaults[i].key) &&
		    (application || hosts > 1 ||
		     strcmp(db_target_defaults[i].key, "target_session_attrs") != 0))
			target_add(&target, &count, db_target_defaults[i].key,
				   db_target_defaults[i].value);
	if (application)
		target_add(&target, &count, "application_name", application);
	for (const PQconninfoOption *one = target.parsed; one->keyword; one++)
		if (one->val && !is_list(one->keyword) &&
		    !(application && strcmp(one->keyword, "application_name") == 0))
			target_add(&target, &count, one->keyword, one->val);
	rc = turn_lists(&target, first % hosts, &count);
	if (rc)
		db_target_done(&target);
	else
		*ret = target;
	return rc;
}

void db_target_done(struct db_target *target)
{
	for (size_t i = 0; i < COUNT_OF(target->turned); i++)
		free(target->turned[i]);
	PQconninfoFree(target->parsed);
	*target = (struct db_target){0};
}
