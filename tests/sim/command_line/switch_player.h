/* An emulated switch in the test's own process, to be looked at after each line or message. None of
 * the emulators' types is in here, since the drivers have some of the same names. */
#pragma once

#include "common/base/macros.h"
#include "common/net/vlan_set.h"

struct switch_player;

/* By the names of `switch_cli --help`; `netconf`: a model of NETCONF, NULL for a command line;
 * `seed` as its
 * --seed, "" for nothing. -ENOENT, E_MALFORMED. */
MUST_USE int switch_player_new(const char *family, const char *netconf, const char *seed,
			       struct switch_player **ret);
void switch_player_free(struct switch_player *player);
void switch_player_freep(struct switch_player **player);

/* One line, or the inside of one <rpc>; what it says is borrowed until the next one. */
const char *switch_player_say(struct switch_player *player, const char *line);
/* The VLANs whose frames port `number` (from 1) gets. */
struct vlan_set switch_player_port(const struct switch_player *player, unsigned number);
/* What a port is called. */
const char *switch_player_port_name(struct switch_player *player, unsigned number);
