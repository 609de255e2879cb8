-- Changes of switches: the claim of a fabric, the journal of batches, VLANs on uplinks, configurations that are not saved.
--
-- A VLAN number that comes back rests until no switch could start with a port in it: a switch that was away, or could not save, brings its last
-- owner's port back with it.

-- ==== shape ====

-- One pass over several switches, all or nothing: create everywhere -> edge ports -> delete. A claim like a deployment's: whoever stalled cannot act after a take-over.
create table change_batch (
	id bigint generated always as identity primary key,
	fabric_id bigint not null references fabric,
	reason text not null,                  -- 'intent', 'drift', 'operator'
	state text not null check (state in ('creating', 'attaching', 'deleting', 'verifying', 'done', 'undoing', 'undone', 'failed')),
	owner text not null,                   -- of the fabric's claim then, and its generation
	generation bigint not null default 1,
	problem jsonb,
	created_at timestamptz not null default now(),
	ended_at timestamptz
);

-- One edit for one switch, with its undo. Written before it is sent: after kill -9 what may have been sent is read back first.
create table change (
	id bigint generated always as identity primary key,
	batch_id bigint not null references change_batch on delete cascade,
	switch_id bigint not null references switch on delete cascade,
	phase integer not null,                -- 1 create, 2 cut, 3 attach, 4 trim and delete
	edit jsonb not null,                   -- kind, vlan, vlan_name, port, before, after
	state text not null check (state in ('planned', 'sent', 'taken', 'applied', 'refused', 'undone', 'unknown')),
	problem jsonb,
	sent_at timestamptz,
	ended_at timestamptz
);
create index change_of_batch on change (batch_id, phase, id);
create index change_of_switch on change (switch_id, id);

-- Who works on the switches of a fabric, one worker at a time. A worker that stalled cannot act after a take-over: its writes say `where
-- generation = $n`. Nothing is sent to a switch unless such a write was committed within the time of the claim.
create table fabric_claim (
	fabric_id bigint primary key references fabric on delete cascade,
	owner text not null,
	generation bigint not null default 1,
	until timestamptz not null
);

-- Our VLANs on an uplink, as read back. Without this row a foreign change of an uplink looks like a change of our plan. A row is deleted
-- before a change of its port is sent, and written again when the port shows the wanted VLANs.
create table uplink_applied (
	switch_id bigint not null references switch on delete cascade,
	port text not null,
	tagged text not null,                  -- VLANs of the fabric's range, "201-203,210"; '' = none
	applied_at timestamptz not null default now(),
	primary key (switch_id, port)
);

-- Changed by us and not known to be saved: also when its changes are long ago and nobody could ask it since.
create table switch_unsaved (
	switch_id bigint primary key references switch on delete cascade,
	since timestamptz not null default now()
);

-- ==== functions ====

-- ==== triggers, views, rights ====

grant select on change_batch to bampid, portald;
grant insert, select, update on change_batch to peregrined;
grant select on change to bampid, portald;
grant insert, select, update on change to peregrined;
grant select on fabric_claim to bampid, portald;
grant insert, select, update, delete on fabric_claim to peregrined;
grant select on uplink_applied to portald;
grant insert, select, update, delete on uplink_applied to peregrined;
grant select on switch_unsaved to portald;
grant insert, select, delete on switch_unsaved to peregrined;
