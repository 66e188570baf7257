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
      workers: 1,
      concurrency: 64,
      proxies: null,
      pool: null,
      country: null,
      graceMs: 10_000,
      metrics: null,
      token: null,
      alerts: null,
      dashboardHost: '127.0.0.1',
      dashboardPort: 7373,
      publicUrl: null,
      logLevel: 'warn',
      traces: false,
      json: false,
    })
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
    expect(refusal({ flags: { workers: 'many' } })).toBe('config_invalid --workers: expected number, received NaN')
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
  ])('%s', (address, shown) => expect(maskUrl(address)).toBe(shown))

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
