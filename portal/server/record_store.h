/* SQL of tenants, jobs and certificates. */
#pragma once

#include "common/db/db.h"

extern const struct db_query store_tenant_list;      /* $1 limit $2 cursor -> (page) */
extern const struct db_query store_tenant_create;    /* $1 name $2 actor -> answer */
extern const struct db_query store_job_list;         /* $1 limit $2 cursor $3 state -> (page) */
extern const struct db_query store_job_get;          /* $1 id -> (body) */
extern const struct db_query store_certificate_list; /* $1 limit $2 cursor $3 node -> (page) */
extern const struct db_query store_certificate_get;  /* $1 id -> (body) */
extern const struct db_query store_certificate_keys; /* -> (body) */
