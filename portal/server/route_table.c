#include <string.h>

#include "portal/server/role.h"
#include "portal/server/route.h"

const struct route *const route_tables[] = {node_routes,
					    health_routes,
					    deployment_routes,
					    pdci_routes,
					    pdci_sheet_routes,
					    image_routes,
					    address_routes,
					    network_routes,
					    volume_routes,
					    limit_routes,
					    webhook_routes,
					    setting_routes,
					    grant_routes,
					    cable_routes,
					    fabric_routes,
					    alert_routes,
					    sampling_routes,
					    drill_routes,
					    capture_routes,
					    path_routes,
					    switch_health_routes,
					    topology_routes,
					    record_routes,
					    rotation_routes,
					    login_routes,
					    account_routes,
					    second_factor_routes,
					    oidc_routes,
					    status_routes,
					    server_routes,
					    NULL};

static const struct {
	enum http_method method;
	const char *text;
} method_rows[] = {
	{HTTP_GET, "GET"}, {HTTP_HEAD, "HEAD"},   {HTTP_POST, "POST"},
	{HTTP_PUT, "PUT"}, {HTTP_PATCH, "PATCH"}, {HTTP_DELETE, "DELETE"},
};

size_t route_count(void)
{
	size_t count = 0;

	for (const struct route *const *table = route_tables; *table; table++) {
		for (const struct route *route = *table; route->pattern; route++)
			count++;
	}
	return count;
}

const struct route *route_find(enum http_method method, const char *pattern)
{
	if (method == HTTP_HEAD)
		method = HTTP_GET;
	for (const struct route *const *table = route_tables; *table; table++) {
		for (const struct route *route = *table; route->pattern; route++) {
			if (route->method == method && strcmp(route->pattern, pattern) == 0)
				return route;
		}
	}
	return NULL;
}

const char *route_method_text(enum http_method method)
{
	for (size_t i = 0; i < sizeof(method_rows) / sizeof(method_rows[0]); i++) {
		if (method_rows[i].method == method)
			return method_rows[i].text;
	}
	return "?";
}

static void route_print_roles(FILE *out, const struct route *route)
{
	unsigned set = role_set(route);
	const char *before = "";

	if (route->role == ROLE_ANYONE) {
		(void)fputs("anyone", out);
		return;
	}
	for (size_t role = 0; role < ACCOUNT_ROLES; role++) {
		if (!(set & 1U << role))
			continue;
		(void)fprintf(out, "%s%s", before, account_role_words[role]);
		before = ",";
	}
}

void route_print(FILE *out)
{
	for (const struct route *const *table = route_tables; *table; table++) {
		for (const struct route *route = *table; route->pattern; route++) {
			(void)fprintf(out, "%s %s ", route_method_text(route->method),
				      route->pattern);
			route_print_roles(out, route);
			(void)fputc('\n', out);
		}
	}
}
