-- A collector that is overloaded uses one of several samples and says so: the worst of a bucket's seconds (1 = all samples were used).
alter table traffic_bucket add column thinned double precision not null default 1;
