/* What the text of a leaf says, in the spellings of the models. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/net/vlan_set.h"

#include "peregrine/switch/netconf/netconf_dialect.h"

/* Whatever the case; `words` ends with NULL. */
bool netconf_leaf_is_one_of(const char *text, const char *const *words);
bool netconf_leaf_is_up(const char *text);
/* 0: none, or something behind it. */
uint64_t netconf_leaf_number(const char *text);
uint32_t netconf_leaf_index(const char *text);
/* With the dialect's prefix or without; 0: none that there may be. */
uint16_t netconf_leaf_vlan(const struct netconf_dialect *dialect, const char *text);
/* Adds "1-3,7" or "1..3"; false for what is none. */
bool netconf_leaf_list(const char *text, struct vlan_set *set);
/* Twelve hexadecimal digits, whatever stands between them. */
bool netconf_leaf_mac(const char *text, uint8_t ret[6]);
/* One line of characters that print. */
void netconf_leaf_line(char *ret, size_t room, const char *text);
