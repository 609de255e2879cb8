#include "common/http/local_server.h"

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/http/metrics.h"

int local_server_new(struct loop *loop, const struct http_server_options *options, const char *path,
		     struct http_server **ret, struct problem *problem)
{
	static const char *const anybody[] = {"/metrics", "/healthz", NULL};
	struct http_server_options own = *options;
	struct http_server *server = NULL;
	int rc;

	own.anybody = anybody;
	rc = http_server_new(loop, &own, &server);

	if (rc)
		return problem_set(problem, rc, "cannot serve %s: %s", path, error_text(rc));
	rc = http_server_listen_unix(server, path, 0660, problem);
	if (rc) {
		http_server_free(server);
		return rc;
	}
	*ret = server;
	return 0;
}

void local_server_answer_metrics(struct http_request *request, const struct text *exposition)
{
	http_answer(request, exposition->failed ? 500 : 200, METRICS_CONTENT_TYPE,
		    text_get(exposition), exposition->size);
}

void local_server_answer_health(struct http_request *request, bool database_up)
{
	struct problem problem = {0};

	if (database_up) {
		http_answer(request, 200, "text/plain", "ok\n", 3);
		return;
	}
	(void)problem_set(&problem, E_UNAVAILABLE, "PostgreSQL is away");
	http_answer_problem(request, 503, &problem);
}
