-- What a switch calls its ports in samples of traffic is their ifIndex. Command lines and some data models do not tell it; port_observed.if_index is 0 there. The agent that is asked for the
-- health of switches by SNMP does: it is kept for ports of these switches alone. A port without either has no samples: they are nobody's (unknown_port), never another port's.

create table port_number (
	switch_id bigint not null references switch on delete cascade,
	port text not null,                    -- in lower case: a command line may spell it otherwise than ifName
	if_index bigint not null check (if_index > 0),
	primary key (switch_id, port)
);
grant select on port_number to peregrined, peregrine_flowd, portald;

-- Its numbers as of now, [{port, if_index}], of a switch that has ports without. How many rows changed; those of other switches none.
create function port_number_put(p_switch bigint, p_rows jsonb)
returns integer language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_gone integer;
	v_count integer;
begin
	if not exists (select from port_observed where switch_id = p_switch and if_index = 0) then
		-- It is read another way now, or has none: nothing of then is left.
		delete from port_number where switch_id = p_switch;
		get diagnostics v_gone = row_count;
		return v_gone;
	end if;
	delete from port_number n where n.switch_id = p_switch
		and not exists (select from jsonb_to_recordset(p_rows) as x (port text) where lower(x.port) = n.port);
	get diagnostics v_gone = row_count;
	insert into port_number as n
	select distinct on (lower(x.port)) p_switch, lower(x.port), x.if_index from jsonb_to_recordset(p_rows) as x (port text, if_index bigint)
	where x.if_index > 0 order by lower(x.port), x.if_index
	on conflict (switch_id, port) do update set if_index = excluded.if_index where n.if_index <> excluded.if_index;
	get diagnostics v_count = row_count;
	return v_gone + v_count;
end
$$;
revoke execute on function port_number_put(bigint, jsonb) from public;
grant execute on function port_number_put(bigint, jsonb) to peregrined;

-- Ports by the number that their samples name; 0 = nobody told it.
create view port_index as
select p.switch_id, p.name, p.lag, coalesce(nullif(p.if_index, 0), n.if_index, 0) as if_index, p.kind, p.speed_bps
from port_observed p left join port_number n on p.if_index = 0 and n.switch_id = p.switch_id and n.port = lower(p.name);
grant select on port_index to peregrine_flowd, portald;
