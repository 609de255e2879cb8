/* Shared by the scene's files:
 *
 *   scene.c           all of it, and the changes under way
 *   scene_switches.c  switches, ports, cables
 *   scene_intent.c    networks, and the wanted state of ports
 *   scene_bond.c      aggregates */
#pragma once

#include "peregrine/control/reconcile/scene.h"

struct scene_maker {
	struct scene *scene;
	const struct switch_book *book;
	const struct switch_access *access;
	int64_t now_ms;
	uint32_t room; /* ports */
};

/* Rows of intent_store_load: an array by its name, a number or a word of a row by its column. */
const json_t *scene_rows(const struct scene *scene, const char *key);
int64_t scene_number(const json_t *row, const char *name);
const char *scene_word(const json_t *row, const char *name);

/* MODEL_NONE: there is none. */
uint32_t scene_switch_at(const struct scene *scene, int64_t id);
uint32_t scene_port_at(const struct scene *scene, uint32_t at, const char *name);

/* scene_switches.c */
MUST_USE int scene_make_switches(struct scene_maker *maker);
void scene_make_links(struct scene_maker *maker);
/* After the intents: they decide which links are doubtful. */
void scene_make_doubtful_links(const struct scene_maker *maker);
/* scene_intent.c */
MUST_USE int scene_make_networks(struct scene *scene);
MUST_USE int scene_make_intents(struct scene_maker *maker);
MUST_USE int scene_make_members(struct scene *scene);
MUST_USE int scene_make_uplinks(struct scene *scene);
void scene_make_seen(struct scene *scene);
/* scene_bond.c: called last. Ports that are to enter or leave an aggregate count as free until that
 * is done. */
MUST_USE int scene_make_bonds(struct scene *scene);
