"""A daemon exchanges the key that its secrets are sealed to, and is killed while rows are sealed anew."""
import subprocess

from story import need, wait_for


def held_at(site, table, when, role="bampid"):
    """A trigger that holds the update for which `when` is true until the lock goes; returns what lets it go."""
    site.sql(f"create function held() returns trigger language plpgsql as $$ begin if {when} then perform pg_advisory_xact_lock(4711); end if; return new; end $$; "
             f"create trigger held before update on {table} for each row execute function held()")
    holder = subprocess.Popen(["psql", "-qAt", "-h", site.pg_dir, "-U", "haas", "-d", "haas", "-c", "select pg_advisory_lock(4711)", "-c", "select pg_sleep(600)"], stdout=subprocess.PIPE, text=True)
    wait_for("the lock is held", lambda: site.sql("select count(*) from pg_locks where locktype = 'advisory' and objid = 4711 and granted") != "0")

    def let_go():
        site.sql(f"select pg_terminate_backend(pid) from pg_stat_activity where usename = '{role}'")  # what waits there must not be done by the dead
        holder.kill()
        holder.wait()
        site.sql("select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and objid = 4711 and granted; ")
        site.sql(f"drop trigger held on {table}; drop function held()")
    return let_go


def waits(site, daemon, seconds=30):
    wait_for(f"{daemon} waits there", lambda: site.sql("select count(*) from pg_locks where locktype = 'advisory' and objid = 4711 and not granted") != "0", seconds)


def exchange(site, daemon, key, column, ctl, kill, start, meanwhile=lambda: None):
    """The key is exchanged, with a kill -9 while a row is sealed anew. `column`: TABLE.COLUMN of what is sealed. `ctl`: haasctl with these words."""
    old = key.read_bytes()
    table, name = column.split(".")
    let_go = held_at(site, table, f"new.{name} is distinct from old.{name}", daemon.replace("-", "_"))
    ctl("rotation", "seal", daemon, "--keep", "0s")
    waits(site, daemon, 60)
    need((key.parent / f"{key.name}.next").exists() and key.read_bytes() == old, "the new key is not beside the old one")
    meanwhile()
    kill()
    let_go()
    start()
    wait_for("the old key is destroyed", lambda: site.sql(f"select state || lost || (resealed > 0)::text from seal_rotation where daemon = '{daemon}' order by id desc limit 1") == "done0true", 90)
    need(not (key.parent / f"{key.name}.next").exists() and key.read_bytes() != old, "the old key is still there")
    need(site.sql(f"select count(*) from event where kind = 'daemon.key_rotated' and subject = '{daemon}'") == "2", "events")
