-- What of ours an uplink was set to carry, as read back: without it a foreign change of an uplink can only be told from a change of plan while nothing else happens.
-- A row goes before a change of its port is sent and comes back when the port shows what is wanted of it.
create table uplink_applied (
	switch_id bigint not null references switch on delete cascade,
	port text not null,
	tagged text not null,                  -- VLANs of the fabric's range, "201-203,210"; '' = none
	applied_at timestamptz not null default now(),
	primary key (switch_id, port)
);
grant select on uplink_applied to portald;
grant select, insert, update, delete on uplink_applied to peregrined;
