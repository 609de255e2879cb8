/* Public keys of SSH: one line "TYPE BASE64 [COMMENT]" of a .pub file (RFC 4253 6.6, RFC 5656, RFC
 * 8709, OpenSSH's PROTOCOL.u2f). The blob is read to its end, so a private key, a cut key and any
 * other file are told apart from a key. */
#pragma once

#include <stddef.h>

#define SSH_KEY_LINE_MAX 8192

/* NULL: the line is a public key. Else what it is instead, as the end of "it is ...". */
const char *ssh_key_refusal(const char *line, size_t size);
