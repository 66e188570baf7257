-- How often the rules, fields and routes of a crawl found something.
CREATE TABLE shoal.match_stats (
  crawl    text COLLATE "C" NOT NULL,
  -- route, rule or field.
  part     text COLLATE "C" NOT NULL,
  -- The route, or the kind of record that has the field.
  part_of  text COLLATE "C" NOT NULL,
  name     text COLLATE "C" NOT NULL,
  selector text COLLATE "C" NOT NULL,
  seen     bigint NOT NULL,
  matched  bigint NOT NULL,
  -- The first page on which it found nothing.
  example  text NOT NULL,
  PRIMARY KEY (crawl, part, part_of, name, selector)
);
