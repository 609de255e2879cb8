-- Each node has an account of its own at a volume, with a secret of its own: what a node knows ends with its place in the PDCI (docs/decision/0031). The storage derives the
-- secrets from the volume's, so none of them is a row.

drop function volume_work(bigint);
-- node_ids: of `initiators`, one for one.
create function volume_work(p_storage bigint)
returns table (id bigint, name text, tenant text, state text, absent boolean, size_bytes bigint, kept_bytes bigint, archive_id bigint, archive_bytes bigint, archive_digest text,
	       pdci_id bigint, served_pdci_id bigint, initiators jsonb, secret_sealed bytea, secret_number bigint, served jsonb, node_ids jsonb)
stable language sql security definer set search_path = haas, pg_temp as $$
	select v.id, v.name, t.name, v.state, v.wanted = 'absent', v.size_bytes, v.kept_bytes, v.archive_id, a.size_bytes, a.digest, v.pdci_id, v.served_pdci_id,
	       x.initiators, v.secret_sealed, v.secret_number, v.served, x.node_ids
	from volume v join storage s on s.id = v.storage_id join tenant t on t.id = v.tenant_id
	left join archive a on a.id = v.archive_id left join pdci p on p.id = v.pdci_id
	left join network n on n.pdci_id = v.pdci_id and n.storage_id = v.storage_id and n.wanted = 'present'
	left join lateral (select jsonb_agg(jsonb_build_object('node', m.node, 'address', case when n.id is null then host(m.address) else
			(select host(w.address) from node_network w where w.node_id = m.node_id and w.network_id = n.id) end) order by m.node) as initiators,
		jsonb_agg(m.node_id order by m.node) as node_ids
		from pdci_node m where m.pdci_id = p.id and m.released_at is null and m.replace_asked_at is null
		      -- its OS was told the secret and starts when its ports are its tenant's: before the PDCI is ready
		      and (p.ready_at is not null or exists (select from node_place y where y.node_id = m.node_id and y.place = 'tenant'))) x
		on v.wanted = 'present' and v.state = 'ready' and v.kept_bytes = v.size_bytes and p.wanted = 'present' and (n.id is null or n.storage_up_at is not null)
		   and not exists (select from archive y where y.volume_id = v.id and y.state = 'archiving')
	where v.storage_id = p_storage and s.login = session_user and v.state <> 'deleted' order by v.id
$$;
grant execute on function volume_work(bigint) to bampi_stored;

create or replace function node_volume_facts(p_node bigint) returns jsonb stable language sql security definer set search_path = haas, pg_temp as $$
	select case when count(*) > 0 and k.key is not null then jsonb_build_object('initiator', min(s.iqn) || ':node.' || m.node,
		'volumes', jsonb_agg(jsonb_build_object('volume', v.name, 'storage', s.name, 'heard', coalesce(s.seen_at > now() - interval '10 minutes', false),
			'target', s.iqn || ':volume.' || v.id, 'user', format('v%s-%s-n%s', v.id, v.secret_number, p_node),
			'portal', coalesce((select storage_portal(n.prefix, s.portal) from network n where n.pdci_id = v.pdci_id and n.storage_id = s.id and n.wanted = 'present'), s.portal),
			'sealed', (select encode(l.sealed, 'hex') from volume_login l where l.volume_id = v.id and l.node_id = p_node and l.agent_key = k.key and l.secret_number = v.secret_number))
			order by v.id)) end
	from pdci_node m join volume v on v.pdci_id = m.pdci_id and v.wanted = 'present' join storage s on s.id = v.storage_id cross join (select agent_seal_key(p_node) as key) k
	where m.node_id = p_node and m.released_at is null group by m.node, k.key
$$;

-- Sealed before, these hold the volume's secret: each storage seals anew.
delete from volume_login;
