/* haasctl subnet, reservation, lease, tenant: what a site is made of, beside its nodes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json_text.h"

#include "portal/cli/haasctl.h"

static int subnet_list(void *context, const struct command_input *input)
{
	static const struct output_column columns[] = {
		COLUMN("name"),     COLUMN("prefix"),        COLUMN("gateway"),
		COLUMN("pool_low"), COLUMN("pool_high"),     COLUMN("boot_server"),
		NUMBER("lease_s"),  COLUMN("reserved_only"), WIDE("dns"),
	};

	return haasctl_list(context, input, "/subnets", columns, COUNT_OF(columns));
}

/* Replaces it when it is there; the ETag makes sure that nobody else changed it in between. */
static int subnet_set(void *context, const struct command_input *input)
{
	CLEANUP(text_done) struct text target = {0};
	CLEANUP(text_done) struct text body = {0};
	struct haasctl_reply reply = {0};
	const json_t *subnet;
	char etag[72] = "";
	size_t i;
	static const char *const strings[][2] = {
		{"--prefix", "prefix"},       {"--boot-server", "boot_server"},
		{"--gateway", "gateway"},     {"--pool-low", "pool_low"},
		{"--pool-high", "pool_high"},
	};
	const char *const *dns = command_options(input, "--dns");

	json_begin_object(&body, NULL);
	for (i = 0; i < COUNT_OF(strings); i++) {
		if (command_option(input, strings[i][0]))
			json_string(&body, strings[i][1], command_option(input, strings[i][0]));
	}
	if (command_option(input, "--lease"))
		json_int(&body, "lease_s", haasctl_duration_s(command_option(input, "--lease")));
	json_bool(&body, "reserved_only", command_option(input, "--open") == NULL);
	json_begin_array(&body, "dns");
	for (i = 0; dns && dns[i]; i++)
		json_string(&body, NULL, dns[i]);
	json_end_array(&body);
	json_end_object(&body);

	int status = haasctl_get(context, input, "/subnets?limit=1000", &reply);
	if (status != EXIT_OK)
		return status;
	json_array_foreach(json_object_get(reply.json, "items"), i, subnet)
	{
		if (strcmp(json_string_value(json_object_get(subnet, "name")), input->words[0]) ==
		    0)
			text_format(etag, sizeof(etag), "\"%" JSON_INTEGER_FORMAT "\"",
				    json_integer_value(json_object_get(subnet, "version")));
	}
	haasctl_reply_done(&reply);
	text_add(&target, "/subnets/");
	haasctl_escape(&target, input->words[0]);
	status = haasctl_call(context, input,
			      &(struct haasctl_call){.method = "PUT",
						     .target = text_get(&target),
						     .body = text_get(&body),
						     .if_match = etag[0] ? etag : NULL},
			      &reply);
	haasctl_reply_done(&reply);
	return status;
}

static int subnet_delete(void *context, const struct command_input *input)
{
	CLEANUP(text_done) struct text target = {0};
	struct haasctl_reply reply = {0};
	char etag[72];

	text_add(&target, "/subnets/");
	haasctl_escape(&target, input->words[0]);
	int status = haasctl_get(context, input, text_get(&target), &reply);
	if (status != EXIT_OK)
		return status;
	text_copy(etag, sizeof(etag), reply.etag);
	haasctl_reply_done(&reply);
	status = haasctl_call(context, input,
			      &(struct haasctl_call){.method = "DELETE",
						     .target = text_get(&target),
						     .if_match = etag},
			      &reply);
	haasctl_reply_done(&reply);
	return status;
}

static int reservation_list(void *context, const struct command_input *input)
{
	static const struct output_column columns[] = {
		COLUMN("mac"),  COLUMN("address"),  COLUMN("subnet"),
		COLUMN("node"), WIDE("created_at"),
	};

	return haasctl_list(context, input, "/reservations", columns, COUNT_OF(columns));
}

static void reservation_target(struct text *target, const char *mac)
{
	text_add(target, "/reservations/");
	haasctl_escape(target, mac);
}

static int reservation_set(void *context, const struct command_input *input)
{
	CLEANUP(text_done) struct text target = {0};
	CLEANUP(text_done) struct text body = {0};
	struct haasctl_reply reply = {0};

	json_begin_object(&body, NULL);
	json_string(&body, "subnet", input->words[1]);
	json_string(&body, "address", input->words[2]);
	json_end_object(&body);
	reservation_target(&target, input->words[0]);
	int status = haasctl_call(context, input,
				  &(struct haasctl_call){.method = "PUT",
							 .target = text_get(&target),
							 .body = text_get(&body)},
				  &reply);
	haasctl_reply_done(&reply);
	return status;
}

static int reservation_delete(void *context, const struct command_input *input)
{
	CLEANUP(text_done) struct text target = {0};
	struct haasctl_reply reply = {0};

	reservation_target(&target, input->words[0]);
	int status = haasctl_call(
		context, input,
		&(struct haasctl_call){.method = "DELETE", .target = text_get(&target)}, &reply);
	haasctl_reply_done(&reply);
	return status;
}

static int lease_list(void *context, const struct command_input *input)
{
	static const struct output_column columns[] = {
		COLUMN("address"),    COLUMN("mac"),   COLUMN("node"),
		COLUMN("subnet"),     COLUMN("state"), COLUMN("reserved"),
		COLUMN("expires_at"), WIDE("client"),  WIDE("bound_at"),
	};
	CLEANUP(text_done) struct text target = {0};

	text_add(&target, "/leases");
	haasctl_query(&target, input, "--subnet", "subnet");
	haasctl_query(&target, input, "--node", "node");
	return haasctl_list(context, input, text_get(&target), columns, COUNT_OF(columns));
}

static int lease_reclaim(void *context, const struct command_input *input)
{
	for (size_t i = 0; i < input->word_count; i++) {
		CLEANUP(text_done) struct text target = {0};
		struct haasctl_reply reply = {0};

		text_add(&target, "/leases/");
		haasctl_escape(&target, input->words[i]);
		text_add(&target, "/reclaim");
		int status = haasctl_call(
			context, input,
			&(struct haasctl_call){.method = "POST", .target = text_get(&target)},
			&reply);
		haasctl_reply_done(&reply);
		if (status != EXIT_OK)
			return status;
	}
	return EXIT_OK;
}

static int tenant_list(void *context, const struct command_input *input)
{
	static const struct output_column columns[] = {COLUMN("name"), COLUMN("created_at")};

	return haasctl_list(context, input, "/tenants", columns, COUNT_OF(columns));
}

static int tenant_create(void *context, const struct command_input *input)
{
	CLEANUP(text_done) struct text body = {0};
	struct haasctl_reply reply = {0};

	json_begin_object(&body, NULL);
	json_string(&body, "name", input->words[0]);
	json_end_object(&body);
	int status = haasctl_post(context, input, "/tenants", &body, &reply);
	haasctl_reply_done(&reply);
	return status;
}

static const struct option_row subnet_options[] = {
	{"--prefix", 0, OPTION_VALUE, "PREFIX", "10.2.0.0/24"},
	{"--boot-server", 0, OPTION_VALUE, "ADDRESS", "our address as its clients reach it"},
	{"--gateway", 0, OPTION_VALUE, "ADDRESS", "default gateway of its clients"},
	{"--dns", 0, OPTION_REPEAT, "ADDRESS", "name server of its clients; may be repeated"},
	{"--pool-low", 0, OPTION_VALUE, "ADDRESS",
	 "first address lent to nodes without a reservation"},
	{"--pool-high", 0, OPTION_VALUE, "ADDRESS", "last one"},
	{"--open", 0, OPTION_FLAG, NULL, "answer unknown MACs too (default: known nodes only)"},
	{"--lease", 0, OPTION_VALUE, "TIME", "how long an address is lent, 1h"},
};
static const struct option_row page_options[] = {
	{"--limit", 0, OPTION_VALUE, "N", "at most N rows (default all)"}};
static const struct option_row lease_options[] = {
	{"--subnet", 0, OPTION_VALUE, "SUBNET", "only this subnet"},
	{"--node", 0, OPTION_VALUE, "NODE", "only this node"},
	{"--limit", 0, OPTION_VALUE, "N", "at most N rows (default all)"},
};

static const struct command commands[] = {
	{"subnet", "list", "", "subnets with their pools", OPTIONS(page_options), 0, 0,
	 subnet_list},
	{"subnet", "set", "NAME", "make or replace a subnet", OPTIONS(subnet_options), 1, 1,
	 subnet_set},
	{"subnet", "delete", "NAME", "remove a subnet without leases and reservations", NO_OPTIONS,
	 1, 1, subnet_delete},
	{"reservation", "list", "", "addresses kept for a MAC", OPTIONS(page_options), 0, 0,
	 reservation_list},
	{"reservation", "set", "MAC SUBNET ADDRESS", "keep an address for a MAC", NO_OPTIONS, 3, 3,
	 reservation_set},
	{"reservation", "delete", "MAC", "give the address back", NO_OPTIONS, 1, 1,
	 reservation_delete},
	{"lease", "list", "", "addresses lent, to whom, until when", OPTIONS(lease_options), 0, 0,
	 lease_list},
	{"lease", "reclaim", "ADDRESS...", "take addresses back", NO_OPTIONS, 1, 1000,
	 lease_reclaim},
	{"tenant", "list", "", "tenants", OPTIONS(page_options), 0, 0, tenant_list},
	{"tenant", "create", "NAME", "a new tenant", NO_OPTIONS, 1, 1, tenant_create},
};
const struct command_group site_group = {commands, COUNT_OF(commands)};
