/* SQL of alerts, silences and cases. What writes calls the functions of fabric.sql and
 * alert.sql, in two steps: the change, then the answer. */
#pragma once

#include "common/db/db.h"

/* $1 limit $2 cursor $3 state $4 kind (LIKE) $5 subject -> (page) */
extern const struct db_query store_alert_list;
extern const struct db_query store_alert_get;         /* $1 id -> (body) */
extern const struct db_query store_alert_acknowledge; /* $1 id $2 actor */
extern const struct db_query store_alert_told;        /* $1 id -> answer */

extern const struct db_query store_silence_list; /* $1 limit $2 cursor $3 state -> (page) */
extern const struct db_query store_silence_put; /* $1 kind $2 subject $3 reason $4 for_s $5 actor */
extern const struct db_query store_silence_made; /* -> answer 201 */
extern const struct db_query store_silence_end;  /* $1 id $2 actor -> answer */

extern const struct db_query store_case_list; /* $1 limit $2 cursor $3 state $4 tenant -> (page) */
extern const struct db_query store_case_get;  /* $1 id -> (body) */
extern const struct db_query store_case_report;  /* $1 id -> (body) */
extern const struct db_query store_case_open;    /* $1 tenant $2 alert $3 text $4 actor */
extern const struct db_query store_case_opened;  /* -> answer 201 */
extern const struct db_query store_case_note;    /* $1 id $2 kind $3 text $4 actor */
extern const struct db_query store_case_close;   /* $1 id $2 answer $3 publish $4 actor */
extern const struct db_query store_case_publish; /* $1 id $2 actor */
extern const struct db_query store_case_told;    /* $1 id -> answer */
/* $1 id $2 an answer of drill $3 actor: into the case, before it is given */
extern const struct db_query store_case_query;
extern const struct db_query store_case_path;
extern const struct db_query store_case_alert;
