#include "bampi/bootd/boot/boot_asker.h"

#include "common/base/json_text.h"

#include "bampi/bootd/boot/boot_client.h"
#include "bampi/bootd/identify/sighting.h"

static void boot_asker_read_place(const struct boot_options *options, struct boot_asker *ret)
{
	const struct sighting *sighting =
		options->sightings ? sighting_of(options->sightings, ret->owner) : NULL;

	if (sighting)
		ret->place = sighting->place;
}

void boot_asker_read(const struct boot_options *options, struct neighbours *neighbours,
		     const struct http_request *request, struct boot_asker *ret)
{
	const struct http_peer *peer = http_request_peer(request);
	char text[IPV4_TEXT_SIZE];

	*ret = (struct boot_asker){.address = boot_client_address(options, request)};
	ret->leased =
		inventory_lease_of(options->inventory, ret->address, &ret->owner, &ret->leased_s);
	if (ret->leased)
		boot_asker_read_place(options, ret);
	if (boot_client_is_relayed(options, request)) {
		ret->relay = peer->address;
		return;
	}
	(void)text_format(ret->connection, sizeof(ret->connection), "%s:%u",
			  ipv4_text(peer->address, text), peer->port);
	ret->seen = neighbours && neighbour_mac_of(neighbours, ret->address, &ret->mac) == 0;
}

bool boot_asker_is_foreign(const struct boot_asker *asker)
{
	return asker->leased && asker->seen && !mac_equal(asker->owner, asker->mac);
}

void boot_asker_json(const struct boot_asker *asker, struct text *ret, const char *key)
{
	char text[64 + 2 * sizeof(asker->place.port)] = "";
	char address[IPV4_TEXT_SIZE];
	char mac[MAC_TEXT_SIZE];

	json_begin_object(ret, key);
	json_put_string(ret, "address", ipv4_text(asker->address, address));
	json_put_string(ret, "mac", asker->seen ? mac_text(asker->mac, mac) : "");
	if (asker->place.port[0])
		(void)text_format(text, sizeof(text), "%s:%s", asker->place.switch_name,
				  asker->place.port);
	json_put_string(ret, "place", text);
	json_put_string(ret, "relay", asker->relay ? ipv4_text(asker->relay, address) : "");
	json_end_object(ret);
}
