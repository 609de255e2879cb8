#include "portal/server/login_guess.h"

#include <inttypes.h>
#include <string.h>

#include "common/base/error.h"
#include "common/io/log.h"
#include "common/net/ipv4.h"

#include "portal/server/account_store_sql.h"
#include "portal/server/exchange.h"

void login_address(const struct exchange *exchange, char ret[LOGIN_ADDRESS_SIZE])
{
	const struct http_peer *peer = &exchange->peer;

	if (peer->local)
		(void)text_copy(ret, LOGIN_ADDRESS_SIZE, "this machine");
	else
		(void)ipv4_text(peer->address, ret);
}

void login_tell_wrong(struct exchange *exchange, const char *account, const char *address,
		      const char *what)
{
	const char *told[] = {account, address, what};

	if (db_submit(exchange->portal->db, &login_wrong_query, told, NULL, NULL) != 0)
		log_warn("login", "a wrong %s could not be written down", what);
}

void login_refuse_wait(struct exchange *exchange, int64_t wait_s)
{
	struct problem problem;
	char seconds[24];

	if (!exchange->request)
		return;
	(void)text_format(seconds, sizeof(seconds), "%" PRId64, wait_s);
	http_answer_header(exchange->request, "Retry-After", seconds);
	(void)problem_set(&problem, E_LIMIT, "too many wrong passwords or codes");
	problem_hint(&problem, "try again in %" PRId64 " s", wait_s);
	exchange_problem(exchange, 429, &problem);
}

void login_busy(struct exchange *exchange, int rc)
{
	struct problem problem;

	if (exchange->request)
		http_answer_header(exchange->request, "Retry-After", "2");
	(void)problem_set(&problem, rc, "too many logins at the same time");
	problem_hint(&problem, "try again in a moment");
	exchange_problem(exchange, 503, &problem);
}
