#include "portal/server/edit_table.h"

#include <string.h>

/* clang-format off */
const struct edit_row edit_rows[] = {
	{"/api/v1/fabrics/{fabric}", "fabric", "{fabric}", NULL, NULL},
	{"/api/v1/fabrics/{fabric}/sampling", "sampling of fabric", "{fabric}", NULL, NULL},
	{"/api/v1/switches/{switch}", "switch", "{switch}", NULL, NULL},
	{"/api/v1/switches/{switch}/management", "switch", "{switch}", NULL, "/api/v1/switches/{switch}"},
	{"/api/v1/switches/{switch}/sampling", "sampling of switch", "{switch}", NULL, NULL},
	{"/api/v1/circuit-rules/{rule}", "rule", "{rule}", NULL, NULL},
	{"/api/v1/capture-points/{switch}", "mirror port of switch", "{switch}", NULL, NULL},
	{"/api/v1/storages/{storage}", "storage", "{storage}", NULL, NULL},
	{"/api/v1/nodes/{node}/networks", "networks of node", "{node}", NULL, NULL},
	{"/api/v1/images/{image}/{version}", "image", "{image}", "{version}", NULL},
	{"/api/v1/tenants/{tenant}/limits", "limits of tenant", "{tenant}", NULL, NULL},
	{"/api/v1/wiring", "plan of", "cables", NULL, "/api/v1/wiring/plan"},
	{"/api/v1/limits", "limits of", "the site", NULL, NULL},
	{.pattern = NULL},
};
/* clang-format on */

const struct edit_row *edit_find(const struct route *route)
{
	if (!route || (route->method != HTTP_PUT && route->method != HTTP_PATCH))
		return NULL;
	for (const struct edit_row *row = edit_rows; row->pattern; row++) {
		if (strcmp(row->pattern, route->pattern) == 0)
			return row;
	}
	return NULL;
}

void edit_name(const struct edit_row *row, const struct exchange *exchange,
	       char ret[EDIT_NAME_SIZE])
{
	const char *name = row->name[0] == '{' ? exchange_arg(exchange, row->name) : row->name;
	const char *more = row->more ? exchange_arg(exchange, row->more) : NULL;

	(void)text_format(ret, EDIT_NAME_SIZE, "%s%s%s", name ? name : "", more ? ":" : "",
			  more ? more : "");
}
