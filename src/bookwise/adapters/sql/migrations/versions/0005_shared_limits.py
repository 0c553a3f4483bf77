"""Webhook deliveries. On PostgreSQL also what several processes share: rate limits, stream leases, key changes."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

# Defined here and not imported: a migration must not change when tables.py does.
UTC_TIME = sa.DateTime(timezone=True).with_variant(sa.Text(), "sqlite")

# Unlogged: counts of the last minute need no disk, and a crash of the server may reset them.
RATE_COUNTS = """
CREATE UNLOGGED TABLE rate_counts (
    owner text NOT NULL,
    address text NOT NULL,      -- empty: all addresses of the owner
    slot bigint NOT NULL,       -- half seconds since 1970
    requests integer NOT NULL,  -- admitted in this slot
    CONSTRAINT pk_rate_counts PRIMARY KEY (owner, address, slot)
);
CREATE INDEX ix_rate_counts_slot ON rate_counts (slot)
"""
STREAM_LEASES = """
CREATE UNLOGGED TABLE stream_leases (
    lease_id text NOT NULL,
    owner text NOT NULL,
    address text NOT NULL,
    expires_at timestamptz NOT NULL,
    CONSTRAINT pk_stream_leases PRIMARY KEY (lease_id)
);
CREATE INDEX ix_stream_leases_owner ON stream_leases (owner, address)
"""
# A lock makes requests of one owner take turns. The statements after it see what the previous one has counted.
# A slot counts until the 121st after it begins, so at least 60 and at most 60.5 seconds. Slots in the future are from
# before the clock was set back.
ADMIT_REQUEST = """
CREATE FUNCTION bookwise_admit_request(of_owner text, addresses text[], limits integer[])
RETURNS TABLE (refused integer, remaining integer, seconds double precision)
LANGUAGE plpgsql SET lock_timeout = '5s' AS $$
DECLARE
    this_moment double precision;
    this_slot bigint;
    used bigint;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended(of_owner, 7020863914));
    this_moment := extract(epoch FROM clock_timestamp());
    this_slot := floor(this_moment * 2);
    DELETE FROM rate_counts c
        WHERE c.owner = of_owner AND c.address = ANY (addresses) AND c.slot NOT BETWEEN this_slot - 120 AND this_slot;
    FOR share IN 1 .. cardinality(addresses) LOOP
        SELECT coalesce(sum(c.requests), 0) INTO used
            FROM rate_counts c WHERE c.owner = of_owner AND c.address = addresses[share];
        IF used >= limits[share] THEN
            RETURN QUERY
                SELECT share, 0, ((s.slot + 121) / 2.0)::double precision - this_moment
                FROM (
                    SELECT c.slot, sum(c.requests) OVER (ORDER BY c.slot) AS ended
                    FROM rate_counts c WHERE c.owner = of_owner AND c.address = addresses[share]
                ) s
                WHERE s.ended > used - limits[share] ORDER BY s.slot LIMIT 1;
            RETURN;
        END IF;
    END LOOP;
    INSERT INTO rate_counts AS c SELECT of_owner, a, this_slot, 1 FROM unnest(addresses) a
        ON CONFLICT (owner, address, slot) DO UPDATE SET requests = c.requests + 1;
    RETURN QUERY
        SELECT 0, (s.allowed - sum(c.requests))::integer, ((min(c.slot) + 121) / 2.0)::double precision - this_moment
        FROM unnest(addresses, limits) s (address, allowed)
        JOIN rate_counts c ON c.owner = of_owner AND c.address = s.address
        GROUP BY s.address, s.allowed ORDER BY 2, 3 LIMIT 1;
END $$
"""
OPEN_STREAM = """
CREATE FUNCTION bookwise_open_stream(
    of_lease text, of_owner text, of_address text, addresses text[], limits integer[], lease_seconds double precision
) RETURNS integer  -- the share that is full; 0: the stream is counted
LANGUAGE plpgsql SET lock_timeout = '5s' AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended(of_owner, 7020863914));
    DELETE FROM stream_leases l WHERE l.owner = of_owner AND l.expires_at <= clock_timestamp();
    FOR share IN 1 .. cardinality(addresses) LOOP
        IF limits[share] <= (
            SELECT count(*) FROM stream_leases l WHERE l.owner = of_owner AND addresses[share] IN ('', l.address)
        ) THEN
            RETURN share;
        END IF;
    END LOOP;
    INSERT INTO stream_leases
        VALUES (of_lease, of_owner, of_address, clock_timestamp() + make_interval(secs => lease_seconds))
        ON CONFLICT (lease_id) DO NOTHING;
    RETURN 0;
END $$
"""
# Renews the leases of one process, also those that have expired meanwhile, and deletes what no longer counts.
MAINTAIN_LIMITS = """
CREATE FUNCTION bookwise_maintain_limits(
    of_leases text[], owners text[], addresses text[], lease_seconds double precision
) RETURNS void
LANGUAGE plpgsql SET lock_timeout = '5s' AS $$
DECLARE
    this_slot bigint := floor(extract(epoch FROM clock_timestamp()) * 2);
BEGIN
    INSERT INTO stream_leases
        SELECT r.lease, r.owner, r.address, clock_timestamp() + make_interval(secs => lease_seconds)
        FROM unnest(of_leases, owners, addresses) r (lease, owner, address)
        ON CONFLICT (lease_id) DO UPDATE SET expires_at = excluded.expires_at;
    DELETE FROM stream_leases WHERE expires_at <= clock_timestamp();
    DELETE FROM rate_counts WHERE slot < this_slot - 120 OR slot > this_slot + 1;
END $$
"""
# A trigger, so that changes by any program are noticed. Processes that cannot listen read the number of changes.
KEY_CHANGED = """
CREATE FUNCTION bookwise_key_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO facts AS f (key, value) VALUES ('key changes', 1)
        ON CONFLICT (key) DO UPDATE SET value = f.value + 1;
    PERFORM pg_notify('bookwise_keys', '');
    RETURN NULL;
END $$;
CREATE TRIGGER bookwise_key_changed AFTER INSERT OR UPDATE OR DELETE ON api_keys
    FOR EACH STATEMENT EXECUTE FUNCTION bookwise_key_changed()
"""


def upgrade() -> None:
    op.create_table(
        "webhook_deliveries",
        sa.Column("delivery_id", sa.Text, nullable=False),
        sa.Column("claimed_at", UTC_TIME, nullable=False),
        sa.Column("handled_at", UTC_TIME),
        sa.PrimaryKeyConstraint("delivery_id", name="pk_webhook_deliveries"),
    )
    op.create_index("ix_webhook_deliveries_claimed_at", "webhook_deliveries", ["claimed_at"])
    if op.get_bind().dialect.name == "postgresql":
        for script in (RATE_COUNTS, STREAM_LEASES, ADMIT_REQUEST, OPEN_STREAM, MAINTAIN_LIMITS, KEY_CHANGED):
            op.get_bind().exec_driver_sql(script)
