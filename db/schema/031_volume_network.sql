-- Volumes and the nodes that they are open to: nobody but them, from when they may until they may no more.

-- As before; the nodes that one may reach it from are null, not an empty list, where there is none: then it is closed.
create or replace function volume_work(p_storage bigint)
returns table (id bigint, name text, tenant text, state text, absent boolean, size_bytes bigint, kept_bytes bigint, archive_id bigint,
	       archive_bytes bigint, archive_digest text, pdci_id bigint, served_pdci_id bigint, initiators jsonb, secret_sealed bytea, secret_number bigint, served jsonb)
stable language sql security definer set search_path = haas, pg_temp as $$
	select v.id, v.name, t.name, v.state, v.wanted = 'absent', v.size_bytes, v.kept_bytes, v.archive_id, a.size_bytes, a.digest, v.pdci_id, v.served_pdci_id,
	       case when v.wanted = 'present' and v.state = 'ready' and v.kept_bytes = v.size_bytes and p.wanted = 'present' and p.ready_at is not null
			 and not exists (select from archive x where x.volume_id = v.id and x.state = 'archiving') then
			(select jsonb_agg(jsonb_build_object('node', m.node, 'address', host(m.address)) order by m.node)
			 from pdci_node m where m.pdci_id = p.id and m.released_at is null and m.replace_asked_at is null) end,
	       v.secret_sealed, v.secret_number, v.served
	from volume v join storage s on s.id = v.storage_id join tenant t on t.id = v.tenant_id
	left join archive a on a.id = v.archive_id left join pdci p on p.id = v.pdci_id
	where v.storage_id = p_storage and s.login = session_user and v.state <> 'deleted' order by v.id
$$;

-- As before; a node that is replaced is taken off nothing while a volume is still open to it, so that whoever comes with its addresses finds no session of its. A storage
-- that has been silent for ten minutes is not waited for.
alter function pdci_replace_step(bigint, bigint, text) rename to pdci_replace_nodes;
create function pdci_replace_step(p_pdci bigint, p_generation bigint, p_actor text)
returns table (node text, group_index integer, waits_for text) language plpgsql security definer set search_path = haas, pg_temp as $$
#variable_conflict use_column
begin
	if exists (select from pdci p where p.id = p_pdci and p.generation = p_generation and p.wanted = 'present') then
		return query select distinct on (m.node) m.node, m.group_index, format('volume %s to be closed to node %s (storage %s)', v.name, m.node, s.name)
		from pdci_node m join volume v on v.served_pdci_id = m.pdci_id join storage s on s.id = v.storage_id
		where m.pdci_id = p_pdci and m.replace_asked_at is not null and m.replaced_by is null and m.released_at is null
		      and v.served @> jsonb_build_array(jsonb_build_object('node', m.node)) and s.seen_at > now() - interval '10 minutes'
		order by m.node, v.name;
		if found then
			return;
		end if;
	end if;
	return query select * from pdci_replace_nodes(p_pdci, p_generation, p_actor);
end
$$;
grant execute on function pdci_replace_step(bigint, bigint, text) to bampid;
revoke execute on function pdci_replace_nodes(bigint, bigint, text) from bampid;
