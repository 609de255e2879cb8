-- Networks of tenants and of the system, which ports belong to them, and the changes that make it so.

create table network (
	id bigint generated always as identity primary key,
	name text not null check (name ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
	kind text not null default 'tenant' check (kind in ('tenant', 'provisioning', 'bmc', 'quarantine')),
	tenant_id bigint references tenant,
	pdci_id bigint,                        -- references pdci (015_pdci)
	prefix cidr check (family(prefix) = 4),
	wanted text not null default 'present' check (wanted in ('present', 'absent')),
	version bigint not null default 1,
	created_at timestamptz not null default now(),
	constraint system_network_has_no_tenant check ((kind = 'tenant') = (tenant_id is not null))
);
create unique index network_name on network (coalesce(tenant_id, 0), name);
alter table network enable row level security;
create policy network_portald on network to portald using (in_scope(tenant_id)) with check (in_scope(tenant_id));
create policy network_daemon on network to peregrined using (true) with check (true);
create policy network_bampid on network for select to bampid using (true);
grant select on network to portald, bampid;
grant select, update, delete on network to peregrined;

-- The VLAN of a network in a fabric. A returned number rests until `until` and until no switch shows a member of it.
create table network_vlan (
	fabric_id bigint not null references fabric,
	vlan integer not null check (vlan between 2 and 4094),
	network_id bigint references network on delete set null,  -- null while it rests
	state text not null check (state in ('used', 'quarantine')),
	since timestamptz not null default now(),
	until timestamptz,
	primary key (fabric_id, vlan),
	constraint used_vlan_has_network check ((state = 'used') = (network_id is not null)),
	constraint resting_vlan_has_end check ((state = 'quarantine') = (until is not null))
);
create unique index network_vlan_network on network_vlan (fabric_id, network_id);
grant select on network_vlan to portald, bampid;
grant select, insert, update, delete on network_vlan to peregrined;

-- Whose VLAN a number was and when: a late sample or a question about last week finds the tenant of then.
create table vlan_history (
	fabric_id bigint not null,
	vlan integer not null,
	network_id bigint not null,
	network text not null,
	tenant_id bigint,
	valid_from timestamptz not null,
	valid_to timestamptz
);
create index vlan_history_vlan on vlan_history (fabric_id, vlan, valid_from);
grant select on vlan_history to peregrined;
grant insert, update on vlan_history to peregrined;

-- A port's membership in a network, wanted. What is on the switch is applied_vlans of port_intent, what was last seen port_observed.
create table attachment (
	id bigint generated always as identity primary key,
	switch_id bigint not null references switch on delete cascade,
	port text not null,
	network_id bigint not null references network,
	mode text not null check (mode in ('access', 'native', 'tagged')),
	created_at timestamptz not null default now(),
	unique (switch_id, port, network_id)
);
create unique index attachment_one_untagged on attachment (switch_id, port) where mode in ('access', 'native');
create index attachment_network on attachment (network_id);
grant select on attachment to portald, bampid, peregrined;

-- One row per port that is ours to configure: which intent it has and which one the switch was shown to have.
create table port_intent (
	switch_id bigint not null references switch on delete cascade,
	port text not null,
	wanted_version bigint not null default 1,   -- grows with every change of its attachments
	applied_version bigint not null default 0,  -- = wanted_version: read back and equal
	applied_trunk boolean,
	applied_native integer,
	applied_tagged text not null default '',
	applied_at timestamptz,
	problem jsonb,                              -- why it is not applied yet
	primary key (switch_id, port)
);
create index port_intent_open on port_intent (switch_id) where applied_version <> wanted_version;
grant select on port_intent to portald, bampid;
grant select, insert, update, delete on port_intent to peregrined;

-- One pass over several switches, all or nothing: create everywhere -> edge ports -> delete. A claim like a deployment's: whoever stalled cannot act after a take-over.
create table change_batch (
	id bigint generated always as identity primary key,
	fabric_id bigint not null references fabric,
	reason text not null,                  -- 'intent', 'drift', 'operator'
	state text not null check (state in ('creating', 'attaching', 'deleting', 'verifying', 'done', 'undoing', 'undone', 'failed')),
	owner text not null,
	generation bigint not null default 1,
	problem jsonb,
	created_at timestamptz not null default now(),
	ended_at timestamptz
);
grant select on change_batch to portald, bampid;
grant select, insert, update on change_batch to peregrined;

-- One edit for one switch, with its undo. Written before it is sent: after kill -9 what may have been sent is read back first.
create table change (
	id bigint generated always as identity primary key,
	batch_id bigint not null references change_batch on delete cascade,
	switch_id bigint not null references switch on delete cascade,
	phase integer not null,                -- 1 create, 2 attach, 3 delete
	edit jsonb not null,                   -- kind, vlan, vlan_name, port, before, after
	state text not null check (state in ('planned', 'sent', 'taken', 'applied', 'refused', 'undone', 'unknown')),
	problem jsonb,
	sent_at timestamptz,
	ended_at timestamptz
);
create index change_of_batch on change (batch_id, phase, id);
create index change_of_switch on change (switch_id, id);
grant select on change to portald, bampid;
grant select, insert, update on change to peregrined;
