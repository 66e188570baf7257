-- Records, the log of fetches and what a crawl must remember outside its queue.
-- Every statement of Shoal names the schema `shoal`; ?schema= in the address replaces it.

CREATE TABLE shoal.settings (
  name text PRIMARY KEY,
  value text NOT NULL
);
-- Distinguishes a restored or copied database from its original: a cursor of another database must not be followed.
INSERT INTO shoal.settings (name, value) VALUES ('identity', gen_random_uuid()::text), ('partition', 'month');

-- Transaction numbers start again in a cluster that a dump is restored into: from then on this is added to them.
INSERT INTO shoal.settings (name, value) VALUES ('change_offset', '0');
-- Every transaction still in progress comes after this.
CREATE FUNCTION shoal.changes_end() RETURNS bigint LANGUAGE sql STABLE AS $$
  SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint - 1 + value::bigint FROM shoal.settings WHERE name = 'change_offset'
$$;

-- One row for each thing that a spider found. Text that is compared is compared byte by byte: an index outlives the upgrade of a locale.
CREATE TABLE shoal.records (
  spider        text COLLATE "C" NOT NULL,
  site          text COLLATE "C" NOT NULL,
  kind          text COLLATE "C" NOT NULL,
  key           text COLLATE "C" NOT NULL,
  url           text COLLATE "C" NOT NULL,
  domain        text COLLATE "C" NOT NULL,
  data          jsonb NOT NULL,
  -- Of the data as the spider gave it, and of the identity: what is equal here did not change.
  content_hash  bytea NOT NULL,
  identity      text COLLATE "C",
  crawl         text COLLATE "C" NOT NULL,
  gen           bigint NOT NULL,
  epoch         bigint NOT NULL,
  first_seen_at timestamptz NOT NULL,
  updated_at    timestamptz NOT NULL,
  scraped_at    timestamptz NOT NULL,
  -- The transaction that changed the content last: the order of the change stream.
  change        bigint NOT NULL,
  -- Of the write that came last: its index in the batch, its status, and the crawl before it.
  last_write    integer NOT NULL,
  last_crawl    text COLLATE "C" NOT NULL,
  fresh_ms      bigint NOT NULL,
  keep_history  boolean NOT NULL,
  PRIMARY KEY (spider, kind, key, site)
) WITH (fillfactor = 80);

-- The fill factor leaves room in each page, and no index has a column that a confirmation changes: confirming a record touches no index.
CREATE INDEX records_updated ON shoal.records (spider, updated_at);
CREATE INDEX records_site ON shoal.records (site, updated_at);
CREATE INDEX records_change ON shoal.records (change);
-- A hash index takes a URL of any length.
CREATE INDEX records_url ON shoal.records USING hash (url);
CREATE INDEX records_identity ON shoal.records (spider, kind, identity, key, site) WHERE identity IS NOT NULL;

-- What a change replaced, of kinds with `history: true`.
CREATE TABLE shoal.record_versions (
  spider      text COLLATE "C" NOT NULL,
  site        text COLLATE "C" NOT NULL,
  kind        text COLLATE "C" NOT NULL,
  key         text COLLATE "C" NOT NULL,
  url         text COLLATE "C" NOT NULL,
  data        jsonb NOT NULL,
  crawl       text COLLATE "C" NOT NULL,
  gen         bigint NOT NULL,
  epoch       bigint NOT NULL,
  updated_at  timestamptz NOT NULL,
  replaced_at timestamptz NOT NULL
) PARTITION BY RANGE (replaced_at);
CREATE INDEX record_versions_key ON shoal.record_versions (spider, kind, key, replaced_at);

CREATE FUNCTION shoal.keep_version() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO shoal.record_versions (spider, site, kind, key, url, data, crawl, gen, epoch, updated_at, replaced_at)
  VALUES (OLD.spider, OLD.site, OLD.kind, OLD.key, OLD.url, OLD.data, OLD.crawl, OLD.gen, OLD.epoch, OLD.updated_at, NEW.updated_at);
  RETURN NULL;
END $$;
-- A trigger, because only it sees the replaced row under the lock of the upsert. Its condition costs nothing where no history is asked for.
CREATE TRIGGER keep_version AFTER UPDATE ON shoal.records FOR EACH ROW
  WHEN (NEW.keep_history AND NEW.content_hash <> OLD.content_hash
    -- What the same lease corrects is not a version of its own, unless a reparse did it.
    AND ((NEW.gen, NEW.epoch) <> (OLD.gen, OLD.epoch) OR NEW.updated_at <> NEW.scraped_at))
  EXECUTE FUNCTION shoal.keep_version();

-- Rows of each kind and crawl. Writers at the same time count in different slots and never wait for each other here.
CREATE TABLE shoal.record_counts (
  spider    text COLLATE "C" NOT NULL,
  kind      text COLLATE "C" NOT NULL,
  crawl     text COLLATE "C" NOT NULL,
  slot      smallint NOT NULL,
  records   bigint NOT NULL,
  rejected  bigint NOT NULL,
  fresh     bigint NOT NULL,
  unchanged bigint NOT NULL,
  PRIMARY KEY (spider, kind, crawl, slot)
) WITH (fillfactor = 50);

-- Records that did not fit their schema, or that could not be stored, with the reason.
CREATE TABLE shoal.rejected (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  spider     text COLLATE "C" NOT NULL,
  site       text COLLATE "C" NOT NULL,
  kind       text COLLATE "C" NOT NULL,
  key        text COLLATE "C" NOT NULL,
  url        text COLLATE "C" NOT NULL,
  data       jsonb NOT NULL,
  issues     jsonb NOT NULL,
  reason     text NOT NULL,
  crawl      text COLLATE "C" NOT NULL,
  scraped_at timestamptz NOT NULL,
  -- Of the whole row: a repeated write keeps it once.
  row_hash   bytea NOT NULL UNIQUE
);
CREATE INDEX rejected_kind ON shoal.rejected (spider, kind, id);
CREATE INDEX rejected_crawl ON shoal.rejected (crawl);

-- One row for each fetch. Partitions are created ahead (see partitions.ts).
CREATE SEQUENCE shoal.fetch_ids;
CREATE TABLE shoal.fetches (
  id       bigint NOT NULL DEFAULT nextval('shoal.fetch_ids'),
  at       timestamptz NOT NULL,
  spider   text COLLATE "C" NOT NULL,
  crawl    text COLLATE "C" NOT NULL,
  fp       bigint NOT NULL,
  url      text COLLATE "C" NOT NULL,
  host     text COLLATE "C" NOT NULL,
  route    text COLLATE "C" NOT NULL,
  depth    integer NOT NULL,
  link     jsonb,
  status   smallint NOT NULL,
  bytes    bigint NOT NULL,
  ms       double precision NOT NULL,
  attempt  integer NOT NULL,
  worker   text COLLATE "C" NOT NULL,
  pool     text COLLATE "C",
  error    text COLLATE "C",
  page     text COLLATE "C",
  headers  jsonb,
  gen      bigint NOT NULL,
  epoch    bigint NOT NULL
) PARTITION BY RANGE (at);
CREATE INDEX fetches_fp ON shoal.fetches (fp, at);
CREATE INDEX fetches_at ON shoal.fetches (at, id);

-- The generation of each queue, and the highest mark that was seen of it.
CREATE TABLE shoal.generations (
  queue_id text COLLATE "C" PRIMARY KEY,
  gen      bigint NOT NULL UNIQUE,
  mark     bigint NOT NULL DEFAULT 0
);

-- What must outlive the queue.
CREATE TABLE shoal.crawl_notes (
  crawl     text COLLATE "C" PRIMARY KEY,
  spider    text COLLATE "C" NOT NULL,
  queue     text NOT NULL,
  queue_id  text COLLATE "C" NOT NULL,
  state     text NOT NULL,
  spec      jsonb NOT NULL,
  opened_at timestamptz NOT NULL,
  -- Where the change stream ended when the crawl was first noted.
  changes_from bigint NOT NULL DEFAULT shoal.changes_end()
);
CREATE TABLE shoal.seed_cursors (
  crawl   text COLLATE "C" NOT NULL,
  source  text COLLATE "C" NOT NULL,
  entries bigint NOT NULL,
  PRIMARY KEY (crawl, source)
);

-- How far each sink has read the change stream, and which process delivers to it. -1 is before everything.
CREATE TABLE shoal.outlets (
  name       text COLLATE "C" PRIMARY KEY,
  id         text NOT NULL DEFAULT gen_random_uuid()::text,
  spider     text COLLATE "C" NOT NULL,
  kinds      text[],
  position   bigint NOT NULL DEFAULT -1,
  epoch      bigint NOT NULL DEFAULT 0,
  holder     text,
  held_until timestamptz NOT NULL DEFAULT '-infinity',
  sent       bigint NOT NULL DEFAULT 0,
  sent_at    timestamptz,
  trimmed    bigint NOT NULL DEFAULT 0,
  error      text,
  stopped    boolean NOT NULL DEFAULT false
);

-- What the fields of each kind held, by the hour.
CREATE TABLE shoal.field_stats (
  spider   text COLLATE "C" NOT NULL,
  kind     text COLLATE "C" NOT NULL,
  -- '': all sites together.
  site     text COLLATE "C" NOT NULL,
  -- '': the record as a whole: filled are the accepted ones, failed the rejected ones.
  field    text COLLATE "C" NOT NULL,
  hour     timestamptz NOT NULL,
  filled   bigint NOT NULL,
  failed   bigint NOT NULL,
  -- Filled values by their type.
  texts    bigint NOT NULL,
  numbers  bigint NOT NULL,
  booleans bigint NOT NULL,
  lists    bigint NOT NULL,
  objects  bigint NOT NULL,
  -- The smallest hashes of the values: how many are distinct.
  sketch   integer[] NOT NULL,
  PRIMARY KEY (spider, kind, site, field, hour)
) WITH (fillfactor = 50);

-- Which pack holds a raw page and where in it, for each place that has the page.
CREATE TABLE shoal.blobs (
  place  text COLLATE "C" NOT NULL,
  hash   bytea NOT NULL,
  pack   text COLLATE "C" NOT NULL,
  start  bigint NOT NULL,
  length bigint NOT NULL,
  codec  text NOT NULL,
  bytes  bigint NOT NULL,
  PRIMARY KEY (place, hash)
);

-- What the last visit of each page left, for spiders that recrawl.
CREATE TABLE shoal.visits (
  spider        text COLLATE "C" NOT NULL,
  fp            bigint NOT NULL,
  gen           bigint NOT NULL,
  epoch         bigint NOT NULL,
  at            timestamptz NOT NULL,
  url           text COLLATE "C" NOT NULL,
  etag          text COLLATE "C",
  last_modified text COLLATE "C",
  body_hash     bytea NOT NULL,
  read_as       bytea NOT NULL,
  page          text COLLATE "C",
  memo          bytea NOT NULL,
  -- Of the write that came last: its crawl, its result, and whether the same lease had written before.
  crawl         text COLLATE "C" NOT NULL,
  result        text NOT NULL,
  repeated      boolean NOT NULL,
  PRIMARY KEY (spider, fp)
) WITH (fillfactor = 80);
-- It is compressed already.
ALTER TABLE shoal.visits ALTER COLUMN memo SET STORAGE EXTERNAL;

CREATE TABLE shoal.visit_counts (
  crawl        text COLLATE "C" NOT NULL,
  slot         smallint NOT NULL,
  first_time   bigint NOT NULL,
  changed      bigint NOT NULL,
  not_modified bigint NOT NULL,
  same_body    bigint NOT NULL,
  PRIMARY KEY (crawl, slot)
) WITH (fillfactor = 50);

-- What people did by hand; the oldest entries are deleted.
CREATE TABLE shoal.audit (
  id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at      timestamptz NOT NULL,
  by      text NOT NULL,
  action  text NOT NULL,
  target  text NOT NULL,
  details jsonb NOT NULL,
  result  text NOT NULL
);
