#include "trainer_image/plan/plan_largest.h"

#include "common/base/error.h"

enum { PLAN_LARGEST_MOST = 1 << 24 };

static bool plan_largest_is_over(int rc)
{
	return rc == E_LIMIT || rc == E_UNSUPPORTED || rc == E_INVALID;
}

int plan_largest(const struct model *model, const struct plan_request *request,
		 struct plan_report *ret, struct problem *problem)
{
	struct plan_request tried = *request;
	int64_t fits = 0;
	int64_t over = 0; /* 0 = none is known */

	*ret = (struct plan_report){0};
	while (over == 0 || over - fits > 1) {
		struct plan_report report;
		struct problem why = {0};

		tried.batch = over > 0 ? fits + (over - fits) / 2 : fits > 0 ? 2 * fits : 1;
		if (tried.batch > PLAN_LARGEST_MOST)
			return 0;
		int rc = plan_report_make(model, &tried, &report, &why);

		if (rc == 0) {
			plan_report_done(ret);
			*ret = report;
			fits = tried.batch;
			continue;
		}
		plan_report_done(&report);
		if (fits == 0 || !plan_largest_is_over(rc)) {
			*problem = why;
			return rc;
		}
		over = tried.batch;
	}
	return 0;
}
