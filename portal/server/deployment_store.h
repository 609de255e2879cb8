/* SQL of the deployment routes. */
#pragma once

#include "common/db/db.h"

/* clang-format off */
/* v is deployment_view. */
#define DEPLOYMENT_ITEM                                                                                                                  \
	"jsonb_build_object('id', v.id, 'job', v.job_id, 'plan', v.plan, 'node', v.node, 'tenant', v.tenant, 'image', v.image, "         \
	"'image_version', v.image_version, 'actor', v.actor, 'state', v.state, 'step', v.step, 'step_index', v.step_index, "             \
	"'attempt', v.attempt, 'problem', v.problem, 'percent', v.percent, 'done_bytes', v.done_bytes, 'total_bytes', v.total_bytes, "   \
	"'progress', v.progress, 'version', v.version, 'created_at', v.created_at, 'started_at', v.started_at, 'ended_at', v.ended_at, " \
	"'step_started_at', v.step_started_at, 'step_deadline_at', v.step_deadline_at)"
/* clang-format on */

extern const struct db_query store_deployment_list; /* $1 limit $2 cursor $3 state $4 active $5 plan
						       $6 node $7 job -> (page) */
extern const struct db_query store_deployment_get;  /* $1 id -> (body) */
extern const struct db_query store_deployment_create; /* $1 plan $2 names[] $3 image $4 tenant $5
							 params $6 actor -> answer */
extern const struct db_query
	store_deployment_ask; /* $1 id $2 verb $3 actor: kept for the next in haas.result */
extern const struct db_query store_deployment_asked; /* $1 id -> answer */
