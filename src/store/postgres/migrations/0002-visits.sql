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
  -- Of the write that came last: its crawl, what it found, and whether the same lease had written before.
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
