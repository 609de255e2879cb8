-- A collector that is overloaded uses one of several samples and says so: the worst of a bucket's seconds (1 = all samples were used).
alter table traffic_bucket add column thinned double precision not null default 1;

-- All links at a time: rows of a minute lie together, they come by one COPY.
create index traffic_share_at on traffic_share using brin (at) with (pages_per_range = 16);
