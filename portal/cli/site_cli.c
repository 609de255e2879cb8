/* haasctl subnet, reservation, lease, tenant: what a site is made of, beside its nodes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json_text.h"

#include "portal/cli/listing.h"

static const struct output_column subnet_columns[] = {
	COLUMN("name"),        TITLED("prefix", "PREFIX"),
	COLUMN("boot_server"), COLUMN("pool_low"),
	COLUMN("pool_high"),   TITLED_NUMBER("lease_s", "LEASE"),
	WIDE("gateway"),       WIDE("dns"),
	WIDE("reserved_only"), WIDE("shared_network"),
	WIDE("relays"),
};

static int subnet_list(void *context, const struct command_input *input)
{
	return listing_pages(context, input, "/subnets", 0, COLUMNS(subnet_columns));
}

static int subnet_show(void *context, const struct command_input *input)
{
	static const char *const order[] = {
		"name",        "prefix",         "gateway",   "dns",
		"boot_server", "pool_low",       "pool_high", "reserved_only",
		"lease_s",     "shared_network", "relays",    NULL};

	return listing_show_named(context, input, "/subnets/", "",
				  &(struct show){order, COLUMNS(subnet_columns)});
}

static void add_list(struct text *body, const struct command_input *input, const char *option,
		     const char *key, const json_t *before)
{
	const char *const *given = command_options(input, option);
	const json_t *was;
	size_t i;

	json_begin_array(body, key);
	if (given && *given) {
		for (; *given; given++) {
			if (strcmp(*given, "none") != 0)
				json_put_string(body, NULL, *given);
		}
	} else {
		json_array_foreach(json_object_get(before, key), i, was)
			json_put_string(body, NULL, json_string_value(was));
	}
	json_end_array(body);
}

static int subnet_body(struct text *body, const struct command_input *input, const json_t *before)
{
	const char *lease = command_option(input, "--lease");
	int64_t lease_s = lease ? haasctl_duration_s(lease)
				: json_integer_value(json_object_get(before, "lease_s"));
	bool open = before && !json_is_true(json_object_get(before, "reserved_only"));

	if (lease_s < 0)
		return haasctl_usage("--lease %s is not a duration; say 90s, 30m or 2h", lease);
	json_begin_object(body, NULL);
	haasctl_keep_words(body, input,
			   OPTION_NAMES("--prefix", "--boot-server", "--gateway", "--pool-low",
					"--pool-high", "--shared-network"),
			   before);
	add_list(body, input, "--dns", "dns", before);
	add_list(body, input, "--relay", "relays", before);
	if (lease_s > 0)
		json_put_int(body, "lease_s", lease_s);
	open = (open || command_option(input, "--open")) && !command_option(input, "--known-only");
	json_put_bool(body, "reserved_only", !open);
	json_end_object(body);
	return EXIT_OK;
}

/* Makes it, or changes what the options name; the ETag makes sure that nobody else changed it in
 * between. */
static int subnet_set(void *context, const struct command_input *input)
{
	CLEANUP(text_done) struct text target = {0};
	CLEANUP(text_done) struct text body = {0};
	CLEANUP(haasctl_reply_done) struct haasctl_reply before = {0};

	haasctl_path(&target, "/subnets/", input->words[0], "");
	int status = haasctl_get_before(context, input, text_get(&target), &before);
	if (status != EXIT_OK)
		return status;
	status = subnet_body(&body, input, before.json);
	return status == EXIT_OK ? haasctl_do(context, input,
					      &(struct haasctl_call){.method = "PUT",
								     .target = text_get(&target),
								     .body = text_get(&body),
								     .before = &before})
				 : status;
}

static int subnet_delete(void *context, const struct command_input *input)
{
	CLEANUP(text_done) struct text target = {0};

	haasctl_path(&target, "/subnets/", input->words[0], "");
	return haasctl_delete(context, input, text_get(&target), NULL);
}

static int reservation_list(void *context, const struct command_input *input)
{
	static const struct output_column columns[] = {
		COLUMN("mac"),  COLUMN("address"),  COLUMN("subnet"),
		COLUMN("node"), WIDE("created_at"),
	};

	return listing_pages(context, input, "/reservations", 0, COLUMNS(columns));
}

static int reservation_set(void *context, const struct command_input *input)
{
	CLEANUP(text_done) struct text target = {0};
	CLEANUP(text_done) struct text body = {0};

	json_begin_object(&body, NULL);
	json_put_string(&body, "subnet", input->words[1]);
	json_put_string(&body, "address", input->words[2]);
	json_end_object(&body);
	haasctl_path(&target, "/reservations/", input->words[0], "");
	return haasctl_do(context, input,
			  &(struct haasctl_call){.method = "PUT",
						 .target = text_get(&target),
						 .body = text_get(&body)});
}

static int reservation_delete(void *context, const struct command_input *input)
{
	CLEANUP(text_done) struct text target = {0};

	haasctl_path(&target, "/reservations/", input->words[0], "");
	return haasctl_remove(context, input, &target);
}

static int lease_list(void *context, const struct command_input *input)
{
	static const struct output_column columns[] = {
		COLUMN("address"), COLUMN("mac"),   COLUMN("node"),
		COLUMN("subnet"),  COLUMN("state"), COLUMN("expires_at"),
		WIDE("reserved"),  WIDE("client"),  WIDE("bound_at"),
	};
	return listing_filtered(context, input, "/leases",
				OPTION_NAMES("--subnet", "--node", "--mac", "--state"),
				COLUMNS(columns));
}

static int lease_reclaim(void *context, const struct command_input *input)
{
	return haasctl_each(context, input, "POST", "/leases/", "/reclaim");
}

static int tenant_list(void *context, const struct command_input *input)
{
	static const struct output_column columns[] = {COLUMN("name"), COLUMN("created_at")};

	return listing_pages(context, input, "/tenants", 0, COLUMNS(columns));
}

static int site_cli_tenant_create(void *context, const struct command_input *input)
{
	CLEANUP(text_done) struct text body = {0};

	json_begin_object(&body, NULL);
	json_put_string(&body, "name", input->words[0]);
	json_end_object(&body);
	return haasctl_do(context, input,
			  &(struct haasctl_call){
				  .method = "POST", .target = "/tenants", .body = text_get(&body)});
}

static int tenant_show(void *context, const struct command_input *input)
{
	static const struct output_column columns[] = {COLUMN("name"), COLUMN("created_at"),
						       COLUMN("left")};
	CLEANUP(text_done) struct text target = {0};
	CLEANUP(haasctl_reply_done) struct haasctl_reply reply = {0};

	haasctl_path(&target, "/tenants/", input->words[0], "");
	int status = haasctl_get(context, input, text_get(&target), &reply);
	if (status != EXIT_OK)
		return status;
	return listing_object(
		input, reply.json,
		&(struct show){OPTION_NAMES("name", "created_at", "left"), COLUMNS(columns)});
}

static int tenant_delete(void *context, const struct command_input *input)
{
	CLEANUP(text_done) struct text target = {0};

	haasctl_path(&target, "/tenants/", input->words[0], "");
	return haasctl_remove(context, input, &target);
}

static const struct option_row subnet_options[] = {
	{"--prefix", 0, OPTION_VALUE, "PREFIX", "10.2.0.0/24"},
	{"--boot-server", 0, OPTION_VALUE, "ADDRESS", "our address as its clients reach it"},
	{"--gateway", 0, OPTION_VALUE, "ADDRESS", "default gateway of its clients, or none"},
	{"--dns", 0, OPTION_REPEAT, "ADDRESS",
	 "name server of its clients, or none; may be repeated"},
	{"--pool-low", 0, OPTION_VALUE, "ADDRESS",
	 "first address lent without a reservation, or none"},
	{"--pool-high", 0, OPTION_VALUE, "ADDRESS", "last one"},
	{"--open", 0, OPTION_FLAG, NULL, "answer unknown MACs too"},
	{"--known-only", 0, OPTION_FLAG, NULL, "unknown MACs get silence (the default)"},
	{"--lease", 0, OPTION_VALUE, "TIME", "how long an address is lent, 1h"},
	{"--shared-network", 0, OPTION_VALUE, "NAME",
	 "subnets on one link bear the same name; none = alone"},
	{"--relay", 0, OPTION_REPEAT, "ADDRESS",
	 "a relay of this subnet, or none; may be repeated"},
};
static const struct option_row site_cli_page_options[] = {
	{"--limit", 0, OPTION_VALUE, "N", "at most N rows (default all)"},
	LIST_OPTIONS,
};
static const struct option_row lease_options[] = {
	{"--subnet", 0, OPTION_VALUE, "SUBNET", "only this subnet"},
	{"--node", 0, OPTION_VALUE, "NODE", "only this node"},
	{"--mac", 0, OPTION_VALUE, "MAC", "only this NIC"},
	{"--state", 0, OPTION_VALUE, "bound|declined|released", "only in this state"},
	{"--limit", 0, OPTION_VALUE, "N", "at most N rows (default all)"},
	LIST_OPTIONS,
};

static const struct command site_cli_commands[] = {
	{"subnet", "list", "", "subnets with their pools", OPTIONS(site_cli_page_options), 0, 0,
	 subnet_list, .example = "subnet list"},
	{"subnet", "show", "SUBNET", "one subnet", NO_OPTIONS, 1, 1, subnet_show,
	 .example = "subnet show r07"},
	{"subnet", "set", "SUBNET", "make a subnet, or change the named settings",
	 OPTIONS(subnet_options), 1, 1, subnet_set,
	 .example = "subnet set r07 --prefix 10.2.0.0/22 --gateway 10.2.0.1",
	 .done = "subnet {1} saved"},
	{"subnet", "delete", "SUBNET", "remove one without leases and reservations", NO_OPTIONS, 1,
	 1, subnet_delete, .example = "subnet delete r07", .done = "subnet {1} deleted"},
	{"reservation", "list", "", "addresses kept for a MAC", OPTIONS(site_cli_page_options), 0,
	 0, reservation_list, .example = "reservation list"},
	{"reservation", "set", "MAC SUBNET ADDRESS", "keep an address for a MAC", NO_OPTIONS, 3, 3,
	 reservation_set, .example = "reservation set 52:54:00:00:00:17 r07 10.2.0.17",
	 .done = "address {3} reserved for {1}"},
	{"reservation", "delete", "MAC", "give the address back", NO_OPTIONS, 1, 1,
	 reservation_delete, .example = "reservation delete 52:54:00:00:00:17",
	 .done = "reservation of {1} deleted"},
	{"lease", "list", "", "addresses lent, to whom, until when", OPTIONS(lease_options), 0, 0,
	 lease_list, .example = "lease list --subnet r07"},
	{"lease", "reclaim", "ADDRESS...", "take addresses back", NO_OPTIONS, 1, 1000,
	 lease_reclaim, .example = "lease reclaim 10.2.0.17", .done = "address {*} reclaimed"},
	{"tenant", "list", "", "tenants", OPTIONS(site_cli_page_options), 0, 0, tenant_list,
	 .example = "tenant list"},
	{"tenant", "show", "TENANT", "one tenant, and how much it has", NO_OPTIONS, 1, 1,
	 tenant_show, .example = "tenant show acme"},
	{"tenant", "delete", "TENANT", "forget one that has nothing left", NO_OPTIONS, 1, 1,
	 tenant_delete, .example = "tenant delete acme", .done = "tenant {1} deleted"},
	{"tenant", "create", "NAME", "a new tenant", NO_OPTIONS, 1, 1, site_cli_tenant_create,
	 .example = "tenant create acme", .done = "tenant {1} created"},
};
const struct command_group site_group = {site_cli_commands, COUNT_OF(site_cli_commands)};
