-- The default hash falls through its cases, which clang objects to.

-- :statement consoles_wanted
-- :columns node_id
select b.node_id from haas.bmc b join haas.node n on n.id = b.node_id where b.driver = 'ipmi' and ($1 = 'all' or n.state <> 'active')
