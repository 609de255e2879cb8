-- LEDs of switches that blink until they are told to end: written before one is told to begin, so that whoever is peregrined then ends it.
create table beacon (
	switch_id bigint not null references switch on delete cascade,
	port text not null,
	ends_at timestamptz not null,
	tries integer not null default 0,      -- to end it, that failed
	primary key (switch_id, port)
);
grant select, insert, update, delete on beacon to peregrined;
