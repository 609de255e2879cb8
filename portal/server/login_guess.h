/* What all ways share in which a person proves who it is: from where, how a wrong guess is told, and
 * what is answered to who has to wait. */
#pragma once

#include "common/base/text.h"

#include "portal/server/login_gate.h"

struct exchange;

#define LOGIN_ADDRESS_SIZE 32

/* As events and the gate name it. */
void login_address(const struct exchange *exchange, char ret[LOGIN_ADDRESS_SIZE]);
/* Writes an event, in its own time; `what`: "password", "code". */
void login_tell_wrong(struct exchange *exchange, const char *account, const char *address,
		      const char *what);
/* 429 and Retry-After. */
void login_refuse_wait(struct exchange *exchange, int64_t wait_s);
/* 503: too many at the same time. */
void login_busy(struct exchange *exchange, int rc);
