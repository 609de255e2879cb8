#include "bampi/bootd/boot/boot_answer.h"

#include "common/base/error.h"

void boot_answer_empty(struct http_request *request)
{
	http_answer(request, 204, NULL, NULL, 0);
}

void boot_answer_unauthorized(struct http_request *request)
{
	struct problem problem;

	(void)problem_set(&problem, E_AUTHENTICATION, "the token is not valid");
	problem_hint(&problem, "a node gets a new one with its next boot over the network");
	http_answer_header(request, "WWW-Authenticate", "Bearer");
	http_answer_problem(request, 401, &problem);
}

void boot_answer_not_found(struct http_request *request)
{
	struct problem problem;

	(void)problem_set(&problem, E_NOT_FOUND, "this address does not exist for this caller");
	http_answer_problem(request, 404, &problem);
}

void boot_answer_unwanted(struct http_request *request)
{
	struct problem problem;

	(void)problem_set(&problem, E_CONFLICT, "the task is no longer wanted");
	problem_hint(&problem, "stop it and ask for the next task");
	http_answer_problem(request, 410, &problem);
}

void boot_answer_wait(struct http_request *request, const char *why)
{
	struct problem problem;

	(void)problem_set(&problem, E_UNAVAILABLE, "%s", why);
	problem_hint(&problem, "send the request again in some seconds");
	http_answer_header(request, "Retry-After", "2");
	http_answer_problem(request, 503, &problem);
}

void boot_answer_later(struct http_request *request)
{
	boot_answer_wait(request, "the database is away");
}

void boot_answer_problem(struct http_request *request, const struct problem *problem)
{
	http_answer_problem(request, http_status_of(problem->code), problem);
}
