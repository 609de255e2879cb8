-- As in 058; a NIC that is found at a switch which nobody manages (a node on a bench) does not keep its other ports in their networks when all are to be parked.
create or replace function node_network_apply(p_node bigint, p_place text, p_actor text)
returns jsonb language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	v_node node%rowtype;
	v_provisioning bigint;
	v_ports integer := 0;
	v_changed integer := 0;
	v_missing jsonb := '[]';
	v_networks bigint[];
	v_modes text[];
	v_fault record;
	v_was text;
	r record;
begin
	select * into v_node from node where id = p_node for no key update;
	if not found then
		raise exception 'node % does not exist', p_node using errcode = 'HA404';
	end if;
	select place into v_was from node_place where node_id = p_node;
	insert into node_place as p (node_id, place) values (p_node, p_place) on conflict (node_id) do update set place = excluded.place
	where p.place <> excluded.place;
	if not node_is_switched(p_node) then
		return jsonb_build_object('ports', 0, 'changed', 0, 'missing', v_missing);
	end if;
	if p_place = 'provisioning' then
		select id into v_provisioning from network where kind = 'provisioning' and wanted = 'present' order by id limit 1;
		if not found then
			raise exception 'there is no provisioning network' using errcode = 'HA409', hint = 'haasctl network create --kind provisioning';
		end if;
	end if;
	if p_place = 'tenant' then
		select * into v_fault from node_bond_fault(p_node);
		if v_fault.message is not null then
			raise exception 'node %: %', v_node.name, v_fault.message using errcode = 'HA409', hint = v_fault.hint;
		end if;
	end if;
	for r in select x.*, i.node_id as holder, h.name as holder_name, s.name as switch, exists (select from wiring w where w.switch_id = x.switch_id and w.port = x.port and w.node_id = p_node) as planned
		 from (select p.*, bool_or(p.boot) over (partition by p.switch_id, p.carrier) as boots, row_number() over (partition by p.switch_id, p.port order by p.boot desc, p.nic) as again,
			      false as left_over
		       from node_ports(p_node) p
		       union all   -- what it was given when its cable was known there: it goes when the node goes, whatever is known now
		       select null, false, g.switch_id, g.port, g.port, null, false, 1, true from port_intent g
		       where g.node_id = p_node and not exists (select from node_ports(p_node) q where q.switch_id = g.switch_id and q.port = g.port)) x
		 left join port_intent i on i.switch_id = x.switch_id and i.port = x.port left join node h on h.id = i.node_id left join switch s on s.id = x.switch_id
		 order by x.switch_id, x.port, x.boot desc loop   -- in one order, so that two never wait for each other
		if r.conflict is not null and p_place <> 'parking' then   -- what it was given by the plan can always be taken back
			raise exception 'node %: %', v_node.name, r.conflict using errcode = 'HA409', hint = 'put the cable right or correct the wiring plan';
		elsif r.left_over and p_place = 'tenant' and v_was = 'tenant' then   -- a plan that changes takes nothing from a node in use
			continue;
		elsif r.holder <> p_node and p_place = 'parking' then   -- never given
			continue;
		elsif p_place = 'parking' and r.holder is null and r.switch_id is not null
		      and not exists (select from switch_endpoint e where e.switch_id = r.switch_id and e.managed) then   -- on a bench: nothing of ours is there
			continue;
		elsif r.holder <> p_node then
			raise exception 'node %: port %:% carries what node % was given', v_node.name, r.switch, r.port, r.holder_name
				using errcode = 'HA409', hint = format('correct the wiring plan, or release node %s first; haasctl nic locate tells who is there', r.holder_name);
		elsif r.conflict is not null and not r.planned and r.holder is null then   -- never given either
			continue;
		elsif r.switch_id is null then
			v_missing := v_missing || to_jsonb(r.nic);
			continue;
		elsif port_bmc(r.switch_id, r.port) is not null and p_place = 'parking' then   -- never given, so there is nothing to take back
			continue;
		elsif r.again > 1 then   -- two members found behind one aggregate
			continue;
		end if;
		v_networks := '{}';
		v_modes := '{}';
		if p_place = 'provisioning' and r.boots then
			v_networks := array[v_provisioning];
			v_modes := array['access'];
		elsif p_place = 'tenant' then
			select coalesce(array_agg(x.network_id order by x.network_id), '{}'), coalesce(array_agg(x.mode order by x.network_id), '{}')
			into v_networks, v_modes from node_network x
			where x.node_id = p_node and (x.nic = r.nic or x.nic = (select b.name from node_bond b where b.node_id = p_node and b.nic = r.nic)
						      or (r.nic = 'any' and x.nic = (select c.name from nic c where c.node_id = p_node and c.boot)));
		end if;
		v_ports := v_ports + 1;
		v_changed := v_changed + greatest(port_networks_apply(r.switch_id, r.port, v_networks, v_modes, p_actor)::integer,
			-- an aggregate that is there is the operator's
			port_bond_set(r.switch_id, r.port, case when p_place = 'tenant' and r.carrier = r.port
				and not exists (select from port_observed o where o.switch_id = r.switch_id and o.name = r.port and o.is_lag) then
				(select format('%s/%s', v_node.name, b.name) from node_bond b where b.node_id = p_node and b.nic = r.nic) end)::integer);
		if cardinality(v_networks) > 0 then
			update port_intent set node_id = p_node where switch_id = r.switch_id and port = r.port and node_id is distinct from p_node;
		end if;
	end loop;
	return jsonb_build_object('ports', v_ports, 'changed', v_changed, 'missing', v_missing);
end
$$;

-- A database that has just begun has heard nobody for as long as it was away: the silence of a collector is not told from its own before this.
create function capture_judges()
returns boolean stable language sql as $$
	select pg_postmaster_start_time() < now() - interval '20 seconds'
$$;
grant execute on function capture_judges() to peregrined, peregrine_captured, portald;

-- As in 037; that.
create or replace function capture_sweep()
returns integer language plpgsql security definer set search_path = haas, pg_temp as $$
declare
	c capture%rowtype;
	v_count integer := 0;
	v_judges boolean := capture_judges();
begin
	for c in select * from capture where state <> 'ended' order by id for update loop
		-- nobody agreed; consent is over; a node is not its tenant's any more; its time is over
		if c.wanted = 'present' then
			c.because := case
				when c.state = 'waiting' then case when c.created_at < now() - interval '1 day' then 'expired' end
				when c.consent = 'grant' and not exists (select from capture_grant g where g.id = c.grant_id and g.withdrawn_at is null and g.expires_at > now()) then 'lapsed'
				when not exists (select from node n where n.id = c.node_id and n.tenant_id = c.tenant_id)
					or c.peer <> '' and not exists (select from node n where n.id = c.peer_id and n.tenant_id = c.tenant_id) then 'lapsed'
				when c.deadline < now() then 'deadline'
				when c.state = 'approved' and c.approved_at < now() - interval '2 minutes' then 'failed' end;
			continue when c.because is null and c.state <> 'ending' and (not v_judges or coalesce(c.beat_at, now()) >= now() - interval '20 seconds');
			if c.because is not null then
				c.wanted := 'absent';
			end if;
			if c.because = 'failed' then
				c.problem := jsonb_build_object('code', 'unavailable', 'message', 'no peregrine-captured takes it',
								'detail', 'collector ' || c.collector, 'hint', 'is peregrine-captured running there?');
			end if;
		end if;
		if c.state in ('listening', 'running') and v_judges and c.beat_at < now() - interval '20 seconds' then
			c.state := 'ending'; c.wanted := 'absent'; c.because := coalesce(c.because, 'failed');
			c.problem := coalesce(c.problem, jsonb_build_object('code', 'unavailable', 'message', 'its collector is gone', 'detail', 'collector ' || c.collector, 'hint', ''));
		elsif c.wanted = 'absent' and c.state in ('waiting', 'approved') then
			c.state := 'ending';
		end if;
		if c.state = 'ending' and not c.mirrored then
			c.state := 'ended'; c.ended_at := now(); c.wanted := 'absent'; c.because := coalesce(c.because, 'stopped');
		end if;
		update capture set state = c.state, wanted = c.wanted, because = c.because, problem = c.problem, ended_at = c.ended_at
		where id = c.id and (state, wanted, because, problem) is distinct from (c.state, c.wanted, c.because, c.problem);
		if found then
			v_count := v_count + 1;
			if c.state = 'ended' then
				perform capture_event(c, 'system', 'ended', format('%s (%s packets)', c.because, coalesce(c.result ->> 'packets', '0')));
			else
				perform pg_notify('capture', '');
			end if;
		end if;
	end loop;
	return v_count;
end
$$;
