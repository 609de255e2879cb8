#include "bampi/storage/driver/storage_driver.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

static const struct storage_driver *const storage_driver_drivers[] = {&tgt_driver};

const struct storage_driver *storage_driver_find(const char *name)
{
	for (size_t i = 0; i < COUNT_OF(storage_driver_drivers); i++) {
		if (strcmp(storage_driver_drivers[i]->name, name) == 0)
			return storage_driver_drivers[i];
	}
	return NULL;
}

void storage_target_done(struct storage_target *target)
{
	if (target->users)
		sodium_memzero(target->users, target->user_count * sizeof(*target->users));
	free(target->users);
	free(target->addresses);
	free(target->sessions);
	*target = (struct storage_target){0};
}

bool storage_target_lists(const struct storage_target *target, const char *address)
{
	for (size_t i = 0; i < target->address_count; i++) {
		if (strcmp(target->addresses[i].text, address) == 0)
			return true;
	}
	return false;
}

bool storage_target_admits(const struct storage_target *target,
			   const struct storage_session *session)
{
	return !session->odd && storage_target_lists(target, session->address);
}

bool storage_target_knows(const struct storage_target *target, const char *user)
{
	for (size_t i = 0; i < target->user_count; i++) {
		if (strcmp(target->users[i].name, user) == 0)
			return true;
	}
	return false;
}

void storage_view_done(struct storage_view *view)
{
	for (size_t i = 0; i < view->count; i++)
		storage_target_done(&view->targets[i]);
	free(view->targets);
	*view = (struct storage_view){0};
}

void storage_portals_done(struct storage_portals *portals)
{
	free(portals->list);
	*portals = (struct storage_portals){0};
}
