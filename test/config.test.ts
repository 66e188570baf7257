import { describe, expect, it } from 'vitest'
import { loadConfig, maskUrl } from '../src/config.js'
import { ShoalError } from '../src/errors.js'

const refusal = (sources: Partial<Parameters<typeof loadConfig>[0]>) => {
  try {
    loadConfig({ flags: {}, env: {}, ...sources })
  } catch (error) {
    if (error instanceof ShoalError) return `${error.code} ${error.message}`
    throw error
  }
  return null
}

describe('configuration', () => {
  it('has a default for everything', () => {
    expect(loadConfig({ flags: {}, env: {} })).toEqual({
      queue: 'sqlite:.shoal/shoal.db',
      store: 'sqlite:.shoal/shoal.db',
      pages: null,
      browser: null,
      browserPages: 4,
      workers: 'auto',
      concurrency: 64,
      proxies: null,
      pool: null,
      country: null,
      graceMs: 10_000,
      lostAfterMs: 10_000,
      metrics: null,
      token: null,
      alerts: null,
      cache: null,
      dashboardHost: '127.0.0.1',
      dashboardPort: 7373,
      publicUrl: null,
      allowHost: null,
      logLevel: 'warn',
      traces: false,
      json: false,
      origins: { queue: null, store: null, skipped: [] },
    })
  })

  it('uses a cache only if asked to: by its flag or variable, or by a flag that says where it is or how old', () => {
    const cacheOf = (flags: Record<string, unknown>, env: Record<string, string> = {}) =>
      loadConfig({ flags, env }).cache
    const here = { folder: '.shoal/cache', maxAgeMs: null }
    expect(cacheOf({ cache: true })).toEqual(here)
    expect(cacheOf({}, { SHOAL_CACHE: '1' })).toEqual(here)
    expect(cacheOf({ cacheDir: '/tmp/pages' })).toEqual({ ...here, folder: '/tmp/pages' })
    expect(cacheOf({ cacheAge: '1d' })).toEqual({ ...here, maxAgeMs: 86_400_000 })
    expect(cacheOf({}, { SHOAL_CACHE_DIR: '/tmp/pages', SHOAL_CACHE_AGE: '1h' })).toBeNull()
    expect(() => cacheOf({ cacheAge: 'soon' })).toThrow('--cache-age')
  })

  it('takes flags before the environment before the default, and the store from the queue', () => {
    const env = {
      SHOAL_QUEUE: 'sqlite:env.db',
      SHOAL_WORKERS: '3',
      SHOAL_GRACE: '1min',
      SHOAL_JSON: 'true',
      PATH: '/bin',
    }
    const config = loadConfig({ flags: { queue: 'sqlite:flag.db', workers: undefined }, env })
    expect(config).toMatchObject({
      queue: 'sqlite:flag.db',
      store: 'sqlite:flag.db',
      workers: 3,
      graceMs: 60_000,
      lostAfterMs: 10_000,
      json: true,
    })
    expect(loadConfig({ flags: { store: 'sqlite:x.db' }, env }).store).toBe('sqlite:x.db')
  })

  it('takes a name of the dashboard as browsers write it, and refuses a public address with a path', () => {
    expect(loadConfig({ flags: { dashboardHost: 'LocalHost' }, env: {} }).dashboardHost).toBe('localhost')
    const publicly = (publicUrl: string) => loadConfig({ flags: { publicUrl }, env: {} }).publicUrl
    expect(publicly('https://shoal.example:8443/')).toBe('https://shoal.example:8443/')
    for (const url of ['https://a.example/shoal', 'https://a.example/?x', 'https://me:pw@a.example'])
      expect(() => publicly(url)).toThrow(/must not have a path/)
  })

  it('takes proxies under the name that other programs use, too', () => {
    expect(loadConfig({ flags: {}, env: { PROXY_LIST: 'http://a:1' } }).proxies).toBe('http://a:1')
    const both = { PROXY_LIST: 'http://a:1', SHOAL_PROXIES: 'pools.json' }
    expect(loadConfig({ flags: {}, env: both }).proxies).toBe('pools.json')
    expect(loadConfig({ flags: { pool: 'dc, home', country: 'DE' }, env: {} })).toMatchObject({
      pool: ['dc', 'home'],
      country: 'de',
    })
  })

  it('takes addresses under the names that other programs use, where Shoal has none of its own', () => {
    const redis = 'redis://:pw@queue:6379/1'
    const postgres = 'postgresql://u:pw@db/app'
    expect(
      loadConfig({ flags: {}, env: { REDIS_URL: redis, DATABASE_URL: postgres, DB_URL: 'postgres://x' } }),
    ).toMatchObject({
      ...{ queue: redis, store: postgres, origins: { queue: 'REDIS_URL', store: 'DATABASE_URL', skipped: [] } },
    })
    expect(loadConfig({ flags: {}, env: { REDIS_URL: redis, DB_URL: postgres } })).toMatchObject({
      ...{ queue: redis, store: postgres, origins: { queue: 'REDIS_URL', store: 'DB_URL' } },
    })
    expect(loadConfig({ flags: {}, env: { REDIS_URL: redis } })).toMatchObject({
      ...{ queue: redis, store: 'sqlite:.shoal/shoal.db', origins: { queue: 'REDIS_URL', store: null } },
    })
    // Records on a server work with a queue in a file, too.
    expect(loadConfig({ flags: {}, env: { DATABASE_URL: postgres } })).toMatchObject({
      ...{ queue: 'sqlite:.shoal/shoal.db', store: postgres },
    })
    const all = { REDIS_URL: redis, SHOAL_QUEUE: 'redis://mine', DATABASE_URL: postgres, SHOAL_STORE: 'sqlite:mine.db' }
    expect(loadConfig({ flags: {}, env: all })).toMatchObject({
      ...{ queue: 'redis://mine', store: 'sqlite:mine.db', origins: { queue: 'SHOAL_QUEUE', store: 'SHOAL_STORE' } },
    })
    expect(loadConfig({ flags: { queue: 'redis://flag' }, env: all })).toMatchObject({
      ...{ queue: 'redis://flag', origins: { queue: '--queue', store: 'SHOAL_STORE' } },
    })
  })

  it('leaves what another program needs to that program', () => {
    const load = (env: Record<string, string>, flags = {}) => loadConfig({ flags, env })
    const mysql = { DATABASE_URL: 'mysql://u:pw@db/app', REDIS_URL: 'unix:///run/redis.sock' }
    expect(load(mysql)).toMatchObject({
      ...{ queue: 'sqlite:.shoal/shoal.db', store: 'sqlite:.shoal/shoal.db' },
      origins: { queue: null, store: null, skipped: ['REDIS_URL', 'DATABASE_URL'] },
    })
    expect(load({ ...mysql, DB_URL: 'postgres://db/app' })).toMatchObject({
      ...{ store: 'postgres://db/app', origins: { skipped: ['REDIS_URL', 'DATABASE_URL'] } },
    })
    // Empty counts as not set.
    expect(load({ REDIS_URL: '', DATABASE_URL: '', DB_URL: '' }).origins).toEqual({
      ...{ queue: null, store: null, skipped: [] },
    })
    // Whoever names a file keeps the records in it.
    const env = { REDIS_URL: 'redis://queue', DATABASE_URL: 'postgres://db/app' }
    for (const named of [load(env, { queue: 'sqlite:my.db' }), load({ ...env, SHOAL_QUEUE: 'sqlite:my.db' })])
      expect(named).toMatchObject({ queue: 'sqlite:my.db', store: 'sqlite:my.db', origins: { store: null } })
    expect(load({ ...mysql, SHOAL_QUEUE: 'sqlite:my.db' }).origins.skipped).toEqual([])
    expect(load(env, { queue: 'memory:' }).store).toBe('memory:')
    expect(load({ ...env, SHOAL_STORE: 'postgres://mine' }, { queue: 'sqlite:my.db' }).store).toBe('postgres://mine')
  })

  it('ignores what an orchestrator sets for services with its name, and still refuses a typo', () => {
    const injected = {
      ...{ SHOAL_SERVICE_HOST: '10.0.0.7', SHOAL_SERVICE_PORT: '7373', SHOAL_SERVICE_PORT_HTTP: '7373' },
      ...{ SHOAL_PORT: 'tcp://10.0.0.7:7373', SHOAL_PORT_7373_TCP: 'tcp://10.0.0.7:7373' },
      ...{ SHOAL_PORT_7373_TCP_PROTO: 'tcp', SHOAL_PORT_7373_TCP_PORT: '7373', SHOAL_PORT_7373_TCP_ADDR: '10.0.0.7' },
      ...{ SHOAL_REDIS_SERVICE_HOST: '10.0.0.8', SHOAL_REDIS_PORT: 'tcp://10.0.0.8:6379' },
      ...{ SHOAL_REDIS_PORT_6379_TCP: 'tcp://10.0.0.8:6379', SHOAL_REDIS_SERVICE_PORT_REDIS: '6379' },
      // A service called shoal-dashboard, and the setting of that name.
      ...{ SHOAL_DASHBOARD_PORT: 'tcp://10.0.0.9:7373', SHOAL_DASHBOARD_SERVICE_HOST: '10.0.0.9' },
    }
    expect(loadConfig({ flags: {}, env: injected })).toEqual(loadConfig({ flags: {}, env: {} }))
    expect(loadConfig({ flags: {}, env: { SHOAL_DASHBOARD_PORT: '8080' } }).dashboardPort).toBe(8080)
    expect(refusal({ env: { SHOAL_DASHBORD_PORT: '8080' } })).toMatch(/did you mean 'SHOAL_DASHBOARD_PORT'/)
    expect(refusal({ env: { ...injected, SHOAL_CONCURENCY: '8' } })).toMatch(/did you mean 'SHOAL_CONCURRENCY'/)
    expect(refusal({ env: { SHOAL_SERVICE: 'x' } })).toMatch(/unknown environment variable 'SHOAL_SERVICE'/)
  })

  it('takes no password from the command line', () => {
    expect(refusal({ flags: { proxies: 'http://anna:s3cret@a:1' } })).toMatch(/^config_invalid --proxies: a password/)
    expect(refusal({ flags: { proxies: 'http://anna:s3cret@a:1' } })).not.toContain('s3cret')
    expect(refusal({ env: { SHOAL_COUNTRY: 'deu' } })).toMatch(/^config_invalid SHOAL_COUNTRY: expected the two/)
  })

  it('is frozen', () => expect(Object.isFrozen(loadConfig({ flags: {}, env: {} }))).toBe(true))

  it('refuses what it does not know, and guesses', () => {
    expect(refusal({ flags: { worker: 2 } })).toBe("config_invalid unknown option 'worker', did you mean 'workers'?")
    expect(refusal({ env: { SHOAL_QEUE: 'x' } })).toBe(
      "config_invalid unknown environment variable 'SHOAL_QEUE', did you mean 'SHOAL_QUEUE'?",
    )
    expect(refusal({ flags: JSON.parse('{"__proto__": 1}') })).toBe("config_invalid unknown option '__proto__'")
  })

  it('names the flag or the variable that is wrong', () => {
    expect(refusal({ flags: { workers: '1e9' } })).toBe('config_invalid --workers: expected number to be <=1024')
    const choice = "config_invalid --workers: expected a whole number from 1 to 1024, or 'auto'"
    for (const workers of ['many', 'Auto']) expect(refusal({ flags: { workers } })).toBe(choice)
    expect(refusal({ env: { SHOAL_CONCURRENCY: '0' } })).toBe(
      'config_invalid SHOAL_CONCURRENCY: expected number to be >=1',
    )
    expect(refusal({ env: { SHOAL_LOG_LEVEL: 'loud' } })).toMatch(
      /^config_invalid SHOAL_LOG_LEVEL: expected one of "debug"/,
    )
    expect(refusal({ flags: { grace: '5 parsecs' } })).toBe("bad_duration --grace: '5 parsecs' is not a duration")
  })
})

describe('addresses that are shown', () => {
  it.each([
    ['redis://user:s3cret@host:6379/0', 'redis://user:***@host:6379/0'],
    ['redis://:s3cret@host', 'redis://:***@host'],
    ['postgres://u:p@ss@host/db?sslkey=abc&x=1', 'postgres://u:***@host/db?sslkey=***&x=1'],
    ['https://s3cret@host/', 'https://***@host/'],
    ['sqlite:.shoal/shoal.db', 'sqlite:.shoal/shoal.db'],
    ['https://x.example/?a?token=secret&b=1', 'https://x.example/?a?token=***&b=1'],
    ['https://x.example/cb#access_token=secret', 'https://x.example/cb#access_token=***'],
  ])('%s', (address, shown) => expect(maskUrl(address)).toBe(shown))

  it('masks an address of any length', () => {
    const began = performance.now()
    maskUrl(`https://x.example/${'?key'.repeat(50_000)}`)
    maskUrl(`https://x.example/?${'key'.repeat(50_000)}`)
    expect(performance.now() - began).toBeLessThan(1_000)
  })

  it('takes the address of the metrics as a port of this machine or host:port', () => {
    const metrics = (value: string) => loadConfig({ flags: { metrics: value }, env: {} }).metrics
    expect(metrics('9464')).toEqual({ host: '127.0.0.1', port: 9464 })
    expect(metrics('0.0.0.0:9464')).toEqual({ host: '0.0.0.0', port: 9464 })
    expect(metrics('[::1]:0')).toEqual({ host: '::1', port: 0 })
    expect(loadConfig({ flags: {}, env: { SHOAL_METRICS: 'localhost:1' } }).metrics?.host).toBe('localhost')
    for (const bad of ['', 'x', '70000', 'http://a:1', 'a b:1', ':1', '1:', '::1:9464'])
      expect(refusal({ flags: { metrics: bad } }), bad).toMatch(/^config_invalid --metrics: .*is not a port/)
  })

  it('takes the token from the environment alone, and shows it to nobody', () => {
    const token = 'a-token-of-24-characters'
    expect(loadConfig({ flags: {}, env: { SHOAL_TOKEN: token } }).token).toBe(token)
    expect(refusal({ flags: { token } })).toMatch(/^config_invalid unknown option 'token'/)
    expect(refusal({ env: { SHOAL_TOKEN: '' } })).toBe('config_invalid SHOAL_TOKEN is empty')
    expect(refusal({ env: { SHOAL_TOKEN: 'too-short' } })).toBe(
      'config_invalid SHOAL_TOKEN: must have at least 16 characters',
    )
    for (const bad of ['sixteen letters and spaces', 'ümlautümlautümlaut', 'x'.repeat(513)])
      expect(refusal({ env: { SHOAL_TOKEN: bad } }), bad).not.toContain(bad)
  })
})
