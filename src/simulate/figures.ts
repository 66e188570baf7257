/**
 * What a page and a URL cost: the measurements that sizing, cost and the simulator are computed from. `npm run bench -- sizing` measures them again on the
 * machine at hand, in two minutes, and fails if one is off by more than noise explains; docs/sizing.md says what they mean for a fleet.
 *
 * Measured on two cores of an AMD EPYC (a cloud machine of 2 vCPUs) with Node 20, Redis 7.0 and Postgres 15; pages of 10 KB with 42 links, one record
 * each, unless a comment says otherwise. CPU in microseconds, sizes in bytes.
 */
export const FIGURES = {
  /** A worker process with its queue in Redis and its records in Postgres. */
  worker: {
    /** A page read with rules (`fields`, `follow`), the process fully busy: calls to queue and store carry dozens of pages. */
    rulesUsPerPage: 300,
    /** The same with a handler that uses `page.$`, which builds the tree of a browser. */
    handlerUsPerPage: 1_300,
    /** The page of `rules` in a polite crawl of 200 pages/s: the process wakes up for a page or two, and hardly anything is shared. */
    politeUsPerPage: 950,
    /** What Node 24 needs of all these: 0.70 of 1.10 s for 1,000 pages of a crawl of 5,000, start-up included. Not part of the bench. */
    node24Share: 0.64,
    /** Loading and compiling, once per process. */
    startUs: 2_200_000,
    /** Peak of resident memory with 64 pages at once. */
    memoryBytes: 300_000_000,
    /** Pages at once, the default of `--concurrency` of a worker. */
    slots: 64,
  },

  /** A queue in Redis; more in `npm run bench -- frontier` and `npm run bench -- polite`. */
  redis: {
    /** Every call of a script, whatever it carries … */
    usPerCall: 75,
    /** … and for each URL that it carries: one that is new, … */
    usPerAdded: 4.5,
    /** … one that is known already (but not to the worker that found it, which remembers what it sent), … */
    usPerKnown: 2.5,
    /** … and one that is leased, released and settled. */
    usPerVisit: 26,
    /** Everything that Redis does for a page of the busy crawl and of the polite one. */
    busyUsPerPage: 42,
    politeUsPerPage: 250,
    busyCallsPerPage: 0.09,
    politeCallsPerPage: 0.9,
    /** What `appendonly yes` (everysec) does to the CPU of a visit: `npm run bench -- frontier`. */
    appendOnlyFactor: 1.2,
    /** A URL of 79 characters that waits with a hundred others of its host; with twenty others 87 bytes. The fingerprint comes in addition. */
    bytesPerQueued: 72,
    /** The fingerprint of a URL, which stays until the crawl is removed (`dedupe: 'exact'`); 10.6 at ten million. */
    bytesPerSeen: 11.5,
    /** The same as a Bloom filter (`dedupe: 'bloom'`, one in a thousand wrongly known), well filled: `npm run bench -- frontier`. */
    bytesPerSeenBloom: 2,
    /** A host that has been visited: its pace and its lanes. */
    bytesPerHost: 400,
    /** Between a worker and Redis, both directions, polite crawl. */
    networkBytesPerPage: 860,
  },

  /** Queue and records in one SQLite file. A URL that is done stays in the file, with what became of it. */
  sqlite: {
    bytesPerQueued: 187,
    bytesPerDone: 210,
    /** With 1 KB of data. */
    bytesPerRecord: 1_438,
    bytesPerFetch: 145,
  },

  /** Records in Postgres with 1 KB of data each, written 50 at a time. Sizes include the indexes. */
  postgres: {
    bytesPerRecord: 2_220,
    bytesPerFetch: 323,
    /** All processes of the server, for a record. */
    usPerRecord: 33,
    /** The same for a page of the polite crawl, with a small record and a row of the fetch log: a commit carries a few pages. */
    politeUsPerPage: 135,
    /** WAL of a record with its fetch, outside of the full pages that follow a checkpoint. */
    walBytesPerPage: 2_410,
    /** Between a worker and Postgres, both directions, without the data of the record. */
    networkBytesPerPage: 640,
  },

  /** Raw pages (`savePages`): `npm run bench -- pages` and docs/pages.md. */
  rawPages: {
    /** What brotli leaves of pages as they are on the web. Those of the benchmark are repetitive and shrink to a twelfth. */
    compressedShare: 0.2,
    indexBytesPerPage: 150,
    /** CPU of the worker to compress a page of 10 KB and send it to S3. */
    usPerPage: 230,
    /** S3 requests a page in a busy crawl; 0.3 in a polite one. */
    s3PutsPerPage: 0.014,
  },

  /** A page in Chromium (`render`): docs/browser.md. */
  browser: {
    usPerPage: 1_000_000,
    bytesPerContext: 120_000_000,
  },
} as const
