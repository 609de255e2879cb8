#include "portal/server/sampling_store.h"

#include "portal/server/store_text.h"

/* clang-format off */
/* v is sampling_view. */
#define SAMPLING_ITEM                                                                                                                     \
	"jsonb_build_object('switch', v.switch, 'fabric', v.fabric, 'setting', case when v.setting_id is not null then "                  \
	"jsonb_build_object('of', case when v.own then 'switch' else 'fabric' end, 'enabled', v.enabled, 'collector', v.collector, "      \
	"'port', v.port, 'rate', v.rate, 'header', v.header, 'poll_s', v.poll_s) end, 'state', v.state, 'sources', coalesce(v.sources, 0), " \
	"'rate_low', v.rate_low, 'rate_high', v.rate_high, 'told_rate', v.told_rate, 'told_at', v.told_at, "                              \
	"'backoff', nullif(v.backoff, ''), 'problem', v.problem, 'checked_at', v.checked_at)"

const struct db_query store_sampling_list = {
	"sampling_list",
	STORE_PAGE("v.switch", SAMPLING_ITEM,
		   "haas.sampling_view v where ($2::text is null or v.switch > $2) and ($3::text is null or v.fabric = $3) and ($4::text is null or v.switch = $4)",
		   "v.switch"),
	4};

const struct db_query store_sampling_set = {"sampling_set", "select haas.sampling_set($1, $2, $3::jsonb, $4)", 4};

const struct db_query store_sampling_now = {
	"sampling_now",
	STORE_ANSWER("select 200 as status, null as location, null::bigint as version, jsonb_build_object('items', "
		     "coalesce((select jsonb_agg(" SAMPLING_ITEM " order by v.switch) from haas.sampling_view v "
		     "where case $1 when 'fabric' then v.fabric else v.switch end = $2), '[]')) as body"),
	2};
/* clang-format on */
