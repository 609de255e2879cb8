/* Hands a session to the threads of libipmiconsole (1.6.10), and sees to it that none is lost
 * there. ipmiconsole_engine_submit writes down that the session runs after it has begun to: one
 * that ended in between was then never freed. Its callback comes before that end, and waits. */
#pragma once

#include <ipmiconsole.h>

#include "common/base/macros.h"

/* As ipmiconsole_engine_submit: 0, or -1 and the reason is in ipmiconsole_ctx_errnum. */
MUST_USE int console_submit(ipmiconsole_ctx_t session);
