import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { CONFIG, loadConfig } from '../src/config.js'
import { withoutInjected } from '../src/environment.js'
import { ShoalError } from '../src/errors.js'

interface Service {
  readonly name: string
  readonly ip: string
  readonly ports: readonly { readonly name: string; readonly port: number; readonly protocol: string }[]
}

const upper = (name: string) => name.toUpperCase().replaceAll('-', '_')

/** As kubelet does in `envvars.FromServices`: the first port also without its name. */
function injectedBy({ name, ip, ports }: Service): Record<string, string> {
  const prefix = upper(name)
  const host = ip.includes(':') ? `[${ip}]` : ip
  const [first] = ports
  const env: Record<string, string> = { [`${prefix}_SERVICE_HOST`]: ip }
  if (first === undefined) return env
  env[`${prefix}_SERVICE_PORT`] = `${first.port}`
  env[`${prefix}_PORT`] = `${first.protocol.toLowerCase()}://${host}:${first.port}`
  for (const { name: portName, port, protocol } of ports) {
    if (portName !== '') env[`${prefix}_SERVICE_PORT_${upper(portName)}`] = `${port}`
    const one = `${prefix}_PORT_${port}_${protocol}`
    env[one] = `${protocol.toLowerCase()}://${host}:${port}`
    env[`${one}_PROTO`] = protocol.toLowerCase()
    env[`${one}_PORT`] = `${port}`
    env[`${one}_ADDR`] = ip
  }
  return env
}

/** As Docker does for `--link redis:<alias>`. */
function linkedBy(alias: string, variables: readonly string[]): Record<string, string> {
  const prefix = upper(alias)
  return {
    [`${prefix}_NAME`]: `/worker-1/${alias}`,
    [`${prefix}_PORT`]: 'tcp://172.17.0.5:6379',
    [`${prefix}_PORT_6379_TCP`]: 'tcp://172.17.0.5:6379',
    [`${prefix}_PORT_6379_TCP_PROTO`]: 'tcp',
    [`${prefix}_PORT_6379_TCP_START`]: 'tcp://172.17.0.5:6379',
    [`${prefix}_PORT_6379_TCP_PORT_END`]: '6390',
    ...Object.fromEntries(variables.map((name) => [`${prefix}_ENV_${name}`, 'x'])),
  }
}

const ROWS = Object.values(CONFIG)
/** `shoal-dashboard-port` for SHOAL_DASHBOARD_PORT and every part of it: the names that come closest to a setting. */
const COLLIDING = [
  ...new Set([
    'shoal',
    ...ROWS.flatMap(({ env }) => {
      const words = env.toLowerCase().split('_')
      return words.map((_word, index) => words.slice(0, index + 1).join('-'))
    }),
    ...['shoal-redis', 'shoal-worker', 'shoal-service', 'shoal-port', 'shoal-env', 'shoal-name', 'shoal-file'],
  ]),
]

const label = fc.stringMatching(/^[a-z]([a-z0-9-]{0,10}[a-z0-9])?$/)
const service = fc.record({
  name: fc.oneof(
    fc.constantFrom(...COLLIDING),
    label.map((end) => `shoal-${end}`),
  ),
  ip: fc.constantFrom('10.0.0.7', 'fd00::7'),
  ports: fc.array(
    fc.record({
      name: fc.oneof(fc.constant(''), label, fc.constantFrom('http', 'port', 'service-host', 'metrics')),
      port: fc.integer({ min: 1, max: 65_535 }),
      protocol: fc.constantFrom('TCP', 'UDP', 'SCTP'),
    }),
    { maxLength: 4 },
  ),
})

const DEFAULTS = loadConfig({ flags: {}, env: {} })

describe('variables that orchestrators inject', () => {
  it('change nothing, whatever the services are called', () => {
    fc.assert(
      fc.property(fc.array(service, { minLength: 1, maxLength: 4 }), (services) => {
        const env = Object.assign({}, ...services.map(injectedBy))
        expect(loadConfig({ flags: {}, env })).toEqual(DEFAULTS)
      }),
    )
  })

  it('change nothing for a service with the name of each setting, and the setting itself stays', () => {
    for (const name of COLLIDING)
      for (const { env: setting } of ROWS) {
        const ports = [{ name: 'http', port: 7373, protocol: 'TCP' }]
        const injected = {
          ...injectedBy({ name, ip: '10.0.0.7', ports }),
          ...linkedBy(name, ['TOKEN', 'PASSWORD_FILE']),
        }
        // What a pod sets itself replaces what its services inject.
        expect(withoutInjected({ ...injected, [setting]: '8080' })).toEqual({ [setting]: '8080' })
      }
  })

  it('are those of Docker links too', () => {
    fc.assert(
      fc.property(fc.constantFrom(...COLLIDING), fc.array(label.map(upper)), (alias, variables) => {
        expect(loadConfig({ flags: {}, env: linkedBy(alias, variables) })).toEqual(DEFAULTS)
      }),
    )
  })

  it('of other services and of Nomad are not looked at', () => {
    const env = {
      ...{ REDIS_PORT: 'tcp://10.0.0.8:6379', REDIS_SERVICE_HOST: '10.0.0.8', DATABASE_PORT: 'tcp://10.0.0.9:5432' },
      ...{ NOMAD_TASK_NAME: 'shoal', NOMAD_PORT_http: '7373', NOMAD_ADDR_shoal_http: '10.0.0.7:7373' },
    }
    expect(loadConfig({ flags: {}, env })).toEqual(DEFAULTS)
  })

  it('differ from what somebody wrote by hand, which is refused', () => {
    const refusal = (env: Record<string, string>) => {
      try {
        loadConfig({ flags: {}, env })
      } catch (error) {
        if (error instanceof ShoalError) return `${error.code}: ${error.message}`
      }
      return null
    }
    for (const [name, value] of [
      ['SHOAL_PORT', '8080'],
      ['SHOAL_METRICS_PORT', '9464'],
      ['SHOAL_NAME', 'mill'],
      ['SHOAL_REDIS_NAME', 'queue'],
      ['SHOAL_ENV_NAME', 'production'],
      ['SHOAL_REDIS_ENV_PASSWORD', 'x'],
      ['SHOAL_HOST', '10.0.0.7'],
      ['SHOAL_SERVICE', 'x'],
    ] as const)
      expect(refusal({ [name]: value })).toMatch(new RegExp(`^config_invalid: unknown environment variable '${name}'`))
    expect(refusal({ SHOAL_DASHBOARD_PRT: '1' })).toContain("did you mean 'SHOAL_DASHBOARD_PORT'?")
  })
})
