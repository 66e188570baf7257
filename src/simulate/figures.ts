/**
 * What a page and a URL cost: the measurements that sizing, cost and the simulator are computed from. `npm run bench -- sizing` measures all of them
 * again, on the machine at hand, and fails if one is off by more than noise explains; docs/sizing.md says what they mean for a fleet.
 *
 * Measured on two cores of an AMD EPYC (a cloud machine of 2 vCPUs) with Node 20, Redis 7.0 and Postgres 15; pages of 10 KB with 42 links, one record
 * each, unless a comment says otherwise. CPU in microseconds, sizes in bytes.
 */
export const FIGURES = {
  /** A worker process: `npm run bench -- sizing`, parts `worker` and `polite`. */
  worker: {
    /** A page read with rules (`fields`, `follow`), the process fully busy: calls to the queue carry dozens of links. */
    rulesUsPerPage: 400,
    /** A page with a handler that uses `page.$`: the tree of a browser is built. */
    handlerUsPerPage: 1_400,
    /** The same page in a polite crawl of 200 pages/s: the process wakes up for a link or two, so nothing is shared. It is idle two thirds of the time. */
    politeUsPerPage: 1_400,
    /** Of these, what Node 24 needs: 0.70 of 1.10 s for 1,000 pages of a crawl of 5,000, start-up included. */
    node24Share: 0.64,
    /** Loading and compiling, once per process. */
    startUs: 2_000_000,
    /** Resident memory of a process after 200,000 pages, 64 at once (`npm run bench -- memory`). */
    memoryBytes: 190_000_000,
    /** Pages at once, the default of `--concurrency`. */
    slots: 64,
  },

  /** A queue in Redis: `npm run bench -- sizing`, part `redis`; more in `npm run bench -- frontier` and `-- polite`. */
  redis: {
    /** Every call of a script, whatever it carries. */
    usPerCall: 120,
    /** In addition, for each URL that a call carries: one that is new … */
    usPerAdded: 7.5,
    /** … one that is known already, and not to the worker that found it … */
    usPerKnown: 4,
    /** … and one that is leased, released and settled. */
    usPerVisit: 30,
    /** Calls a page of a polite crawl: every visit ends alone. */
    politeCallsPerPage: 1.4,
    /** The same of a busy crawl, with calls that carry dozens of links. */
    busyCallsPerPage: 0.1,
    /** What `appendonly yes` adds to the CPU of a call. */
    appendOnlyFactor: 1.2,
    /** A URL of 79 characters that waits, without its fingerprint. */
    bytesPerQueued: 90,
    /** The fingerprint of a URL, which stays until the crawl is removed (`dedupe: 'exact'`). */
    bytesPerSeen: 10.6,
    /** A host that has been asked: its pace and its lanes. */
    bytesPerHost: 380,
    /** A Bloom filter instead of fingerprints (`dedupe: 'bloom'`, one in a thousand wrongly known). */
    bytesPerSeenBloom: 2,
    /** Between a worker and Redis, both directions, for a page with two new links. */
    networkBytesPerPage: 1_500,
  },

  /** A queue and records in one SQLite file: part `sqlite`. */
  sqlite: {
    bytesPerQueued: 330,
    bytesPerSeen: 130,
    bytesPerRecord: 1_500,
    bytesPerFetch: 250,
  },

  /** Records in Postgres, with 1 KB of data each: part `postgres`. Sizes include the indexes. */
  postgres: {
    bytesPerRecord: 2_230,
    bytesPerFetch: 315,
    /** A record and a fetch, written in batches of a worker. */
    usPerRecord: 120,
    usPerFetch: 25,
    /** WAL of a record with its fetch, outside of the full pages that follow a checkpoint. */
    walBytesPerPage: 2_600,
    networkBytesPerPage: 2_200,
  },

  /** Raw pages (`savePages`): docs/pages.md. */
  rawPages: {
    /** Of the bytes of a page, what brotli leaves of pages as they are on the web; those of the benchmark are repetitive and shrink to a twelfth. */
    compressedShare: 0.2,
    indexBytesPerPage: 150,
    usPerPage: 230,
    /** S3 requests a page: busy crawl; one page at a time needs one each. */
    s3PutsPerPage: 0.014,
  },

  /** A page in Chromium (`render`): docs/browser.md. */
  browser: {
    usPerPage: 1_000_000,
    bytesPerContext: 120_000_000,
  },
} as const
