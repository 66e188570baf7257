CREATE SCHEMA shoal;

CREATE FUNCTION shoal.changes_end() RETURNS bigint
    LANGUAGE sql STABLE
    AS $$
  SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint - 1 + value::bigint FROM shoal.settings WHERE name = 'change_offset'
$$;

CREATE FUNCTION shoal.keep_version() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  INSERT INTO shoal.record_versions (spider, site, kind, key, url, data, crawl, gen, epoch, updated_at, replaced_at)
  VALUES (OLD.spider, OLD.site, OLD.kind, OLD.key, OLD.url, OLD.data, OLD.crawl, OLD.gen, OLD.epoch, OLD.updated_at, NEW.updated_at);
  RETURN NULL;
END $$;

CREATE TABLE shoal.audit (
    id bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    by text NOT NULL,
    action text NOT NULL,
    target text NOT NULL,
    details jsonb NOT NULL,
    result text NOT NULL
);

ALTER TABLE shoal.audit ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME shoal.audit_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE shoal.blobs (
    place text NOT NULL COLLATE pg_catalog."C",
    hash bytea NOT NULL,
    pack text NOT NULL COLLATE pg_catalog."C",
    start bigint NOT NULL,
    length bigint NOT NULL,
    codec text NOT NULL,
    bytes bigint NOT NULL
);

CREATE TABLE shoal.crawl_notes (
    crawl text NOT NULL COLLATE pg_catalog."C",
    spider text NOT NULL COLLATE pg_catalog."C",
    queue text NOT NULL,
    queue_id text NOT NULL COLLATE pg_catalog."C",
    state text NOT NULL,
    spec jsonb NOT NULL,
    opened_at timestamp with time zone NOT NULL,
    changes_from bigint DEFAULT shoal.changes_end() NOT NULL
);

CREATE SEQUENCE shoal.fetch_ids
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE TABLE shoal.fetches (
    id bigint DEFAULT nextval('shoal.fetch_ids'::regclass) NOT NULL,
    at timestamp with time zone NOT NULL,
    spider text NOT NULL COLLATE pg_catalog."C",
    crawl text NOT NULL COLLATE pg_catalog."C",
    fp bigint NOT NULL,
    url text NOT NULL COLLATE pg_catalog."C",
    host text NOT NULL COLLATE pg_catalog."C",
    route text NOT NULL COLLATE pg_catalog."C",
    depth integer NOT NULL,
    link jsonb,
    status smallint NOT NULL,
    bytes bigint NOT NULL,
    ms double precision NOT NULL,
    attempt integer NOT NULL,
    worker text NOT NULL COLLATE pg_catalog."C",
    pool text COLLATE pg_catalog."C",
    error text COLLATE pg_catalog."C",
    page text COLLATE pg_catalog."C",
    headers jsonb,
    gen bigint NOT NULL,
    epoch bigint NOT NULL
)
PARTITION BY RANGE (at);

CREATE TABLE shoal.field_stats (
    spider text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    site text NOT NULL COLLATE pg_catalog."C",
    field text NOT NULL COLLATE pg_catalog."C",
    hour timestamp with time zone NOT NULL,
    filled bigint NOT NULL,
    failed bigint NOT NULL,
    texts bigint NOT NULL,
    numbers bigint NOT NULL,
    booleans bigint NOT NULL,
    lists bigint NOT NULL,
    objects bigint NOT NULL,
    sketch integer[] NOT NULL
)
WITH (fillfactor='50');

CREATE TABLE shoal.generations (
    queue_id text NOT NULL COLLATE pg_catalog."C",
    gen bigint NOT NULL,
    mark bigint DEFAULT 0 NOT NULL
);

CREATE TABLE shoal.match_stats (
    crawl text NOT NULL COLLATE pg_catalog."C",
    part text NOT NULL COLLATE pg_catalog."C",
    part_of text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    selector text NOT NULL COLLATE pg_catalog."C",
    seen bigint NOT NULL,
    matched bigint NOT NULL,
    example text NOT NULL
);

CREATE TABLE shoal.migrations (
    number integer NOT NULL,
    name text NOT NULL,
    breaking boolean NOT NULL,
    sql_hash text NOT NULL,
    shoal_version text NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE shoal.outlets (
    name text NOT NULL COLLATE pg_catalog."C",
    id text DEFAULT (gen_random_uuid())::text NOT NULL,
    spider text NOT NULL COLLATE pg_catalog."C",
    kinds text[],
    "position" bigint DEFAULT '-1'::integer NOT NULL,
    epoch bigint DEFAULT 0 NOT NULL,
    holder text,
    held_until timestamp with time zone DEFAULT '-infinity'::timestamp with time zone NOT NULL,
    sent bigint DEFAULT 0 NOT NULL,
    sent_at timestamp with time zone,
    trimmed bigint DEFAULT 0 NOT NULL,
    error text,
    stopped boolean DEFAULT false NOT NULL
);

CREATE TABLE shoal.record_counts (
    spider text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    crawl text NOT NULL COLLATE pg_catalog."C",
    slot smallint NOT NULL,
    records bigint NOT NULL,
    rejected bigint NOT NULL,
    fresh bigint NOT NULL,
    unchanged bigint NOT NULL
)
WITH (fillfactor='50');

CREATE TABLE shoal.record_versions (
    spider text NOT NULL COLLATE pg_catalog."C",
    site text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    key text NOT NULL COLLATE pg_catalog."C",
    url text NOT NULL COLLATE pg_catalog."C",
    data jsonb NOT NULL,
    crawl text NOT NULL COLLATE pg_catalog."C",
    gen bigint NOT NULL,
    epoch bigint NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    replaced_at timestamp with time zone NOT NULL
)
PARTITION BY RANGE (replaced_at);

CREATE TABLE shoal.records (
    spider text NOT NULL COLLATE pg_catalog."C",
    site text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    key text NOT NULL COLLATE pg_catalog."C",
    url text NOT NULL COLLATE pg_catalog."C",
    domain text NOT NULL COLLATE pg_catalog."C",
    data jsonb NOT NULL,
    content_hash bytea NOT NULL,
    identity text COLLATE pg_catalog."C",
    crawl text NOT NULL COLLATE pg_catalog."C",
    gen bigint NOT NULL,
    epoch bigint NOT NULL,
    first_seen_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    scraped_at timestamp with time zone NOT NULL,
    change bigint NOT NULL,
    last_write integer NOT NULL,
    last_crawl text NOT NULL COLLATE pg_catalog."C",
    fresh_ms bigint NOT NULL,
    keep_history boolean NOT NULL
)
WITH (fillfactor='80');

CREATE TABLE shoal.rejected (
    id bigint NOT NULL,
    spider text NOT NULL COLLATE pg_catalog."C",
    site text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    key text NOT NULL COLLATE pg_catalog."C",
    url text NOT NULL COLLATE pg_catalog."C",
    data jsonb NOT NULL,
    issues jsonb NOT NULL,
    reason text NOT NULL,
    crawl text NOT NULL COLLATE pg_catalog."C",
    scraped_at timestamp with time zone NOT NULL,
    row_hash bytea NOT NULL
);

ALTER TABLE shoal.rejected ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME shoal.rejected_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE shoal.seed_cursors (
    crawl text NOT NULL COLLATE pg_catalog."C",
    source text NOT NULL COLLATE pg_catalog."C",
    entries bigint NOT NULL
);

CREATE TABLE shoal.settings (
    name text NOT NULL,
    value text NOT NULL
);

CREATE TABLE shoal.visit_counts (
    crawl text NOT NULL COLLATE pg_catalog."C",
    slot smallint NOT NULL,
    first_time bigint NOT NULL,
    changed bigint NOT NULL,
    not_modified bigint NOT NULL,
    same_body bigint NOT NULL
)
WITH (fillfactor='50');

CREATE TABLE shoal.visits (
    spider text NOT NULL COLLATE pg_catalog."C",
    fp bigint NOT NULL,
    gen bigint NOT NULL,
    epoch bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    url text NOT NULL COLLATE pg_catalog."C",
    etag text COLLATE pg_catalog."C",
    last_modified text COLLATE pg_catalog."C",
    body_hash bytea NOT NULL,
    read_as bytea NOT NULL,
    page text COLLATE pg_catalog."C",
    memo bytea NOT NULL,
    crawl text NOT NULL COLLATE pg_catalog."C",
    result text NOT NULL,
    repeated boolean NOT NULL
)
WITH (fillfactor='80');
ALTER TABLE ONLY shoal.visits ALTER COLUMN memo SET STORAGE EXTERNAL;

ALTER TABLE ONLY shoal.audit
    ADD CONSTRAINT audit_pkey PRIMARY KEY (id);

ALTER TABLE ONLY shoal.blobs
    ADD CONSTRAINT blobs_pkey PRIMARY KEY (place, hash);

ALTER TABLE ONLY shoal.crawl_notes
    ADD CONSTRAINT crawl_notes_pkey PRIMARY KEY (crawl);

ALTER TABLE ONLY shoal.field_stats
    ADD CONSTRAINT field_stats_pkey PRIMARY KEY (spider, kind, site, field, hour);

ALTER TABLE ONLY shoal.generations
    ADD CONSTRAINT generations_gen_key UNIQUE (gen);

ALTER TABLE ONLY shoal.generations
    ADD CONSTRAINT generations_pkey PRIMARY KEY (queue_id);

ALTER TABLE ONLY shoal.match_stats
    ADD CONSTRAINT match_stats_pkey PRIMARY KEY (crawl, part, part_of, name, selector);

ALTER TABLE ONLY shoal.migrations
    ADD CONSTRAINT migrations_pkey PRIMARY KEY (number);

ALTER TABLE ONLY shoal.outlets
    ADD CONSTRAINT outlets_pkey PRIMARY KEY (name);

ALTER TABLE ONLY shoal.record_counts
    ADD CONSTRAINT record_counts_pkey PRIMARY KEY (spider, kind, crawl, slot);

ALTER TABLE ONLY shoal.records
    ADD CONSTRAINT records_pkey PRIMARY KEY (spider, kind, key, site);

ALTER TABLE ONLY shoal.rejected
    ADD CONSTRAINT rejected_pkey PRIMARY KEY (id);

ALTER TABLE ONLY shoal.rejected
    ADD CONSTRAINT rejected_row_hash_key UNIQUE (row_hash);

ALTER TABLE ONLY shoal.seed_cursors
    ADD CONSTRAINT seed_cursors_pkey PRIMARY KEY (crawl, source);

ALTER TABLE ONLY shoal.settings
    ADD CONSTRAINT settings_pkey PRIMARY KEY (name);

ALTER TABLE ONLY shoal.visit_counts
    ADD CONSTRAINT visit_counts_pkey PRIMARY KEY (crawl, slot);

ALTER TABLE ONLY shoal.visits
    ADD CONSTRAINT visits_pkey PRIMARY KEY (spider, fp);

CREATE INDEX fetches_at ON ONLY shoal.fetches USING btree (at, id);

CREATE INDEX fetches_fp ON ONLY shoal.fetches USING btree (fp, at);

CREATE INDEX record_versions_key ON ONLY shoal.record_versions USING btree (spider, kind, key, replaced_at);

CREATE INDEX records_change ON shoal.records USING btree (change);

CREATE INDEX records_identity ON shoal.records USING btree (spider, kind, identity, key, site) WHERE (identity IS NOT NULL);

CREATE INDEX records_site ON shoal.records USING btree (site, updated_at);

CREATE INDEX records_updated ON shoal.records USING btree (spider, updated_at);

CREATE INDEX records_url ON shoal.records USING hash (url);

CREATE INDEX rejected_crawl ON shoal.rejected USING btree (crawl);

CREATE INDEX rejected_kind ON shoal.rejected USING btree (spider, kind, id);

CREATE TRIGGER keep_version AFTER UPDATE ON shoal.records FOR EACH ROW WHEN ((new.keep_history AND (new.content_hash <> old.content_hash) AND (((new.gen <> old.gen) OR (new.epoch <> old.epoch)) OR (new.updated_at <> new.scraped_at)))) EXECUTE FUNCTION shoal.keep_version();
