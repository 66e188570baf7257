/**
 * Every error a user or the worker can meet, in one table. The code says what happens next:
 *   retry     the page may work later: costs an attempt
 *   dead      the page will not work: straight to the dead letters
 *   skipped   the page must not be fetched (robots, scope): ends without a fetch, is no failure
 *   throttle  the host asks for time: costs no attempt, slows the host for everybody
 *   backend    our own servers or machine: costs nothing, work waits
 *   stop      the user must change something: the command ends
 * docs/errors.md is generated from this table (npm run docs).
 */
export type Next = 'retry' | 'dead' | 'skipped' | 'throttle' | 'backend' | 'stop'

/** Exit codes of the command line; docs/exit-codes.md is generated from this table. */
export const EXIT = {
  ok: {
    code: 0,
    meaning: 'The command did what was asked. A crawl that finished with some dead letters is still a finished crawl.',
  },
  bug: { code: 1, meaning: 'A defect in Shoal itself (code `internal`).' },
  usage: { code: 2, meaning: 'The command line is wrong: unknown command or option, missing argument, bad value.' },
  spider: { code: 3, meaning: 'The spider file or the configuration is wrong.' },
  backend: { code: 4, meaning: 'The database, the disk or another server of ours cannot be used.' },
  notFound: { code: 5, meaning: 'What was asked for does not exist: crawl, record, dead letter, URL.' },
  nothingFetched: {
    code: 6,
    meaning:
      'The crawl ended and not one page was fetched, `try` could not fetch its page, `reparse` could read none of its pages, or `proxies test` found no proxy that works.',
  },
  stalled: {
    code: 7,
    meaning:
      'Health is red: work is due, and nothing was leased or settled for 15 s (`status`, `doctor`). A queue that is away ends them with 4.',
  },
  lost: {
    code: 8,
    meaning: 'The queue lost the state of the crawl; `shoal recover` adds its seeds and known pages again.',
  },
  interrupted: {
    code: 130,
    meaning: 'Ctrl-C (SIGINT): what was in hand was finished, the rest handed back; run again to resume.',
  },
  terminated: { code: 143, meaning: 'SIGTERM: as for Ctrl-C. A `worker` that could drain ends with 0 after either.' },
} as const

export type ExitName = keyof typeof EXIT

interface ErrorRow {
  readonly next: Next
  readonly meaning: string
  /** What the reader can do about it; one sentence. */
  readonly hint: string
  /** Exit code of a command that ends with this error; `usage` unless said otherwise. */
  readonly exitCode?: ExitName
}

export const ERRORS = {
  // The user's own files and flags
  usage: {
    next: 'stop',
    exitCode: 'usage',
    meaning: 'The command line is wrong.',
    hint: 'Run the command with --help.',
  },
  spider_missing: {
    next: 'stop',
    exitCode: 'spider',
    meaning: 'The spider file does not exist.',
    hint: 'Check the path, or make one with `shoal init`.',
  },
  spider_syntax: {
    next: 'stop',
    exitCode: 'spider',
    meaning: 'The spider file cannot be loaded.',
    hint: 'Correct the line named in the message.',
  },
  spider_invalid: {
    next: 'stop',
    exitCode: 'spider',
    meaning: 'The spider has a missing, wrong or unknown option.',
    hint: 'Correct the option named in the message.',
  },
  config_invalid: {
    next: 'stop',
    exitCode: 'spider',
    meaning: 'A configuration value is wrong or unknown.',
    hint: 'See docs/configuration.md.',
  },
  bad_duration: {
    next: 'stop',
    exitCode: 'spider',
    meaning: 'A duration cannot be read.',
    hint: "Write a number with a unit: '500ms', '2s', '5min', '1h', '7d'.",
  },
  bad_rate: {
    next: 'stop',
    exitCode: 'spider',
    meaning: 'A rate cannot be read.',
    hint: "Write a count per unit: '5/s', '60/min', '1000/h'.",
  },
  bad_template: {
    next: 'stop',
    exitCode: 'spider',
    meaning: 'A template of URLs cannot be read, or stands for too many.',
    hint: "Write ranges like '{1..100}' and lists like '{a,b}'.",
  },
  seeds_unreadable: {
    next: 'stop',
    exitCode: 'backend',
    meaning: 'A source of seeds that was named cannot be read: a sitemap, a feed, a file, a query.',
    hint: 'Correct the source named in the message; the same command goes on where the seeds were.',
  },
  bad_listing: {
    next: 'dead',
    meaning: 'A file that should be a sitemap or a feed is neither.',
    hint: 'Open it in a browser: it may be a page.',
  },
  bad_selector: {
    next: 'stop',
    exitCode: 'spider',
    meaning: 'A CSS selector cannot be read.',
    hint: 'Correct the selector named in the message.',
  },
  not_found: {
    next: 'stop',
    exitCode: 'notFound',
    meaning: 'What was asked for does not exist.',
    hint: 'List what there is: `shoal crawls list`.',
  },
  crawl_ended: {
    next: 'stop',
    exitCode: 'notFound',
    meaning: 'The crawl has ended and cannot be changed in this way.',
    hint: 'Start a new one with `shoal run`.',
  },
  crawl_lost: {
    next: 'stop',
    exitCode: 'lost',
    meaning: 'The queue came back empty, or older than it was, and the crawl with it.',
    hint: 'Add its seeds and known pages again: `shoal recover <crawl>`.',
  },
  cursor_foreign: {
    next: 'stop',
    exitCode: 'notFound',
    meaning: 'A cursor of the change feed belongs to another database, or to a past that a restore took away.',
    hint: 'Read again from the start, or from a cursor of this database.',
  },
  outlet_secret: {
    next: 'stop',
    exitCode: 'spider',
    meaning: 'The environment variable with the secret of a webhook is not set, or its value is not a valid secret.',
    hint: 'Set it for every process that runs workers of the spider.',
  },
  outlet_down: {
    next: 'stop',
    exitCode: 'backend',
    meaning: 'The sink of an outlet is away or busy, or another process feeds it; what it lacks waits in the store.',
    hint: 'See `shoal outlets list`; running workers try again by themselves.',
  },
  outlet_refused: {
    next: 'stop',
    exitCode: 'backend',
    meaning: 'The sink of an outlet refuses what it is given, so the outlet has stopped.',
    hint: 'Mend what the message says, then let it go on: `shoal outlets reset <spider> <outlet> --to here`.',
  },
  alerts_invalid: {
    next: 'stop',
    exitCode: 'spider',
    meaning: 'The file of alerts (`--alerts`) cannot be read, or has a missing, wrong or unknown option.',
    hint: 'Correct the option named in the message; docs/alerts.md has the format.',
  },
  alert_undelivered: {
    next: 'stop',
    exitCode: 'backend',
    meaning: 'A webhook or a command did not take the alert that `shoal alerts test` sent.',
    hint: 'Mend what the message says, and test again.',
  },
  out_unwritable: {
    next: 'stop',
    exitCode: 'backend',
    meaning: 'The output file cannot be written.',
    hint: 'Check the path and its permissions.',
  },
  interrupted: {
    next: 'stop',
    exitCode: 'interrupted',
    meaning: 'The command was interrupted before the crawl was opened.',
    hint: 'Nothing was begun; run it again.',
  },
  closed: {
    next: 'stop',
    meaning: 'The connection of the library was closed.',
    hint: 'Open another one with connect().',
  },
  wait_timeout: {
    next: 'stop',
    meaning: 'What was waited for did not come in time.',
    hint: 'Wait longer, or ask where the URL is: `shoal explain <url>`.',
  },
  internal: {
    next: 'stop',
    exitCode: 'bug',
    meaning: 'A defect in Shoal.',
    hint: 'Please report it with the command and the log (`--log-level debug`).',
  },

  // Doors: why a URL is not admitted
  bad_url: {
    next: 'skipped',
    exitCode: 'usage',
    meaning: 'It is not a URL.',
    hint: 'Write an absolute http or https URL.',
  },
  bad_scheme: {
    next: 'skipped',
    exitCode: 'usage',
    meaning: 'Only http and https can be fetched.',
    hint: 'Remove the link, or rewrite it to http or https.',
  },
  out_of_scope: {
    next: 'skipped',
    exitCode: 'usage',
    meaning: "The URL is outside the spider's scope.",
    hint: 'Add its host to scope.hosts, or widen scope.allow.',
  },
  no_route: {
    next: 'skipped',
    exitCode: 'usage',
    meaning: 'No route of the spider matches the URL.',
    hint: 'Add a route whose match covers it.',
  },
  no_group: {
    next: 'skipped',
    exitCode: 'usage',
    meaning: "No group of the spider's pace has this name.",
    hint: 'Add it to pace.groups, or correct the name.',
  },
  url_too_long: {
    next: 'skipped',
    exitCode: 'usage',
    meaning: 'The URL is longer than the limit.',
    hint: 'Raise scope.maxUrlLength if the site really needs it.',
  },
  too_deep: {
    next: 'skipped',
    exitCode: 'usage',
    meaning: 'The link is deeper than scope.maxDepth.',
    hint: 'Raise scope.maxDepth.',
  },
  trap: {
    next: 'skipped',
    exitCode: 'usage',
    meaning: 'The URL looks like a crawler trap.',
    hint: 'Switch the guard named in the message off in scope.traps.',
  },
  budget: {
    next: 'skipped',
    exitCode: 'usage',
    meaning: 'A budget of the crawl or of the host is used up.',
    hint: 'Raise the budget named in the message.',
  },
  robots_disallowed: {
    next: 'skipped',
    meaning: 'robots.txt forbids the URL.',
    hint: 'Respect it, or set robots: false for a site that is yours.',
  },
  private_address: {
    next: 'dead',
    exitCode: 'usage',
    meaning: 'The address is private, loopback or reserved, and not on the allow list.',
    hint: "Add 'host:port' to the spider's allowPrivate if you mean it.",
  },
  blocked_port: {
    next: 'dead',
    exitCode: 'usage',
    meaning: 'The port belongs to a service that is never a web site.',
    hint: "Add 'host:port' to the spider's allowPrivate if you mean it.",
  },

  // The page and its server
  dns_not_found: { next: 'dead', meaning: 'The host name does not exist.', hint: 'Check the host name.' },
  dns_error: {
    next: 'retry',
    meaning: 'The host name could not be resolved.',
    hint: 'Try again later; check the resolver of this machine.',
  },
  connect_error: {
    next: 'retry',
    meaning: 'No connection to the host.',
    hint: 'Is the site up? Check with a browser.',
  },
  tls_error: {
    next: 'dead',
    meaning: 'The TLS handshake or the certificate failed.',
    hint: 'The site must mend its certificate; Shoal never ignores it.',
  },
  timeout: {
    next: 'retry',
    meaning: 'The page took longer than its deadline.',
    hint: 'Raise fetch.timeout, or lower the pace.',
  },
  truncated: { next: 'retry', meaning: 'The body ended early.', hint: 'It is fetched again by itself.' },
  protocol_error: { next: 'retry', meaning: "The server's answer is not HTTP.", hint: 'Check the URL and its port.' },
  headers_too_large: {
    next: 'dead',
    meaning: 'The response headers are larger than the limit.',
    hint: 'Raise fetch.maxHeaderBytes.',
  },
  too_large: {
    next: 'dead',
    meaning: 'The body is larger than the limit after decoding.',
    hint: 'Raise fetch.maxBodyBytes if the page is wanted.',
  },
  decode_error: {
    next: 'dead',
    meaning: 'The content encoding is broken or not supported.',
    hint: 'Look at the page with curl --raw.',
  },
  too_many_redirects: {
    next: 'dead',
    meaning: 'More redirects than the limit, or a loop.',
    hint: 'Open the URL in a browser; raise fetch.maxRedirects if it is a long chain.',
  },
  bad_redirect: {
    next: 'dead',
    meaning: 'The redirect leads to something that must not be fetched.',
    hint: 'The message names the target and the reason.',
  },
  http_error: { next: 'dead', meaning: 'The server answered with a client error (4xx).', hint: 'Check the URL.' },
  server_error: {
    next: 'retry',
    meaning: 'The server answered with an error (5xx).',
    hint: 'It is tried again by itself.',
  },
  proxy_error: {
    next: 'throttle',
    meaning: 'The proxy itself does not work: no connection to it, or it refuses our login.',
    hint: 'The proxy rests and another is taken. Look at `shoal proxies list`, and test it with `shoal proxies test`.',
  },
  proxies_resting: {
    next: 'backend',
    exitCode: 'backend',
    meaning: 'Every proxy of the pool rests after bans or failures; the link waits, at no cost.',
    hint: 'See when the first is back with `shoal proxies list`, or add proxies to the pool.',
  },
  proxy_unknown: {
    next: 'stop',
    exitCode: 'spider',
    meaning: 'The spider or the command names a pool of proxies that this process does not have.',
    hint: 'Name the file with --proxies, or correct the name; docs/proxies.md has the format.',
  },
  proxy_banned: {
    next: 'throttle',
    meaning: 'The site refuses this proxy (403, 429, a captcha); another one is tried, at no cost.',
    hint: 'Slow down the pace for each proxy, or use a pool of another kind.',
  },
  not_rendered: {
    next: 'retry',
    meaning: 'The page was rendered, and what its route waits for did not appear.',
    hint: 'Look at the screenshot (`shoal pages screenshot <url>`); correct render.wait, or raise render.settle.',
  },
  traces_missing: {
    next: 'stop',
    exitCode: 'backend',
    meaning: 'Traces are switched on, and the package of OpenTelemetry is not there.',
    hint: 'Install it with an SDK: `npm install @opentelemetry/api @opentelemetry/sdk-node`; docs/logs.md has an example.',
  },
  browser_missing: {
    next: 'backend',
    exitCode: 'backend',
    meaning: 'A route renders its pages, and there is no browser or no package to drive one.',
    hint: 'Install both: `npm install playwright-core`, and Chromium (Debian: `apt-get install chromium`); or name one with SHOAL_BROWSER.',
  },
  browser_unusable: {
    next: 'backend',
    exitCode: 'backend',
    meaning: 'There is a browser, but it does not start: a library is missing, or its sandbox does not work.',
    hint: 'Start it by hand, without a window, to see what it lacks, or name another with SHOAL_BROWSER.',
  },
  browser_busy: {
    next: 'backend',
    exitCode: 'backend',
    meaning: 'All tabs of the browser were in use for too long; the link waits, at no cost.',
    hint: 'Lower --concurrency, raise --browser-pages, or render fewer routes.',
  },
  browser_crashed: {
    next: 'retry',
    exitCode: 'backend',
    meaning: 'The browser, or the page in it, crashed.',
    hint: 'It is tried again in a new browser; if all pages do so, run Chromium by hand to see what it lacks.',
  },
  throttled: {
    next: 'throttle',
    meaning: 'The server asked for a slower pace (429 or 503).',
    hint: 'Lower the pace of the host.',
  },
  robots_unreachable: {
    next: 'throttle',
    meaning: 'robots.txt could not be read, so nothing may be fetched yet (RFC 9309).',
    hint: 'It is tried again by itself.',
  },
  html_too_complex: {
    next: 'dead',
    meaning: 'The HTML is nested deeper, or holds more, than can be read in reasonable time.',
    hint: 'It is a broken or hostile page; read page.text in a handler if it is wanted.',
  },

  // The spider's code
  login_failed: {
    next: 'retry',
    exitCode: 'spider',
    meaning: "The login of the spider's session failed; the session is over, and the page is tried with another.",
    hint: 'Run `shoal try <spider> <url>` to see it; replay the dead letters after mending it.',
  },
  handler_error: {
    next: 'retry',
    exitCode: 'spider',
    meaning: "The route's handler threw.",
    hint: 'Run `shoal try <spider> <url>` to see it; replay the dead letters after mending it.',
  },
  handler_timeout: {
    next: 'retry',
    meaning: "The route's handler did not end before its deadline.",
    hint: 'Raise handlerTimeout, or make the handler shorter.',
  },
  poison: {
    next: 'dead',
    meaning: 'The worker died each time it visited the URL.',
    hint: 'Run `shoal try <spider> <url>` and watch its memory.',
  },
  record_rejected: {
    next: 'dead',
    meaning: 'A record does not fit its schema; it is kept with its raw data.',
    hint: 'See `shoal records rejected`.',
  },
  too_many_links: {
    next: 'dead',
    meaning: 'The page has more links than the limit; the rest was counted and left.',
    hint: 'Raise scope.maxLinksPerPage.',
  },

  // The backends: our own servers
  db_unwritable: {
    next: 'backend',
    exitCode: 'backend',
    meaning: 'The database file cannot be opened or written.',
    hint: 'Check the path and its permissions.',
  },
  db_corrupt: {
    next: 'backend',
    exitCode: 'backend',
    meaning: 'The database file is not a database, or is damaged.',
    hint: 'Move it away and run again, or restore a copy.',
  },
  db_newer: {
    next: 'backend',
    exitCode: 'backend',
    meaning: 'The database was written by a newer version of Shoal.',
    hint: 'Upgrade Shoal, or use another file with --queue and --store.',
  },
  db_busy: {
    next: 'backend',
    exitCode: 'backend',
    meaning: 'The database is locked by another process.',
    hint: 'It is tried again by itself; stop other users of the file if it stays.',
  },
  disk_full: {
    next: 'backend',
    exitCode: 'backend',
    meaning: 'The disk is full.',
    hint: 'Free some space and run again; nothing that was acknowledged is lost.',
  },
  no_sockets: {
    next: 'backend',
    exitCode: 'backend',
    meaning: 'This machine has no sockets or file descriptors left.',
    hint: 'Raise `ulimit -n`, or lower --concurrency.',
  },
  removed: {
    next: 'skipped',
    meaning: 'The URL was removed from the queue by hand.',
    hint: 'Nothing to do. To visit it after all, begin a new crawl.',
  },
  aborted: {
    next: 'backend',
    exitCode: 'backend',
    meaning: 'The fetch was given up by its own worker: it is stopping, or the lease was lost.',
    hint: 'Nothing to do: the URL is handed out again.',
  },
  blobs_unwritable: {
    next: 'backend',
    exitCode: 'backend',
    meaning: 'The directory of raw pages cannot be read or written.',
    hint: 'Check the path and its permissions.',
  },
  pages_down: {
    next: 'backend',
    exitCode: 'backend',
    meaning: 'The S3 service of the raw pages is away or busy.',
    hint: 'Nothing to do: the same call is repeated until it is back, and no attempt is counted.',
  },
  pages_unreachable: {
    next: 'backend',
    exitCode: 'backend',
    meaning: 'No connection to the S3 service of the raw pages when the command began.',
    hint: 'Check the endpoint of --pages, and that the service runs.',
  },
  pages_missing: {
    next: 'backend',
    exitCode: 'backend',
    meaning: 'The bucket of the raw pages does not exist, or not in this region.',
    hint: 'Make it, or correct the bucket or the endpoint of --pages.',
  },
  pages_forbidden: {
    next: 'backend',
    exitCode: 'backend',
    meaning: 'There are no credentials for the bucket of the raw pages, or they do not allow what Shoal needs.',
    hint: 'Give them s3:ListBucket, s3:GetObject, s3:PutObject and s3:DeleteObject on the bucket (docs/pages.md).',
  },
  pages_address: {
    next: 'stop',
    exitCode: 'usage',
    meaning: 'The address of the raw pages cannot be read.',
    hint: 'Write --pages files:<folder>, or --pages s3://bucket/prefix?endpoint=https://…&region=….',
  },
  pages_driver: {
    next: 'backend',
    exitCode: 'backend',
    meaning: 'Raw pages in S3 need a package that is not installed.',
    hint: 'Install it: npm install @aws-sdk/client-s3',
  },
  dedupe_unsupported: {
    next: 'stop',
    exitCode: 'usage',
    meaning: 'The queue cannot remember seen URLs in the way the spider asks for.',
    hint: 'Leave dedupe out of the spider, or use a Redis queue.',
  },
  queue_down: {
    next: 'backend',
    exitCode: 'backend',
    meaning: 'The Redis of the queue is away, busy or full.',
    hint: 'Nothing to do: the same call is repeated until it is back, and no attempt is counted.',
  },
  store_down: {
    next: 'backend',
    exitCode: 'backend',
    meaning: 'The Postgres of the records is away or busy.',
    hint: 'Nothing to do: the same call is repeated until it is back, and no attempt is counted.',
  },
  store_full: {
    next: 'backend',
    exitCode: 'backend',
    meaning: 'The disk of the Postgres server is full.',
    hint: 'Free some space, or drop old fetches with `shoal retention`; work goes on by itself.',
  },
  store_unreachable: {
    next: 'backend',
    exitCode: 'backend',
    meaning: 'No connection to the Postgres of the records when the command began.',
    hint: 'Check host and port of --store, and that the server runs and has connections left.',
  },
  store_auth: {
    next: 'stop',
    exitCode: 'backend',
    meaning: 'Postgres refuses the user name or the password.',
    hint: 'Write them into the address: postgres://user:password@host/database (percent-encode @ : / in a password).',
  },
  store_missing: {
    next: 'stop',
    exitCode: 'backend',
    meaning: 'The Postgres server has no database of this name.',
    hint: 'Make it with `createdb <name>`; the tables are made by themselves.',
  },
  store_forbidden: {
    next: 'stop',
    exitCode: 'backend',
    meaning: 'The user of the Postgres store may not do what Shoal needs.',
    hint: 'Let the owner of the database run `shoal migrate`, and grant the user the schema as docs/results.md shows.',
  },
  store_tls: {
    next: 'stop',
    exitCode: 'backend',
    meaning: 'The TLS handshake with Postgres failed, or one side insists on TLS and the other has none.',
    hint: 'Say how in the address: ?sslmode=verify-full&sslrootcert=<file.pem>, or ?sslmode=disable.',
  },
  store_address: {
    next: 'stop',
    exitCode: 'usage',
    meaning: 'The address of the store cannot be read.',
    hint: 'Write --store postgres://user:password@host:port/database or --store sqlite:<file>.',
  },
  store_newer: {
    next: 'stop',
    exitCode: 'backend',
    meaning: 'The tables in Postgres were changed by a newer version of Shoal.',
    hint: 'Upgrade Shoal, or use another schema: ?schema=<name>.',
  },
  store_outdated: {
    next: 'stop',
    exitCode: 'backend',
    meaning: 'The tables in Postgres are missing, or older than this version of Shoal needs.',
    hint: 'Run `shoal migrate`; --dry-run shows what it would do.',
  },
  store_old: {
    next: 'stop',
    exitCode: 'backend',
    meaning: 'The Postgres server is older than Shoal needs.',
    hint: 'Use Postgres 14 or newer.',
  },
  store_encoding: {
    next: 'stop',
    exitCode: 'backend',
    meaning: 'The database does not keep its text as UTF-8.',
    hint: 'Make one that does: CREATE DATABASE <name> ENCODING UTF8 TEMPLATE template0.',
  },
  queue_layout: {
    next: 'stop',
    exitCode: 'backend',
    meaning: 'The queue holds data in a layout that this version of Shoal does not know.',
    hint: 'Use the version of Shoal that the other workers use, or another database: redis://host:port/1.',
  },
  queue_unreachable: {
    next: 'backend',
    exitCode: 'backend',
    meaning: 'No connection to the Redis of the queue when the command began.',
    hint: 'Check host and port of --queue, and that the server runs.',
  },
  queue_auth: {
    next: 'stop',
    exitCode: 'backend',
    meaning: 'The Redis of the queue refuses the user name or the password.',
    hint: 'Write them into the address: redis://user:password@host:port (percent-encode @ : / in a password).',
  },
  queue_forbidden: {
    next: 'stop',
    exitCode: 'backend',
    meaning: 'The user of the Redis queue may not run a command that Shoal needs.',
    hint: 'Give the user the commands and keys listed in docs/operating.md.',
  },
  queue_tls: {
    next: 'stop',
    exitCode: 'backend',
    meaning: 'The TLS handshake with the Redis of the queue failed.',
    hint: 'Name the right CA: rediss://host:port?ca=<file.pem>, or NODE_EXTRA_CA_CERTS.',
  },
  queue_eviction: {
    next: 'stop',
    exitCode: 'backend',
    meaning: 'The Redis of the queue would throw keys away when its memory is full: URLs would be lost.',
    hint: 'Run `CONFIG SET maxmemory-policy noeviction`, and put it into the configuration of the server.',
  },
  queue_full: {
    next: 'backend',
    exitCode: 'backend',
    meaning: 'The Redis of the queue has reached its maxmemory.',
    hint: 'Raise maxmemory, or end crawls that are not needed.',
  },
  queue_replica: {
    next: 'stop',
    exitCode: 'backend',
    meaning: 'The Redis of the queue is a read-only replica.',
    hint: 'Use the address of the master, or redis+sentinel://… to find it.',
  },
  queue_too_old: {
    next: 'stop',
    exitCode: 'backend',
    meaning: 'The Redis of the queue is older than 6.2.',
    hint: 'Upgrade the server: Redis 6.2 or newer, or any Valkey.',
  },
  queue_address: {
    next: 'stop',
    exitCode: 'usage',
    meaning: 'The address of the Redis queue cannot be read.',
    hint: 'Write redis://user:password@host:port/db, rediss://…, redis+cluster://host:port,host:port or redis+sentinel://host:port,host:port/master.',
  },
  queue_unknown: {
    next: 'stop',
    exitCode: 'usage',
    meaning: 'No engine is known for the --queue or --store address.',
    hint: 'Use sqlite:<file>, memory:, or for the queue redis://host:port (rediss://, redis+cluster://, redis+sentinel://).',
  },
  demo_port: {
    next: 'stop',
    exitCode: 'backend',
    meaning: "The port of the demo's site is in use.",
    hint: 'Stop the other demo, or remove the demo folder to begin anew.',
  },

  // Metrics and health
  metrics_port: {
    next: 'stop',
    exitCode: 'backend',
    meaning: 'The process cannot listen where its metrics are to be read.',
    hint: 'Name another port with --metrics, or --metrics 0 for any that is free.',
  },
  metrics_open: {
    next: 'stop',
    exitCode: 'usage',
    meaning: 'The metrics would be open to other machines without a token.',
    hint: 'Set SHOAL_TOKEN (16 characters at least), or leave the host out: --metrics 9464 is for this machine alone.',
  },

  // The dashboard and its API
  dashboard_port: {
    next: 'stop',
    exitCode: 'backend',
    meaning: 'The dashboard cannot listen on its port.',
    hint: 'Name another with --port, or --port 0 for any that is free.',
  },
  dashboard_open: {
    next: 'stop',
    exitCode: 'usage',
    meaning: 'The dashboard would be reachable from other machines without a token of your own.',
    hint: 'Set SHOAL_TOKEN (16 characters at least) and put a proxy with TLS in front, named with --public-url; or leave --host out.',
  },
  bad_request: {
    next: 'stop',
    meaning: 'A call of the API has a missing, wrong or unknown part.',
    hint: 'See docs/api.md, or GET /api/openapi.json.',
  },
  token_refused: {
    next: 'stop',
    meaning: 'The token of a call of the API is missing or wrong.',
    hint: 'Open the address that the command printed, with its token, or send it as `Authorization: Bearer …`.',
  },
  request_refused: {
    next: 'stop',
    meaning:
      'A call of the API came in a way that only a foreign page would take: another Host, Origin or kind of body.',
    hint: 'Call it by the address that the command printed; behind a proxy, name that with --public-url.',
  },
  request_slow: {
    next: 'stop',
    meaning: 'The body of a call of the API did not come in time.',
    hint: 'Nothing was done. Send it again, whole; its length must be what Content-Length says.',
  },
  too_many_requests: {
    next: 'stop',
    meaning: 'Too many calls of the API, too many with a wrong token, or too many listeners.',
    hint: 'Wait a minute, and check the token.',
  },
  link_busy: {
    next: 'stop',
    meaning: 'The link cannot be steered as it stands.',
    hint: 'Look where it is: shoal explain <url>.',
  },
} as const satisfies Record<string, ErrorRow>

export type ErrorCode = keyof typeof ERRORS

export function describeError(code: ErrorCode): ErrorRow {
  return ERRORS[code]
}

/** The only error Shoal throws on purpose. `message` is for a person; `code` is for programs; neither ever holds a secret. */
export class ShoalError extends Error {
  readonly code: ErrorCode
  /** Overrides the table's hint where the place of the error knows better. */
  readonly hint: string

  constructor(code: ErrorCode, message: string, options: { hint?: string; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'ShoalError'
    this.code = code
    this.hint = options.hint ?? describeError(code).hint
  }

  get next(): Next {
    return describeError(this.code).next
  }

  get exitCode(): number {
    return EXIT[describeError(this.code).exitCode ?? 'usage'].code
  }
}

/** Anything thrown, as a ShoalError: what is not ours is a defect of ours. */
export function asShoalError(thrown: unknown): ShoalError {
  if (thrown instanceof ShoalError) return thrown
  const message = thrown instanceof Error ? thrown.message : String(thrown)
  return new ShoalError('internal', message, { cause: thrown })
}

/** Ours and only away, busy or full: the same call is repeated until it is back, and no attempt is burned. */
const AWAY: ReadonlySet<ErrorCode> = new Set([
  'db_busy',
  'queue_down',
  'queue_full',
  'queue_unreachable',
  'store_down',
  'store_full',
  'store_unreachable',
  'pages_down',
  'pages_unreachable',
])

export function isAway(thrown: unknown): boolean {
  return thrown instanceof ShoalError && AWAY.has(thrown.code)
}

/** What a dead letter died of, for a person. The hints of errors that are tried again are for those that still are. */
export function explainedDead(code: ErrorCode): string {
  const { meaning, hint, next } = describeError(code)
  return next === 'retry' || next === 'throttle' ? meaning : `${meaning} ${hint}`
}
