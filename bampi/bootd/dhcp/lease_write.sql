-- One batch of leases as one transaction of up to four statements; then what the database did not take is looked at.
-- :use bampi/bootd/dhcp/lease_row.sql

-- :statement lease_spend
-- What makes room comes first: spent rows of others, then the address that a client leaves. A row is spent only when nobody may have confirmed
-- it from memory any more (is_spent of address_policy); whose timer another server moved meanwhile stays. A NIC that was replaced is gone, so
-- its row goes at once.
delete from haas.lease l using unnest($1::inet[], $2::macaddr[], $3::macaddr[], $4::int[]) w (address, mac, taker, inherits), haas.subnet s
where l.address = w.address and l.mac = w.mac and s.id = l.subnet_id and (l.state = 'released' and l.mac = w.taker
or w.inherits = 1 or l.expires_at + (2 + case when l.state = 'bound' then s.lease_s else 0 end) * interval '1 s' <= now())

-- :statement lease_leave
update haas.lease l set state = 'released', bound_at = now(),
expires_at = greatest(l.expires_at, now()) + s.lease_s * interval '1 s'
from unnest($1::inet[], $2::macaddr[]) w (address, mac), haas.subnet s
where l.address = w.address and l.mac = w.mac and l.state = 'bound' and s.id = l.subnet_id

-- :statement lease_renew
-- :columns = kept_lease
-- The timer never goes back: another server may rely on it.
update haas.lease l set client = w.client, expires_at = greatest(l.expires_at, to_timestamp(w.expires))
from unnest($1::inet[], $2::macaddr[], $3::text[], $4::bigint[]) w (address, mac, client, expires)
where l.address = w.address and l.mac = w.mac and l.state = 'bound'
returning l.address - '0.0.0.0'::inet as address, floor(extract(epoch from l.expires_at))::bigint as expires_at

-- :statement lease_decline
-- :columns = kept_lease
-- As with leave, another server may have confirmed it.
update haas.lease l set state = 'declined', bound_at = now(),
expires_at = greatest(l.expires_at + case when l.state = 'bound' then s.lease_s else 0 end * interval '1 s', to_timestamp(w.expires))
from unnest($1::inet[], $2::macaddr[], $3::text[], $4::bigint[]) w (address, mac, client, expires), haas.subnet s
where l.address = w.address and l.mac = w.mac and s.id = l.subnet_id
returning l.address - '0.0.0.0'::inet as address, floor(extract(epoch from l.expires_at))::bigint as expires_at

-- :statement lease_make
-- :columns = kept_lease
-- Never overwrites: the row that another server made wins. A subnet that was deleted meanwhile makes no error, only no row.
insert into haas.lease (address, mac, client, expires_at, subnet_id)
select w.address, w.mac, w.client, to_timestamp(w.expires), w.subnet_id
from unnest($1::inet[], $2::macaddr[], $3::text[], $4::bigint[], $5::bigint[]) w (address, mac, client, expires, subnet_id)
where exists (select from haas.subnet s where s.id = w.subnet_id)
on conflict do nothing
returning address - '0.0.0.0'::inet as address, floor(extract(epoch from expires_at))::bigint as expires_at

-- :statement lease_look
-- :columns = lease
-- After a refusal: who has the address, and what the client has.
select ${lease_row} from haas.lease l where l.address = any($1::inet[]) union
select ${lease_row}
 from haas.lease l where l.mac = any($2::macaddr[]) and l.state = 'bound'
