#include "common/net/arp_policy.h"

static bool is_group(struct mac mac)
{
	return mac.bytes[0] & 1;
}

enum arp_verdict arp_policy_packet(const struct arp_facts *facts)
{
	const struct arp_packet *packet = &facts->packet;

	if (packet->operation != ARP_REQUEST)
		return ARP_NO_REQUEST;
	if (packet->sender == 0)
		return ARP_PROBE;
	if (packet->sender == packet->target)
		return ARP_GRATUITOUS;
	if (!facts->wanted)
		return ARP_FOREIGN;
	if (!mac_equal(packet->sender_mac, facts->frame_source) || is_group(packet->sender_mac) ||
	    mac_is_zero(packet->sender_mac))
		return ARP_FORGED;
	return ARP_ANSWER;
}

enum arp_verdict arp_policy(const struct arp_facts *facts)
{
	enum arp_verdict verdict = arp_policy_packet(facts);

	if (verdict != ARP_ANSWER)
		return verdict;
	/* An asker whose address is elsewhere would not get what it asks for either: the answers
	 * of whoever it talks to would go there. */
	if (facts->to_sender.local || facts->to_sender.interface != facts->interface)
		return ARP_FORGED;
	if (facts->to_target.local)
		return ARP_LOCAL;
	if (facts->to_target.interface == 0)
		return ARP_NO_ROUTE;
	if (facts->to_target.interface == facts->interface)
		return ARP_SAME_LINK;
	return ARP_ANSWER;
}
