-- The default hash falls through its cases, which clang objects to.

-- :statement consoles_wanted
-- :columns node_id
select b.node_id from haas.bmc b join haas.node n on n.id = b.node_id where b.driver = 'ipmi' and ($1 = 'all' or n.state <> 'active')

-- :statement consoles_tenancy
-- :columns node_id, tenant_id
-- $1 ids of nodes -> those that are their tenants' own now
select n.id as node_id, n.tenant_id from haas.node n where n.id = any ($1::bigint[]) and n.state = 'active' and n.tenant_id is not null
and not exists (select from haas.deployment d where d.node_id = n.id and d.due_at is not null)
