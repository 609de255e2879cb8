/* portald with routes that are wrong: no role is asked for; of two builds one also asks the database for an operator's scope instead of the tenant's.
 * The linker puts these in the places of the real ones (--wrap). Story crawler_broken shows that the database still keeps tenants apart. */
#include "common/db/db.h"

#include "portal/server/role.h"

unsigned __wrap_role_set(const struct route *route);

/* Every role may do everything. */
unsigned __wrap_role_set(const struct route *route)
{
	(void)route;
	return (1U << ACCOUNT_ROLES) - 1;
}

extern const struct db_query __wrap_scope_tenant_query;

const struct db_query __wrap_scope_tenant_query = {
	"scope_tenant",
	"select set_config('haas.scope', 'operator', true), set_config('haas.was', $1, true), set_config('TimeZone', 'UTC', true)",
	1,
	NULL,
};
