#include "portal/cli/site_plan.h"

#include <ctype.h>
#include <string.h>

#include "common/base/error.h"
#include "common/io/conf_edit.h"
#include "common/net/ipv4.h"

#define SITE_PLAN_AT(member) offsetof(struct site_plan, member)

const char *const site_https_words[] = {"off", "offered", "required", NULL};
static const char *const site_plan_roles[] = {"controller", "storage", "relay"};

const struct conf_row site_plan_rows[] = {
	{"roles", CONF_STRINGS, SITE_PLAN_AT(roles), "controller", 0, 0, NULL, NULL,
	 "what this machine is: controller, storage, relay"},
	{"interfaces", CONF_STRINGS, SITE_PLAN_AT(interfaces), "", 0, 0, NULL, NULL,
	 "interfaces of the controller in the provisioning network"},
	{"subnets", CONF_STRINGS, SITE_PLAN_AT(subnets), "", 0, 0, NULL, NULL,
	 "subnets where nodes boot, as rack1 10.2.0.0/24 server=10.2.0.1 pool=10.2.0.100-10.2.0.199; "
	 "gateway=ADDRESS and open are possible too"},
	{"controllers", CONF_INT, SITE_PLAN_AT(controllers), "1", 1, 2, NULL, "controllers",
	 "machines with this role; two share one PostgreSQL"},
	{"server_address", CONF_ADDRESS, SITE_PLAN_AT(server_address), "0.0.0.0", 0, 0, NULL, NULL,
	 "address of this controller in the subnets, where there are two; 0.0.0.0 = that of the subnets"},
	{"database", CONF_STRING, SITE_PLAN_AT(database), "", 0, 0, NULL, NULL,
	 "PostgreSQL elsewhere, as host=db1,db2 dbname=haas target_session_attrs=read-write, without user; "
	 "empty = on this machine"},
	{"keys", CONF_STRING, SITE_PLAN_AT(keys), "", 0, 0, NULL, NULL,
	 "folder where the keys of images and backups are made; move its secrets off this machine then; "
	 "empty = they are made elsewhere"},
	{"kernel", CONF_STRING, SITE_PLAN_AT(kernel), "", 0, 0, NULL, NULL,
	 "boot files are made for nodes that are real (generic) or virtual (cloud); empty = not made here"},
	{"site", CONF_STRING, SITE_PLAN_AT(site), "", 0, 0, NULL, NULL,
	 "name of the site, which its CA bears"},
	{"https", CONF_ENUM, SITE_PLAN_AT(https), "off", 0, 0, site_https_words, NULL,
	 "nodes boot by HTTPS, with a CA of the site that is made in the folder of keys"},
	{"operators", CONF_STRINGS, SITE_PLAN_AT(operators), "", 0, 0, NULL, NULL,
	 "people who may operate the site, beside root"},
	{"storage.name", CONF_STRING, SITE_PLAN_AT(storage_name), "", 0, 0, NULL, NULL,
	 "which of the storages this machine is (haasctl storage set)"},
	{"storage.uplink", CONF_STRING, SITE_PLAN_AT(storage_uplink), "", 0, 0, NULL, NULL,
	 "interface at the port of haasctl storage set --port; empty = routed by the site"},
	{"relay.interfaces", CONF_STRINGS, SITE_PLAN_AT(relay_interfaces), "", 0, 0, NULL, NULL,
	 "interfaces of the relay with nodes, as in bampi-relay.conf"},
	{"relay.servers", CONF_STRINGS, SITE_PLAN_AT(relay_servers), "", 0, 0, NULL, NULL,
	 "addresses of the controllers that the relay sends requests to"},
	{"relay.controller", CONF_STRING, SITE_PLAN_AT(relay_controller), "", 0, 0, NULL, NULL,
	 "boot HTTP of a controller that the relay caches, as http://10.0.0.1:8080; empty = no cache"},
};
const size_t site_plan_row_count = COUNT_OF(site_plan_rows);

static bool site_plan_listed(char *const *list, const char *word)
{
	for (; list && *list; list++) {
		if (strcmp(*list, word) == 0)
			return true;
	}
	return false;
}

bool site_plan_has(const struct site_plan *plan, const char *role)
{
	return site_plan_listed(plan->roles, role);
}

/* --- subnets --- */

static bool site_plan_address(const char *text, char ret[16])
{
	uint32_t address;

	return ipv4_parse(text, &address) == 0 && text_copy(ret, 16, text);
}

static bool site_plan_pool(const char *text, struct site_subnet *ret)
{
	const char *dash = strchr(text, '-');
	char low[16];

	return dash && text_format(low, sizeof(low), "%.*s", (int)(dash - text), text) &&
	       site_plan_address(low, ret->low) && site_plan_address(dash + 1, ret->high);
}

static bool site_plan_subnet_word(const char *word, struct site_subnet *ret)
{
	if (strncmp(word, "server=", 7) == 0)
		return site_plan_address(word + 7, ret->server);
	if (strncmp(word, "gateway=", 8) == 0)
		return site_plan_address(word + 8, ret->gateway);
	if (strncmp(word, "pool=", 5) == 0)
		return site_plan_pool(word + 5, ret);
	ret->open = strcmp(word, "open") == 0;
	return ret->open;
}

int site_subnet_parse(const char *text, struct site_subnet *ret, struct problem *problem)
{
	struct site_subnet subnet = {0};
	struct ipv4_prefix prefix;
	uint32_t server = 0;
	size_t count = 0;
	bool good = true;

	for (const char *at = text + strspn(text, " "); *at && good; at += strspn(at, " ")) {
		size_t size = strcspn(at, " ");
		char word[64];

		good = text_format(word, sizeof(word), "%.*s", (int)size, at);
		if (good && count == 0)
			good = text_copy(subnet.name, sizeof(subnet.name), word);
		else if (good && count == 1)
			good = ipv4_prefix_parse(word, &prefix) == 0 &&
			       text_copy(subnet.prefix, sizeof(subnet.prefix), word);
		else if (good)
			good = site_plan_subnet_word(word, &subnet);
		count++;
		at += size;
	}
	good = good && count >= 2 && subnet.server[0] && ipv4_parse(subnet.server, &server) == 0;
	if (!good) {
		(void)problem_set(problem, E_MALFORMED, "\"%.80s\" is no subnet", text);
		problem_hint(problem,
			     "as rack1 10.2.0.0/24 server=10.2.0.1 pool=10.2.0.100-10.2.0.199");
		return E_MALFORMED;
	}
	*ret = subnet;
	return 0;
}

static int site_plan_check_subnets(const struct site_plan *plan, struct problem *problem)
{
	for (char **each = plan->subnets; each && *each; each++) {
		struct site_subnet subnet;
		struct ipv4_prefix prefix;
		int rc = site_subnet_parse(*each, &subnet, problem);

		if (rc)
			return rc;
		for (char **other = plan->subnets; other < each; other++) {
			struct site_subnet before;
			struct ipv4_prefix taken;

			if (site_subnet_parse(*other, &before, problem) ||
			    ipv4_prefix_parse(before.prefix, &taken) ||
			    ipv4_prefix_parse(subnet.prefix, &prefix))
				return E_MALFORMED;
			if (strcmp(before.name, subnet.name) == 0 ||
			    ipv4_in_prefix(prefix.address, taken) ||
			    ipv4_in_prefix(taken.address, prefix))
				return problem_set(
					problem, E_MALFORMED,
					"the subnets %s and %s have one name or one address",
					before.name, subnet.name);
		}
	}
	return 0;
}

/* --- the whole --- */

static int site_plan_check_roles(const struct site_plan *plan, struct problem *problem)
{
	for (char **role = plan->roles; role && *role; role++) {
		bool known = false;

		for (size_t i = 0; i < COUNT_OF(site_plan_roles); i++)
			known |= strcmp(*role, site_plan_roles[i]) == 0;
		if (!known)
			return problem_set(problem, E_MALFORMED,
					   "roles: \"%s\" is none of controller, storage, relay",
					   *role);
	}
	if (!plan->roles || !*plan->roles)
		return problem_set(problem, E_MALFORMED, "roles is empty: this machine is nothing");
	return 0;
}

static int site_plan_check_needs(const struct site_plan *plan, struct problem *problem)
{
	const struct {
		bool missing;
		const char *message;
	} rows[] = {
		{site_plan_has(plan, "controller") && !(plan->interfaces && *plan->interfaces),
		 "interfaces is empty: a controller needs one in the provisioning network"},
		{plan->controllers == 2 && plan->database[0] == '\0',
		 "database is empty: two controllers share one PostgreSQL, name it"},
		{site_plan_has(plan, "controller") && plan->controllers == 2 &&
			 plan->server_address == 0,
		 "server_address is 0.0.0.0: each of two controllers has its own"},
		{site_plan_has(plan, "storage") && plan->storage_name[0] == '\0',
		 "storage.name is empty: say which storage this machine is"},
		{site_plan_has(plan, "storage") && !site_plan_has(plan, "controller") &&
			 plan->database[0] == '\0',
		 "database is empty: a storage alone has none on its machine, name it"},
		{site_plan_has(plan, "relay") &&
			 !(plan->relay_interfaces && *plan->relay_interfaces),
		 "relay.interfaces is empty: a relay needs one with nodes"},
		{site_plan_has(plan, "relay") && !(plan->relay_servers && *plan->relay_servers),
		 "relay.servers is empty: a relay needs the address of a controller"},
		{site_plan_has(plan, "relay") && site_plan_has(plan, "controller"),
		 "roles: a controller and a relay cannot share one machine, both answer DHCP"},
		{strstr(plan->database, "user=") || strstr(plan->database, "password="),
		 "database names a user or a password: each daemon has its own user; passwords go to ~/.pgpass"},
		{plan->https != SITE_HTTPS_OFF && (plan->site[0] == '\0' || plan->keys[0] == '\0' ||
						   !(plan->subnets && *plan->subnets)),
		 "https needs site, keys and subnets: a CA is made, and a certificate of their servers"},
		{plan->keys[0] != '\0' && plan->keys[0] != '/', "keys must be an absolute path"},
		{plan->kernel[0] && strcmp(plan->kernel, "generic") != 0 &&
			 strcmp(plan->kernel, "cloud") != 0,
		 "kernel is none of generic, cloud"},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		if (rows[i].missing)
			return problem_set(problem, E_MALFORMED, "%s", rows[i].message);
	}
	return 0;
}

int site_plan_load(const char *path, struct site_plan *ret, struct problem *problem)
{
	struct site_plan plan = {0};
	int rc = conf_load(path, site_plan_rows, site_plan_row_count, &plan, problem);

	if (rc == 0)
		rc = site_plan_check_roles(&plan, problem);
	if (rc == 0)
		rc = site_plan_check_needs(&plan, problem);
	if (rc == 0)
		rc = site_plan_check_subnets(&plan, problem);
	if (rc) {
		site_plan_done(&plan);
		return rc;
	}
	*ret = plan;
	return 0;
}

void site_plan_done(struct site_plan *plan)
{
	conf_done(site_plan_rows, site_plan_row_count, plan);
	*plan = (struct site_plan){0};
}

/* --- the file --- */

void site_plan_value(const struct conf_row *row, const char *typed, struct text *ret)
{
	if (row->type == CONF_INT) {
		text_add(ret, typed);
		return;
	}
	if (row->type != CONF_STRINGS) {
		conf_edit_quote(ret, typed);
		return;
	}
	text_add(ret, "[");
	/* Subnets have blanks in them: their list has commas. */
	for (const char *at = typed; *at;) {
		const char *ends = strcmp(row->key, "subnets") == 0 ? "," : ", ";
		size_t size = strcspn(at, ends);
		CLEANUP(text_done) struct text word = {0};

		text_add_bytes(&word, at, size);
		while (word.size > 0 && isspace((unsigned char)word.data[word.size - 1]))
			word.data[--word.size] = '\0';
		text_add(ret, ret->data[ret->size - 1] == '[' ? "" : ", ");
		conf_edit_quote(ret, text_get(&word));
		at += size;
		at += strspn(at, ", ");
	}
	text_add(ret, "]");
}

static void site_plan_usual(const struct conf_row *row, struct text *ret)
{
	site_plan_value(row, row->default_text, ret);
}

void site_plan_print(struct text *ret, const char *const values[])
{
	const char *open = "";

	text_add(ret, "# What this machine is (haasctl site init).\n");
	for (size_t i = 0; i < site_plan_row_count; i++) {
		const struct conf_row *row = &site_plan_rows[i];
		const char *dot = strchr(row->key, '.');
		CLEANUP(text_done) struct text usual = {0};
		size_t group = dot ? (size_t)(dot - row->key) : 0;

		if (*open && strncmp(open, row->key, group + 1) != 0) {
			text_add(ret, "};\n");
			open = "";
		}
		if (group > 0 && !*open) {
			text_addf(ret, "%.*s: {\n", (int)group, row->key);
			open = row->key;
		}
		site_plan_usual(row, &usual);
		text_addf(ret, "%s# %s\n%s%s = %s;\n", *open ? "\t" : "", row->help,
			  *open ? "\t" : "", dot ? dot + 1 : row->key,
			  values[i] ? values[i] : text_get(&usual));
	}
	text_add(ret, *open ? "};\n" : "");
}

bool site_plan_asks(size_t row, const char *const values[])
{
	static const struct {
		const char *begin, *role; /* keys that begin so are of this role */
	} rows[] = {{"storage.", "storage"},       {"relay.", "relay"},
		    {"interfaces", "controller"},  {"subnets", "controller"},
		    {"controllers", "controller"}, {"kernel", "controller"},
		    {"keys", "controller"},        {"site", "controller"},
		    {"https", "controller"}};
	const char *key = site_plan_rows[row].key;

	if (strcmp(key, "server_address") == 0)
		return values[3] && strcmp(values[3], "2") == 0;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		char role[32];

		(void)text_format(role, sizeof(role), "\"%s\"", rows[i].role);
		if (strncmp(key, rows[i].begin, strlen(rows[i].begin)) == 0)
			return values[0] ? strstr(values[0], role) != NULL
					 : strcmp(rows[i].role, "controller") == 0;
	}
	return true;
}
