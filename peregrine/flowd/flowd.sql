-- Statements of peregrine/flowd/flowd.c.

-- :statement traffic_turn
select haas.traffic_partitions_turn(now())
