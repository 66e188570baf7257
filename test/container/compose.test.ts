import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { buildProgram } from '../../src/cli/program.js'
import { CONFIG, loadConfig } from '../../src/config.js'
import { loadSpider } from '../../src/spider/load.js'

/** compose.yaml and the Dockerfile, without an engine: `npm run containers` runs them. */

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const read = (file: string) => readFileSync(`${ROOT}/${file}`, 'utf8')

interface Service {
  readonly image: string
  readonly command?: string
  readonly environment?: Readonly<Record<string, string>>
  readonly ports?: readonly string[]
  readonly secrets?: readonly string[]
  readonly volumes: readonly string[]
  readonly read_only: boolean
  readonly cap_drop: readonly string[]
  readonly security_opt: readonly string[]
  readonly restart: string
  readonly stop_grace_period?: string
  readonly profiles?: readonly string[]
  readonly user?: string
}

const compose = parse(read('compose.yaml'), { merge: true }) as {
  readonly services: Readonly<Record<string, Service>>
  readonly volumes: Readonly<Record<string, null>>
  readonly secrets: Readonly<Record<string, { readonly file: string }>>
}
const services = Object.entries(compose.services)
const ours = services.filter(([, { image }]) => image.includes('shoal:'))
/** As Compose replaces variables that are not set. */
const replaced = (text: string) => text.replace(/\$\{\w+:-([^}]*)\}/g, '$1')

describe('compose.yaml', () => {
  it('has the services of a fleet', () => {
    expect(Object.keys(compose.services).sort()).toEqual(
      ['cli', 'dashboard', 'postgres', 'redis', 'scheduler', 'shop', 'worker'].sort(),
    )
    expect(compose.services.shop?.profiles).toEqual(['demo'])
  })

  it('locks every container down', () => {
    for (const [name, service] of services) {
      expect(service.read_only, name).toBe(true)
      expect(service.cap_drop, name).toEqual(['ALL'])
      expect(service.security_opt, name).toEqual(['no-new-privileges:true'])
      expect(replaced(service.image), name).toMatch(/:\d/)
      for (const port of service.ports ?? []) expect(port, name).toMatch(/^127\.0\.0\.1:/)
    }
    // The image of Shoal has a user of its own; without one, these entrypoints would change the user, which needs capabilities.
    expect([compose.services.redis?.user, compose.services.postgres?.user]).toEqual(['redis', 'postgres'])
  })

  it('starts with commands and flags that exist', async () => {
    const { commands } = await buildProgram()
    for (const [name, { command }] of ours) {
      if (command === undefined) continue
      const [first = '', ...rest] = replaced(command).split(' ')
      const found = commands.find((one) => one.name() === first)
      expect(found, `${name}: ${first}`).toBeDefined()
      const known = found?.options.map(({ long }) => long)
      for (const flag of rest.filter((word) => word.startsWith('--'))) expect(known, `${name}: ${flag}`).toContain(flag)
    }
  })

  it('sets only settings that exist, with values that are accepted', () => {
    for (const [name, { environment = {} }] of ours) {
      const env = Object.fromEntries(
        Object.entries(environment)
          .map(([key, value]): [string, string] => [key, replaced(value)])
          .filter(([key]) => !key.endsWith('_FILE')),
      )
      expect(() => loadConfig({ flags: {}, env }), name).not.toThrow()
      const known = Object.values(CONFIG).map((setting) => setting.env as string)
      for (const key of Object.keys(environment)) expect(known, name).toContain(key.replace(/_FILE$/, ''))
    }
  })

  it('contains no secret, and every secret that a service reads is mounted and created', () => {
    expect(read('compose.yaml')).not.toMatch(/:\/\/[^\s/@]*:[^\s/@]+@/)
    const script = read('deploy/compose/create-secrets.sh')
    for (const [name, { file }] of Object.entries(compose.secrets)) {
      expect(file).toBe(`\${SECRETS:-./secrets}/${name}`)
      expect(script).toContain(`create ${name} `)
    }
    for (const [name, { environment = {}, secrets = [], command = '' }] of services) {
      const read = [...Object.values(environment), command].flatMap(
        (text) => text.match(/\/run\/secrets\/[\w.]+/g) ?? [],
      )
      for (const path of read) expect(secrets, name).toContain(path.replace('/run/secrets/', ''))
    }
  })

  it('waits 15 s longer for a worker than the worker waits for its pages', () => {
    const { environment = {}, stop_grace_period = '' } = compose.services.worker ?? {}
    expect(Number.parseInt(stop_grace_period, 10)).toBe(Number.parseInt(environment.SHOAL_GRACE ?? '', 10) + 15)
  })

  it('has a queue that survives a crash and never drops a URL', () => {
    expect(compose.services.redis?.command).toMatch(/--appendonly yes .*--maxmemory-policy noeviction/)
  })

  it('crawls a shop on a private address, and allows no other', async () => {
    const spider = await loadSpider(`${ROOT}/deploy/compose/spiders/shop.ts`)
    expect(spider.name).toBe('shop')
    expect(spider.schedule).not.toBeNull()
    expect(read('deploy/compose/spiders/shop.ts')).toContain("allowPrivate: ['shop:8080']")
  })
})

describe('Dockerfile', () => {
  const dockerfile = read('Dockerfile')
  const { version } = JSON.parse(read('package.json')) as { version: string }

  it('has the version of the package, as has compose.yaml', () => {
    expect(dockerfile).toContain(`ARG VERSION=${version}\n`)
    for (const [name, { image }] of ours) expect(replaced(image), name).toBe(`shoal:${version}`)
  })

  it('runs as a user without rights, from pinned images, from the lockfile alone', () => {
    expect(dockerfile.trimEnd()).toMatch(/FROM runtime$/)
    expect(dockerfile).not.toMatch(/:latest/)
    const runtime = dockerfile.slice(dockerfile.indexOf('AS runtime'))
    expect(runtime.match(/^USER .*$/gm)).toEqual(['USER 10001:10001', 'USER 0:0', 'USER 10001:10001'])
    expect(dockerfile.match(/npm (ci|install)[^\n]*/g)?.every((line) => line.includes('--ignore-scripts'))).toBe(true)
    // The exec form: a shell would be the first process, and SIGTERM would never reach Node.
    expect(runtime).toContain('ENTRYPOINT ["shoal"]')
  })
})
