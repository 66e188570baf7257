import { isError, textOf } from './thrown.js'

/**
 * Every error a user or the worker can meet, in one table. The code decides what happens next:
 *   retry     the page may work later: uses an attempt
 *   dead      the page will not work: goes straight to the dead letters
 *   skipped   the page must not be fetched (robots, scope): ends without a request, and is not a failure
 *   throttle  the host needs time: uses no attempt, slows the host down for the whole fleet
 *   backend   our own servers or machine: uses no attempt, the work waits
 *   stop      the user must change something: the command ends
 * docs/errors.md is generated from this table (npm run docs).
 */
export type Next = 'retry' | 'dead' | 'skipped' | 'throttle' | 'backend' | 'stop'

/** Exit codes of the command line; docs/exit-codes.md is generated from this table. */
export const EXIT = {
  ok: {
    code: 0,
    meaning: 'Success. A crawl that finished with some dead letters counts as finished.',
  },
  bug: { code: 1, meaning: 'A bug in Shoal itself (code `internal`).' },
  usage: { code: 2, meaning: 'The command line is wrong: unknown command or option, missing argument, bad value.' },
  spider: {
    code: 3,
    meaning: 'The spider file or the configuration is wrong, or the code of the spider failed on the page of `try`.',
  },
  backend: { code: 4, meaning: 'The queue, the store, the disk or another backend cannot be used.' },
  notFound: { code: 5, meaning: 'The crawl, record, dead letter or URL does not exist.' },
  nothingFetched: {
    code: 6,
    meaning:
      'The crawl ended without fetching a single page, `try` could not fetch its page, `reparse` could not read any of its pages, or `proxies test` found no working proxy.',
  },
  stalled: {
    code: 7,
    meaning:
      'Health is red: work is due, but nothing was leased or settled for 15 s (`status`, `doctor`). If the queue is unreachable, they end with 4.',
  },
  lost: {
    code: 8,
    meaning: 'The queue lost the state of the crawl; `shoal recover` adds its start URLs and known pages again.',
  },
  checkFailed: {
    code: 9,
    meaning: '`check` found a saved page of which a spider now makes something else, or on which it fails.',
  },
  interrupted: {
    code: 130,
    meaning: 'Ctrl-C (SIGINT): pages in flight were finished and the rest returned to the queue; run again to resume.',
  },
  terminated: {
    code: 143,
    meaning: 'SIGTERM: same as Ctrl-C. A `worker` that had time to drain ends with 0 after either signal.',
  },
} as const

export type ExitName = keyof typeof EXIT

interface ErrorRow {
  readonly next: Next
  readonly meaning: string
  /** What the reader can do about it, as one sentence. */
  readonly hint: string
  /** Exit code of a command that ends with this error; left out where `next` is `backend`, as it is the same then. */
  readonly exitCode?: ExitName
  /** HTTP status of an API call that ends with this error; 503 for what `waits`, otherwise 400. */
  readonly status?: number
  /**
   * A backend is down, busy or full: the same call is repeated until it works, and no attempt is used. An `outage` ends without anyone's help;
   * a `fix` needs space, memory or a corrected address first.
   */
  readonly waits?: 'outage' | 'fix'
  /** A connection to Redis could not be opened. At startup the user reads this code; while a crawl runs they all mean `queue_down`. */
  readonly dial?: true
  /**
   * Where a request failed, for whoever judges the host, the proxy or a webhook by it: refused by our own guard, on a connection that broke or
   * stayed silent (the site's doing or the proxy's), on a response that cannot be used, at the proxy, in the browser, in the user's handler, in Shoal.
   */
  readonly failedAt?: 'guard' | 'connection' | 'response' | 'proxy' | 'browser' | 'handler' | 'shoal'
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
    hint: 'Check the path, or create a spider with `shoal init`.',
  },
  spider_syntax: {
    next: 'stop',
    exitCode: 'spider',
    meaning: 'The spider file cannot be loaded.',
    hint: 'Fix the line named in the message.',
  },
  spider_invalid: {
    next: 'stop',
    exitCode: 'spider',
    meaning: 'An option of the spider is missing, wrong or unknown.',
    hint: 'Fix the option named in the message.',
  },
  spider_args: {
    next: 'stop',
    exitCode: 'usage',
    meaning: 'An argument of the spider is missing, wrong or unknown.',
    hint: 'Pass arguments with -a <name>=<value>.',
  },
  config_invalid: {
    next: 'stop',
    exitCode: 'spider',
    meaning: 'A setting is wrong or unknown.',
    hint: 'Fix the setting named in the message; docs/configuration.md lists them all.',
  },
  bad_duration: {
    next: 'stop',
    exitCode: 'spider',
    meaning: 'A duration is not valid.',
    hint: "Write a number with a unit: '500ms', '2s', '5min', '1h', '7d'.",
  },
  bad_rate: {
    next: 'stop',
    exitCode: 'spider',
    meaning: 'A rate is not valid.',
    hint: "Write a count per unit: '5/s', '60/min', '1000/h'.",
  },
  bad_template: {
    next: 'stop',
    exitCode: 'spider',
    meaning: 'A URL template is not valid, or expands to too many URLs.',
    hint: "Write ranges like '{1..100}' and lists like '{a,b}'.",
  },
  seeds_unreadable: {
    next: 'stop',
    exitCode: 'backend',
    meaning: 'A source of start URLs cannot be read: a sitemap, an RSS or Atom feed, a file or a query.',
    hint: 'Fix the source named in the message, then run the same command again: it resumes where it left off.',
  },
  bad_listing: {
    next: 'dead',
    meaning: 'A file that should be a sitemap or an RSS or Atom feed is neither.',
    hint: 'Open it in a browser: it may be an ordinary page.',
  },
  bad_selector: {
    next: 'stop',
    exitCode: 'spider',
    meaning: 'A CSS selector is not valid.',
    hint: 'Fix the selector named in the message.',
  },
  fixture_invalid: {
    next: 'stop',
    exitCode: 'spider',
    meaning: 'A saved page (fixture) or its JSON file is missing or cannot be read.',
    hint: 'Fix the file named in the message, or save the page again: `shoal try <spider> <url> --save <file>`.',
  },
  fixture_exists: {
    next: 'stop',
    exitCode: 'usage',
    meaning: 'A page has been saved (as a fixture) under this name before.',
    hint: 'Choose another name, or pass --force to replace the page and what is expected of it.',
  },
  not_found: {
    next: 'stop',
    exitCode: 'notFound',
    status: 404,
    meaning: 'What was asked for does not exist.',
    hint: 'List what exists: `shoal crawls list`.',
  },
  crawl_ended: {
    next: 'stop',
    exitCode: 'notFound',
    status: 409,
    meaning: 'The crawl has ended and can no longer be changed this way.',
    hint: 'Start a new one with `shoal run <spider>`.',
  },
  crawl_lost: {
    next: 'stop',
    exitCode: 'lost',
    status: 409,
    meaning: 'The queue came back empty or from an older backup, and the state of the crawl is gone.',
    hint: 'Add its start URLs and known pages again: `shoal recover <crawl>`.',
  },
  cursor_foreign: {
    next: 'stop',
    exitCode: 'notFound',
    meaning: 'A cursor of the change stream belongs to another database, or to data that a restore has removed.',
    hint: 'Read from the start again, or from a cursor of this database.',
  },
  outlet_secret: {
    next: 'stop',
    exitCode: 'spider',
    meaning: 'The environment variable with the secret of a webhook is not set, or its value is not a valid secret.',
    hint: 'Set it for every process that runs workers for the spider.',
  },
  secret_missing: {
    next: 'stop',
    exitCode: 'spider',
    meaning: 'The environment variable with a secret of the spider is not set, or its value has more than one line.',
    hint: 'Set it for every process that runs workers for the spider.',
  },
  outlet_down: {
    next: 'stop',
    exitCode: 'backend',
    meaning:
      'The sink of an outlet is unreachable or busy, or another process is feeding it. Undelivered records wait in the store.',
    hint: 'Check `shoal outlets list`; running workers retry automatically.',
  },
  outlet_refused: {
    next: 'stop',
    exitCode: 'backend',
    meaning: 'The sink of an outlet rejects what it is sent, so the outlet has stopped.',
    hint: 'Fix the problem named in the message, then resume: `shoal outlets reset <spider> <outlet> --to here`.',
  },
  alerts_invalid: {
    next: 'stop',
    exitCode: 'spider',
    meaning: 'The alerts file (`--alerts`) cannot be read, or one of its options is missing, wrong or unknown.',
    hint: 'Fix the option named in the message; docs/alerts.md describes the format.',
  },
  alert_undelivered: {
    next: 'stop',
    exitCode: 'backend',
    meaning: 'A webhook or a command did not accept the alert that `shoal alerts test` sent.',
    hint: 'Fix the problem named in the message, then run `shoal alerts test` again.',
  },
  out_unwritable: {
    next: 'stop',
    exitCode: 'backend',
    meaning: 'The output file cannot be written.',
    hint: 'Check the path and its permissions.',
  },
  cache_unusable: {
    next: 'stop',
    exitCode: 'usage',
    meaning: 'The folder of the development cache (`--cache-dir`) cannot be used, or belongs to something else.',
    hint: 'Choose another folder with --cache-dir: a new one, or one that --cache has created before.',
  },
  interrupted: {
    next: 'stop',
    exitCode: 'interrupted',
    meaning: 'The command was interrupted before it opened a crawl.',
    hint: 'Nothing was started; run the command again.',
  },
  closed: { next: 'stop', meaning: 'The connection was already closed.', hint: 'Open a new one with connect().' },
  wait_timeout: {
    next: 'stop',
    meaning: 'The result did not arrive within the timeout.',
    hint: 'Raise the timeout, or check where the URL is: `shoal explain <url>`.',
  },
  internal: {
    next: 'stop',
    failedAt: 'shoal',
    exitCode: 'bug',
    status: 500,
    meaning: 'A bug in Shoal.',
    hint: 'Please report it, with the command and its log (`--log-level debug`).',
  },

  // Filters: why a URL is not accepted
  bad_url: {
    next: 'skipped',
    failedAt: 'guard',
    exitCode: 'usage',
    meaning: 'It is not a valid URL.',
    hint: 'Write an absolute http or https URL.',
  },
  bad_scheme: {
    next: 'skipped',
    failedAt: 'guard',
    exitCode: 'usage',
    meaning: 'Only http and https URLs can be fetched.',
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
    meaning: "The spider's pace has no group with this name.",
    hint: 'Add it to pace.groups, or fix the name.',
  },
  url_too_long: {
    next: 'skipped',
    exitCode: 'usage',
    meaning: 'The URL is longer than scope.maxUrlLength.',
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
    hint: 'If it is not one, switch off the check named in the message in scope.traps.',
  },
  budget: {
    next: 'skipped',
    exitCode: 'usage',
    meaning: 'A budget of the crawl or of the host is used up.',
    hint: 'Raise the budget named in the message.',
  },
  robots_disallowed: {
    next: 'skipped',
    meaning: 'robots.txt disallows the URL.',
    hint: 'Respect it, or set robots: false for a site you own.',
  },
  private_address: {
    next: 'dead',
    failedAt: 'guard',
    exitCode: 'usage',
    meaning: 'The address is private, loopback or reserved, and not on the allow list.',
    hint: "If you mean it, add 'host:port' to the spider's allowPrivate; `crawl` and `shell` have --allow-private <host:port>.",
  },
  blocked_port: {
    next: 'dead',
    failedAt: 'guard',
    exitCode: 'usage',
    meaning: 'The port belongs to a service that is never a web site.',
    hint: "If you mean it, add 'host:port' to the spider's allowPrivate; `crawl` and `shell` have --allow-private <host:port>.",
  },

  secret_refused: {
    next: 'dead',
    failedAt: 'guard',
    exitCode: 'spider',
    meaning:
      'A header or the body refers to a secret that the spider does not have, or that must not be sent to this origin.',
    hint: 'Fix the reference, or add the origin to the secret if the site may have it.',
  },

  // The page and its server
  dns_not_found: {
    next: 'dead',
    meaning: 'The host name does not exist.',
    hint: 'Check the spelling of the host name.',
  },
  dns_error: {
    next: 'retry',
    meaning: 'The host name could not be resolved.',
    hint: 'A crawl retries it automatically; if every host fails, check the DNS resolver of this machine.',
  },
  connect_error: {
    next: 'retry',
    failedAt: 'connection',
    meaning: 'The host did not accept a connection.',
    hint: 'A crawl retries it automatically; check in a browser whether the site is up.',
  },
  tls_error: {
    next: 'dead',
    failedAt: 'connection',
    meaning: 'The TLS handshake failed, or the certificate is not valid.',
    hint: 'Only the site can fix its certificate; Shoal never ignores an invalid one. For a port without TLS, write http://.',
  },
  timeout: {
    next: 'retry',
    failedAt: 'connection',
    meaning: 'The page took longer than its timeout.',
    hint: 'A crawl retries it automatically; raise fetch.timeout, or crawl the host more slowly.',
  },
  truncated: {
    next: 'retry',
    failedAt: 'connection',
    meaning: 'The response body ended early.',
    hint: 'A crawl retries it automatically.',
  },
  protocol_error: {
    next: 'retry',
    failedAt: 'connection',
    meaning: "The server's response is not valid HTTP.",
    hint: 'Check the URL and its port.',
  },
  headers_too_large: {
    next: 'dead',
    failedAt: 'response',
    meaning: 'The response headers are larger than fetch.maxHeaderBytes.',
    hint: 'Raise fetch.maxHeaderBytes.',
  },
  too_large: {
    next: 'dead',
    failedAt: 'response',
    meaning: 'The decoded response body is larger than fetch.maxBodyBytes.',
    hint: 'Raise fetch.maxBodyBytes if you need the page.',
  },
  decode_error: {
    next: 'dead',
    failedAt: 'response',
    meaning: 'The content encoding is broken or not supported.',
    hint: 'Check the response with curl --raw.',
  },
  too_many_redirects: {
    next: 'dead',
    meaning: 'There are more redirects than fetch.maxRedirects, or they form a loop.',
    hint: 'Open the URL in a browser; raise fetch.maxRedirects if the chain really is that long.',
  },
  bad_redirect: {
    next: 'dead',
    failedAt: 'response',
    meaning: 'The redirect leads to a URL that must not be fetched.',
    hint: 'The message names the target and the reason.',
  },
  http_error: { next: 'dead', meaning: 'The server responded with a client error (4xx).', hint: 'Check the URL.' },
  server_error: {
    next: 'retry',
    meaning: 'The server responded with an error (5xx).',
    hint: 'A crawl retries it automatically.',
  },
  proxy_error: {
    next: 'throttle',
    failedAt: 'proxy',
    meaning: 'The proxy itself does not work: it cannot be reached, or it rejects the login.',
    hint: 'The proxy rests and another one is used. Check `shoal proxies list`, and test it with `shoal proxies test`.',
  },
  proxies_resting: {
    next: 'backend',
    meaning: 'Every proxy of the pool is resting after bans or failures; the link waits and uses no attempt.',
    hint: '`shoal proxies list` shows when the first one is back; or add proxies to the pool.',
  },
  proxy_unknown: {
    next: 'stop',
    exitCode: 'spider',
    meaning: 'The spider or the command names a proxy pool that this process does not have.',
    hint: 'Pass the file with --proxies, or fix the name; docs/proxies.md describes the format.',
  },
  proxy_banned: {
    next: 'throttle',
    failedAt: 'proxy',
    meaning: 'The site blocks this proxy (403, 429 or a captcha); another one is tried, and no attempt is used.',
    hint: 'Lower the pace per proxy, or use another kind of pool.',
  },
  not_rendered: {
    next: 'retry',
    meaning: 'The page was rendered, but what its route waits for did not appear.',
    hint: 'Check the screenshot (`shoal pages screenshot <url>`), then fix render.wait or raise render.settle.',
  },
  traces_missing: {
    next: 'stop',
    exitCode: 'backend',
    meaning: 'Tracing is on, but the OpenTelemetry package is not installed.',
    hint: 'Install it with an SDK: `npm install @opentelemetry/api @opentelemetry/sdk-node`; docs/logs.md has an example.',
  },
  browser_missing: {
    next: 'backend',
    meaning: 'A route renders its pages, but there is no browser, or no package to drive one.',
    hint: 'Install both: `npm install playwright-core`, and Chromium (Debian: `apt-get install chromium`); or name a browser with SHOAL_BROWSER.',
  },
  browser_unusable: {
    next: 'backend',
    meaning: 'The browser does not start: a library is missing, or its sandbox does not work.',
    hint: 'Start it by hand to see why, or name another one with SHOAL_BROWSER.',
  },
  browser_busy: {
    next: 'backend',
    meaning: 'Every browser tab was in use for too long; the link waits and uses no attempt.',
    hint: 'Lower --concurrency, raise --browser-pages, or render fewer routes.',
  },
  browser_crashed: {
    next: 'retry',
    failedAt: 'browser',
    exitCode: 'backend',
    meaning: 'The browser crashed, or the page in it did.',
    hint: 'It is retried in a new browser. If every page crashes, start Chromium by hand to see why.',
  },
  throttled: {
    next: 'throttle',
    meaning: 'The server asked for a slower pace (429 or 503).',
    hint: 'The host is slowed down automatically; lower its pace if this keeps happening.',
  },
  robots_unreachable: {
    next: 'retry',
    meaning: 'robots.txt could not be read, so nothing of the site may be fetched (RFC 9309).',
    hint: 'It is retried as often as `retries` of the spider says; check in a browser whether the site is up.',
  },
  html_too_complex: {
    next: 'dead',
    meaning: 'The HTML is nested too deeply, or too large, to parse in reasonable time.',
    hint: 'The page is broken or hostile; if you need it, read page.text in a handler.',
  },

  // The spider's code
  login_failed: {
    next: 'retry',
    exitCode: 'spider',
    meaning:
      "The login of the spider's session failed; the session has ended, and the page is retried with another one.",
    hint: 'Run `shoal try <spider> <url>` to see the error; after fixing it, replay its dead letters: `shoal dead replay --all`.',
  },
  handler_error: {
    next: 'retry',
    failedAt: 'handler',
    exitCode: 'spider',
    meaning: "The route's handler threw an error.",
    hint: 'Run `shoal try <spider> <url>` to see the error; after fixing it, replay its dead letters: `shoal dead replay --all`.',
  },
  handler_timeout: {
    next: 'retry',
    exitCode: 'spider',
    meaning: "The route's handler ran longer than handlerTimeout.",
    hint: 'Raise handlerTimeout, or make the handler faster.',
  },
  poison: {
    next: 'dead',
    exitCode: 'spider',
    meaning: 'The worker died every time it visited the URL.',
    hint: 'The message says how the worker ended. Run `shoal try <spider> <url>` to see it happen.',
  },
  record_rejected: {
    next: 'dead',
    meaning: 'A record does not match its schema; it is kept with its raw data.',
    hint: 'List them with `shoal records rejected`.',
  },
  too_many_links: {
    next: 'dead',
    meaning: 'The page has more links than scope.maxLinksPerPage; the rest were counted and dropped.',
    hint: 'Raise scope.maxLinksPerPage.',
  },

  // The backends: our own servers
  db_unwritable: {
    next: 'backend',
    meaning: 'The database file cannot be opened or written.',
    hint: 'Check the path and the permissions of the file and its folder: SQLite creates files next to it.',
  },
  db_corrupt: {
    next: 'backend',
    meaning: 'The database file is damaged, or not a database.',
    hint: 'Save what can be read with `shoal recover --into <new file>`, or restore a backup; `shoal doctor` says what is damaged.',
  },
  db_lost: {
    next: 'backend',
    meaning: 'The database file was deleted, moved or replaced while it was in use.',
    hint: 'Restore the file from a backup, or run again to start over.',
  },
  db_newer: {
    next: 'backend',
    meaning: 'The database was written by a newer version of Shoal.',
    hint: 'Upgrade Shoal, or use another file with --queue and --store.',
  },
  db_busy: {
    next: 'backend',
    waits: 'outage',
    meaning: 'Another process has locked the database.',
    hint: 'It is retried automatically; if this continues, stop the other process.',
  },
  disk_full: {
    next: 'backend',
    meaning: 'The disk is full.',
    hint: 'Free some space and run again; nothing that was acknowledged is lost.',
  },
  no_sockets: {
    next: 'backend',
    dial: true,
    meaning: 'This machine has no sockets or file descriptors left.',
    hint: 'Raise the limit (`ulimit -n 4096`), or lower --concurrency.',
  },
  removed: {
    next: 'skipped',
    meaning: 'Someone removed the URL from the queue.',
    hint: 'Nothing to do. To visit it after all, start a new crawl.',
  },
  aborted: {
    next: 'backend',
    meaning: 'The worker cancelled the request: it is stopping, or it lost the lease.',
    hint: 'Nothing to do: the URL will be leased again.',
  },
  blobs_unwritable: {
    next: 'backend',
    meaning: 'The folder of raw pages cannot be read or written.',
    hint: 'Check the path and its permissions.',
  },
  pages_down: {
    next: 'backend',
    waits: 'outage',
    meaning: 'The S3 service that holds the raw pages is unreachable or busy.',
    hint: 'Nothing to do: the call is retried until the service is back, and no attempt is used.',
  },
  pages_unreachable: {
    next: 'backend',
    waits: 'fix',
    meaning: 'The S3 service that holds the raw pages could not be reached at startup.',
    hint: 'Check the endpoint in --pages, and that the service is running.',
  },
  pages_missing: {
    next: 'backend',
    meaning: 'The bucket for raw pages does not exist, at least not in this region.',
    hint: 'Create it, or fix the bucket or the endpoint in --pages.',
  },
  pages_forbidden: {
    next: 'backend',
    meaning: 'There are no credentials for the bucket of raw pages, or they lack a permission that Shoal needs.',
    hint: 'Grant s3:ListBucket, s3:GetObject, s3:PutObject and s3:DeleteObject on the bucket (docs/pages.md).',
  },
  pages_address: {
    next: 'stop',
    exitCode: 'usage',
    meaning: 'The address of the raw pages is not valid.',
    hint: 'Write --pages files:<folder>, or --pages s3://bucket/prefix?endpoint=https://…&region=….',
  },
  pages_driver: {
    next: 'backend',
    meaning: 'Raw pages in S3 need a package that is not installed.',
    hint: 'Install it: `npm install @aws-sdk/client-s3`.',
  },
  dedupe_unsupported: {
    next: 'stop',
    exitCode: 'usage',
    meaning: 'The queue does not support the kind of deduplication that the spider asks for.',
    hint: 'Remove dedupe from the spider, or use a Redis queue.',
  },
  queue_down: {
    next: 'backend',
    waits: 'outage',
    meaning: 'The Redis server of the queue is unreachable, busy or full.',
    hint: 'Nothing to do: the call is retried until the server is back, and no attempt is used.',
  },
  store_down: {
    next: 'backend',
    waits: 'outage',
    meaning: 'The Postgres server of the store is unreachable or busy.',
    hint: 'Nothing to do: the call is retried until the server is back, and no attempt is used.',
  },
  store_full: {
    next: 'backend',
    waits: 'fix',
    meaning: 'The disk of the Postgres server is full.',
    hint: 'Free some space, or drop old fetches with `shoal retention`; work resumes automatically.',
  },
  store_unreachable: {
    next: 'backend',
    waits: 'fix',
    meaning: 'The Postgres server of the store could not be reached at startup.',
    hint: 'Check the host and port in --store, and that the server is running and has free connections.',
  },
  store_auth: {
    next: 'stop',
    exitCode: 'backend',
    meaning: 'Postgres rejects the user name or the password.',
    hint: 'Write them into the address: postgres://user:password@host/database (percent-encode @ : / in a password).',
  },
  store_missing: {
    next: 'stop',
    exitCode: 'backend',
    meaning: 'The Postgres server has no database with this name.',
    hint: 'Create it with `createdb <name>`; tables are created automatically.',
  },
  store_forbidden: {
    next: 'stop',
    exitCode: 'backend',
    meaning: 'The Postgres user lacks a permission that Shoal needs.',
    hint: 'Have the owner of the database run `shoal migrate`, and grant the user access to the schema as docs/results.md shows.',
  },
  store_tls: {
    next: 'stop',
    exitCode: 'backend',
    meaning: 'The TLS handshake with Postgres failed, or only one side uses TLS.',
    hint: 'Set the mode in the address: ?sslmode=verify-full&sslrootcert=<file.pem>, or ?sslmode=disable.',
  },
  store_address: {
    next: 'stop',
    exitCode: 'usage',
    meaning: 'The address of the store is not valid.',
    hint: 'Write --store postgres://user:password@host:port/database or --store sqlite:<file>.',
  },
  store_newer: {
    next: 'stop',
    exitCode: 'backend',
    meaning: 'A newer version of Shoal has changed the tables in Postgres.',
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
    meaning: 'The Postgres server is too old for Shoal.',
    hint: 'Use Postgres 14 or newer.',
  },
  store_encoding: {
    next: 'stop',
    exitCode: 'backend',
    meaning: 'The database does not use the encoding UTF-8.',
    hint: 'Create one that does: CREATE DATABASE <name> ENCODING UTF8 TEMPLATE template0.',
  },
  queue_layout: {
    next: 'stop',
    exitCode: 'backend',
    meaning: 'The queue holds data in a layout that this version of Shoal does not know.',
    hint: 'Use the same version of Shoal as the other workers, or another database: redis://host:port/1.',
  },
  queue_unreachable: {
    next: 'backend',
    waits: 'fix',
    dial: true,
    meaning: 'The Redis server of the queue could not be reached at startup.',
    hint: 'Check the host and port in --queue, and that the server is running.',
  },
  queue_auth: {
    next: 'stop',
    dial: true,
    exitCode: 'backend',
    meaning: 'Redis rejects the user name or the password.',
    hint: 'Write them into the address: redis://user:password@host:port (percent-encode @ : / in a password).',
  },
  queue_forbidden: {
    next: 'stop',
    exitCode: 'backend',
    meaning: 'The Redis user lacks a permission that Shoal needs.',
    hint: 'Grant the user the commands and keys listed in docs/operating.md.',
  },
  queue_tls: {
    next: 'stop',
    dial: true,
    exitCode: 'backend',
    meaning: 'The TLS handshake with Redis failed.',
    hint: 'Name the right CA: rediss://host:port?ca=<file.pem>, or NODE_EXTRA_CA_CERTS.',
  },
  queue_eviction: {
    next: 'stop',
    exitCode: 'backend',
    meaning: 'The Redis server is configured to evict keys when its memory is full, which would lose URLs.',
    hint: 'Run `CONFIG SET maxmemory-policy noeviction`, and add it to the configuration of the server.',
  },
  queue_full: {
    next: 'backend',
    waits: 'fix',
    meaning: 'The Redis server of the queue has reached its maxmemory.',
    hint: 'Raise maxmemory, or cancel crawls you no longer need.',
  },
  queue_replica: {
    next: 'stop',
    exitCode: 'backend',
    meaning: 'The Redis server of the queue is a read-only replica.',
    hint: 'Use the address of the master, or redis+sentinel://… to find it.',
  },
  queue_too_old: {
    next: 'stop',
    exitCode: 'backend',
    meaning: 'The Redis server of the queue is older than 6.2.',
    hint: 'Upgrade the server: Redis 6.2 or newer, or any Valkey.',
  },
  queue_address: {
    next: 'stop',
    dial: true,
    exitCode: 'usage',
    meaning: 'The address of the Redis queue is not valid.',
    hint: 'Write redis://user:password@host:port/db, rediss://…, redis+cluster://host:port,host:port or redis+sentinel://host:port,host:port/master.',
  },
  queue_unknown: {
    next: 'stop',
    exitCode: 'usage',
    meaning: 'The --queue or --store address has an unknown kind, or the two do not go together.',
    hint: 'Use sqlite:<file>, memory:, or for the queue redis://host:port (rediss://, redis+cluster://, redis+sentinel://).',
  },
  demo_port: {
    next: 'stop',
    exitCode: 'backend',
    meaning: 'The port of the demo shop is in use.',
    hint: 'Stop the other demo, or delete the demo folder to start over.',
  },

  // Metrics and health
  metrics_port: {
    next: 'stop',
    exitCode: 'backend',
    meaning: 'The process cannot listen on the --metrics address.',
    hint: 'Pass another port with --metrics, or --metrics 0 for any free port.',
  },
  metrics_open: {
    next: 'stop',
    exitCode: 'usage',
    meaning: 'The metrics would be open to other machines without a token.',
    hint: 'Set SHOAL_TOKEN (at least 16 characters), or leave out the host: --metrics 9464 listens on this machine only.',
  },

  // The dashboard and its API
  dashboard_port: {
    next: 'stop',
    exitCode: 'backend',
    meaning: 'The dashboard cannot listen on its port.',
    hint: 'Pass another port with --port, or --port 0 for any free port.',
  },
  dashboard_open: {
    next: 'stop',
    exitCode: 'usage',
    meaning: 'The dashboard would be reachable from other machines without a token that you chose.',
    hint: 'Set SHOAL_TOKEN (at least 16 characters) and put a TLS proxy in front, named with --public-url; or leave out --host.',
  },
  bad_request: {
    next: 'stop',
    status: 400,
    meaning: 'A parameter of the API call is missing, wrong or unknown.',
    hint: 'See docs/api.md, or GET /api/openapi.json.',
  },
  token_refused: {
    next: 'stop',
    status: 401,
    meaning: 'The token of the API call is missing or wrong.',
    hint: 'Open the address that the command printed, including its token, or send it as `Authorization: Bearer …`.',
  },
  request_refused: {
    next: 'stop',
    status: 403,
    meaning:
      'The API call looks like one from another web site: a foreign Host or Origin header, or a body that is not JSON.',
    hint: 'Use the address that the command printed; behind a proxy, name its address with --public-url; allow the name of a service with --allow-host.',
  },
  request_slow: {
    next: 'stop',
    status: 408,
    meaning: 'The body of the API call did not arrive in time.',
    hint: 'Nothing was changed. Send it again; its length must match Content-Length.',
  },
  too_many_requests: {
    next: 'stop',
    status: 429,
    meaning: 'Too many API calls, wrong tokens or open event streams.',
    hint: 'Wait a minute, and check the token.',
  },
  link_busy: {
    next: 'stop',
    status: 409,
    meaning: 'The link cannot be changed in its current state.',
    hint: 'Check where it is: `shoal explain <url>`.',
  },
} as const satisfies Record<string, ErrorRow>

export type ErrorCode = keyof typeof ERRORS

export function describeError(code: ErrorCode): ErrorRow {
  return ERRORS[code]
}

/** Undefined: it ends a page, not a command. @public for scripts/generate-docs.js, which reads the build. */
export function exitNameOf(code: ErrorCode): ExitName | undefined {
  const { exitCode, next } = describeError(code)
  return exitCode ?? (next === 'backend' ? 'backend' : undefined)
}

/** The only error Shoal throws on purpose. `message` is for people, `code` for programs; neither ever contains a secret. */
export class ShoalError extends Error {
  readonly code: ErrorCode
  /** Replaces the hint of the table where the code that throws knows better. */
  readonly hint: string
  /** Where in the user's own code it happened, as in `books.ts:12:9`; the message begins with it. Null: nobody knows, or it was not there. */
  readonly place: string | null

  constructor(
    code: ErrorCode,
    message: string,
    options: { hint?: string; cause?: unknown; place?: string | null } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'ShoalError'
    this.code = code
    this.hint = options.hint ?? describeError(code).hint
    this.place = options.place ?? null
  }

  get next(): Next {
    return describeError(this.code).next
  }

  get exitCode(): number {
    return EXIT[exitNameOf(this.code) ?? 'usage'].code
  }
}

/** Anything thrown, as a ShoalError. An error of any other class is a bug in Shoal. */
export function asShoalError(thrown: unknown): ShoalError {
  if (isShoalError(thrown)) return thrown
  // A thread, a file or a module that could not be opened: not a bug, whoever asked for it.
  if (isOutOfFiles(thrown)) return new ShoalError('no_sockets', textOf(thrown), { cause: thrown })
  return new ShoalError('internal', textOf(thrown), isError(thrown) ? { cause: thrown } : {})
}

function isOutOfFiles(thrown: unknown): boolean {
  try {
    return isError(thrown) && 'code' in thrown && (thrown.code === 'EMFILE' || thrown.code === 'ENFILE')
  } catch {
    return false
  }
}

/** Also of a revoked proxy, which throws when it is asked for its class, and of an object that only looks like one. */
export function isShoalError(thrown: unknown): thrown is ShoalError {
  try {
    return thrown instanceof ShoalError && Object.hasOwn(ERRORS, thrown.code)
  } catch {
    return false
  }
}

/** A backend is down, busy or full: see the column `waits`. */
export function isAway(thrown: unknown): boolean {
  return thrown instanceof ShoalError && describeError(thrown.code).waits !== undefined
}

/** Why a dead letter failed, for a person. The hint of an error that is retried only helps while it still is. */
export function explainedDead(code: ErrorCode): string {
  const { meaning, hint, next } = describeError(code)
  return next === 'retry' || next === 'throttle' ? meaning : `${meaning} ${hint}`
}
