-- A number that comes back rests until no switch would start with a port in it: one that was away, or could not save, brings its last owner's port back with it.

-- Changed by us and not known to be saved: also when its changes are long ago and nobody could ask it since.
create table switch_unsaved (
	switch_id bigint primary key references switch on delete cascade,
	since timestamptz not null default now()
);
grant select on switch_unsaved to portald, peregrined;
grant insert, delete on switch_unsaved to peregrined;

-- For which switches a resting number waits, whatever `until` says: they may still start with a port in it.
alter table network_vlan add column waits bigint[] not null default '{}';
update network_vlan v set waits = (select coalesce(array_agg(e.switch_id order by e.switch_id), '{}') from switch_endpoint e where e.fabric_id = v.fabric_id and e.managed)
where state = 'quarantine';   -- given back before anybody looked
alter table network_vlan add constraint used_vlan_waits_for_nobody check (state = 'quarantine' or waits = '{}');
