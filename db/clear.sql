-- Takes all behaviour away, in the transaction that applies it anew: triggers, policies, views, functions, rights. Shape and rows stay.
-- A lock that is waited for holds up all queries behind it. So a table that stays in use ends the migration, which can be run again.
set local lock_timeout = '10s';

do $$
declare
	v_schema constant regnamespace := 'haas'::regnamespace;
	v_sql text;
begin
	foreach v_sql in array array(
		select format('drop trigger %I on %s', t.tgname, t.tgrelid::regclass)
		from pg_trigger t join pg_class c on c.oid = t.tgrelid
		where c.relnamespace = v_schema and not t.tgisinternal and t.tgparentid = 0
		union all
		select format('drop policy %I on %s', p.polname, p.polrelid::regclass)
		from pg_policy p join pg_class c on c.oid = p.polrelid where c.relnamespace = v_schema
		union all
		select format('drop view if exists %s cascade', c.oid::regclass) from pg_class c where c.relnamespace = v_schema and c.relkind = 'v'
		union all
		select format('drop routine if exists %s', p.oid::regprocedure) from pg_proc p where p.pronamespace = v_schema
		union all
		select format('revoke all on %s %s from %s', case x.kind when 'S' then 'sequence' else 'table' end, x.relation,
		              coalesce(quote_ident(g.rolname), 'public'))
		from (select c.oid::regclass as relation, c.relkind as kind, c.relowner as owner, (aclexplode(c.relacl)).grantee
		      from pg_class c where c.relnamespace = v_schema and c.relkind in ('r', 'p', 'S')
		      union
		      select c.oid::regclass, c.relkind, c.relowner, (aclexplode(a.attacl)).grantee
		      from pg_attribute a join pg_class c on c.oid = a.attrelid
		      where c.relnamespace = v_schema and c.relkind in ('r', 'p') and a.attacl is not null) x
		left join pg_roles g on g.oid = x.grantee
		where x.grantee <> x.owner)
	loop
		execute v_sql;
	end loop;
end
$$;
