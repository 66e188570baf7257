/**
 * Which tests run together. A test file that is named nowhere here is quick: it starts no process, so it needs no server, and 150 such files
 * share two processes. One that starts a process all the same fails with the name of the list below (`support/quick.ts`).
 */

/** Real servers (Redis, Postgres, Chromium …), the command line in a process of its own, or another program. */
export const NEEDS_PROCESSES = [
  'test/api/{crowd,hostile,routes}.test.ts',
  'test/bench.test.ts',
  'test/bitflips/bitflips.test.ts',
  'test/chaos/{chaos,stale-writer}.test.ts',
  'test/cli/*.test.ts',
  'test/cli/top/top.test.ts',
  'test/connect-postgres.test.ts',
  'test/connect.test.ts',
  'test/coordinator/lost-redis.test.ts',
  'test/dashboard/{axe,many-hosts,orders,page}.test.ts',
  'test/demo/launch.test.ts',
  'test/discovery/sql.test.ts',
  'test/docs-examples.test.ts',
  'test/docs.test.ts',
  'test/e2e/*.test.ts',
  'test/embedded.test.ts',
  'test/feed/redis-feed.test.ts',
  'test/fetch/{latency,like-chromium}.test.ts',
  'test/fetch/servers/oracle.test.ts',
  'test/fetch/browser/{browser-fetcher,hostile-pages,orphans,proxies,ssrf}.test.ts',
  'test/frontier/redis/*.test.ts',
  'test/keeper/keeper-thread.test.ts',
  'test/kubernetes/kubectl.test.ts',
  'test/mutants/mutants.test.ts',
  'test/notes/redis.test.ts',
  'test/observe/metrics/monitor-redis.test.ts',
  'test/observe/snapshots/advice-caused.test.ts',
  'test/oracle/oracle.test.ts',
  'test/outlets/*.test.ts',
  'test/pack.test.ts',
  'test/proxy/{cluster-ledger,docs,redis-ledger,wired-ledger}.test.ts',
  'test/redis/{acl,cluster,connection,sentinel,server-clock,start-up-checks}.test.ts',
  'test/run/alerts/*.test.ts',
  'test/run/seeds/seed-files.test.ts',
  'test/run/{crawl-starter,schedules}.test.ts',
  'test/run/reparse/reparse.test.ts',
  'test/run/workers/{drain-watch,start-workers,supervise,worker-process}.test.ts',
  'test/scripts/release.test.ts',
  'test/store/{blob-index,corpus,incremental-export,mysql-export,sql-export}.test.ts',
  'test/store/postgres/*.test.ts',
  'test/store/s3/*.test.ts',
  'test/support/{postgres-server,redis-server,tcp-proxy}.test.ts',
  'test/upgrade/previous-build.test.ts',
  'test/worker/{away-pages,busy-worker,closed-host,render}.test.ts',
]

/**
 * Several servers or worker processes of their own, which wait for one another more than they work: two of these at a time fill two cores.
 * The gaps between requests that some of them measure are half a second and more, or may be half as long as they should.
 */
export const IN_PAIRS = [
  'test/e2e/{dashboard,dead-worker,fleet,kill,proxies,sitemaps}.test.ts',
  'test/frontier/redis/cluster-frontier.test.ts',
]

/** What is judged by the milliseconds in the log of a site has the machine to itself. */
export const ALONE = [
  'test/chaos/chaos.test.ts',
  'test/e2e/{many-hosts,politeness,throttle}.test.ts',
  'test/observe/snapshots/advice-caused.test.ts',
]

/** Started first, the longest before the others: the mutants, last and alone, had kept one of two cores idle for a minute. */
export const LONG = [
  'test/mutants/mutants.test.ts',
  'test/e2e/bad-input.test.ts',
  'test/e2e/pages.test.ts',
  'test/frontier/redis/frontier.test.ts',
  'test/frontier/redis/cluster-frontier.test.ts',
  'test/e2e/proxies.test.ts',
  'test/e2e/dashboard.test.ts',
  'test/frontier/sqlite.test.ts',
  'test/frontier/memory.test.ts',
  'test/corpus/corpus.test.ts',
]
