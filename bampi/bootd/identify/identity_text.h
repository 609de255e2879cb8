/* What is said of an identity: one message that names MAC, port and nodes, and a hint what to look
 * at. */
#pragma once

#include "common/base/text.h"

#include "bampi/bootd/identify/identity.h"

#define IDENTITY_TEXT_SIZE 320

struct identity_story {
	const char *kind; /* of the event; static */
	const char *subject_kind;
	char subject[2 * CIRCUIT_TEXT_SIZE + 2];
	char message[IDENTITY_TEXT_SIZE];
	char hint[IDENTITY_TEXT_SIZE];
	struct text detail; /* JSON object */
};

void identity_story_done(struct identity_story *story);
/* Of an identity worth telling; else, and of an unknown circuit, see below. The caller ends it with
 * identity_story_done. */
void identity_story(const struct identity *identity, struct identity_story *ret);
/* That no rule reads the option 82 of its relay. */
void identity_story_unknown(const struct identity *identity, struct identity_story *ret);
